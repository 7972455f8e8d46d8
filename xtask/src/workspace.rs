//! Where things lie in the checkout, and running programs there.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// File name of the GStreamer plugin.
pub(crate) const PLUGIN_FILE: &str = "libgsthip.so";

/// A Cargo profile that the subcommands build with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Debug assertions on: what tests run.
    Dev,
    /// What people run.
    Release,
}

impl Profile {
    fn folder(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
        }
    }

    /// The arguments that choose this profile.
    pub(crate) fn cargo_args(self) -> &'static [&'static str] {
        match self {
            Self::Dev => &[],
            Self::Release => &["--release"],
        }
    }
}

/// The checkout.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Its top folder.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    package_names: BTreeMap<String, String>,
}

impl Workspace {
    /// Asks Cargo where things are.
    pub(crate) fn locate() -> Result<Self, Box<dyn Error>> {
        // Cargo sets the variable when it runs us; the constant serves a direct start.
        let manifest = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest
            .parent()
            .ok_or("xtask has no parent folder")?
            .to_owned();
        let output = Command::new(cargo_program())
            .args(["metadata", "--format-version=1", "--no-deps"])
            .current_dir(&root)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cargo: {error}"))?;
        if !output.status.success() {
            return Err("cargo metadata failed".into());
        }
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let target = metadata["target_directory"]
            .as_str()
            .ok_or("no target_directory")?
            .into();
        let package_names = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|package| {
                Some((
                    package["id"].as_str()?.to_owned(),
                    package["name"].as_str()?.to_owned(),
                ))
            })
            .collect();
        Ok(Self {
            root,
            target,
            package_names,
        })
    }

    /// The name of the workspace member with this package id, as Cargo's messages give it.
    pub(crate) fn package_name(&self, id: &str) -> Option<&str> {
        self.package_names.get(id).map(String::as_str)
    }

    /// Whether the workspace has a member of that name.
    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.package_names.values().any(|member| member == name)
    }

    /// The folder of what was built with `profile`.
    pub(crate) fn output(&self, profile: Profile) -> PathBuf {
        self.target.join(profile.folder())
    }

    /// `cargo` in the top folder.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(cargo_program());
        command.current_dir(&self.root);
        // Not what `cargo run` set for this program: build scripts would see them change.
        for name in [
            "CARGO_MANIFEST_DIR",
            "CARGO_MANIFEST_PATH",
            "CARGO_PKG_NAME",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// Copies the plugin that was built with `profile` into a folder of its own, and returns that
    /// folder. (GStreamer walks a plugin path down to its last library, and a target folder
    /// is full of libraries that are no plugins.)
    pub(crate) fn stage_plugin(&self, profile: Profile) -> Result<PathBuf, Box<dyn Error>> {
        let built = self.output(profile).join(PLUGIN_FILE);
        let folder = self.output(profile).join("gstreamer-1.0");
        fs::create_dir_all(&folder)?;
        let staged = folder.join(PLUGIN_FILE);
        let fresh = folder.join(format!(".{PLUGIN_FILE}.new"));
        fs::copy(&built, &fresh).map_err(|error| format!("{}: {error}", built.display()))?;
        // A rename, so that a process that has the old file mapped keeps it.
        fs::rename(&fresh, &staged)?;
        Ok(folder)
    }
}

/// Makes `command` find the plugin in `folder` before any other, with a registry of its own.
pub(crate) fn with_plugin(command: &mut Command, folder: &Path) {
    let mut path = OsString::from(folder);
    for name in ["GST_PLUGIN_PATH_1_0", "GST_PLUGIN_PATH"] {
        if let Some(previous) = env::var_os(name).filter(|value| !value.is_empty()) {
            path.push(":");
            path.push(previous);
            break;
        }
    }
    command
        .env("GST_PLUGIN_PATH", path)
        .env("GST_REGISTRY", folder.join("registry.bin"))
        .env_remove("GST_PLUGIN_PATH_1_0")
        .env_remove("GST_REGISTRY_1_0");
}

/// Runs `command` to its end; anything but success is an error that names it.
pub(crate) fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let what = describe(command);
    let status = command
        .status()
        .map_err(|error| format!("{what}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{what}: {status}").into())
    }
}

/// Runs `command` silently; what it said is in the error if it fails.
pub(crate) fn run_silently(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let what = describe(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{what}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    Err(format!("{}\n{what}: {}", said.trim_end(), output.status).into())
}

/// The program and its arguments, for messages.
pub(crate) fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut text = program
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

fn cargo_program() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
