//! Installs the C library that was built beside this program: library, header, pkg-config file.
//!
//! `cargo build --release -p gst-hip-capi && cargo run --release -p gst-hip-capi --bin gst-hip-install -- --prefix /usr/local`

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

const HELP: &str = "\
Usage: gst-hip-install --prefix DIR [--libdir DIR] [--destdir DIR]

Installs libgsthiprs-1.0.so, gst/hiprs/gst-hip-rs.h and gst-hip-rs-1.0.pc.

  --prefix DIR   where the files will be used
  --libdir DIR   folder of libraries (PREFIX/lib)
  --destdir DIR  put before every path that is written to, for packages
";

const HEADER: &str = include_str!("../../include/gst-hip-rs-1.0/gst/hiprs/gst-hip-rs.h");
const PKG_CONFIG: &str = include_str!("../../gst-hip-rs-1.0.pc.in");
/// What Cargo calls the library.
const BUILT: &str = "libgsthiprs.so";
/// What the dynamic linker looks for.
const SONAME: &str = "libgsthiprs-1.0.so.0";
/// What the linker looks for.
const LINK: &str = "libgsthiprs-1.0.so";

fn main() -> ExitCode {
    match install(env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gst-hip-install: {error}");
            ExitCode::FAILURE
        }
    }
}

fn install(mut arguments: impl Iterator<Item = String>) -> Result<(), Box<dyn Error>> {
    let (mut prefix, mut libdir, mut destdir) = (None, None, None);
    while let Some(argument) = arguments.next() {
        let place = match argument.as_str() {
            "--prefix" => &mut prefix,
            "--libdir" => &mut libdir,
            "--destdir" => &mut destdir,
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            other => return Err(format!("unknown argument '{other}'\n{HELP}").into()),
        };
        let value = arguments.next();
        *place = Some(PathBuf::from(
            value.ok_or(format!("{argument} needs a folder"))?,
        ));
    }
    let prefix = prefix.ok_or(format!("--prefix is missing\n{HELP}"))?;
    if !prefix.is_absolute() {
        return Err("the prefix is no absolute path".into());
    }
    let libdir = libdir.unwrap_or_else(|| prefix.join("lib"));
    let root = |path: &Path| match &destdir {
        Some(destdir) => destdir.join(path.strip_prefix("/").unwrap_or(path)),
        None => path.to_owned(),
    };
    install_library(&root(&libdir))?;
    let include = root(&prefix).join("include/gst-hip-rs-1.0/gst/hiprs");
    write(&include.join("gst-hip-rs.h"), HEADER)?;
    let text = PKG_CONFIG
        .replace("@prefix@", &prefix.display().to_string())
        .replace("@libdir@", &libdir.display().to_string())
        .replace("@version@", env!("CARGO_PKG_VERSION"));
    write(&root(&libdir).join("pkgconfig/gst-hip-rs-1.0.pc"), &text)
}

fn install_library(folder: &Path) -> Result<(), Box<dyn Error>> {
    let program = env::current_exe()?;
    let folder_here = program.parent().ok_or("this program is in no folder")?;
    let built = built(folder_here);
    fs::create_dir_all(folder)?;
    let target = folder.join(format!("{SONAME}.{}", env!("CARGO_PKG_VERSION")));
    // Not written over: running programs may have it mapped.
    let _ = fs::remove_file(&target);
    fs::copy(&built, &target).map_err(|error| {
        let hint = "cargo build -p gst-hip-capi builds it";
        format!("{}: {error} ({hint})", built.display())
    })?;
    let name = target.file_name().ok_or("no file name")?.to_owned();
    link(Path::new(&name), &folder.join(SONAME))?;
    link(Path::new(SONAME), &folder.join(LINK))
}

/// The library beside this program; Cargo keeps what tests need in `deps`. The newer one counts.
fn built(folder: &Path) -> PathBuf {
    let beside = folder.join(BUILT);
    let modified = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let deps = folder.join("deps").join(BUILT);
    match modified(&deps) > modified(&beside) {
        true => deps,
        false => beside,
    }
}

fn link(target: &Path, at: &Path) -> Result<(), Box<dyn Error>> {
    // What is there may be an older version's.
    let _ = fs::remove_file(at);
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, at)?;
    println!("{} -> {}", at.display(), target.display());
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}
