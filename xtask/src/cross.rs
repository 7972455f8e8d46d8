//! `cargo xtask cross`: checks the libraries that know nothing of GStreamer for other systems.
//!
//! That takes the target's standard library, built by the very compiler that checks. It is looked
//! for in three places: the toolchain in use, rustup (the same version, under the target folder, so
//! that nobody's toolchain changes), and Debian's packages (another version, unpacked beside the
//! system). A target for which none has it is a printed skip that says why.

mod toolchain;

use std::error::Error;
use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::apt::{self, Consent};
use crate::args::{Args, flag, value};
use crate::bounded::run_within;
use crate::workspace::{Workspace, describe};
use toolchain::{Source, Toolchain};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "\
Usage: cargo xtask cross [--from SOURCE] [--yes]

Checks hip-dispatch, hip-core and hip-rtc for x86_64-pc-windows-gnu and aarch64-unknown-linux-gnu.
A target whose standard library can't be had is skipped, with the reason.

  --from SOURCE  take the standard libraries only from toolchain (the one in use), rustup or debian
  --yes          install missing packages without asking
";

/// What is checked: the libraries below GStreamer.
const PACKAGES: [&str; 3] = ["hip-dispatch", "hip-core", "hip-rtc"];

/// How long one check may take: half a minute on two cores.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// A system that is checked for.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// The compiler's name of it.
    triple: &'static str,
    /// Debian's package of its standard library.
    package: &'static str,
    /// What is known of its absence.
    note: Option<&'static str>,
}

const TARGETS: [Target; 2] = [
    Target {
        triple: "x86_64-pc-windows-gnu",
        package: "libstd-rust-dev-windows",
        note: Some(concat!(
            "Debian 12 was the last to have one, for Rust 1.63; this workspace needs ",
            env!("CARGO_PKG_RUST_VERSION")
        )),
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        package: "libstd-rust-dev:arm64",
        note: None,
    },
];

/// Runs the subcommand.
pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[value("--from"), flag("--yes")], 0, false)?;
    let sources = match args.value("--from") {
        Some(name) => vec![name.parse()?],
        None => Source::ALL.to_vec(),
    };
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: false,
    };
    apt::ensure(workspace, &["rocm"], consent)?;
    check(workspace, &sources).map(drop)
}

/// Checks for every target; gives a line for each that was skipped, with the reason.
///
/// # Errors
/// A library does not compile for a target.
pub(crate) fn check_all(workspace: &Workspace) -> Result<Vec<String>> {
    check(workspace, &Source::ALL)
}

fn check(workspace: &Workspace, sources: &[Source]) -> Result<Vec<String>> {
    let mut skipped = Vec::new();
    for target in TARGETS {
        match toolchain::find(workspace, target, sources) {
            Ok(toolchain) => {
                println!("cross {}: with {toolchain}", target.triple);
                check_target(workspace, target, &toolchain)?;
            }
            Err(reasons) => {
                let line = format!("cross {}: not run: {reasons}", target.triple);
                println!("{line}");
                skipped.push(line);
            }
        }
    }
    Ok(skipped)
}

fn check_target(workspace: &Workspace, target: Target, toolchain: &Toolchain) -> Result<()> {
    // A folder of its own: another compiler would make the usual one build everything anew.
    let build = workspace.target.join("cross/build");
    fs::create_dir_all(&build)?;
    let mut command = workspace.cargo();
    command.args(["check", "--lib", "--target", target.triple]);
    for package in PACKAGES {
        command.args(["--package", package]);
    }
    command
        .arg("--target-dir")
        .arg(build)
        .env("RUSTFLAGS", "-D warnings");
    toolchain.apply(&mut command);
    run_within(&command, LIMIT)
}

/// The first line that a program prints.
fn first_line(command: &mut Command) -> Result<String> {
    let what = describe(command);
    let output = command
        .output()
        .map_err(|error| format!("{what}: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{what}: {}: {}", output.status, said.trim()).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}
