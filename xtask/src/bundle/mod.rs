//! `cargo xtask gpu-bundle`: one relocatable folder for a GPU machine that has neither Rust nor
//! GStreamer: plugin, programs, test executables, benchmarks, examples, and the GStreamer runtime.

mod artifacts;
mod closure;

use std::collections::BTreeSet;
use std::error::Error;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::apt::{self, Consent};
use crate::args::{Args, flag};
use crate::demo::CLIP;
use crate::workspace::{PLUGIN_FILE, Workspace, run};

use artifacts::Artifacts;

const HELP: &str = "\
Usage: cargo xtask gpu-bundle [DIR] [--yes]

Makes one relocatable folder of the plugin, the demo, all test executables, the benchmarks,
the examples and the GStreamer runtime. On the other machine: `bash DIR/run help`. At most 60 MiB.

  DIR    where; without it, target/gpu-bundle. An older bundle there is replaced.
  --yes  install missing packages without asking
";

/// The most a bundle may weigh: what travels to a GPU machine is limited.
const SIZE_LIMIT: u64 = 60 << 20;

/// The script that starts everything in the bundle.
const RUN_SCRIPT: &str = include_str!("run.sh");

/// Test executables, benchmarks and examples, packed.
const ARCHIVE: &str = "programs.tar.xz";
/// The folders in it.
const PACKED: [&str; 3] = ["tests", "bench", "examples"];

/// Names the folder as a bundle, so that it may be replaced.
const MARKER: &str = ".gpu-bundle";

/// Plugins without which the demo or the tests can't run.
const PLUGINS: &[&str] = &[
    "app",
    "coreelements",
    "matroska",
    "playback",
    "png",
    "rawparse",
    "typefindfunctions",
    "videoconvertscale",
    "videotestsrc",
    "vpx",
];

/// Plugins that are useful on a GPU machine, taken if they are installed.
const OPTIONAL_PLUGINS: &[&str] = &[
    "compositor",
    "debugutilsbad",
    "imagefreeze",
    "isomp4",
    "jpeg",
    "multifile",
    "openh264",
    "videofilter",
    "videoparsersbad",
    "videorate",
    "y4mdec",
    "y4menc",
];

/// Runs the subcommand.
pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Result<(), Box<dyn Error>> {
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[flag("--yes")], 1, false)?;
    let folder = args
        .positional()
        .first()
        .map_or_else(|| workspace.target.join("gpu-bundle"), PathBuf::from);
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: false,
    };
    apt::ensure(workspace, &["build", "runtime", "test", "bundle"], consent)?;
    let artifacts = Artifacts::build(workspace)?;
    clear(&folder)?;
    collect_own(workspace, &artifacts, &folder)?;
    collect_gstreamer(&folder)?;
    closure::collect(&folder)?;
    strip(&folder)?;
    pack_programs(&folder)?;
    report(&folder, artifacts.tests.len())
}

/// Makes `folder` empty; anything but an older bundle there is left alone.
fn clear(folder: &Path) -> Result<(), Box<dyn Error>> {
    if folder.exists() {
        let empty = fs::read_dir(folder)?.next().is_none();
        if !empty && !folder.join(MARKER).is_file() {
            return Err(format!("{} exists and is no bundle", folder.display()).into());
        }
        fs::remove_dir_all(folder)?;
    }
    for part in [
        "bin",
        "bench",
        "examples",
        "tests",
        "plugins",
        "lib",
        "lib-fallback",
        "assets",
    ] {
        fs::create_dir_all(folder.join(part))?;
    }
    fs::write(folder.join(MARKER), "")?;
    Ok(())
}

