//! The C API as a C program meets it: installed, found by pkg-config, compiled and run.

#[path = "support/header.rs"]
mod header;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gst_hip::abi::*;

const CHECKED_IN: &str = include_str!("../include/gst-hip-rs-1.0/gst/hiprs/gst-hip-rs.h");

#[test]
fn the_header_is_up_to_date() {
    let generated = header::generate();
    assert!(
        generated == CHECKED_IN,
        "{} is out of date: cargo run -p gst-hip-capi --example header",
        header::HEADER
    );
}

/// A folder that the library is installed in; `None`, and a line that says why, where it was not
/// built or there is no C compiler.
fn prefix() -> Option<&'static Path> {
    static PREFIX: OnceLock<Option<PathBuf>> = OnceLock::new();
    PREFIX.get_or_init(install).as_deref()
}

fn install() -> Option<PathBuf> {
    let installer = Path::new(env!("CARGO_BIN_EXE_gst-hip-install"));
    if !installer.is_file() {
        println!("skipped: the installer is not where it was built");
        return None;
    }
    for tool in ["cc", "pkg-config", "nm"] {
        if Command::new(tool).arg("--version").output().is_err() {
            println!("skipped: there is no {tool}");
            return None;
        }
    }
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prefix");
    let mut command = Command::new(installer);
    command.arg("--prefix").arg(&prefix);
    run(&mut command);
    Some(prefix)
}

/// Runs a command to its end; gives what it printed.
fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}:\n{out}{err}");
    out
}

/// Compiles a C program as the documentation says.
fn compile(prefix: &Path, source: &str) -> PathBuf {
    let flags = run(Command::new("pkg-config")
        .args(["--cflags", "--libs", "gst-hip-rs-1.0", "gstreamer-app-1.0"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let program = prefix.join(source.file_stem().unwrap());
    run(Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"])
        .arg(&source)
        .args(flags.split_whitespace())
        .arg("-o")
        .arg(&program));
    program
}

/// A compiled program that finds the installed library.
fn program(prefix: &Path, file: &Path) -> Command {
    let mut path = prefix.join("lib").into_os_string();
    if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(rest);
    }
    let mut command = Command::new(file);
    command.env("LD_LIBRARY_PATH", path);
    command
}

#[test]
fn exports_are_what_the_header_declares() {
    let Some(prefix) = prefix() else { return };
    let library = prefix.join("lib/libgsthiprs-1.0.so");
    let symbols = run(Command::new("nm")
        .args(["-D", "--defined-only"])
        .arg(&library));
    let exported: BTreeSet<&str> = symbols
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| !name.starts_with('_'))
        .collect();
    let declared: BTreeSet<&str> = CHECKED_IN
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '('))
        .filter_map(|word| {
            word.strip_suffix('(')
                .or_else(|| word.split_once('(').map(|p| p.0))
        })
        .filter(|word| word.starts_with("gst_hip_rs_"))
        .collect();
    assert!(declared.len() > 30, "{declared:?}");
    assert_eq!(exported, declared);
    let dynamic = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains("[libgsthiprs-1.0.so.0]"), "{dynamic}");
    assert!(dynamic.contains("NODELETE"), "{dynamic}");
}

/// Lines as `tests/c/layout.c` prints them.
macro_rules! layout {
    ($out:ident, $($type:ident { $($field:ident),* })*) => {$(
        writeln!($out, "{} {}", stringify!($type), size_of::<$type>()).unwrap();
        $(writeln!(
            $out,
            "{}.{} {}",
            stringify!($type),
            stringify!($field),
            std::mem::offset_of!($type, $field)
        )
        .unwrap();)*
    )*};
}

#[test]
fn structures_are_laid_out_alike_in_c() {
    let Some(prefix) = prefix() else { return };
    let program_file = compile(prefix, "tests/c/layout.c");
    let in_c = run(&mut program(prefix, &program_file));
    let mut here = String::new();
    layout!(here,
        GstHipRsError { message }
        GstHipRsDevice { library, flags, pci_bus, uuid, name }
        GstHipRsDeviceVTable {}
        GstHipRsStreamDesc { id }
        GstHipRsAccess { flags, token }
        GstHipRsMemory { magic, vtable, flags }
        GstHipRsMemoryVTable { free, map_stream }
        GstHipRsPool { vtable, kind }
        GstHipRsPoolClass {}
        GstHipRsPoolVTable { finalize }
    );
    writeln!(here, "magic {GST_HIP_RS_MAGIC}").unwrap();
    assert_eq!(in_c, here);
}

/// A folder with the plugin and nothing else.
fn plugin_folder(prefix: &Path) -> Option<PathBuf> {
    const FILE: &str = "libgsthip.so";
    let given = std::env::var_os("GST_PLUGIN_PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>())
        .find(|folder| folder.join(FILE).is_file());
    if given.is_some() {
        return given;
    }
    let program = std::env::current_exe().ok()?;
    // Cargo keeps the libraries that a test needs with it.
    let built = program.parent()?.join(FILE);
    if !built.is_file() {
        println!("skipped: no {FILE}: not in GST_PLUGIN_PATH, not beside this program");
        return None;
    }
    let folder = prefix.join("gstreamer-1.0");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(built, folder.join(FILE)).unwrap();
    Some(folder)
}

#[test]
fn the_example_exchanges_frames_with_the_plugin() {
    let Some(prefix) = prefix() else { return };
    let vendor = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".into());
    let selector: gst_hip::DeviceSelector = vendor.parse().unwrap();
    if let Err(error) = gst_hip::env::open_device(&selector) {
        assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
        println!("skipped: no device for HIP_TEST_VENDOR={vendor}: {error}");
        return;
    }
    let Some(plugins) = plugin_folder(prefix) else {
        return;
    };
    let example = compile(prefix, "examples/c/push.c");
    let said = run(program(prefix, &example)
        .arg(&vendor)
        .env("GST_PLUGIN_PATH", plugins)
        .env("GST_REGISTRY", prefix.join("registry.bin"))
        .env_remove("GST_PLUGIN_PATH_1_0")
        // A critical message is a failure.
        .env("G_DEBUG", "fatal-criticals"));
    for line in ["pushed 10 frames", "took 3 frames", "done"] {
        assert!(said.lines().any(|found| found == line), "{said}");
    }
    assert!(said.starts_with(&format!("device: {vendor}:")), "{said}");
}
