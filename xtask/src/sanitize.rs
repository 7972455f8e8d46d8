//! `cargo xtask sanitize`: what tests alone do not see.
//!
//! * `loom`: the completion worker, the pools and the reuse of events in every order in which their
//!   threads can run, up to three preemptions (`crates/hip-core/tests/loom.rs`).
//! * `miri`: undefined behaviour, leaks and data races in hip-dispatch's Host, hip-core and hip-rtc.
//!   What opens libraries, forks or needs kernels that a C++ compiler built is left out.
//! * `tsan`: data races in hip-dispatch's Host and hip-core's suites, the standard library instrumented
//!   too. GStreamer is not, and would look like one race; helgrind and DRD know nothing of Rust's
//!   locks, which are futexes.
//!
//! The last two need a nightly toolchain; where there is none that is a skip with its reason.

use std::error::Error;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::args::Args;
use crate::bounded::run_within;
use crate::workspace::Workspace;

const HELP: &str = "\
Usage: cargo xtask sanitize [loom | miri | tsan]...

Runs the tests of hip-dispatch, hip-core and hip-rtc that need no GPU under a model checker, an
interpreter and a race detector; all three by default. miri and tsan need a nightly toolchain:

  rustup toolchain install nightly --component miri,rust-src
";

/// What can be run.
const TOOLS: [Tool; 3] = [Tool::Loom, Tool::Miri, Tool::Tsan];

/// After this a run counts as hanging: each takes a few minutes on two cores, from nothing.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// A checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Loom,
    Miri,
    Tsan,
}

/// How a run ended that did not fail.
#[derive(Debug)]
pub(crate) enum Outcome {
    Passed(&'static str),
    Skipped(&'static str, String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Passed(name) => write!(formatter, "{name}: passed"),
            Outcome::Skipped(name, reason) => write!(formatter, "{name}: not run: {reason}"),
        }
    }
}

/// Runs the subcommand.
pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[], TOOLS.len(), false)?;
    let tools = parse(args.positional())?;
    for outcome in run_tools(workspace, &tools)? {
        println!("{outcome}");
    }
    Ok(())
}

/// Runs all of them, for CI.
pub(crate) fn run_all(workspace: &Workspace) -> Result<Vec<Outcome>, Box<dyn Error>> {
    run_tools(workspace, &TOOLS)
}

fn parse(names: &[String]) -> Result<Vec<Tool>, Box<dyn Error>> {
    if names.is_empty() {
        return Ok(TOOLS.to_vec());
    }
    let tool = |name: &String| {
        let found = TOOLS.into_iter().find(|tool| tool.name() == name);
        found.ok_or_else(|| format!("unknown tool '{name}': loom, miri or tsan").into())
    };
    names.iter().map(tool).collect()
}

