//! A machine without a compiler: kernels that are built in work, and one's own are refused with what
//! to install. In a process of its own, whose environment hides every compiler.

use std::process::Command;

use gst::prelude::*;
use gst_hip::{DeviceSelector, HipContext, HipDevice, HipKernelModule, KernelError};

/// Tells the child that it is one.
const CHILD: &str = "GST_HIP_TEST_NO_COMPILER";
const NOWHERE: &str = "/nonexistent";

#[test]
fn prebuilt_kernels_work_and_ones_own_are_refused_with_words() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "prebuilt_kernels_work_and_ones_own_are_refused_with_words",
        ])
        .arg("--nocapture")
        .env(CHILD, "1")
        .env("GST_HIP_KERNEL_CACHE", "off")
        .env("GST_HIP_NVRTC_LIBNAME", NOWHERE)
        .env("GST_HIP_HIPRTC_LIBNAME", NOWHERE)
        .env("PATH", NOWHERE)
        .env_remove("CXX");
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let said = text(&output.stdout) + &text(&output.stderr);
    println!("{said}");
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

fn child() {
    gst::init().unwrap();
    gst_elements::plugin_register_static().unwrap();
    let name = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".into());
    let selector: DeviceSelector = name.parse().expect("HIP_TEST_VENDOR names a vendor");
    let device = match gst_hip::env::open_device(&selector) {
        Ok(device) => device,
        Err(error) => {
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
            return println!("skipped: no device for HIP_TEST_VENDOR={name}: {error}");
        }
    };
    let source = r#"extern "C" __global__ void nothing() {}"#;
    let error = HipKernelModule::from_source(&device, source, &[]).unwrap_err();
    println!("refused: {error}");
    assert!(
        matches!(error, KernelError::CompilerMissing { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("install"), "{error}");

    let asked = || hip_rtc::cache::global().statistics().misses;
    let (launches, misses) = (device.statistics().launches, asked());
    convert(&device);
    let launched = device.statistics().launches - launches;
    assert_eq!(launched, 3, "a launch a frame");
    assert_eq!(asked(), misses, "a kernel was to be compiled");
    #[cfg(target_os = "linux")]
    {
        let mapped = std::fs::read_to_string("/proc/self/maps").unwrap();
        let compilers = ["libnvrtc", "libhiprtc", "libamd_comgr"];
        let opened = mapped
            .lines()
            .find(|line| compilers.iter().any(|name| line.contains(name)));
        assert_eq!(opened, None, "a compiler was opened");
    }
}

/// Converts three frames by the plugin's own kernels.
fn convert(device: &HipDevice) {
    let line = "videotestsrc num-buffers=3 ! video/x-raw,format=NV12,width=64,height=48 \
         ! hipupload ! hipconvertscale \
         ! video/x-raw(memory:HIPMemory),format=RGBA,width=96,height=32 ! hipdownload ! fakesink";
    let pipeline = gst::parse::launch(line).unwrap();
    pipeline.set_context(&HipContext::new(device).to_gst());
    pipeline.set_state(gst::State::Playing).unwrap();
    let bus = pipeline.bus().unwrap();
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let end = bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds);
    pipeline.set_state(gst::State::Null).unwrap();
    let end = end.expect("the pipeline comes to its end");
    assert_eq!(end.type_(), gst::MessageType::Eos, "{end:?}");
}
