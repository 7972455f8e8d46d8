//! Module images as a driver takes them: `hip_rtc::image` reads them, here they are refused with
//! the vendors' codes.

pub mod carried;

use std::ffi::{CStr, c_void};

use hip_rtc::image::{ImageError, KernelInfo, amdgpu, cubin, elf, ptx};

use crate::code::{self, Code};
use carried::Carried;

/// Why an image is not loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The vendors' code.
    pub code: Code,
    /// In words.
    pub text: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(code: Code, text: impl Into<String>) -> Refusal {
        Refusal {
            code,
            text: text.into(),
        }
    }
}

impl From<ImageError> for Refusal {
    fn from(error: ImageError) -> Refusal {
        Refusal::new(code::INVALID_IMAGE, error.to_string())
    }
}

/// An image that is fit for the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What it says of its kernels.
    pub kernels: Vec<KernelInfo>,
    /// What a stand-in for a compiler put into it.
    pub carried: Option<Carried>,
}

/// An image handed to NVIDIA's driver, for a device of `architecture` (`sm_90`).
///
/// # Safety
/// `image` is an ELF file, whose size its header tells, or NUL-terminated text.
///
/// # Errors
/// The image is neither, or not for this device.
pub unsafe fn cuda(
    image: *const c_void,
    architecture: &str,
    version: i32,
) -> Result<Image, Refusal> {
    // SAFETY: the caller's promise.
    match unsafe { elf_bytes(image.cast()) } {
        Some(bytes) => cubin_for(bytes, architecture),
        None => {
            // SAFETY: not an ELF file, so text, by the caller's promise.
            let text = unsafe { CStr::from_ptr(image.cast()) };
            let text = text
                .to_str()
                .map_err(|_| Refusal::new(code::INVALID_IMAGE, "neither an ELF file nor text"))?;
            ptx_for(text, architecture, version)
        }
    }
}

/// An image handed to AMD's runtime, for a device of `architecture` (`gfx90a:sramecc+:xnack-`).
///
/// # Safety
/// `image` is an ELF file, whose size its header tells, or at least four bytes that do not start
/// like one.
///
/// # Errors
/// The image is no code object, or not for this device.
pub unsafe fn amd(image: *const c_void, architecture: &str) -> Result<Image, Refusal> {
    // SAFETY: the caller's promise.
    match unsafe { elf_bytes(image.cast()) } {
        Some(bytes) => code_object_for(bytes, architecture),
        None => Err(Refusal::new(code::INVALID_IMAGE, "not an ELF file")),
    }
}

/// A CUBIN for a device (`sm_90`): it runs on those of its major version and at least its minor
/// one.
///
/// # Errors
/// 200 for what is no CUBIN, 209 for another architecture's.
pub fn cubin_for(file: &[u8], architecture: &str) -> Result<Image, Refusal> {
    let kernels = cubin::kernels(file)?;
    let target = cubin::architecture(file).unwrap_or(0);
    let device = ptx::target_number(architecture).unwrap_or(0);
    if target / 10 != device / 10 || target > device {
        let text = format!("the CUBIN is for sm_{target}, the device is {architecture}");
        return Err(Refusal::new(code::NO_BINARY_FOR_GPU, text));
    }
    Ok(Image {
        kernels,
        carried: Carried::in_elf(file),
    })
}

/// A PTX text for a driver of a CUDA version and a device (`sm_90`).
///
/// # Errors
/// 218 for what is no PTX, 222 for a newer one than the driver's, 209 for a newer device's.
pub fn ptx_for(text: &str, architecture: &str, version: i32) -> Result<Image, Refusal> {
    let wrong = |why: String| {
        let text = format!("ptxas application ptx input, fatal: {why}");
        Refusal::new(code::INVALID_PTX, text)
    };
    let header = ptx::header(text).map_err(|error| wrong(error.to_string()))?;
    let newest = newest_ptx(version);
    if header.version > newest {
        let text = format!(
            "Unsupported .version {}.{}; current version is {}.{}",
            header.version.0, header.version.1, newest.0, newest.1
        );
        return Err(Refusal::new(code::UNSUPPORTED_PTX_VERSION, text));
    }
    let target = ptx::target_number(&header.target);
    let target = target.ok_or_else(|| wrong("Unknown .target".to_owned()))?;
    if ptx::target_number(architecture).is_none_or(|device| target > device) {
        let text = format!(
            "SM version of {} is higher than {architecture}",
            header.target
        );
        return Err(Refusal::new(code::NO_BINARY_FOR_GPU, text));
    }
    Ok(Image {
        kernels: ptx::kernels(text).map_err(|error| wrong(error.to_string()))?,
        carried: Carried::in_ptx(text),
    })
}

