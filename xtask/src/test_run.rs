//! `cargo xtask test`: the workspace's tests, once per vendor.

use std::error::Error;
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::apt::{self, Consent};
use crate::args::{Args, flag, value};
use crate::bounded::{verdict, within};
use crate::target::{self, Target};
use crate::workspace::{Profile, Workspace, run, with_plugin};

const HELP: &str = "\
Usage: cargo xtask test [--vendor VENDOR]... [--release] [--yes] [-- CARGO-TEST-ARGUMENTS]

Runs the tests of the whole workspace. With no --vendor they run on host, which needs no GPU.
A vendor without a device here is skipped, with the reason.

  --vendor VENDOR  host, nvidia, amd, or a stand-in for a vendor's library over the CPU: sim-nvidia,
                   sim-amd5, sim-amd6, sim-amd7, sim-amd (all three); may be repeated
  --release        test the release profile
  --yes            install missing packages without asking
";

/// What the test executables of one vendor's run reported, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub(crate) passed: u64,
    /// Tests that failed.
    pub(crate) failed: u64,
    /// Tests that were not run.
    pub(crate) skipped: u64,
}

impl Counts {
    /// Adds the figures of a line `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
    /// Returns whether it was such a line.
    fn add_line(&mut self, line: &str) -> bool {
        let Some(figures) = line.trim().strip_prefix("test result: ") else {
            return false;
        };
        for part in figures.split(['.', ';']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(kind)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(number) = number.parse::<u64>() else {
                continue;
            };
            match kind {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.skipped += number,
                _ => {}
            }
        }
        true
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(formatter, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

/// Runs the subcommand.
pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let options = [value("--vendor"), flag("--release"), flag("--yes")];
    let args = Args::parse(arguments, &options, 0, true)?;
    let targets = target::parse(args.values("--vendor").iter().map(String::as_str))?;
    let profile = if args.has("--release") {
        Profile::Release
    } else {
        Profile::Dev
    };
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: false,
    };
    apt::ensure(workspace, &["build", "runtime", "test"], consent)?;
    finish(&run_targets(
        workspace,
        profile,
        &targets,
        args.rest(),
        None,
    )?)
}

/// Prints the closing lines; an error if anything failed.
pub(crate) fn finish(closing: &[Outcome]) -> Result<(), Box<dyn Error>> {
    println!();
    for outcome in closing {
        println!("{outcome}");
    }
    let failed: Vec<&str> = closing
        .iter()
        .filter(|outcome| matches!(outcome.result, VendorResult::Failed(..)))
        .map(|outcome| outcome.vendor.as_str())
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("tests failed on {}", failed.join(", ")).into())
    }
}

/// How one vendor's run ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    vendor: String,
    result: VendorResult,
}

#[derive(Debug)]
enum VendorResult {
    Passed(Counts),
    /// With how `cargo test` ended.
    Failed(Counts, String),
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            VendorResult::Passed(counts) => write!(formatter, "{}: {counts}", self.vendor),
            VendorResult::Failed(counts, ended) => {
                writeln!(formatter, "{}: {counts}", self.vendor)?;
                write!(formatter, "{}: cargo test: {ended}", self.vendor)
            }
            VendorResult::Skipped(reason) => {
                write!(formatter, "{}: not run: {reason}", self.vendor)
            }
        }
    }
}

/// Builds what the tests need and runs them on each target in turn, each for `limit` at most.
pub(crate) fn run_targets(
    workspace: &Workspace,
    profile: Profile,
    targets: &[Target],
    extra: &[String],
    limit: Option<Duration>,
) -> Result<Vec<Outcome>, Box<dyn Error>> {
    run(workspace
        .cargo()
        .args(["build", "--workspace", "--lib", "--bins"])
        .args(profile.cargo_args()))?;
    let plugin = workspace.stage_plugin(profile)?;
    let mut closing = Vec::new();
    for target in targets {
        let sim = target.install(workspace, profile)?;
        let vendor = &target.name;
        let result = match absent(workspace, profile, target.vendor, sim.as_deref())? {
            // The CPU and the stand-ins, which were built a moment ago, are never away.
            Some(reason) if sim.is_some() || target.vendor == "host" => {
                return Err(format!("{vendor}: no device: {reason}").into());
            }
            Some(reason) => {
                println!("{vendor}: not run: {reason}");
                VendorResult::Skipped(reason)
            }
            None => {
                println!("{vendor}: testing");
                let mut command = workspace.cargo();
                command
                    .args(["test", "--no-fail-fast"])
                    .args(target.packages())
                    .args(profile.cargo_args())
                    .args(extra);
                if let Some(folder) = &sim {
                    target::with_sim(&mut command, folder);
                }
                run_tests(command, target.vendor, &plugin, limit)?
            }
        };
        closing.push(Outcome {
            vendor: vendor.clone(),
            result,
        });
    }
    Ok(closing)
}

