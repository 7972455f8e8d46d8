//! Module images: everything that this workspace ships is read, everything else refused.

use std::ffi::{CStr, CString};

use hip_dispatch::ModuleImage;
use hip_rtc::Prebuilt;
use hip_rtc::image::{ImageError, ImageFormat, format, kernels};
use hip_sim::image::{code_object_for, cubin_for};
use hip_sim::kernels::table;
use hip_video::prebuilt::CONVERT;

use crate::lab::{Lab, code};

/// What NVRTC 13.5 made for sm_90.
const CUBIN: &[u8] = include_bytes!("../../../hip-rtc/src/image/data/nvrtc-13.5-sm_90.cubin");

#[test]
fn every_prebuilt_image_describes_its_kernel() {
    let mut images = 0;
    for prebuilt in &CONVERT {
        let built = table()
            .iter()
            .find(|kernel| kernel.name == prebuilt.name)
            .unwrap();
        let objects = prebuilt.code_objects.iter();
        let objects = objects.map(|object| {
            let image = object.image.inflate().unwrap();
            (image, ImageFormat::AmdCodeObject, Some(false))
        });
        let text = (text_of(prebuilt).into_bytes(), ImageFormat::Ptx, None);
        for (image, expected, pointer) in objects.chain([text]) {
            assert_eq!(format(&image), Some(expected));
            let kernels = kernels(&image).unwrap();
            let [kernel] = &kernels[..] else {
                panic!("one kernel an image: {kernels:?}")
            };
            let sizes: Vec<usize> = kernel.params.iter().map(|param| param.size).collect();
            assert_eq!((&*kernel.name, &sizes[..]), (built.name, built.arg_sizes));
            assert_eq!(kernel.params[0].pointer, pointer, "a struct");
            assert_eq!(
                (kernel.params[0].offset, kernel.max_threads),
                (0, Some(256))
            );
            images += 1;
        }
    }
    assert!(images >= 32, "{images}");
}

#[test]
fn every_prebuilt_image_is_for_its_architecture_only() {
    for prebuilt in &CONVERT {
        for object in prebuilt.code_objects {
            let image = object.image.inflate().unwrap();
            code_object_for(&image, object.arch).unwrap();
            let mut objects = CONVERT[0].code_objects.iter();
            let other = objects.find(|other| other.arch != object.arch).unwrap();
            let refusal = code_object_for(&image, other.arch).unwrap_err();
            assert_eq!(refusal.code, 209, "{}", refusal.text);
            assert!(refusal.text.contains(object.arch), "{}", refusal.text);
        }
    }
}

#[test]
fn cubins_are_for_their_major_version_only() {
    cubin_for(CUBIN, "sm_90").unwrap();
    for other in ["sm_80", "sm_89", "sm_100"] {
        assert_eq!(cubin_for(CUBIN, other).unwrap_err().code, 209, "{other}");
    }
    for cut in [63, 100, CUBIN.len() / 2] {
        let refusal = cubin_for(&CUBIN[..cut], "sm_90").unwrap_err();
        assert_eq!(refusal.code, 200, "{cut}");
    }
}

/// Cut anywhere a code object is refused, also within a bundle; changed anywhere it is refused or
/// still a code object, and never a fault.
#[test]
fn damaged_code_objects_are_no_fault() {
    let object = &CONVERT[4].code_objects[1];
    let image = object.image.inflate().unwrap();
    for cut in (20..image.len()).step_by(97) {
        let error = kernels(&image[..cut]).unwrap_err();
        let truncated = matches!(error, ImageError::Truncated { actual, .. } if actual == cut);
        assert!(truncated, "{cut}: {error}");
    }
    for place in (0..1500).chain(image.len() - 1000..image.len()) {
        let mut file = image.clone();
        file[place] ^= 0xff;
        if let Err(refusal) = code_object_for(&file, object.arch) {
            assert!(matches!(refusal.code, 200 | 209), "{refusal:?}");
        }
    }
}

