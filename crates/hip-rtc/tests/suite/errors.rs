//! What must not work, each with an error of its own.

use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, DeviceSelector, LoaderConfig, Runtime, Stream, Vendor};
use hip_rtc::image::ImageError;
use hip_rtc::{Error, KernelArgs, KernelModule, KernelSource};

use crate::support::{device, upload};
use crate::{TestCache, device_with_compiler, module};

const KERNEL: &str = "extern \"C\" __global__ void k(float *out, int n) { out[0] = n; }\n\
                      extern \"C\" __global__ void two(float *a, float *b) { a[0] = b[0]; }\n\
                      __global__ void hidden(float *out) { out[0] = 1; }";

#[test]
fn a_nul_is_found_wherever_it_is() {
    let Some(device) = device() else { return };
    let cache = TestCache::new();
    let compile = |source: &KernelSource<'_>, options: &[&str]| {
        hip_rtc::compile_in(&cache.cache, &device, source, options).unwrap_err()
    };
    let good = KernelSource::new("int x;");
    let errors = [
        compile(&KernelSource::new("int x;\0"), &[]),
        compile(&good.clone().named("a\0b"), &[]),
        compile(&good.clone().header("h\0", ""), &[]),
        compile(&good.clone().header("h", "\0"), &[]),
        compile(&good, &["-DX=\0"]),
    ];
    for error in errors {
        assert!(matches!(error, Error::Nul(_)), "{error}");
    }
}

#[test]
fn an_architecture_is_not_the_callers_to_choose() {
    let Some(device) = device() else { return };
    let source = KernelSource::new("extern \"C\" __global__ void k() {}");
    for option in [
        "--offload-arch=gfx1030",
        "--gpu-architecture=sm_90",
        "-arch",
        "-march=native",
    ] {
        let error = hip_rtc::compile(&device, &source, &[option]).unwrap_err();
        assert!(
            matches!(&error, Error::UnsupportedOption { option: named, .. } if named == option),
            "{error}"
        );
    }
}

#[test]
fn names_and_shapes_are_checked() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, KERNEL, &[]);
    let error = module.function("nobody").unwrap_err();
    assert!(matches!(error, Error::FunctionNotFound { .. }), "{error}");
    assert!(error.to_string().contains("nobody"), "{error}");
    assert!(matches!(module.function("k\0"), Err(Error::Nul(_))));
    let stream = Stream::new(&device).unwrap();
    let buffer = upload(&stream, &[0; 16]);
    let mut args = KernelArgs::new();
    args.add_buffer(&buffer, 0).unwrap();
    args.add(1_i32);
    let most = device.info().limits.max_threads_per_block;
    for (grid, block) in [
        ([0, 1, 1], [1, 1, 1]),
        ([1, 1, 1], [1, 0, 1]),
        ([1, 1, 1], [most + 1, 1, 1]),
        ([1, 1, 1], [u32::MAX, u32::MAX, u32::MAX]),
    ] {
        // SAFETY: nothing is launched.
        let error = unsafe { module.launch("k", Some(&stream), grid, block, &args) }.unwrap_err();
        assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
    }
}

#[test]
fn a_kernel_that_has_no_name_of_its_own_is_explained() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, KERNEL, &[]);
    let error = module.function("hidden").unwrap_err().to_string();
    // An image that says nothing of the kernel is a stand-in's.
    let told = error.contains("hidden") && error.contains("extern \"C\"");
    assert!(told || device.info().name.contains("stand-in"), "{error}");
    let error = module.function("kk").unwrap_err().to_string();
    assert!(!error.contains("extern \"C\""), "{error}");
}

#[test]
fn a_function_that_is_nowhere_is_named() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let text = "extern \"C\" __device__ void nobody_has_it(float *out);\n\
                extern \"C\" __global__ void k(float *out) { nobody_has_it(out); }";
    let cache = TestCache::new();
    // The compilers link, and find it out before the driver does.
    let error = KernelModule::from_source_in(&cache.cache, &device, text, &[]).unwrap_err();
    let Error::Compile(error) = error else {
        panic!("{error}")
    };
    assert!(error.log.contains("nobody_has_it"), "{error}");
}