/// What this workspace built, its clip, and the script.
fn collect_own(
    workspace: &Workspace,
    artifacts: &Artifacts,
    folder: &Path,
) -> Result<(), Box<dyn Error>> {
    fs::copy(&artifacts.plugin, folder.join("plugins").join(PLUGIN_FILE))?;
    let parts = [
        ("bin", &artifacts.programs),
        ("bench", &artifacts.benches),
        ("examples", &artifacts.examples),
        ("tests", &artifacts.tests),
    ];
    for (part, files) in parts {
        for (name, file) in files {
            fs::copy(file, folder.join(part).join(name))?;
        }
    }
    for asset in fs::read_dir(workspace.root.join("assets"))? {
        let asset = asset?;
        fs::copy(asset.path(), folder.join("assets").join(asset.file_name()))?;
    }
    debug_assert!(
        CLIP.starts_with("assets/"),
        "the script looks for the clip there"
    );
    let script = folder.join("run");
    fs::write(&script, RUN_SCRIPT)?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// GStreamer's tools, scanner and plugins, as installed here; xz, to unpack the tests with.
fn collect_gstreamer(folder: &Path) -> Result<(), Box<dyn Error>> {
    let bin = folder.join("bin");
    for tool in ["gst-launch-1.0", "gst-inspect-1.0", "xz"] {
        fs::copy(Path::new("/usr/bin").join(tool), bin.join(tool))
            .map_err(|error| format!("{tool}: {error}"))?;
    }
    let scanner = Path::new(&pkg_config("pluginscannerdir")?).join("gst-plugin-scanner");
    fs::copy(&scanner, bin.join("gst-plugin-scanner"))
        .map_err(|error| format!("{}: {error}", scanner.display()))?;
    let system = PathBuf::from(pkg_config("pluginsdir")?);
    let mut absent = BTreeSet::new();
    for name in PLUGINS.iter().chain(OPTIONAL_PLUGINS) {
        let file = format!("libgst{name}.so");
        match fs::copy(system.join(&file), folder.join("plugins").join(&file)) {
            Ok(_) => {}
            Err(_) if OPTIONAL_PLUGINS.contains(name) => {
                absent.insert(*name);
            }
            Err(error) => return Err(format!("{file}: {error}").into()),
        }
    }
    if !absent.is_empty() {
        let names: Vec<&str> = absent.into_iter().collect();
        println!(
            "gpu-bundle: without plugins that are not installed here: {}",
            names.join(" ")
        );
    }
    Ok(())
}

fn pkg_config(variable: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new("pkg-config")
        .arg(format!("--variable={variable}"))
        .arg("gstreamer-1.0")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("pkg-config: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if text.is_empty() {
        return Err(format!("pkg-config knows no {variable} of gstreamer-1.0").into());
    }
    Ok(text)
}

/// Takes symbols and debug information out of every ELF file.
fn strip(folder: &Path) -> Result<(), Box<dyn Error>> {
    for part in [
        "bin",
        "bench",
        "examples",
        "tests",
        "plugins",
        "lib",
        "lib-fallback",
    ] {
        let files = files_of(&folder.join(part))?;
        if files.is_empty() {
            continue;
        }
        // Libraries come read-only from some packages.
        for file in &files {
            fs::set_permissions(file, fs::Permissions::from_mode(0o755))?;
        }
        run(Command::new("strip").arg("--strip-unneeded").args(&files))?;
    }
    Ok(())
}

/// Replaces the folders of programs by one archive. They are nearly the same code over and over: with
/// a window over all of them, 58 MiB of tests become 5.
fn pack_programs(folder: &Path) -> Result<(), Box<dyn Error>> {
    let archive = File::create(folder.join(ARCHIVE))?;
    let mut tar = Command::new("tar")
        .args([
            "--create",
            "--sort=name",
            "--owner=0",
            "--group=0",
            "--file=-",
        ])
        .args(PACKED)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("tar: {error}"))?;
    let pipe = tar.stdout.take().ok_or("no pipe from tar")?;
    let compressed = run(Command::new("xz")
        .args(["--threads=1", "--lzma2=preset=1,dict=128MiB"])
        .stdin(pipe)
        .stdout(archive));
    let packed = tar.wait()?;
    compressed?;
    if !packed.success() {
        return Err(format!("tar: {packed}").into());
    }
    for part in PACKED {
        fs::remove_dir_all(folder.join(part))?;
    }
    Ok(())
}

/// Prints the size of every part; above the limit that is an error.
fn report(folder: &Path, tests: usize) -> Result<(), Box<dyn Error>> {
    let packed = fs::metadata(folder.join(ARCHIVE))?.len();
    println!("gpu-bundle: programs      {} (packed)", mebibytes(packed));
    let mut total = fs::metadata(folder.join("run"))?.len() + packed;
    let mut sizes = Vec::new();
    for part in ["plugins", "lib", "lib-fallback", "bin", "assets"] {
        let mut sum = 0;
        for file in files_of(&folder.join(part))? {
            let size = fs::metadata(&file)?.len();
            sum += size;
            sizes.push((size, file));
        }
        println!("gpu-bundle: {part:<13} {}", mebibytes(sum));
        total += sum;
    }
    println!(
        "gpu-bundle: {tests} test executables, {} in {}",
        mebibytes(total),
        folder.display()
    );
    if total <= SIZE_LIMIT {
        return Ok(());
    }
    sizes.sort_unstable_by(|left, right| right.cmp(left));
    for (size, file) in sizes.iter().take(12) {
        println!("gpu-bundle:   {} {}", mebibytes(*size), file.display());
    }
    Err(format!(
        "{} is more than the {} allowed",
        mebibytes(total),
        mebibytes(SIZE_LIMIT)
    )
    .into())
}

fn mebibytes(bytes: u64) -> String {
    // Exact enough for print: a bundle is far below 2^53 bytes.
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

/// The files right in `folder`, in order of name.
fn files_of(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bundle_is_replaced() {
        let folder = std::env::temp_dir().join(format!("xtask-bundle-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("thesis.txt"), "years of work").unwrap();
        assert!(clear(&folder).is_err());
        assert!(folder.join("thesis.txt").is_file());
        fs::write(folder.join(MARKER), "").unwrap();
        clear(&folder).unwrap();
        assert!(!folder.join("thesis.txt").exists());
        assert!(folder.join("plugins").is_dir());
        fs::remove_dir_all(&folder).unwrap();
    }
}
