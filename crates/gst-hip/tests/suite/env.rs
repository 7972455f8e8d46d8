//! What the environment variables mean.

use std::ffi::OsString;
use std::path::Path;

use gst_hip::env::{EnvError, Environment};
use gst_hip::{DeviceSelector, Vendor};
use hip_rtc::cache::CacheFolder;

fn read(variables: &[(&str, &str)]) -> Result<Environment, EnvError> {
    Environment::read_from(|name| {
        let found = variables.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| OsString::from(value))
    })
}

#[test]
fn nothing_set_is_the_default() {
    let environment = read(&[]).unwrap();
    assert_eq!(environment, Environment::default());
    assert_eq!(environment.device, DeviceSelector::Auto);
    assert_eq!(
        read(&[("GST_HIP_DEVICE", ""), ("GST_HIP_HOST_DEVICES", "")]).unwrap(),
        environment
    );
}

#[test]
fn the_default_device_is_any_selector() {
    for (text, expected) in [
        ("nvidia", DeviceSelector::Vendor(Vendor::Nvidia)),
        ("amd:1", DeviceSelector::Ordinal(Vendor::Amd, 1)),
        ("host", DeviceSelector::Vendor(Vendor::Host)),
        ("2", DeviceSelector::Index(2)),
        (
            "/dev/dri/renderD129",
            DeviceSelector::RenderNode("/dev/dri/renderD129".into()),
        ),
    ] {
        assert_eq!(read(&[("GST_HIP_DEVICE", text)]).unwrap().device, expected);
    }
}

#[test]
fn libraries_are_named() {
    let environment = read(&[
        ("GST_HIP_AMDHIP_LIBNAME", "/a/libamdhip64.so.9"),
        ("GST_HIP_CUDA_LIBNAME", "libcuda.so.2"),
        ("GST_HIP_HIPRTC_LIBNAME", "/a/libhiprtc.so"),
        ("GST_HIP_NVRTC_LIBNAME", "libnvrtc.so.12"),
        ("GST_HIP_CUDART_LIBNAME", "libcudart.so"),
        ("GST_HIP_HOST_DEVICES", "3"),
    ])
    .unwrap();
    assert_eq!(
        environment.loader.amd_runtime.as_deref(),
        Some(Path::new("/a/libamdhip64.so.9"))
    );
    assert_eq!(
        environment.loader.cuda_driver.as_deref(),
        Some(Path::new("libcuda.so.2"))
    );
    assert_eq!(environment.loader.host_devices, 3);
    assert_eq!(
        environment.loader.hiprtc.as_deref(),
        Some(Path::new("/a/libhiprtc.so"))
    );
    assert_eq!(
        environment.loader.nvrtc.as_deref(),
        Some(Path::new("libnvrtc.so.12"))
    );
}

#[test]
fn the_kernel_cache_is_a_folder_or_off() {
    for (value, expected) in [
        ("", CacheFolder::Default),
        ("off", CacheFolder::Off),
        ("OFF", CacheFolder::Off),
        ("/var/kernels", CacheFolder::At("/var/kernels".into())),
        ("/offset", CacheFolder::At("/offset".into())),
    ] {
        let environment = read(&[("GST_HIP_KERNEL_CACHE", value)]).unwrap();
        assert_eq!(environment.kernel_cache, expected, "{value:?}");
    }
    // It must not move when the process changes its folder.
    let here = std::env::current_dir().unwrap();
    assert_eq!(
        read(&[("GST_HIP_KERNEL_CACHE", "kernels")])
            .unwrap()
            .kernel_cache,
        CacheFolder::At(here.join("kernels"))
    );
}

#[test]
fn wrong_values_are_told_with_their_variable() {
    for (variable, value) in [
        ("GST_HIP_DEVICE", "voodoo"),
        ("GST_HIP_DEVICE", "nvidia:x"),
        ("GST_HIP_HOST_DEVICES", "0"),
        ("GST_HIP_HOST_DEVICES", "-1"),
        ("GST_HIP_HOST_DEVICES", "65"),
        ("GST_HIP_HOST_DEVICES", "two"),
    ] {
        let error = read(&[(variable, value)]).unwrap_err();
        assert_eq!(error.variable, variable);
        assert!(error.to_string().starts_with(variable), "{error}");
        assert!(error.to_string().contains(value), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_is_told() {
    use std::os::unix::ffi::OsStringExt;
    let error = Environment::read_from(|name| {
        (name == "GST_HIP_DEVICE").then(|| OsString::from_vec(vec![b'n', 0xff]))
    })
    .unwrap_err();
    assert_eq!(error.variable, "GST_HIP_DEVICE");
    assert!(error.to_string().contains("UTF-8"), "{error}");
}
