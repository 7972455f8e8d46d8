//! The examples run, on the vendor that `HIP_TEST_VENDOR` names (default `host`), and end as they say
//! they do. They are found beside this program, in Cargo's target folder as in a bundle.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Where no compiler is.
const NOWHERE: &str = "/nonexistent";

fn vendor() -> String {
    std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".into())
}

/// An example with `arguments`; `None`, with a line that says why, if it was not built.
fn example(name: &str, arguments: &[&str]) -> Option<Command> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let program = std::env::current_exe().unwrap();
    let folder = program.parent().and_then(|folder| folder.parent());
    let path: PathBuf = folder.unwrap().join("examples").join(file);
    if !path.is_file() {
        // `cargo test` builds them, unless it is told to build this test only.
        println!(
            "skipped: there is no {}; build it with --examples",
            path.display()
        );
        return None;
    }
    let mut command = Command::new(path);
    command.args(arguments).env_remove("GST_HIP_DEVICE");
    Some(command)
}

/// Runs an example on the vendor under test.
fn run(name: &str, arguments: &[&str]) -> Option<Output> {
    let vendor = vendor();
    let mut command = example(name, &["--device", &vendor])?;
    Some(command.args(arguments).output().unwrap())
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

/// Whether the example did its work. No device, or no compiler for it, is a skip with the reason.
fn succeeded(output: &Output) -> bool {
    let said = said(output);
    match output.status.code() {
        Some(0) => true,
        Some(3 | 4) => {
            // Set by whoever has seen the GPU. The CPU is always there, its compiler is not.
            let required = std::env::var_os("HIP_TEST_REQUIRE").is_some();
            assert!(!required || vendor() == "host", "{said}");
            println!("skipped: {said}");
            false
        }
        code => panic!("ended with {code:?}:\n{said}"),
    }
}

#[test]
fn transform() {
    let Some(output) = run("transform", &[]) else {
        return;
    };
    if succeeded(&output) {
        let said = said(&output);
        assert!(said.contains("[1.0, 3.0, 5.0, 7.0, 9.0]"), "{said}");
        assert!(said.contains("all 1000000 values are right"), "{said}");
    }
}

#[test]
fn frame_filter() {
    let Some(output) = run("frame-filter", &["--frames", "5"]) else {
        return;
    };
    if succeeded(&output) {
        let said = said(&output);
        assert!(
            said.contains("5 frames of 320x240: every pixel is right"),
            "{said}"
        );
    }
}

#[test]
fn multi_vendor() {
    // The CPU is always there to be compared with.
    let Some(output) = run("multi-vendor", &["--device", "host"]) else {
        return;
    };
    if succeeded(&output) {
        let said = said(&output);
        assert_eq!(said.matches(" same ").count(), 2, "{said}");
    }
    // Without `--device`: whatever there is.
    let Some(mut command) = example("multi-vendor", &["--rounds", "3"]) else {
        return;
    };
    let output = command.output().unwrap();
    if succeeded(&output) {
        let said = said(&output);
        assert!(said.contains(" same "), "{said}");
    }
}

#[test]
fn a_command_line_that_means_nothing_ends_with_2() {
    for name in ["transform", "frame-filter", "multi-vendor"] {
        for (arguments, word) in [
            (&["--voodoo"] as &[&str], "--voodoo"),
            (&["--device"], "needs a value"),
            (&["--device", "voodoo"], "voodoo"),
        ] {
            let Some(mut command) = example(name, arguments) else {
                return;
            };
            let output = command.output().unwrap();
            let said = said(&output);
            assert_eq!(
                output.status.code(),
                Some(2),
                "{name} {arguments:?}: {said}"
            );
            assert!(said.contains(word), "{name} {arguments:?}: {said}");
        }
    }
}

#[test]
fn a_device_that_is_not_there_ends_with_3() {
    for name in ["transform", "frame-filter", "multi-vendor"] {
        let Some(mut command) = example(name, &["--device", "host:99"]) else {
            return;
        };
        let output = command.output().unwrap();
        let said = said(&output);
        assert_eq!(output.status.code(), Some(3), "{name}: {said}");
        assert!(said.contains("host:99"), "{name}: {said}");
    }
}

#[test]
fn a_missing_compiler_ends_with_4_and_what_to_install() {
    for name in ["transform", "frame-filter", "multi-vendor"] {
        let vendor = vendor();
        let Some(mut command) = example(name, &["--device", &vendor]) else {
            return;
        };
        command
            .env("GST_HIP_KERNEL_CACHE", "off")
            .env_remove("CXX")
            .env("PATH", NOWHERE);
        for library in ["GST_HIP_NVRTC_LIBNAME", "GST_HIP_HIPRTC_LIBNAME"] {
            command.env(library, NOWHERE);
        }
        let output = command.output().unwrap();
        let said = said(&output);
        if output.status.code() == Some(3) {
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{said}");
            println!("skipped: {said}");
            return;
        }
        assert_eq!(output.status.code(), Some(4), "{name}: {said}");
        assert!(said.contains("install"), "{name}: {said}");
    }
}
