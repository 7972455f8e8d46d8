//! Discovery on whatever machine this is: Host is always there, and what is not says why.

#[cfg(all(unix, not(miri)))]
#[path = "support/locale.rs"]
mod locale;

use std::path::PathBuf;

use hip_dispatch::{DeviceSelector, ErrorKind, LoaderConfig, Runtime, SelectError, Vendor};

/// A runtime that finds no vendor library, whatever is installed.
fn bare() -> std::sync::Arc<Runtime> {
    let mut config = LoaderConfig::default();
    config.amd_runtime = Some(PathBuf::from("libno-amd-here.so.7"));
    config.cuda_driver = Some(PathBuf::from("libno-cuda-here.so.1"));
    Runtime::new(config)
}

#[test]
fn host_is_always_found_and_chosen_where_there_is_nothing_else() {
    let runtime = bare();
    let selected = runtime.select(&DeviceSelector::Auto).unwrap();
    assert_eq!(selected.info.vendor, Vendor::Host);
    assert_eq!(selected.fallback, None, "no library, no warning");
    let report = runtime.discover();
    let host = report
        .vendors
        .iter()
        .find(|report| report.vendor == Vendor::Host)
        .unwrap();
    assert_eq!(host.devices.as_ref().unwrap().len(), 1);
}

#[test]
fn a_missing_vendor_is_an_error_that_names_the_file() {
    let runtime = bare();
    for (text, file) in [
        ("amd", "libno-amd-here.so.7"),
        ("nvidia:1", "libno-cuda-here.so.1"),
        ("nvidia", "libno-cuda-here.so.1"),
    ] {
        let error = runtime.select(&text.parse().unwrap()).unwrap_err();
        assert!(error.to_string().contains(file), "{error}");
        assert_eq!(error.kind(), ErrorKind::NoDevice);
    }
    let report = runtime.discover().to_string();
    assert!(
        report.contains("libno-amd-here.so.7") && report.contains("host:0"),
        "{report}"
    );
}

#[test]
fn a_device_that_is_not_there_lists_those_that_are() {
    let runtime = bare();
    for text in [
        "host:7",
        "0000:ff:1f.7",
        "GPU-00000000-0000-0000-0000-000000000001",
        "4",
    ] {
        let error = runtime.select(&text.parse().unwrap()).unwrap_err();
        assert!(matches!(error, SelectError::NotFound { .. }), "{error}");
        assert!(error.to_string().contains("host"), "{error}");
    }
    assert_eq!(
        runtime.select(&"0".parse().unwrap()).unwrap().info.vendor,
        Vendor::Host
    );
}

#[test]
fn host_shows_as_many_devices_as_configured() {
    let mut config = LoaderConfig::default();
    config.host_devices = 3;
    let runtime = Runtime::new(config);
    assert_eq!(runtime.devices(Vendor::Host).unwrap().len(), 3);
    assert_eq!(
        runtime
            .select(&"host:2".parse().unwrap())
            .unwrap()
            .info
            .ordinal,
        2
    );
}

/// The library that a vendor's file name was put on: loads, but is no driver.
#[test]
#[cfg(target_os = "linux")]
fn a_library_without_the_functions_says_which() {
    let mut config = LoaderConfig::default();
    config.cuda_driver = Some(PathBuf::from("libc.so.6"));
    let error = Runtime::new(config).backend(Vendor::Nvidia).unwrap_err();
    assert!(!error.not_found());
    assert!(error.missing_symbols.contains(&"cuMemAlloc_v2"), "{error}");
    assert!(error.to_string().contains("libc.so.6"), "{error}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_damaged_library_is_worth_a_warning_on_automatic_choice() {
    let mut config = LoaderConfig::default();
    config.amd_runtime = Some(PathBuf::from("libc.so.6"));
    config.cuda_driver = Some(PathBuf::from("libno-cuda-here.so.1"));
    let selected = Runtime::new(config).select(&DeviceSelector::Auto).unwrap();
    assert_eq!(selected.info.vendor, Vendor::Host);
    let reason = selected.fallback.unwrap();
    assert!(
        reason.contains("lacks hipInit") && reason.contains("more functions"),
        "{reason}"
    );
}

/// The system's loader says in the user's language that there is no such file.
#[test]
#[cfg(all(unix, not(miri)))]
fn what_is_absent_is_no_warning_in_any_language() {
    let name = format!("hip-dispatch-locale-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "in_german"])
        .envs(locale::environment(&folder))
        .output()
        .unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
#[cfg(all(unix, not(miri)))]
#[ignore = "run by what_is_absent_is_no_warning_in_any_language"]
fn in_german() {
    if locale::enter() {
        host_is_always_found_and_chosen_where_there_is_nothing_else();
    }
}
