//! The kernels compiled ahead of time: PTX, AMD code objects and host functions.
//!
//! `cargo xtask kernels` writes `prebuilt/`; its `--check` compares it with the texts.

use hip_rtc::{Blob, CodeObject, Prebuilt};

use crate::host::host_kernels;

macro_rules! prebuilt {
    ($($name:ident)*) => {
        [$(Prebuilt {
            name: stringify!($name),
            ptx: prebuilt!(@blob $name ".ptx"),
            code_objects: &[
                prebuilt!(@object $name "gfx906"),
                prebuilt!(@object $name "gfx90a"),
                prebuilt!(@object $name "gfx1030"),
            ],
            host: host_kernels,
        }),*]
    };
    (@object $name:ident $arch:literal) => {
        CodeObject {
            arch: $arch,
            image: prebuilt!(@blob $name concat!(".", $arch, ".hsaco")),
        }
    };
    // The build script deflates what lies in `prebuilt/`.
    (@blob $name:ident $ending:expr) => {
        Blob(include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name), $ending, ".deflate")))
    };
}

/// One module for each entry point of `convert.cu`, and called like it: a driver that has to
/// translate PTX then translates only what is used.
pub static CONVERT: [Prebuilt; 8] = prebuilt!(
    convert_yuv420_8_scaled
    convert_yuv420_8_unscaled
    convert_yuv420_16_scaled
    convert_yuv420_16_unscaled
    convert_packed_8_scaled
    convert_packed_8_unscaled
    convert_planar_8_scaled
    convert_planar_8_unscaled
);

/// The kernel texts by file name, `convert.cu` first, for whoever compiles them at run time. The
/// others are the headers it includes. Without options all entry points are compiled;
/// `-DCONVERT_UNIT=n` asks for number `n` of [`CONVERT`].
pub static TEXTS: [(&str, &str); 9] = [
    ("convert.cu", include_str!("../kernels/convert.cu")),
    ("prelude.cuh", include_str!("../kernels/prelude.cuh")),
    (
        "convert_params.h",
        include_str!("../kernels/convert_params.h"),
    ),
    ("convert_math.h", include_str!("../kernels/convert_math.h")),
    ("convert_read.h", include_str!("../kernels/convert_read.h")),
    (
        "convert_read_rgb.h",
        include_str!("../kernels/convert_read_rgb.h"),
    ),
    (
        "convert_write.h",
        include_str!("../kernels/convert_write.h"),
    ),
    ("convert_rgb.h", include_str!("../kernels/convert_rgb.h")),
    (
        "convert_yuv420.h",
        include_str!("../kernels/convert_yuv420.h"),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_module_holds_its_entry_point() {
        for prebuilt in &CONVERT {
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
    fn every_text_is_there() {
        let files: Vec<&str> = env!("KERNEL_TEXTS").split(' ').collect();
        let mut names = TEXTS.map(|(name, _)| name);
        names.sort();
        assert_eq!(files[..], names[..]);
    }
}
