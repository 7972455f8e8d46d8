//! Fetches the compilers, without installing them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::compiler::Compiler;
use super::{Result, compilers, file_name, files_in};
use crate::debian::fill_whole;

const WHEEL: &str = "nvidia-cuda-nvrtc-cu11";
/// Version of the NVRTC wheel.
pub(super) const WHEEL_VERSION: &str = "11.8.89";
/// Version of HIPRTC, as Debian 12 has it.
pub(super) const HIPRTC_VERSION: &str = "5.2.3";
const HIPRTC_PACKAGES: [&str; 2] = ["libamdhip64-5", "libhiprtc-builtins5"];

/// A compiler on disk: the library to open and the folder its companions lie in.
pub(super) struct Installed {
    pub(super) library: PathBuf,
    pub(super) folder: PathBuf,
}

/// Finds or fetches a compiler.
pub(super) fn find_compiler(compiler: Compiler) -> Result<Installed> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the compilers are fetched on x86-64 Linux only".into());
    }
    match compiler {
        Compiler::Nvrtc => fetch_nvrtc(),
        Compiler::Hiprtc => fetch_hiprtc(),
    }
}

fn fetch_nvrtc() -> Result<Installed> {
    let root = compilers().join(format!("nvrtc-{WHEEL_VERSION}"));
    if !root.exists() {
        let wheels = compilers().join("wheels");
        fs::create_dir_all(&wheels)?;
        let download = "-m pip download --quiet --no-deps --only-binary=:all: -d .";
        let mut pip = Command::new("python3");
        pip.args(download.split(' '))
            .arg(format!("{WHEEL}=={WHEEL_VERSION}"));
        succeed(pip.current_dir(&wheels))?;
        let wheel = files_in(&wheels)?
            .into_iter()
            .find(|path| file_name(path).contains(WHEEL_VERSION))
            .ok_or("pip downloaded no wheel")?;
        fill_whole(&root, |folder| {
            let mut unzip = Command::new("python3");
            succeed(unzip.args(["-m", "zipfile", "-e"]).arg(wheel).arg(folder))?;
            Ok(())
        })?;
    }
    let folder = root.join("nvidia/cuda_nvrtc/lib");
    Ok(Installed {
        library: folder.join("libnvrtc.so.11.2"),
        folder,
    })
}

fn fetch_hiprtc() -> Result<Installed> {
    let root = compilers().join(format!("hiprtc-{HIPRTC_VERSION}"));
    if !root.exists() {
        expect_version()?;
        let packages = compilers().join("packages");
        fs::create_dir_all(&packages)?;
        let mut download = Command::new("apt-get");
        download.args(["download", "-q"]).args(missing_packages()?);
        succeed(download.current_dir(&packages))?;
        fill_whole(&root, |folder| {
            for package in files_in(&packages)? {
                succeed(Command::new("dpkg-deb").arg("-x").arg(package).arg(folder))?;
            }
            Ok(())
        })?;
    }
    let folder = root.join("usr/lib/x86_64-linux-gnu");
    Ok(Installed {
        library: folder.join("libamdhip64.so.5"),
        folder,
    })
}

/// Fails unless the distribution's HIPRTC is the version the blobs are made with.
fn expect_version() -> Result<()> {
    let mut show = Command::new("apt-cache");
    show.args(["show", HIPRTC_PACKAGES[0]]);
    let listing = succeed(&mut show).or_else(|_| {
        // A new system has no package lists. Only root can fetch them.
        succeed(Command::new("apt-get").args(["update", "-q"]))?;
        succeed(&mut show)
    })?;
    let wanted = format!("Version: {HIPRTC_VERSION}-");
    if listing.lines().any(|line| line.starts_with(&wanted)) {
        return Ok(());
    }
    let package = HIPRTC_PACKAGES[0];
    Err(format!("the distribution's {package} is not {HIPRTC_VERSION}").into())
}

/// The HIPRTC packages, and of what they depend on what is not installed.
fn missing_packages() -> Result<Vec<String>> {
    let options = "install -y --no-install-recommends --print-uris -o Debug::NoLocking=true";
    let mut install = Command::new("apt-get");
    let listing = succeed(install.args(options.split(' ')).args(HIPRTC_PACKAGES))?;
    // A line is: 'address' name_version_architecture.deb size checksum
    let mut names = HIPRTC_PACKAGES.map(String::from).to_vec();
    for line in listing.lines().filter(|line| line.starts_with('\'')) {
        let name = line
            .split_whitespace()
            .nth(1)
            .and_then(|file| file.split('_').next());
        names.extend(name.map(String::from));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Runs a command and returns what it printed; its failure is an error that says why.
fn succeed(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "{command:?}: {} {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    )
    .into())
}
