//! The kernel texts of `hip-video`, and what is built of them.
//!
//! A family is a text `kernels/NAME.cu` with a list `kernels/NAME.entries` of its entry points
//! beside it; every other file there is a header. With the macro `NAME_UNIT` (in capitals) set to a
//! number, the text holds only the entry point of that number. `hip-video`'s build script reads the
//! same folder by the same rules.

use std::fs;
use std::path::{Path, PathBuf};

use super::Result;
use super::compiler::Compiler;
use super::fetch::COMPILERS;

/// Architectures of AMD that there are code objects for.
const AMD_ARCHITECTURES: [&str; 8] = [
    "gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201",
];

/// One kernel text.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) name: String,
    /// In the order of their numbers.
    pub(super) entries: Vec<String>,
}

impl Family {
    /// File name of its text.
    pub(super) fn text(&self) -> String {
        format!("{}.cu", self.name)
    }

    /// The option that leaves only one entry point.
    fn unit_option(&self, number: usize) -> String {
        format!("-D{}_UNIT={number}", self.name.to_uppercase())
    }
}

/// One prebuilt file: one entry point for one architecture.
pub(super) struct Blob {
    pub(super) file: String,
    /// The family's text.
    pub(super) text: String,
    pub(super) entry: String,
    pub(super) compiler: &'static Compiler,
    pub(super) options: Vec<String>,
}

/// The families in the folder of kernels.
pub(super) fn families(kernels: &Path) -> Result<Vec<Family>> {
    let mut families = Vec::new();
    for path in files_in(kernels)? {
        if path.extension().is_none_or(|extension| extension != "cu") {
            continue;
        }
        let list = path.with_extension("entries");
        let text =
            fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
        let entries = text.lines().map(str::trim);
        families.push(Family {
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into(),
            entries: entries
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .map(str::to_owned)
                .collect(),
        });
    }
    Ok(families)
}

/// Everything that is built ahead of time: PTX by the oldest NVRTC, so that every driver since 2022
/// loads it, and code objects each by the oldest HIPRTC that knows the architecture.
pub(super) fn blobs(kernels: &Path) -> Result<Vec<Blob>> {
    let mut blobs = Vec::new();
    for family in families(kernels)? {
        for (number, entry) in family.entries.iter().enumerate() {
            let blob = |file, compiler: &'static Compiler, options: &[String]| Blob {
                file,
                text: family.text(),
                entry: entry.clone(),
                compiler,
                options: [options, &[family.unit_option(number)]].concat(),
            };
            let nvrtc = &COMPILERS[0];
            blobs.push(blob(
                format!("{entry}.ptx"),
                nvrtc,
                &nvrtc.options("compute_52"),
            ));
            for architecture in AMD_ARCHITECTURES {
                let hiprtc = oldest_for(architecture)?;
                let mut options = hiprtc.options(architecture);
                // Version 4 (e_ident[EI_ABIVERSION] = 2) is what every runtime from 5.2 to 7.2
                // loads. HIPRTC 5 writes it unasked, 6.4 on LLVM 21 would write version 6.
                options.push("-mcode-object-version=4".to_owned());
                blobs.push(blob(
                    format!("{entry}.{architecture}.hsaco"),
                    hiprtc,
                    &options,
                ));
            }
        }
    }
    Ok(blobs)
}

/// The oldest compiler that knows the architecture.
fn oldest_for(architecture: &str) -> Result<&'static Compiler> {
    COMPILERS
        .iter()
        .find(|compiler| compiler.architectures.contains(&architecture))
        .ok_or_else(|| format!("no compiler knows {architecture}").into())
}

/// Whether a file of the folder of kernels is there to be included.
pub(super) fn is_header(path: &Path) -> bool {
    path.extension()
        .is_none_or(|extension| extension != "cu" && extension != "entries")
}

/// File name of a path, for messages and manifests.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Plain files of a folder, sorted.
pub(super) fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Text without the carriage returns that a checkout on Windows adds.
pub(super) fn normalised(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'\r').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_has_the_oldest_compiler_that_knows_it() {
        let label = |architecture| oldest_for(architecture).map(|compiler| compiler.label).ok();
        assert_eq!(label("gfx90a"), Some("HIPRTC 5.2"));
        assert_eq!(label("gfx942"), Some("HIPRTC 5.7"));
        assert_eq!(label("gfx1201"), Some("HIPRTC 6"));
        assert_eq!(label("gfx900"), None);
        for architecture in AMD_ARCHITECTURES {
            assert!(label(architecture).is_some(), "{architecture}");
        }
    }

    #[test]
    fn a_family_is_a_text_with_its_list() {
        let folder = std::env::temp_dir().join(format!("xtask-families-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("blend.cu"), "").unwrap();
        fs::write(folder.join("prelude.cuh"), "").unwrap();
        let error = families(&folder).unwrap_err().to_string();
        assert!(error.contains("blend.entries"), "{error}");
        fs::write(
            folder.join("blend.entries"),
            "# two\r\nblend_a\r\n\r\nblend_b\r\n",
        )
        .unwrap();
        let found = families(&folder).unwrap();
        assert_eq!((found.len(), &*found[0].text()), (1, "blend.cu"));
        assert_eq!(found[0].entries, ["blend_a", "blend_b"]);
        let second = &blobs(&folder).unwrap()[1 + AMD_ARCHITECTURES.len()];
        assert_eq!(second.file, "blend_b.ptx");
        assert!(second.options.contains(&"-DBLEND_UNIT=1".to_owned()));
        fs::remove_dir_all(&folder).unwrap();
    }
}
