//! What a compiler gives: images of the vendors' formats that describe the kernels as the real
//! ones do, and carry the host build.

mod code_object;
mod cubin;
mod ptx;

use hip_rtc::image::KernelInfo;

use super::elf_writer::Section;
use super::profile::CompilerProfile;
use super::target::Target;
use crate::image::carried::{self, Carried, Reads};

/// `SHT_PROGBITS`.
const PROGBITS: u32 = 1;

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Product {
    /// PTX; empty from HIPRTC.
    pub(super) ptx: String,
    /// CUBIN or code object; empty if the architecture is a virtual one.
    pub(super) binary: Vec<u8>,
    /// Names of its kernels.
    pub(super) kernels: Vec<String>,
}

/// Makes the images for a target from a host build; `None` if that does not describe its kernels.
pub(super) fn make(
    profile: &CompilerProfile,
    target: &Target,
    object: Vec<u8>,
    reads: Reads,
) -> Option<Product> {
    let kernels = hip_rtc::host::kernels_of_object(&object)?;
    let carried = Carried { object, reads };
    let (ptx, binary) = match target {
        Target::Cuda {
            number,
            suffix,
            real,
        } => {
            let text = ptx::write(profile.version, *number, suffix, &kernels, &carried);
            let binary = match real {
                true => cubin::write(*number, &kernels, &carried),
                false => Vec::new(),
            };
            (text, binary)
        }
        Target::Amd { name } => (String::new(), code_object::write(name, &kernels, &carried)),
    };
    Some(Product {
        ptx,
        binary,
        kernels: kernels.into_iter().map(|kernel| kernel.name).collect(),
    })
}

/// The section of what an image carries.
fn carried_section(carried: &Carried) -> Section {
    Section {
        name: carried::NAME.to_owned(),
        kind: PROGBITS,
        bytes: carried.to_bytes(),
    }
}

/// Bytes of all parameters.
fn parameter_bytes(kernel: &KernelInfo) -> usize {
    let ends = kernel.params.iter().map(|param| param.offset + param.size);
    ends.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{code_object_for, cubin_for, ptx_for};
    use hip_rtc::image::Param;

    fn kernel(pointers: [Option<bool>; 3]) -> KernelInfo {
        let param = |(offset, size), pointer| Param {
            offset,
            size,
            align: 1,
            pointer,
        };
        let places = [(0, 8), (8, 4), (16, 40)];
        KernelInfo {
            name: "work".to_owned(),
            params: places
                .into_iter()
                .zip(pointers)
                .map(|(place, pointer)| param(place, pointer))
                .collect(),
            max_threads: None,
        }
    }

    /// The images are read back by the code that reads the real compilers'.
    #[test]
    fn images_describe_what_they_were_made_of() {
        let carried = Carried {
            object: vec![1, 2, 3],
            reads: vec![("work".to_owned(), vec![0])],
        };
        let told = [kernel([Some(true), Some(false), Some(false)])];
        let text = ptx::write((13, 0), 90, "a", &told, &carried);
        let images = [
            ptx_for(&text, "sm_90", 13_000).unwrap(),
            cubin_for(&cubin::write(90, &told, &carried), "sm_90").unwrap(),
            code_object_for(
                &code_object::write("gfx90a:xnack-", &told, &carried),
                "gfx90a:sramecc+:xnack-",
            )
            .unwrap(),
        ];
        let known = [[Some(true), None, None], [None; 3], told[0].pointers()];
        for (image, pointers) in images.iter().zip(known) {
            let [found] = &image.kernels[..] else {
                panic!("one kernel: {image:?}")
            };
            assert_eq!(found.name, "work");
            assert_eq!(found.pointers(), pointers);
            let places = found.params.iter().map(|param| (param.offset, param.size));
            assert!(places.eq([(0, 8), (8, 4), (16, 40)]), "{found:?}");
            assert_eq!(image.carried, Some(carried.clone()));
        }
        let other = cubin_for(&cubin::write(80, &told, &carried), "sm_90").unwrap_err();
        assert_eq!(other.code, 209);
        assert!(
            ptx_for(&text, "sm_90", 12_090).is_err(),
            "newer than the driver"
        );
    }

    trait Pointers {
        fn pointers(&self) -> [Option<bool>; 3];
    }

    impl Pointers for KernelInfo {
        fn pointers(&self) -> [Option<bool>; 3] {
            [0, 1, 2].map(|index| self.params[index].pointer)
        }
    }
}
