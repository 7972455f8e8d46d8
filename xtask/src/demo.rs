//! `cargo xtask demo` and `cargo xtask info`: build the two programs of hip-demo and run them.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use crate::apt::{self, Consent};
use crate::args::{Args, flag, value};
use crate::workspace::{Profile, Workspace, run, run_silently, with_plugin};

const DEMO_HELP: &str = "\
Usage: cargo xtask demo [OPTIONS]

Builds the plugin and plays a clip through it: decode, upload, convert and scale, download.
Writes the result as VP8 in WebM, and one frame from its middle as PNG.

  --input FILE     a video file; without it, the clip that ships with the sources
  --device DEVICE  host, nvidia, amd, nvidia:1, a PCI address or a UUID;
                   without it, the first GPU found, or else the host's CPU
  --output DIR     where the two files go; without it, target/demo
  --size WxH       size of the result, default 1280x720; black bars keep the aspect ratio
  --quiet          print nothing unless something fails
  --yes            install missing packages without asking
";

const INFO_HELP: &str = "\
Usage: cargo xtask info [--yes]

Prints every vendor library looked for, what was found, and the devices there are.

  --yes  install missing packages without asking
";

/// Runs `demo`.
pub(crate) fn demo(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if crate::wants_help(arguments) {
        print!("{DEMO_HELP}");
        return Ok(());
    }
    let options = [
        value("--input"),
        value("--device"),
        value("--output"),
        value("--size"),
        flag("--quiet"),
        flag("--yes"),
    ];
    let args = Args::parse(arguments, &options, 0, false)?;
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: args.has("--quiet"),
    };
    // Paths are the caller's, seen from where the caller stands.
    let input = match args.value("--input") {
        Some(file) => {
            let path = PathBuf::from(file);
            if !path.is_file() {
                return Err(format!("{file}: no such file").into());
            }
            path
        }
        None => workspace.root.join(CLIP),
    };
    let mut groups = vec!["build", "runtime"];
    if args.has("--input") {
        groups.push("input");
    }
    apt::ensure(workspace, &groups, consent)?;
    build(
        workspace,
        &["-p", "gst-elements", "-p", "hip-demo"],
        consent.quiet,
    )?;
    let plugin = workspace.stage_plugin(Profile::Release)?;

    let mut command = Command::new(workspace.output(Profile::Release).join("hip-demo"));
    with_plugin(&mut command, &plugin);
    command.arg("--input").arg(input).arg("--output");
    command.arg(
        args.value("--output")
            .map_or_else(|| workspace.target.join("demo"), PathBuf::from),
    );
    for name in ["--device", "--size"] {
        if let Some(text) = args.value(name) {
            command.args([name, text]);
        }
    }
    if consent.quiet {
        command.arg("--quiet");
    }
    hand_over(&mut command)
}

/// The clip that ships with the sources.
pub(crate) const CLIP: &str = "assets/big-buck-bunny.webm";

/// Runs `info`.
pub(crate) fn info(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if crate::wants_help(arguments) {
        print!("{INFO_HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[flag("--yes")], 0, false)?;
    apt::ensure(
        workspace,
        &["build"],
        Consent {
            yes: args.has("--yes"),
            quiet: false,
        },
    )?;
    build(workspace, &["-p", "hip-demo"], false)?;
    hand_over(&mut Command::new(
        workspace.output(Profile::Release).join("hip-info"),
    ))
}

fn build(workspace: &Workspace, packages: &[&str], quiet: bool) -> Result<(), Box<dyn Error>> {
    let mut command = workspace.cargo();
    command.args(["build", "--release"]).args(packages);
    if quiet {
        run_silently(command.arg("--quiet"))
    } else {
        run(&mut command)
    }
}

/// Runs a program that reports its own errors: its exit code becomes ours.
fn hand_over(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command
        .current_dir(env::current_dir()?)
        .status()
        .map_err(|error| format!("{}: {error}", crate::workspace::describe(command)))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code),
        None => Err(format!("{}: {status}", crate::workspace::describe(command)).into()),
    }
}
