//! What each version exports: required functions, optional ones, and where the compiler lives.

use crate::versions::{Version, versions};

/// (function, in 5.2.3, in 6.x, in 7.x) of `libamdhip64`.
const RUNTIME: [(&str, [bool; 3]); 27] = [
    ("hipGetDevicePropertiesR0600", [false, true, true]),
    ("hipGetDevicePropertiesR0000", [false, true, true]),
    ("hipGetDeviceProperties", [true, true, true]),
    ("hipLaunchHostFunc", [false, true, true]),
    ("hipStreamAddCallback", [true, true, true]),
    ("hipDrvGetErrorName", [false, true, true]),
    ("hipDrvGetErrorString", [false, true, true]),
    ("hipGetProcAddress", [false, true, true]),
    ("hipEventRecordWithFlags", [false, true, true]),
    ("hipMemGetHandleForAddressRange", [false, false, true]),
    ("hipMemsetD2D8", [false, false, true]),
    ("hipMemsetD2D8Async", [false, false, true]),
    ("hipLibraryLoadData", [false, false, true]),
    ("hipMemcpyBatchAsync", [false, false, true]),
    ("hipDeviceGetUuid", [true, true, true]),
    ("hipMallocAsync", [true, true, true]),
    ("hipMemPoolCreate", [true, true, true]),
    ("hipImportExternalMemory", [true, true, true]),
    ("hipImportExternalSemaphore", [true, true, true]),
    ("hipGraphicsGLRegisterBuffer", [true, true, true]),
    ("hipGLGetDevices", [true, true, true]),
    ("hipHostRegister", [true, true, true]),
    ("hipIpcGetMemHandle", [true, true, true]),
    ("hipGraphCreate", [true, true, true]),
    ("hipMemcpyPeerAsync", [true, true, true]),
    ("hiprtcCompileProgram", [true, true, false]),
    ("hiprtcGetCode", [true, true, false]),
];

/// Functions of the run-time compiler's own library, which 5.2.3 has not.
const COMPILER: [&str; 4] = [
    "hiprtcCompileProgram",
    "hiprtcGetCode",
    "hiprtcGetBitcode",
    "hiprtcLinkCreate",
];

#[test]
fn exports_are_as_known() {
    for version in versions() {
        let names = RUNTIME.map(|(name, _)| name);
        let seen = version.probe("symbols", &version.runtime(), &names);
        seen.assert_ended_well("symbols");
        for (name, there) in RUNTIME {
            let there = there[version.major as usize - 5];
            assert_eq!(
                seen.value(name),
                there.to_string(),
                "{name} in version {}",
                version.major
            );
        }
    }
}

#[test]
fn the_compiler_has_a_library_of_its_own_from_6_on() {
    for version in versions() {
        let name = format!("libhiprtc.so.{}", version.major);
        let compiler = version.libraries().join(name);
        assert_eq!(compiler.exists(), version.major >= 6);
        if compiler.exists() {
            let seen = version.probe("symbols", &compiler, &COMPILER);
            seen.assert_ended_well("symbols");
            for name in COMPILER {
                assert_eq!(seen.value(name), "true", "{name}");
            }
        }
    }
}

/// Optional functions of the crate's table that a version lacks.
fn lacking(version: &Version) -> &'static str {
    match version.major {
        5 => "hipLaunchHostFunc",
        _ => "",
    }
}

#[test]
fn required_functions_resolve_and_missing_ones_are_reported() {
    for version in versions() {
        let seen = version.probe("file", &version.runtime(), &[]);
        assert_eq!(seen.get("load_error"), None);
        assert_eq!(seen.get("missing_required"), None);
        assert_eq!(seen.value("missing"), lacking(&version));
        assert_eq!(seen.value("library"), version.runtime().to_str().unwrap());
    }
}

#[test]
fn versions_are_told_without_a_device() {
    for version in versions() {
        let seen = version.probe("file", &version.runtime(), &[]);
        let told: u32 = seen.value("runtime_version").parse().unwrap();
        assert_eq!(told / 10_000_000, version.major, "{told}");
        if version.major == 5 {
            assert_eq!(told, 50_221_153);
        }
        for name in ["driver_version", "discovered_runtime"] {
            assert_eq!(seen.value(name), told.to_string(), "{name}");
        }
    }
}

#[test]
fn a_folder_is_searched_before_the_system() {
    for version in versions() {
        let seen = version.probe("folder", &version.libraries(), &[]);
        let library = seen.value("library");
        assert!(
            library.starts_with(version.runtime().to_str().unwrap()),
            "{library}"
        );
        assert_eq!(seen.value("attempts"), library);
        assert_eq!(seen.value("missing"), lacking(&version));
    }
}
