//! What the crate makes of a runtime that is there and has no device, and how programs end.

use crate::versions::versions_without_a_device;

#[test]
fn either_code_is_understood_as_no_device() {
    for version in versions_without_a_device() {
        let seen = version.probe("file", &version.runtime(), &[]);
        // 5.2.3 says "invalid device", all others "no device".
        let code = if version.major == 5 { "101" } else { "100" };
        assert_eq!(seen.value("count_call"), "hipInit");
        assert_eq!(seen.value("count_code"), code);
        assert_eq!(seen.value("count_is_no_device"), "true");
        assert_eq!(seen.value("info_is_no_device"), "true");
        assert_eq!(seen.value("devices"), "0");
    }
}

#[test]
fn asking_for_amd_fails_and_names_library_and_code() {
    for version in versions_without_a_device() {
        let seen = version.probe("file", &version.runtime(), &[]);
        let error = seen.value("amd_error");
        assert_eq!(seen.value("amd_error_is_no_device"), "true");
        assert!(
            error.contains(version.runtime().to_str().unwrap()),
            "{error}"
        );
        let code = if version.major == 5 {
            "(code 101)"
        } else {
            "(code 100)"
        };
        assert!(error.contains(code) && error.contains("hipInit"), "{error}");
    }
}

#[test]
fn automatic_choice_falls_through_to_host_and_says_why() {
    for version in versions_without_a_device() {
        let seen = version.probe("file", &version.runtime(), &[]);
        assert_eq!(seen.value("auto"), "host");
        assert_eq!(seen.value("fallback"), seen.value("amd_error"));
    }
}

#[test]
fn programs_end_well_however_they_used_the_runtime() {
    for version in versions_without_a_device() {
        let runtime = version.runtime();
        for how in [
            "open",
            "unused",
            "file",
            "dropped",
            "again",
            "thread",
            "thread-dropped",
        ] {
            let seen = version.probe(how, &runtime, &[]);
            seen.assert_ended_well(&format!("{how} with version {}", version.major));
        }
        let seen = version.probe("folder", &version.libraries(), &[]);
        seen.assert_ended_well("folder");
    }
}

#[test]
fn a_runtime_that_is_not_used_is_not_loaded() {
    for version in versions_without_a_device() {
        let seen = version.probe("unused", &version.runtime(), &[]);
        assert_eq!(seen.value("host"), "host");
        assert_eq!(seen.get("fallback"), None, "AMD was not asked");
        assert_eq!(seen.value("mapped"), "false");
        let seen = version.probe("file", &version.runtime(), &[]);
        assert_eq!(seen.value("mapped"), "true");
    }
}
