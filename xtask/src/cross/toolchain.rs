//! Where a compiler with a target's standard library comes from.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::time::Duration;

use super::{Result, Target, first_line};
use crate::bounded::{verdict, within};
use crate::debian::{Archive, Dependencies, fill_whole, partial_of, unpack_packages, write_run};
use crate::workspace::{Workspace, describe, run_silently};

/// How long rustup may take for some 100 MB.
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// The suite of Debian's that has a compiler new enough for this workspace.
const SUITE: &str = "sid";

/// Where to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The toolchain that builds this program.
    Toolchain,
    /// The same version by rustup, under the target folder.
    Rustup,
    /// Debian's packages, unpacked under the target folder.
    Debian,
}

impl Source {
    /// All, in the order they are tried.
    pub(super) const ALL: [Source; 3] = [Source::Toolchain, Source::Rustup, Source::Debian];
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Toolchain => "toolchain",
            Source::Rustup => "rustup",
            Source::Debian => "debian",
        })
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Source::ALL
            .into_iter()
            .find(|source| source.to_string() == name)
            .ok_or_else(|| format!("unknown source '{name}': toolchain, rustup or debian"))
    }
}

/// A compiler that has the standard library asked for.
#[derive(Debug)]
pub(super) struct Toolchain {
    rustc: PathBuf,
    version: String,
}

impl Toolchain {
    /// A compiler, if it has the target's standard library.
    fn with(rustc: PathBuf, target: Target) -> Result<Toolchain> {
        let version = first_line(without_ours(&mut Command::new(&rustc)).arg("--version"))?;
        let mut print = Command::new(&rustc);
        without_ours(&mut print).args(["--print", "target-libdir", "--target", target.triple]);
        let folder = PathBuf::from(first_line(&mut print)?);
        match has_std(&folder) {
            true => Ok(Toolchain { rustc, version }),
            false => Err(format!("{version} has no standard library for it").into()),
        }
    }

    /// Makes `cargo` use this compiler.
    pub(super) fn apply(&self, cargo: &mut Command) {
        without_ours(cargo).env("RUSTC", &self.rustc);
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.version)
    }
}

/// Without what `cargo run` and the user set for the toolchain in use. (With its libraries in the
/// loader's path, another compiler takes that toolchain's standard libraries for its own.)
fn without_ours(command: &mut Command) -> &mut Command {
    command
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
}

fn has_std(folder: &Path) -> bool {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with("libstd-"))
}

/// The first of `sources` that has the target, or why each has not.
pub(super) fn find(
    workspace: &Workspace,
    target: Target,
    sources: &[Source],
) -> std::result::Result<Toolchain, String> {
    let mut reasons = Vec::new();
    for source in sources {
        let found = match source {
            Source::Toolchain => Toolchain::with(own_rustc(), target),
            Source::Rustup => from_rustup(workspace, target),
            Source::Debian => from_debian(workspace, target),
        };
        match found {
            Ok(toolchain) => return Ok(toolchain),
            Err(reason) => reasons.push(format!("{source}: {reason}")),
        }
    }
    Err(reasons.join("; "))
}

fn own_rustc() -> PathBuf {
    env::var_os("RUSTC").map_or_else(|| PathBuf::from("rustc"), PathBuf::from)
}

/// The version in use with the target added, in a rustup folder of our own.
fn from_rustup(workspace: &Workspace, target: Target) -> Result<Toolchain> {
    let said = first_line(Command::new(own_rustc()).arg("--version"))?;
    let version = said.split_whitespace().nth(1).unwrap_or_default();
    if version.contains('-') {
        return Err(format!("{said} is no release").into());
    }
    let home = workspace.target.join("cross/rustup");
    fs::create_dir_all(&home)?;
    if let Some(rustc) = installed(&home, version)
        && let Ok(toolchain) = Toolchain::with(rustc, target)
    {
        return Ok(toolchain);
    }
    let mut install = Command::new("rustup");
    install
        .args(["toolchain", "install", version, "--profile", "minimal"])
        .args(["--no-self-update", "--target", target.triple])
        .env("RUSTUP_HOME", &home)
        .env_remove("RUSTUP_TOOLCHAIN");
    let output = within(&install, LIMIT).stdin(Stdio::null()).output()?;
    verdict(output.status, LIMIT).map_err(|reason| {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.trim().lines().last().unwrap_or_default();
        format!("{}: {reason}: {last}", describe(&install))
    })?;
    let rustc = installed(&home, version).ok_or("rustup installed nothing")?;
    Toolchain::with(rustc, target)
}

/// The compiler of `version` in a rustup folder.
fn installed(home: &Path, version: &str) -> Option<PathBuf> {
    let folder = fs::read_dir(home.join("toolchains"))
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.strip_prefix(version)
                .is_some_and(|rest| rest.starts_with('-'))
        })?;
    Some(folder.join("bin/rustc"))
}

/// Debian's compiler and the target's package, which must be of one version.
fn from_debian(workspace: &Workspace, target: Target) -> Result<Toolchain> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("Debian's compiler is fetched on x86-64 Linux only".into());
    }
    let folder = workspace
        .target
        .join("cross")
        .join(format!("debian-{}", target.triple));
    let rustc = folder.join("rustc");
    if !rustc.exists() {
        fs::create_dir_all(workspace.target.join("cross"))?;
        let lists = partial_of(&folder.with_extension("lists"));
        let archive = Archive::open(lists, &[SUITE], &["amd64", "arm64"], None)?;
        // The target's first: it is the one that may not exist.
        let alone = [target.package, "rustc"];
        let mut files =
            archive
                .download(&alone, Dependencies::Left)
                .map_err(|error| match target.note {
                    Some(note) => format!("{error} ({note})"),
                    None => error.to_string(),
                })?;
        files.extend(archive.download(&["libstd-rust-dev"], Dependencies::Fetched)?);
        fill_whole(&folder, |partial| {
            unpack_packages(&files, partial)?;
            write_run(partial)?;
            write_rustc(partial)
        })?;
    }
    Toolchain::with(rustc, target)
}

/// `DIR/rustc`: the folder's compiler, told where its own standard libraries lie.
fn write_rustc(folder: &Path) -> Result<()> {
    let rustc = folder.join("rustc");
    let text = "#!/bin/sh\n\
        here=$(cd \"$(dirname \"$0\")\" && pwd) || exit 1\n\
        exec \"$here/run\" \"$here/usr/bin/rustc\" --sysroot \"$here/usr\" \"$@\"\n";
    fs::write(&rustc, text)?;
    run_silently(Command::new("chmod").arg("755").arg(&rustc))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_its_own_standard_library_and_no_other_is_made_up() {
        let target = |triple| Target {
            triple,
            package: "",
            note: None,
        };
        let folder = first_line(Command::new(own_rustc()).args(["--print", "target-libdir"]));
        assert!(has_std(Path::new(&folder.unwrap())));
        let there = Toolchain::with(own_rustc(), target("x86_64-unknown-linux-gnu"));
        assert_eq!(
            there.is_ok(),
            cfg!(all(target_os = "linux", target_arch = "x86_64"))
        );
        let error = Toolchain::with(own_rustc(), target("sparcv9-sun-solaris")).unwrap_err();
        assert!(error.to_string().contains("no standard library"), "{error}");
    }

    #[test]
    fn sources_have_names() {
        for (name, source) in ["toolchain", "rustup", "debian"].iter().zip(Source::ALL) {
            assert_eq!(name.parse(), Ok(source));
        }
        assert!("pip".parse::<Source>().is_err());
    }
}
