//! The workspace's chores: `cargo xtask help`.
//!
//! This program depends on no crate of the workspace and on no system library, so that it
//! builds on a machine with only Rust and a linker, and installs what the rest needs.

mod apt;
mod args;
mod bounded;
mod bundle;
mod ci;
mod cross;
mod debian;
mod demo;
mod kernels;
mod rocm;
mod sanitize;
mod target;
mod test_run;
mod workspace;

use std::env;
use std::error::Error;
use std::process::ExitCode;

use apt::Consent;
use args::{Args, flag};
use workspace::Workspace;

const HELP: &str = "\
Usage: cargo xtask COMMAND [OPTIONS]

  demo        play a clip through the plugin; writes a WebM and a PNG
  info        print the vendor libraries and devices found
  test        run the tests, on host or on a GPU
  kernels     compile the prebuilt kernels; check them, and prove them with every compiler
  gpu-bundle  make one relocatable folder for a GPU machine
  rocm        unpack AMD's real runtime and compiler into a folder; no GPU needed
  cross       check the libraries for Windows and for 64-bit ARM
  sanitize    loom, Miri and ThreadSanitizer on what needs no GPU
  ci          everything a change must pass
  deps        install the Debian packages needed, or print them with --print

`cargo xtask COMMAND --help` says more. Commands install the Debian packages they miss:
at once as root, otherwise after asking.
";

const DEPS_HELP: &str = "\
Usage: cargo xtask deps [--print] [--yes]

Installs every Debian package that any command needs.

  --print  print their names instead
  --yes    install without asking
";

/// The groups of the package list.
const GROUPS: [&str; 7] = [
    "build", "runtime", "test", "input", "kernels", "rocm", "bundle",
];

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let Some((command, rest)) = arguments.split_first() else {
        eprint!("{HELP}");
        return Err("no command".into());
    };
    match command.as_str() {
        "demo" => demo::demo(&Workspace::locate()?, rest),
        "info" => demo::info(&Workspace::locate()?, rest),
        "test" => test_run::main(&Workspace::locate()?, rest),
        "kernels" => kernels::main(rest),
        "gpu-bundle" => bundle::main(&Workspace::locate()?, rest),
        "rocm" => rocm::main(&Workspace::locate()?, rest),
        "cross" => cross::main(&Workspace::locate()?, rest),
        "sanitize" => sanitize::main(&Workspace::locate()?, rest),
        "ci" => ci::main(&Workspace::locate()?, rest),
        "deps" => deps(&Workspace::locate()?, rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        unknown => Err(format!("unknown command '{unknown}'; see cargo xtask help").into()),
    }
}

/// Whether help is asked for among a subcommand's arguments.
fn wants_help(arguments: &[String]) -> bool {
    let own = arguments
        .split(|argument| argument == "--")
        .next()
        .unwrap_or_default();
    own.iter()
        .any(|argument| argument == "--help" || argument == "-h")
}

fn deps(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if wants_help(arguments) {
        print!("{DEPS_HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[flag("--print"), flag("--yes")], 0, false)?;
    if args.has("--print") {
        println!("{}", apt::packages(workspace, &GROUPS)?.join("\n"));
        return Ok(());
    }
    apt::ensure(
        workspace,
        &GROUPS,
        Consent {
            yes: args.has("--yes"),
            quiet: false,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(arguments: &[&str]) -> String {
        let owned: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
        dispatch(&owned).unwrap_err().to_string()
    }

    #[test]
    fn unknown_commands_and_options_are_errors() {
        assert!(error_of(&["frobnicate"]).contains("unknown command 'frobnicate'"));
        for command in [
            "demo",
            "info",
            "test",
            "kernels",
            "gpu-bundle",
            "rocm",
            "cross",
            "sanitize",
            "ci",
            "deps",
        ] {
            assert_eq!(error_of(&[command, "--frob"]), "unknown option '--frob'");
        }
        assert!(error_of(&["test", "--vendor", "intel"]).contains("unknown vendor 'intel'"));
    }

    #[test]
    fn help_is_asked_for_before_the_dashes_only() {
        let owned = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        assert!(wants_help(&owned(&["--yes", "--help"])));
        assert!(!wants_help(&owned(&["--", "--help"])));
    }
}