#[test]
fn a_bundle_shows_the_kernels_of_its_code_object() {
    let image = CONVERT[4].code_objects[1].image.inflate().unwrap();
    let (id, mut bundle) = (
        b"hip-amdgcn-amd-amdhsa--any",
        b"__CLANG_OFFLOAD_BUNDLE__".to_vec(),
    );
    let offset = bundle.len() + 4 * 8 + id.len();
    for number in [1, offset, image.len(), id.len()] {
        bundle.extend((number as u64).to_le_bytes());
    }
    bundle.extend(id);
    bundle.extend(&image);
    assert_eq!(kernels(&bundle), kernels(&image));
    bundle.pop();
    assert!(kernels(&bundle).is_err());
}

fn text_of(prebuilt: &Prebuilt) -> String {
    String::from_utf8(prebuilt.ptx.inflate().unwrap()).unwrap()
}

fn load(lab: &Lab, image: ModuleImage<'_>) -> Result<(), hip_dispatch::HipError> {
    // SAFETY: texts end with a NUL, and files are whole as far as their headers say, or have at
    // least four bytes that are no ELF file's.
    let module = unsafe { lab.backend.module_load(image) }?;
    // SAFETY: loaded above.
    unsafe { lab.backend.module_unload(module) }
}

#[test]
fn nvidias_driver_takes_ptx_that_it_knows() {
    let lab = Lab::new("nvidia");
    let text = |text: &str| CString::new(text).unwrap();
    let ptx = text_of(&CONVERT[0]);
    let good = text(&ptx);
    load(&lab, ModuleImage::Ptx(&good)).unwrap();
    let newer = text(&ptx.replace(".version 7.8", ".version 9.9"));
    let error = load(&lab, ModuleImage::Ptx(&newer)).unwrap_err();
    assert_eq!(error.code, 222);
    assert!(
        error.text.contains("CUDA_ERROR_UNSUPPORTED_PTX_VERSION"),
        "{error}"
    );
    assert!(
        error.text.contains("Unsupported .version 9.9"),
        "the driver's log is kept: {error}"
    );
    let device = text(&ptx.replace(".target sm_52", ".target sm_100"));
    assert_eq!(code(load(&lab, ModuleImage::Ptx(&device))), 209);
    assert_eq!(code(load(&lab, ModuleImage::Ptx(c"int main() {}"))), 218);
    load(&lab, ModuleImage::Binary(CUBIN)).unwrap();
    let amd = CONVERT[0].code_objects[0].image.inflate().unwrap();
    assert_eq!(code(load(&lab, ModuleImage::Binary(&amd))), 200);
    assert_eq!(lab.library.live(6), 0);
}

#[test]
fn amds_runtime_takes_code_objects_for_its_device() {
    for name in ["amd5", "amd6", "amd7"] {
        let lab = Lab::new(name);
        for object in CONVERT[0].code_objects {
            let image = object.image.inflate().unwrap();
            let result = load(&lab, ModuleImage::Binary(&image));
            match object.arch {
                "gfx90a" => result.unwrap(),
                _ => assert_eq!(code(result), 209, "{}", object.arch),
            }
        }
        assert_eq!(code(load(&lab, ModuleImage::Binary(b"garbage"))), 200);
        assert_eq!(code(load(&lab, ModuleImage::Binary(CUBIN))), 200);
    }
}

#[test]
fn functions_are_those_of_the_image() {
    let lab = Lab::new("nvidia");
    let text = CString::new(text_of(&CONVERT[0])).unwrap();
    // SAFETY: the text ends with a NUL.
    let module = unsafe { lab.backend.module_load(ModuleImage::Ptx(&text)) }.unwrap();
    // SAFETY: the module is loaded.
    let find = |name: &CStr| unsafe { lab.backend.module_get_function(module, name) };
    let name = CString::new(CONVERT[0].name).unwrap();
    let function = find(&name).unwrap();
    assert_eq!(find(&name).unwrap(), function);
    // A kernel that there is, in another image.
    let other = CString::new(CONVERT[1].name).unwrap();
    assert_eq!(code(find(&other)), 500);
    // SAFETY: loaded above.
    unsafe { lab.backend.module_unload(module) }.unwrap();
    assert_eq!(code(find(&name)), 400);
}