/// Runs `cargo test`, letting its output through and adding up its results.
fn run_tests(
    mut command: Command,
    vendor: &str,
    plugin: &Path,
    limit: Option<Duration>,
) -> Result<VendorResult, Box<dyn Error>> {
    with_plugin(&mut command, plugin);
    command
        .env("HIP_TEST_VENDOR", vendor)
        // The device was seen: a test that does not find it has failed, not been skipped.
        .env("HIP_TEST_REQUIRE", "1");
    if vendor != "host" {
        // Tests hold streams up, and a GPU driver makes other threads' frees wait for that.
        command.env("RUST_TEST_THREADS", "1");
    }
    if let Some(limit) = limit {
        command = within(&command, limit);
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut counts = Counts::default();
    let mut reader = BufReader::new(child.stdout.take().ok_or("no pipe from cargo test")?);
    let mut line = Vec::new();
    let mut out = std::io::stdout();
    while reader.read_until(b'\n', &mut line)? > 0 {
        out.write_all(&line)?;
        counts.add_line(&String::from_utf8_lossy(&line));
        line.clear();
    }
    let ended = verdict(child.wait()?, limit.unwrap_or(Duration::MAX));
    Ok(match ended {
        Ok(()) if counts.failed == 0 => VendorResult::Passed(counts),
        ended => {
            // A test executable that crashed has printed no result line.
            counts.failed = counts.failed.max(1);
            let reason = ended.err().unwrap_or_else(|| "success".to_owned());
            VendorResult::Failed(counts, reason)
        }
    })
}

/// Why `vendor` can't be tested here, if it can't: what `hip-info` says.
fn absent(
    workspace: &Workspace,
    profile: Profile,
    vendor: &str,
    sim: Option<&Path>,
) -> Result<Option<String>, Box<dyn Error>> {
    let program = workspace.output(profile).join("hip-info");
    let mut info = Command::new(&program);
    info.args(["--vendor", vendor]).stdin(Stdio::null());
    if let Some(folder) = sim {
        target::with_sim(&mut info, folder);
    }
    let output = info
        .output()
        .map_err(|error| format!("hip-info: {error}"))?;
    if output.status.success() {
        return Ok(None);
    }
    if output.status.code() != Some(1) {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(format!("hip-info: {}: {said}", output.status).into());
    }
    let reason = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok(Some(reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_added_up() {
        let mut counts = Counts::default();
        assert!(counts.add_line(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 0.51s\n"
        ));
        assert!(counts.add_line("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured"));
        assert!(!counts.add_line("test a::b ... ok"));
        assert_eq!(
            counts,
            Counts {
                passed: 15,
                failed: 2,
                skipped: 1
            }
        );
        assert_eq!(counts.to_string(), "15 passed, 2 failed, 1 skipped");
    }

    #[test]
    fn a_failure_is_an_error_and_a_skip_is_none() {
        let skipped = || Outcome {
            vendor: "amd".to_owned(),
            result: VendorResult::Skipped("no library".to_owned()),
        };
        assert_eq!(skipped().to_string(), "amd: not run: no library");
        assert!(finish(&[skipped()]).is_ok());
        let failed = Outcome {
            vendor: "host".to_owned(),
            result: VendorResult::Failed(
                Counts {
                    passed: 1,
                    failed: 1,
                    skipped: 0,
                },
                "exit status: 101".to_owned(),
            ),
        };
        assert!(finish(&[failed]).unwrap_err().to_string().contains("host"));
    }
}
