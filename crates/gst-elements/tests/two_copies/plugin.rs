//! Finding, building and loading the plugin, in processes that never saw another.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const FILE: &str = "libgsthip.so";
/// Tells the child which plugin to load.
const CHILD: &str = "GST_HIP_TEST_PLUGIN";

/// Runs a scenario for each plugin, in a child process that has loaded it or will.
pub(crate) fn scenario(name: &str, child: fn(&Path)) {
    if let Some(file) = std::env::var_os(CHILD) {
        gst::init().expect("GStreamer starts");
        return child(Path::new(&file));
    }
    let plugins = plugins();
    if plugins.is_empty() {
        println!("skipped: no {FILE}: not in GST_PLUGIN_PATH, not beside this program, no Cargo");
        return;
    }
    for plugin in plugins {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", name, "--nocapture"]);
        child.env(CHILD, plugin);
        // The plugin is loaded by its file; another of its name must not be found.
        for variable in ["GST_PLUGIN_PATH", "GST_PLUGIN_PATH_1_0"] {
            child.env_remove(variable);
        }
        let output = child.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let said = text(&output.stdout) + &text(&output.stderr);
        assert!(output.status.success(), "{}:\n{said}", plugin.display());
        assert!(said.contains("1 passed"), "nothing ran:\n{said}");
        println!("{name}: with {}", plugin.display());
    }
}

/// Loads the plugin: from here on there are two copies.
pub(crate) fn load(file: &Path) {
    gst::Plugin::load_file(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    assert!(gst::ElementFactory::find("hipupload").is_some());
}

fn plugins() -> &'static [PathBuf] {
    static PLUGINS: OnceLock<Vec<PathBuf>> = OnceLock::new();
    PLUGINS.get_or_init(|| {
        let mut found: Vec<PathBuf> = given().or_else(beside).into_iter().collect();
        if let Some(optimised) = build() {
            found.push(optimised);
        }
        found
    })
}

/// The plugin in `GST_PLUGIN_PATH`.
fn given() -> Option<PathBuf> {
    let path = std::env::var_os("GST_PLUGIN_PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(FILE))
        .find(|file| file.is_file())
}

/// The folder of this profile's outputs: this program is in its `deps`.
fn profile_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    Some(program.parent()?.parent()?.to_owned())
}

/// What Cargo built for this program, and keeps with it.
fn beside() -> Option<PathBuf> {
    let file = profile_folder()?.join("deps").join(FILE);
    file.is_file().then_some(file)
}

/// The plugin in the release profile, built if it is out of date.
fn build() -> Option<PathBuf> {
    let Some(cargo) = std::env::var_os("CARGO") else {
        println!("skipped: no Cargo to build an optimised plugin with");
        return None;
    };
    let target = profile_folder()?.parent()?.to_owned();
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--release",
            "--quiet",
            "-p",
            "gst-elements",
            "--lib",
        ])
        .arg("--target-dir")
        .arg(&target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    match command.status() {
        Ok(status) if status.success() => Some(target.join("release").join(FILE)),
        other => panic!("the optimised plugin was not built: {other:?}"),
    }
}
