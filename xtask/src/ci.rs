//! `cargo xtask ci`: everything a change must pass, in one go.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::apt::{self, Consent};
use crate::args::{Args, flag};
use crate::bounded::run_within;
use crate::target;
use crate::test_run;
use crate::workspace::{Profile, Workspace, run};
use crate::{cross, rocm, sanitize};

const HELP: &str = "\
Usage: cargo xtask ci [--yes]

Formatting, clippy, documentation, prebuilt kernels, every kernel with every real run-time
compiler for every architecture, tests on host and on the stand-ins for
the vendors' libraries, AMD's real runtimes where they can be had, checks for Windows and
64-bit ARM, loom, Miri and ThreadSanitizer where there is a nightly toolchain, the demo, and
the licences and sources of the dependencies. Stops at the first step that fails.

  --yes  install missing packages without asking
";

/// How long building cargo-deny may take: some six minutes on two cores.
const INSTALL_LIMIT: Duration = Duration::from_secs(20 * 60);

/// After this the tests of one target count as hanging; compiling what they need is included.
const TEST_LIMIT: Duration = Duration::from_secs(40 * 60);

/// Runs the subcommand.
pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[flag("--yes")], 0, false)?;
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: false,
    };
    let mut steps = Steps::default();
    steps.step("packages", || {
        apt::ensure(
            workspace,
            &["build", "runtime", "test", "kernels", "rocm"],
            consent,
        )
    })?;
    steps.step("fmt", || {
        run(workspace.cargo().args(["fmt", "--all", "--check"]))
    })?;
    steps.step("clippy", || {
        let clippy = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ];
        run(workspace.cargo().args(clippy))
    })?;
    steps.step("doc", || {
        let mut doc = workspace.cargo();
        doc.args(["doc", "--workspace", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings");
        run(&mut doc)
    })?;
    steps.step("kernels --check", || crate::kernels::check(workspace))?;
    let not_proved = steps.step("kernels --compilers", || {
        crate::kernels::compilers(workspace)
    })?;
    let no_amd = steps.step("rocm", || Ok(rocm::fetch_for_tests(workspace)))?;
    let outcomes = steps.step("test", || {
        let targets = target::parse(["host", "sim-nvidia", "sim-amd"])?;
        test_run::run_targets(workspace, Profile::Dev, &targets, &[], Some(TEST_LIMIT))
    })?;
    // The tests' closing lines come once now and once at the very end.
    test_run::finish(&outcomes)?;
    let checked = steps.step("sanitize", || sanitize::run_all(workspace))?;
    steps.step("demo --quiet", || {
        crate::demo::demo(workspace, &["--quiet".to_owned()])
    })?;
    let not_crossed = steps.step("cross", || cross::check_all(workspace))?;
    steps.step("deny", || deny(workspace))?;
    steps.print();
    for skipped in not_proved.iter().chain(&no_amd).chain(&not_crossed) {
        println!("{skipped}");
    }
    for outcome in checked {
        println!("{outcome}");
    }
    test_run::finish(&outcomes)
}

/// The steps done so far and how long each took.
#[derive(Default)]
struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    fn step<T>(
        &mut self,
        name: &'static str,
        body: impl FnOnce() -> Result<T, Box<dyn Error>>,
    ) -> Result<T, Box<dyn Error>> {
        println!("ci: {name}");
        let start = Instant::now();
        let result = body().map_err(|error| format!("{name}: {error}"))?;
        self.0.push((name, start.elapsed()));
        Ok(result)
    }

    fn print(&self) {
        println!();
        for (name, time) in &self.0 {
            println!("ci: {name:<19} {:>4} s", time.as_secs());
        }
    }
}

/// Licences and sources of the dependencies, by cargo-deny; where that can't be had, a skip.
/// (Its advisories need a database from outside the package registry, so they are left out.)
fn deny(workspace: &Workspace) -> Result<(), Box<dyn Error>> {
    let Some(program) = deny_program(workspace)? else {
        return Ok(());
    };
    run(Command::new(program).current_dir(&workspace.root).args([
        "--workspace",
        "check",
        "licenses",
        "bans",
        "sources",
    ]))
}

/// cargo-deny from the search path or the target folder, else installed into the latter.
fn deny_program(workspace: &Workspace) -> Result<Option<PathBuf>, Box<dyn Error>> {
    let tools = workspace.target.join("tools");
    let installed = tools.join("bin").join("cargo-deny");
    let on_path = env::var_os("PATH")
        .into_iter()
        .flat_map(|path| env::split_paths(&path).collect::<Vec<_>>())
        .map(|folder| folder.join("cargo-deny"));
    if let Some(found) = on_path
        .chain([installed.clone()])
        .find(|path| path.is_file())
    {
        return Ok(Some(found));
    }
    let mut install = workspace.cargo();
    // Unoptimised: it is built once and runs for a second.
    install
        .args([
            "install",
            "cargo-deny",
            "--locked",
            "--quiet",
            "--debug",
            "--root",
        ])
        .arg(&tools);
    match run_within(&install, INSTALL_LIMIT) {
        Ok(()) => Ok(Some(installed)),
        Err(reason) => {
            println!("ci: deny: not run: {reason}");
            Ok(None)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_names_itself() {
        let mut steps = Steps::default();
        let failed = steps.step("clippy", || Err::<(), _>("boom".into()));
        assert_eq!(failed.unwrap_err().to_string(), "clippy: boom");
        assert!(steps.0.is_empty());
    }
}