fn run_tools(workspace: &Workspace, tools: &[Tool]) -> Result<Vec<Outcome>, Box<dyn Error>> {
    let mut outcomes = Vec::new();
    for tool in tools {
        let name = tool.name();
        if let Some(reason) = tool.absent() {
            println!("{name}: not run: {reason}");
            outcomes.push(Outcome::Skipped(name, reason));
            continue;
        }
        println!("{name}: testing");
        for command in tool.commands(workspace)? {
            run_within(&command, LIMIT)?;
        }
        outcomes.push(Outcome::Passed(name));
    }
    Ok(outcomes)
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Tool::Loom => "loom",
            Tool::Miri => "miri",
            Tool::Tsan => "tsan",
        }
    }

    /// Why it cannot run here, if it cannot.
    fn absent(self) -> Option<String> {
        match self {
            Tool::Loom => None,
            Tool::Miri => nightly(&["cargo", "miri", "--version"])
                .err()
                .map(|said| format!("the nightly toolchain has no Miri: {said}")),
            Tool::Tsan => {
                let source = nightly(&["rustc", "--print", "sysroot"]).map(|sysroot| {
                    Path::new(&sysroot).join("lib/rustlib/src/rust/library/Cargo.lock")
                });
                match source {
                    Ok(file) if file.is_file() => None,
                    Ok(_) => Some("the nightly toolchain has no rust-src to instrument".to_owned()),
                    Err(said) => Some(format!("there is no nightly toolchain: {said}")),
                }
            }
        }
    }

    /// What to run, each in a target folder of its own: the flags change every crate.
    fn commands(self, workspace: &Workspace) -> Result<Vec<Command>, Box<dyn Error>> {
        let folder = workspace.target.join("sanitize").join(self.name());
        let mut commands = Vec::new();
        let mut add = |mut command: Command, arguments: &str| {
            command
                .args(arguments.split_whitespace())
                // It would win over RUSTFLAGS, and no test would be left or instrumented.
                .env_remove("CARGO_ENCODED_RUSTFLAGS")
                .env("HIP_TEST_VENDOR", "host")
                .env("CARGO_TARGET_DIR", &folder);
            commands.push(command);
        };
        match self {
            Tool::Loom => {
                let mut cargo = workspace.cargo();
                cargo.env("RUSTFLAGS", "--cfg hip_loom");
                add(cargo, "test --release -p hip-core --test loom");
            }
            Tool::Miri => {
                let miri = |more: &str| {
                    let flags = "-Zmiri-disable-isolation -Zmiri-permissive-provenance";
                    let mut cargo = nightly_cargo(workspace);
                    cargo.env("MIRIFLAGS", format!("{flags} {more}"));
                    cargo
                };
                add(miri(""), "miri test -p hip-dispatch --lib");
                // `host` starts programs and asks the processor what it is; `image` reads every
                // length of every image, which takes an interpreter hours.
                let skip = "-- --skip host:: --skip image::";
                add(miri(""), &format!("miri test -p hip-rtc --lib {skip}"));
                // Threads that are about to end when a program does are no leak.
                add(
                    miri("-Zmiri-ignore-leaks"),
                    "miri test -p hip-core --test conformance --test faults",
                );
            }
            Tool::Tsan => {
                let mut cargo = nightly_cargo(workspace);
                cargo
                    .env("RUSTFLAGS", "-Zsanitizer=thread")
                    .env("TSAN_OPTIONS", "halt_on_error=1 second_deadlock_stack=1");
                let target = host_triple()?;
                let tests = "-p hip-dispatch -p hip-core --lib --test conformance --test faults";
                add(
                    cargo,
                    &format!("test -Zbuild-std --target {target} {tests}"),
                );
            }
        }
        Ok(commands)
    }
}

/// `cargo` of the nightly toolchain in the top folder, whatever toolchain runs this program.
fn nightly_cargo(workspace: &Workspace) -> Command {
    let mut command = Command::new("rustup");
    command.current_dir(&workspace.root);
    without_toolchain(&mut command);
    command.args(["run", "nightly", "cargo"]);
    command
}

/// What `cargo run` set for this program would choose its toolchain again.
fn without_toolchain(command: &mut Command) {
    for name in [
        "CARGO",
        "RUSTC",
        "RUSTDOC",
        "RUSTUP_TOOLCHAIN",
        "LD_LIBRARY_PATH",
        "CARGO_MANIFEST_DIR",
        "CARGO_MANIFEST_PATH",
        "CARGO_PKG_NAME",
    ] {
        command.env_remove(name);
    }
}

/// What a program of the nightly toolchain says, or why it says nothing.
fn nightly(arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("rustup");
    without_toolchain(&mut command);
    command.args(["run", "nightly"]).args(arguments);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("rustup: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        return Ok(text(&output.stdout));
    }
    let said = text(&output.stderr);
    Err(said.lines().next().unwrap_or("no reason given").to_owned())
}

/// The machine's target, which instrumented code must be built for by name.
fn host_triple() -> Result<String, Box<dyn Error>> {
    let said = nightly(&["rustc", "-vV"])?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not name its host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_named_or_all() {
        let parse = |names: &[&str]| {
            let owned: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
            parse(&owned).map_err(|error| error.to_string())
        };
        assert_eq!(parse(&[]), Ok(TOOLS.to_vec()));
        assert_eq!(parse(&["tsan", "loom"]), Ok(vec![Tool::Tsan, Tool::Loom]));
        assert!(parse(&["valgrind"]).unwrap_err().contains("'valgrind'"));
    }
}