#[test]
fn arguments_are_counted_and_measured() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, KERNEL, &[]);
    let stream = Stream::new(&device).unwrap();
    let buffer = upload(&stream, &[0; 16]);
    let launch = |fill: &dyn Fn(&mut KernelArgs)| {
        let mut args = KernelArgs::new();
        fill(&mut args);
        // SAFETY: what fits is right, and the buffer lives until the stream is done.
        unsafe { module.launch("k", Some(&stream), [1, 1, 1], [1, 1, 1], &args) }
    };
    let refused = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Arguments { .. }), "{error}");
    };
    refused(launch(&|_| {}));
    refused(launch(&|args| args.add_buffer(&buffer, 0).unwrap()));
    refused(launch(&|args| {
        args.add_buffer(&buffer, 0).unwrap();
        args.add(1_u64);
    }));
    refused(launch(&|args| {
        args.add_buffer(&buffer, 0).unwrap();
        args.add(1_i32);
        args.add(1_i32);
    }));
    launch(&|args| {
        args.add_buffer(&buffer, 0).unwrap();
        args.add(1_i32);
    })
    .unwrap();
    stream.synchronize().unwrap();
    let mut args = KernelArgs::new();
    assert!(args.add_buffer(&buffer, 16).is_err());
    assert!(args.is_empty());
}

#[test]
fn memory_and_streams_of_another_device_are_refused() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, KERNEL, &[]);
    let stream = Stream::new(&device).unwrap();
    let own = upload(&stream, &[0; 16]);
    let runtime = Runtime::new(LoaderConfig::default());
    let other: Device =
        hip_core::open_device(&runtime, &DeviceSelector::Vendor(Vendor::Host)).unwrap();
    let other_stream = Stream::new(&other).unwrap();
    let foreign = upload(&other_stream, &[0; 16]);
    other_stream.synchronize().unwrap();
    let refused = |name: &str, buffers: &[&Arc<DeviceBuffer>]| {
        let mut args = KernelArgs::new();
        for buffer in buffers {
            args.add_buffer(buffer, 0).unwrap();
        }
        if name == "k" {
            args.add(1_i32);
        }
        // SAFETY: nothing is launched.
        let result = unsafe { module.launch(name, Some(&stream), [1, 1, 1], [1, 1, 1], &args) };
        let error = result.unwrap_err();
        assert!(matches!(error, Error::WrongDevice { .. }), "{error}");
    };
    refused("k", &[&foreign]);
    refused("two", &[&foreign, &own]);
    refused("two", &[&own, &foreign]);
    let mut args = KernelArgs::new();
    args.add_buffer(&own, 0).unwrap();
    args.add(1_i32);
    // SAFETY: nothing is launched.
    let result = unsafe { module.launch("k", Some(&other_stream), [1, 1, 1], [1, 1, 1], &args) };
    assert_eq!(
        result.unwrap_err().kind(),
        hip_core::ErrorKind::InvalidContext
    );
}

#[test]
fn images_of_the_wrong_kind_are_refused() {
    let Some(device) = device() else { return };
    let load = |image: &[u8]| {
        // SAFETY: none of these images is loaded.
        unsafe { KernelModule::from_binary(&device, image) }.unwrap_err()
    };
    for rubbish in [&b""[..], b"\x7fELF", b"hello, world"] {
        let error = load(rubbish);
        assert!(
            matches!(error, Error::Image(ImageError::Unknown)),
            "{error}"
        );
    }
    let ptx = b".version 7.0\n.target sm_52\n.address_size 64\n";
    // An ELF header for no machine of either vendor's GPUs, and for AMD's.
    let elf = |machine: u16| {
        let mut file = vec![0; 64];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file
    };
    let wrong: Vec<Vec<u8>> = match device.vendor() {
        Vendor::Host => vec![ptx.to_vec(), elf(224), elf(190)],
        Vendor::Amd => vec![ptx.to_vec(), elf(62), elf(190)],
        _ => vec![elf(62), elf(224)],
    };
    for image in wrong {
        let error = load(&image);
        assert!(matches!(error, Error::WrongImage { .. }), "{error}");
        assert!(
            error.to_string().contains(&device.info().to_string()),
            "{error}"
        );
    }
}

#[test]
fn an_image_that_is_cut_off_is_refused() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let cache = TestCache::new();
    let source = KernelSource::new(KERNEL);
    let image = hip_rtc::compile_in(&cache.cache, &device, &source, &[])
        .unwrap()
        .image;
    for len in [64, image.len() / 2] {
        // SAFETY: it is refused before it is loaded, or by the driver, which gets all bytes that the
        // header tells of.
        let error = unsafe { KernelModule::from_binary(&device, &image[..len]) }.unwrap_err();
        assert_eq!(error.kind(), hip_core::ErrorKind::InvalidImage, "{error}");
    }
}
