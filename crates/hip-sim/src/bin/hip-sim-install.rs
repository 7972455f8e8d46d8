//! Installs the stand-in libraries into a folder.

use std::path::Path;
use std::process::ExitCode;

use hip_sim::install::Install;

const USAGE: &str = "\
usage: hip-sim-install DIR [LIBRARY...] [--without SYMBOL]... [--without-compiler]
                       [--set NAME=VALUE]...

Writes stand-ins for the vendors' libraries into DIR, under the vendors' names: drivers, and
beside them the run-time compilers.
  LIBRARY            amd5, amd6, amd7, nvidia; all if none is named
  --without SYMBOL   leaves a function out
  --without-compiler leaves the compilers out
  --set NAME=VALUE   a setting for the libraries in DIR, such as HIP_SIM_DEVICES=2";

fn main() -> ExitCode {
    let mut install = Install::default();
    let mut folder = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || {
            arguments
                .next()
                .ok_or_else(|| format!("{argument} wants a value"))
        };
        let taken = match argument.as_str() {
            "--without" => value().map(|symbol| install.without.push(symbol)),
            "--without-compiler" => {
                install.without_compiler = true;
                Ok(())
            }
            "--set" => value().map(|setting| install.settings.push(setting)),
            "-h" | "--help" => {
                println!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            option if option.starts_with('-') => Err(format!("there is no option {option}")),
            _ if folder.is_none() => {
                folder = Some(argument);
                Ok(())
            }
            _ => {
                install.libraries.push(argument);
                Ok(())
            }
        };
        if let Err(error) = taken {
            eprintln!("hip-sim-install: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    }
    let Some(folder) = folder else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match install.install_into(Path::new(&folder)) {
        Ok(files) => {
            files.iter().for_each(|file| println!("{}", file.display()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hip-sim-install: {error}");
            ExitCode::FAILURE
        }
    }
}
