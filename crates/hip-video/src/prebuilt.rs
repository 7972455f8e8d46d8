//! The kernels compiled ahead of time: PTX, AMD code objects and host functions; and their texts,
//! for whoever compiles them at run time.
//!
//! `cargo xtask kernels` writes `prebuilt/`; its `--check` compares it with the texts. The tables are
//! the build script's: what lies in `kernels/` and `prebuilt/` is listed nowhere else.

use hip_rtc::{Blob, CodeObject, KernelSource, Prebuilt};

use crate::host::host_kernels;

/// A kernel text and what was built of it.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    /// `convert` for `convert.cu`.
    pub name: &'static str,
    /// File name of the text, which compilers' messages begin with.
    file: &'static str,
    text: &'static str,
    /// Its entry points, in the order of their numbers.
    pub entries: &'static [Prebuilt],
}

impl Family {
    /// The text with its headers, for a compiler at run time. Without options every entry point is
    /// compiled.
    pub fn source(&self) -> KernelSource<'static> {
        KernelSource {
            name: self.file,
            text: self.text,
            headers: HEADERS.to_vec(),
        }
    }

    /// The option that leaves only the entry point of that number in [`Family::entries`]: whoever
    /// needs one need not wait for the others.
    pub fn unit_option(&self, number: usize) -> String {
        format!("-D{}_UNIT={number}", self.name.to_uppercase())
    }
}

include!(concat!(env!("OUT_DIR"), "/prebuilt.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    /// Those that `cargo xtask kernels` builds for, from the oldest to the newest.
    const ARCHITECTURES: [&str; 8] = [
        "gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201",
    ];

    fn every_module() -> impl Iterator<Item = &'static Prebuilt> {
        FAMILIES.iter().flat_map(|family| family.entries)
    }

    #[test]
    fn every_module_holds_its_entry_point() {
        for prebuilt in every_module() {
            let entry = format!(".visible .entry {}(", prebuilt.name);
            let ptx = String::from_utf8(prebuilt.ptx.inflate().expect("PTX")).expect("text");
            assert!(ptx.contains(&entry), "{}", prebuilt.name);
            assert!(ptx.contains(".target sm_52"));
            assert!(
                (prebuilt.host)()
                    .iter()
                    .any(|kernel| kernel.name == prebuilt.name)
            );
            for object in prebuilt.code_objects {
                let image = object.image.inflate().expect("an image");
                assert_eq!(&image[..4], b"\x7fELF", "{} {}", prebuilt.name, object.arch);
                let name = prebuilt.name.as_bytes();
                assert!(image.windows(name.len()).any(|bytes| bytes == name));
            }
        }
    }

    #[test]
    fn every_architecture_has_every_module() {
        for prebuilt in every_module() {
            let found: Vec<&str> = prebuilt
                .code_objects
                .iter()
                .map(|object| object.arch)
                .collect();
            assert_eq!(found, ARCHITECTURES, "{}", prebuilt.name);
        }
    }

    /// Runtimes before 6 load no code object of a version above 4, which is 2 in
    /// `e_ident[EI_ABIVERSION]`.
    #[test]
    fn every_code_object_loads_on_old_runtimes() {
        for prebuilt in every_module() {
            for object in prebuilt.code_objects {
                let image = object.image.inflate().expect("an image");
                assert_eq!(image[8], 2, "{} {}", prebuilt.name, object.arch);
            }
        }
    }

    #[test]
    fn a_family_comes_with_its_headers() {
        let convert = FAMILIES.iter().find(|family| family.name == "convert");
        let convert = convert.expect("a family");
        let source = convert.source();
        assert!(source.text.contains("#include \"convert_rgb.h\""));
        let texts = source.headers.iter().map(|(_, text)| *text);
        let included = texts
            .chain([source.text])
            .flat_map(str::lines)
            .filter_map(|line| line.strip_prefix("#include \""))
            .filter_map(|rest| rest.strip_suffix('"'));
        for name in included {
            assert!(
                source.headers.iter().any(|(header, _)| *header == name),
                "{name}"
            );
        }
        assert_eq!(convert.unit_option(3), "-DCONVERT_UNIT=3");
    }
}
