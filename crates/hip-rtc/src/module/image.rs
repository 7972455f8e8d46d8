//! Images before they go to a driver, which would read beyond the end of a short one.

use std::ffi::CString;

use hip_core::Device;
use hip_dispatch::ImageKind;

use crate::image::{ImageError, ImageFormat, KernelInfo};
use crate::{Error, Result};

/// What the image is, if the device takes its kind.
pub(super) fn check(device: &Device, bytes: &[u8]) -> Result<ImageFormat> {
    let found = crate::image::format(bytes).ok_or(ImageError::Unknown)?;
    let (fits, takes) = match device.backend().image_kind() {
        ImageKind::Cuda => (
            matches!(found, ImageFormat::Ptx | ImageFormat::Cubin),
            "PTX text or a CUBIN",
        ),
        ImageKind::AmdCodeObject => (
            matches!(
                found,
                ImageFormat::AmdCodeObject | ImageFormat::OffloadBundle
            ),
            "an AMD code object",
        ),
        ImageKind::Host => (
            found == ImageFormat::HostObject,
            "a shared object for the CPU",
        ),
        _ => (false, "nothing that is known here"),
    };
    match fits {
        true => Ok(found),
        false => Err(Error::WrongImage {
            found,
            device: device.info().to_string(),
            takes,
        }),
    }
}

/// PTX with the NUL that a driver looks for; NULs at its end are no part of it.
pub(super) fn ptx_text(name: &str, bytes: &[u8]) -> Result<CString> {
    let end = bytes.iter().rposition(|byte| *byte != 0);
    let text = &bytes[..end.map_or(0, |last| last + 1)];
    CString::new(text).map_err(|_| Error::Nul(format!("the PTX of {name}")))
}

/// Kernels of the image's text that no name finds. A GPU's image has them under mangled names.
pub(super) fn nameless(format: ImageFormat, bytes: &[u8]) -> Vec<String> {
    match format {
        ImageFormat::HostObject => crate::host::nameless_of_object(bytes),
        _ => Vec::new(),
    }
}

/// Why a kernel may not be found: its name is C++'s, or another's.
pub(super) fn hint(kernels: &[KernelInfo], nameless: &[String], name: &str) -> String {
    const REMEDY: &str = "declare the kernel extern \"C\" __global__, and no template";
    if nameless.iter().any(|other| other == name) {
        return format!("; its text has {name} as a C++ function: {REMEDY}");
    }
    // As compilers mangle a function, in a namespace or outside, and a template's.
    let mangled = format!("{}{name}", name.len());
    let is_mangled = |found: &str| {
        let rest = found.strip_prefix("_Z");
        rest.is_some_and(|rest| {
            rest.starts_with(&mangled) || rest.starts_with('N') && rest.contains(&mangled)
        })
    };
    let mut names = kernels.iter().map(|kernel| kernel.name.as_str());
    if let Some(found) = names.find(|found| is_mangled(found)) {
        return format!("; it has {found}: {REMEDY}");
    }
    match kernels {
        [] => String::new(),
        some => {
            // A module of a whole library would fill the screen.
            const MOST: usize = 8;
            let names: Vec<&str> = some.iter().take(MOST).map(|k| k.name.as_str()).collect();
            let more = if some.len() > MOST { ", …" } else { "" };
            format!("; it has {}{more}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str) -> KernelInfo {
        KernelInfo {
            name: name.to_owned(),
            params: Vec::new(),
            max_threads: None,
        }
    }

    #[test]
    fn a_mangled_kernel_is_recognised() {
        let hint = |names: &[&str]| {
            let kernels: Vec<KernelInfo> = names.iter().map(|name| kernel(name)).collect();
            hint(&kernels, &["clear".to_owned()], "fill")
        };
        for name in ["_Z4fillPfj", "_Z4fillIfEvPT_", "_ZN3own4fillEPf"] {
            let hint = hint(&["other", name]);
            assert!(
                hint.contains("extern \"C\"") && hint.contains(name),
                "{hint}"
            );
        }
        assert_eq!(hint(&["_Z5fillsPfj"]), "; it has _Z5fillsPfj");
        assert_eq!(hint(&[]), "");
    }

    #[test]
    fn a_kernel_that_has_no_entry_is_known_by_name() {
        let hint = |name| hint(&[kernel("fill")], &["clear".to_owned()], name);
        assert!(hint("clear").contains("clear") && hint("clear").contains("extern \"C\""));
        assert_eq!(hint("clea"), "; it has fill");
    }

    #[test]
    fn ptx_ends_with_one_nul() {
        let text = |bytes: &[u8]| ptx_text("x", bytes).map(CString::into_bytes_with_nul);
        assert_eq!(text(b".version").unwrap(), b".version\0");
        assert_eq!(text(b".version\0\0").unwrap(), b".version\0");
        assert!(matches!(text(b"a\0b"), Err(Error::Nul(_))));
    }
}