/// The PTX version that a driver of a CUDA version takes: 9.0 with 13.0, 8.x with 12.x.
fn newest_ptx(version: i32) -> (u32, u32) {
    let (major, minor) = (version / 1000, version % 1000 / 10);
    // CUDA 12.0 brought PTX 8.0 and 11.0 brought 7.0; each release since added one.
    (
        u32::try_from(major - 4).unwrap_or(0),
        u32::try_from(minor).unwrap_or(0),
    )
}

/// A code object for a device (`gfx90a:sramecc+:xnack-`): it runs where the processor is the same
/// and each feature it names is the device's.
///
/// # Errors
/// 200 for what is no code object, 209 for another architecture's.
pub fn code_object_for(file: &[u8], architecture: &str) -> Result<Image, Refusal> {
    let kernels = amdgpu::kernels(file)?;
    let target = amdgpu::architecture(file)?;
    if !fits(&target, architecture) {
        let text = format!("the code object is for {target}, the device is {architecture}");
        return Err(Refusal::new(code::NO_BINARY_FOR_GPU, text));
    }
    Ok(Image {
        kernels,
        carried: Carried::in_elf(file),
    })
}

fn fits(target: &str, architecture: &str) -> bool {
    let device: Vec<&str> = architecture.split(':').collect();
    let mut parts = target.split(':');
    parts.next() == device.first().copied() && parts.all(|feature| device[1..].contains(&feature))
}

/// The bytes of an ELF file, if it is one.
///
/// # Safety
/// As [`amd`] or [`cuda`].
unsafe fn elf_bytes<'a>(image: *const u8) -> Option<&'a [u8]> {
    for (index, byte) in elf::MAGIC.iter().enumerate() {
        // SAFETY: every earlier byte was one of an ELF file's, so this one is there too: text
        // ends with a NUL, which is none of them.
        if unsafe { image.add(index).read() } != *byte {
            return None;
        }
    }
    // SAFETY: an ELF file is at least its header.
    let header = unsafe { std::slice::from_raw_parts(image, elf::HEADER) };
    let size = elf::file_size(header);
    // SAFETY: the header says so, and the caller vouches for it.
    Some(unsafe { std::slice::from_raw_parts(image, size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> i32 {
        ptx_for(text, "sm_90", 13_000).map_or_else(|refusal| refusal.code, |_| 0)
    }

    #[test]
    fn a_driver_takes_ptx_of_its_version_and_for_its_device() {
        let head = |version: &str, target: &str| format!(".version {version}\n.target {target}\n");
        assert_eq!(code_of(&head("9.0", "sm_90")), 0);
        assert_eq!(code_of(&head("7.8", "sm_90a, texmode_independent")), 0);
        assert_eq!(
            code_of(&head("9.1", "sm_90")),
            code::UNSUPPORTED_PTX_VERSION
        );
        assert_eq!(
            code_of(&head("10.0", "sm_90")),
            code::UNSUPPORTED_PTX_VERSION
        );
        assert_eq!(code_of(&head("9.0", "sm_100")), code::NO_BINARY_FOR_GPU);
        let cut = head("8.0", "sm_90") + ".visible .entry a(.param .u32 x) {";
        for text in ["", "garbage", ".target sm_90", &head("9.0", "gfx906"), &cut] {
            assert_eq!(code_of(text), code::INVALID_PTX, "{text}");
        }
    }

    #[test]
    fn the_versions_of_drivers_are_known() {
        assert_eq!(
            [11_080, 12_000, 12_090, 13_000].map(newest_ptx),
            [(7, 8), (8, 0), (8, 9), (9, 0)]
        );
    }

    #[test]
    fn targets_fit_or_do_not() {
        let device = "gfx90a:sramecc+:xnack-";
        for target in ["gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-"] {
            assert!(fits(target, device), "{target}");
        }
        for target in ["gfx90a:xnack+", "gfx906", "gfx90", "gfx90a:sramecc-", ""] {
            assert!(!fits(target, device), "{target}");
        }
    }
}
