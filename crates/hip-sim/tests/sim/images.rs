//! Module images: everything that this workspace ships is read, everything else refused.

use std::ffi::{CStr, CString};

use hip_dispatch::ModuleImage;
use hip_rtc::Prebuilt;
use hip_sim::image::{Param, amdgpu, cubin, ptx};
use hip_sim::kernels::table;
use hip_video::prebuilt::CONVERT;

use crate::lab::{Lab, code};

#[test]
fn every_prebuilt_image_describes_its_kernel() {
    let mut images = 0;
    for prebuilt in &CONVERT {
        let built = table()
            .iter()
            .find(|kernel| kernel.name == prebuilt.name)
            .unwrap();
        let objects = prebuilt.code_objects.iter();
        let objects =
            objects.map(|object| amdgpu::kernels(&object.image.inflate().unwrap(), object.arch));
        let texts = [ptx::kernels(&text_of(prebuilt), "sm_90", 13_000)];
        for kernels in objects.chain(texts) {
            let kernels = kernels.unwrap();
            let [kernel] = &kernels[..] else {
                panic!("one kernel an image: {kernels:?}")
            };
            let sizes: Vec<usize> = kernel.params.iter().map(|param| param.size).collect();
            assert_eq!((&*kernel.name, &sizes[..]), (built.name, built.arg_sizes));
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
            let other = CONVERT[0]
                .code_objects
                .iter()
                .find(|other| other.arch != object.arch);
            let refusal =
                amdgpu::kernels(&object.image.inflate().unwrap(), other.unwrap().arch).unwrap_err();
            assert_eq!(refusal.code, 209, "{}", refusal.text);
            assert!(refusal.text.contains(object.arch), "{}", refusal.text);
        }
    }
}

#[test]
fn cubin_files_of_two_compilers_describe_their_kernels() {
    let files: [&[u8]; 2] = [
        include_bytes!("../data/nvrtc-11.8-sm_90.cubin"),
        include_bytes!("../data/nvrtc-13.5-sm_90.cubin"),
    ];
    for file in files {
        let mut kernels = cubin::kernels(file, "sm_90").unwrap();
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        let [first, second] = &kernels[..] else {
            panic!("two kernels: {kernels:?}")
        };
        let param = |offset, size| Param {
            offset,
            size,
            align: 1,
        };
        assert_eq!((&*first.name, first.max_threads), ("first", Some(96)));
        assert_eq!(first.params, [param(0, 1), param(8, 40), param(48, 8)]);
        assert_eq!((&*second.name, second.params.len()), ("second", 0));
        for other in ["sm_80", "sm_89", "sm_100"] {
            assert_eq!(
                cubin::kernels(file, other).unwrap_err().code,
                209,
                "{other}"
            );
        }
        for cut in [63, 100, file.len() / 2] {
            assert_eq!(
                cubin::kernels(&file[..cut], "sm_90").unwrap_err().code,
                200,
                "{cut}"
            );
        }
    }
}

/// Cut or changed anywhere, a code object is refused or still a code object, and never a fault.
#[test]
fn damaged_code_objects_are_no_fault() {
    let object = &CONVERT[4].code_objects[1];
    let image = object.image.inflate().unwrap();
    let mut refused = 0;
    for cut in (0..image.len()).step_by(97) {
        refused += u32::from(amdgpu::kernels(&image[..cut], object.arch).is_err());
    }
    assert!(
        refused > 50,
        "a cut file has lost its section headers: {refused}"
    );
    for place in (0..1500).chain(image.len() - 1000..image.len()) {
        let mut file = image.clone();
        file[place] ^= 0xff;
        if let Err(refusal) = amdgpu::kernels(&file, object.arch) {
            assert!(matches!(refusal.code, 200 | 209), "{refusal:?}");
        }
    }
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
    let cubin: &[u8] = include_bytes!("../data/nvrtc-13.5-sm_90.cubin");
    load(&lab, ModuleImage::Binary(cubin)).unwrap();
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
        let cubin: &[u8] = include_bytes!("../data/nvrtc-13.5-sm_90.cubin");
        assert_eq!(code(load(&lab, ModuleImage::Binary(cubin))), 200);
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
