//! `prebuilt/manifest.toml`: what the blobs were built of, and by what.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::Result;
use super::families::{Blob, file_name, files_in, normalised};

/// Its name in the folder of blobs.
pub(super) const FILE: &str = "manifest.toml";

const COMPILERS: &str = "[compilers]";

/// By label, the packages of the compiler that wrote the blobs, with their versions.
pub(super) type Identities = BTreeMap<String, String>;

/// The manifest that texts and blobs on disk give.
pub(super) fn compose(
    kernels: &Path,
    prebuilt: &Path,
    blobs: &[Blob],
    identities: &Identities,
) -> Result<String> {
    let mut text =
        String::from("# Written by `cargo xtask kernels`, which also checks it.\n\n[sources]\n");
    for path in files_in(kernels)? {
        let content = normalised(&fs::read(&path)?);
        writeln!(text, "\"{}\" = \"{}\"", file_name(&path), hash(&content))?;
    }
    writeln!(text, "\n{COMPILERS}")?;
    for (label, identity) in identities {
        writeln!(text, "\"{label}\" = \"{identity}\"")?;
    }
    for blob in blobs {
        let path = prebuilt.join(&blob.file);
        let image = fs::read(&path).map_err(|error| format!("prebuilt/{}: {error}", blob.file))?;
        let options: Vec<String> = blob
            .options
            .iter()
            .map(|option| format!("\"{option}\""))
            .collect();
        writeln!(text, "\n[[blob]]\nfile = \"{}\"", blob.file)?;
        writeln!(text, "compiler = \"{}\"", blob.compiler.label)?;
        writeln!(text, "options = [{}]", options.join(", "))?;
        writeln!(text, "sha256 = \"{}\"", hash(&image))?;
    }
    Ok(text)
}

/// The compilers that a manifest names.
pub(super) fn identities(manifest: &str) -> Identities {
    manifest
        .lines()
        .skip_while(|line| *line != COMPILERS)
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| {
            let (label, identity) = line.split_once(" = ")?;
            let unquoted = |text: &str| text.trim_matches('"').to_owned();
            Some((unquoted(label), unquoted(identity)))
        })
        .collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_are_read_back() {
        let folder = std::env::temp_dir().join(format!("xtask-manifest-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("blend.cu"), "text\r\n").unwrap();
        let written: Identities = [("HIPRTC 6", "a 1:2.3-4, b 5"), ("NVRTC 11.8", "c 6")]
            .map(|(label, identity)| (label.to_owned(), identity.to_owned()))
            .into();
        let text = compose(&folder, &folder, &[], &written).unwrap();
        assert_eq!(identities(&text), written);
        assert_eq!(identities("[sources]\n\"a\" = \"b\"\n"), Identities::new());
        // The same on Windows and elsewhere.
        fs::write(folder.join("blend.cu"), "text\n").unwrap();
        assert_eq!(compose(&folder, &folder, &[], &written).unwrap(), text);
        fs::remove_dir_all(&folder).unwrap();
    }
}
