//! What depends on the process's environment, each in a process of its own.

use std::process::Command;

use hip_core::{Device, DeviceSelector, ErrorKind, LoaderConfig, Runtime};
use hip_dispatch::ImageKind;
use hip_rtc::cache::{Cache, CacheConfig, CacheFolder};
use hip_rtc::{Error, KernelModule};

use crate::TestCache;
use crate::support::device;

const KERNEL: &str = "extern \"C\" __global__ void k(float *out) { out[0] = 1; }";

/// Names the folder of a cache to a process started here.
const CACHE: &str = "HIP_RTC_TEST_CACHE";

/// Runs one ignored test in a process with another environment.
pub(crate) fn elsewhere<V: AsRef<std::ffi::OsStr>>(test: &str, environment: &[(&str, V)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "--nocapture", test]);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let log = String::from_utf8_lossy(&output.stderr);
    print!("{text}");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{log}"
    );
}

/// The device under test, with its compiler looked for as `config` says.
fn device_by(config: LoaderConfig) -> Option<Device> {
    let selector = DeviceSelector::Vendor(device()?.vendor());
    Some(hip_core::open_device(&Runtime::new(config), &selector).unwrap())
}

#[test]
fn without_a_compiler_the_error_says_what_to_install() {
    elsewhere("elsewhere::no_compiler", &[("CXX", "/nowhere/c++ -O2")]);
}

#[test]
#[ignore = "run by without_a_compiler_the_error_says_what_to_install"]
fn no_compiler() {
    let config = LoaderConfig::default()
        .nvrtc("/nowhere/libnvrtc.so")
        .hiprtc("/nowhere/libhiprtc.so");
    let Some(device) = device_by(config) else {
        return;
    };
    let cache = TestCache::new();
    let compiled = hip_rtc::compile_in(&cache.cache, &device, &KERNEL.into(), &[]);
    let error = compiled.unwrap_err();
    let text = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{text}");
    let Error::CompilerMissing { install, .. } = error else {
        panic!("{text}");
    };
    assert!(text.contains(&device.info().to_string()), "{text}");
    assert!(text.contains("/nowhere/"), "{text}");
    assert_eq!(text.matches(install).count(), 1, "{text}");
}

#[test]
fn a_compiler_older_than_all_it_could_make_is_named() {
    elsewhere("elsewhere::compiler_too_old", &[("HIP_SIM_ARCH", "sm_60")]);
}

#[test]
#[ignore = "run by a_compiler_older_than_all_it_could_make_is_named"]
fn compiler_too_old() {
    let Some(device) = device() else { return };
    // HIPRTC is of the version of the runtime that shows the device, and knows it.
    let shown = device.info().architecture == "sm_60";
    if !shown || device.backend().image_kind() != ImageKind::Cuda {
        return println!("skipped: {} is no stand-in for an sm_60", device.info());
    }
    let cache = TestCache::new();
    let compiled = hip_rtc::compile_in(&cache.cache, &device, &KERNEL.into(), &[]);
    match compiled.unwrap_err() {
        Error::CompilerMissing { why, .. } => println!("skipped: {why}"),
        error => {
            assert!(matches!(error, Error::CompilerTooOld { .. }), "{error}");
            let text = error.to_string();
            assert!(text.contains("sm_60") && text.contains("NVRTC"), "{text}");
        }
    }
}

#[test]
fn an_image_that_does_not_load_is_the_drivers_to_explain() {
    // `CUDA_ERROR_INVALID_PTX`, `hipErrorInvalidImage`.
    let faults = "cuModuleLoadDataEx:1=218,hipModuleLoadDataEx:1=200";
    elsewhere("elsewhere::image_refused", &[("HIP_SIM_FAIL", faults)]);
}

#[test]
#[ignore = "run by an_image_that_does_not_load_is_the_drivers_to_explain"]
fn image_refused() {
    let Some(device) = device() else { return };
    if !device.info().name.contains("stand-in") {
        return println!("skipped: {} is no stand-in", device.info());
    }
    let cache = TestCache::new();
    let module = KernelModule::from_source_in(&cache.cache, &device, KERNEL, &[]);
    let error = match module.unwrap_err() {
        Error::CompilerMissing { why, .. } => return println!("skipped: {why}"),
        Error::Refused(error) => error,
        other => panic!("{other}"),
    };
    assert_eq!(error.source.kind(), ErrorKind::InvalidImage);
    assert_eq!(error.driver, device.backend().versions().unwrap().driver);
    let text = error.to_string();
    assert!(text.contains(&error.compiler), "{text}");
    assert!(text.contains(&device.info().architecture), "{text}");
}

/// What one process compiled, another finds though there is no compiler any more.
#[test]
fn a_warm_start_needs_no_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("kernels");
    elsewhere("elsewhere::cold_start", &[(CACHE, &cache)]);
    let nowhere = std::path::PathBuf::from("/nowhere");
    elsewhere(
        "elsewhere::warm_start",
        &[(CACHE, &cache), ("PATH", &nowhere)],
    );
}

#[test]
#[ignore = "run by a_warm_start_needs_no_compiler"]
fn cold_start() {
    start(false);
}

#[test]
#[ignore = "run by a_warm_start_needs_no_compiler"]
fn warm_start() {
    start(true);
}

fn start(warm: bool) {
    let Some(device) = device() else { return };
    let folder = std::env::var_os(CACHE).expect("set for this process");
    let cache = Cache::new(CacheConfig {
        folder: CacheFolder::At(folder.into()),
        ..CacheConfig::default()
    });
    // Two kernels of which one has no name of its own: the message to who asks for it survives.
    let text = format!("{KERNEL}\n__global__ void hidden(float *out) {{ out[0] = 2; }}");
    let module = KernelModule::from_source_in(&cache, &device, &text[..], &[]);
    let module = match module {
        Err(Error::CompilerMissing { why, .. }) => return println!("skipped: {why}"),
        module => module.unwrap_or_else(|error| panic!("{error}")),
    };
    assert_eq!(cache.statistics().hits, u64::from(warm));
    assert!(module.function("k").is_ok());
    let error = module.function("hidden").unwrap_err();
    assert!(matches!(error, Error::FunctionNotFound { .. }), "{error}");
    // An image that says nothing of the kernel is a stand-in's.
    let text = error.to_string();
    let told = text.contains("extern \"C\"");
    assert!(told || device.info().name.contains("stand-in"), "{text}");
}
