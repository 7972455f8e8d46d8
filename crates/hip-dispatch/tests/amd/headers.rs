//! What the crate takes for granted, compared with each version's own headers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use hip_dispatch::{ErrorKind, amd_abi};

use crate::versions::{Version, versions};

/// What each error is to the crate.
const ERRORS: [(&str, ErrorKind); 26] = [
    ("hipErrorInvalidValue", ErrorKind::InvalidValue),
    ("hipErrorOutOfMemory", ErrorKind::OutOfMemory),
    ("hipErrorNotInitialized", ErrorKind::NotInitialized),
    ("hipErrorDeinitialized", ErrorKind::NotInitialized),
    ("hipErrorInvalidDeviceFunction", ErrorKind::InvalidImage),
    ("hipErrorNoDevice", ErrorKind::NoDevice),
    ("hipErrorInvalidDevice", ErrorKind::InvalidDevice),
    ("hipErrorInvalidImage", ErrorKind::InvalidImage),
    ("hipErrorInvalidContext", ErrorKind::InvalidContext),
    ("hipErrorNoBinaryForGpu", ErrorKind::InvalidImage),
    ("hipErrorECCNotCorrectable", ErrorKind::DeviceLost),
    ("hipErrorInvalidKernelFile", ErrorKind::InvalidImage),
    ("hipErrorInvalidSource", ErrorKind::InvalidImage),
    ("hipErrorFileNotFound", ErrorKind::InvalidImage),
    ("hipErrorInvalidHandle", ErrorKind::InvalidHandle),
    ("hipErrorNotFound", ErrorKind::NotFound),
    ("hipErrorNotReady", ErrorKind::NotReady),
    ("hipErrorIllegalAddress", ErrorKind::IllegalAddress),
    ("hipErrorLaunchOutOfResources", ErrorKind::LaunchFailure),
    ("hipErrorLaunchTimeOut", ErrorKind::LaunchFailure),
    ("hipErrorContextIsDestroyed", ErrorKind::InvalidContext),
    ("hipErrorAssert", ErrorKind::DeviceLost),
    ("hipErrorLaunchFailure", ErrorKind::LaunchFailure),
    (
        "hipErrorCooperativeLaunchTooLarge",
        ErrorKind::LaunchFailure,
    ),
    ("hipErrorNotSupported", ErrorKind::Unsupported),
    ("hipErrorUnknown", ErrorKind::Unknown),
];

/// The C compiler, set for a version's headers; `None`, printed, where there is none.
fn compiler(version: &Version) -> Option<Command> {
    let program = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    if Command::new(&program).arg("--version").output().is_err() {
        println!("skipped: there is no C compiler {}", program.display());
        return None;
    }
    let mut command = Command::new(program);
    command.arg("-I").arg(version.headers());
    Some(command)
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/amd")
        .join(name)
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What the version's headers say, by name.
fn told(version: &Version) -> Option<HashMap<String, i64>> {
    let mut compile = compiler(version)?;
    let name = format!("amd-abi-{}-{}", version.major, std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let program = folder.join("abi");
    // The headers' own warnings are not ours.
    compile.arg("-w").arg(source("abi.c")).arg("-o");
    succeed(compile.arg(&program));
    let text = succeed(&mut Command::new(&program));
    std::fs::remove_dir_all(&folder).unwrap();
    let values = text.lines().map(|line| {
        let (name, value) = line.split_once('\t').expect("name and value");
        (name.to_owned(), value.parse().expect("a number"))
    });
    Some(values.collect())
}

#[test]
fn sizes_offsets_and_numbers_are_those_of_the_headers() {
    for version in versions() {
        let Some(told) = told(&version) else { return };
        assert_eq!(told["HIP_VERSION_MAJOR"], version.major.into());
        for (name, value) in amd_abi::assumed(version.major) {
            assert_eq!(
                told.get(name),
                Some(&value),
                "{name} of version {}",
                version.major
            );
        }
        for (name, kind) in ERRORS {
            let code = i32::try_from(told[name]).unwrap();
            assert_eq!(ErrorKind::from_code(code), kind, "{name} is {code}");
        }
        assert_eq!(told["hipSuccess"], 0);
    }
}

#[test]
fn signatures_are_those_of_the_headers() {
    for version in versions() {
        let Some(mut check) = compiler(&version) else {
            return;
        };
        check.args(["-fsyntax-only", "-Werror=incompatible-pointer-types"]);
        succeed(check.arg(source("signatures.c")));
        // That the check can fail.
        let mut wrong = compiler(&version).unwrap();
        wrong.args(["-fsyntax-only", "-Werror=incompatible-pointer-types"]);
        wrong.arg("-DWRONG").arg(source("signatures.c"));
        assert!(!wrong.output().unwrap().status.success());
    }
}
