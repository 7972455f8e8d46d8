//! What Cargo built, from its JSON messages.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::workspace::{PLUGIN_FILE, Workspace};

/// The package whose programs are benchmarks.
const BENCHES: &str = "hip-benches";

/// The package whose programs go along; other packages' serve their builds and tests.
const PROGRAMS: &str = "hip-demo";

/// The package whose examples go along; other packages' are parts of their tests.
const EXAMPLES: &str = "gst-hip";

/// Packages whose tests build things, or are the same on every device.
const TESTED_ELSEWHERE: [&str; 4] = [
    env!("CARGO_PKG_NAME"),
    "gst-hip-capi",
    "hip-oracle",
    "hip-sim",
];

/// Files by the name they get in the bundle.
#[derive(Debug, Default)]
pub(crate) struct Artifacts {
    /// The GStreamer plugin.
    pub(crate) plugin: PathBuf,
    /// The demo and its kin.
    pub(crate) programs: BTreeMap<String, PathBuf>,
    /// Benchmarks.
    pub(crate) benches: BTreeMap<String, PathBuf>,
    /// What an application would do.
    pub(crate) examples: BTreeMap<String, PathBuf>,
    /// Test executables that hold at least one test.
    pub(crate) tests: BTreeMap<String, PathBuf>,
}

impl Artifacts {
    /// Builds everything in the release profile.
    pub(crate) fn build(workspace: &Workspace) -> Result<Self, Box<dyn Error>> {
        let mut artifacts = Self::default();
        let name_of = |id: &str| workspace.package_name(id).map(str::to_owned);
        let all = ["build", "--release", "--workspace", "--lib", "--bins"];
        artifacts.read(&messages(workspace, &all)?, &name_of);
        // Examples come along with the tests.
        let tests = ["test", "--release", "--workspace", "--no-run"];
        artifacts.read(&messages(workspace, &tests)?, &name_of);
        if workspace.has_package(BENCHES) {
            let benches = ["build", "--release", "-p", BENCHES, "--benches"];
            artifacts.read(&messages(workspace, &benches)?, &name_of);
        }
        if artifacts.plugin.as_os_str().is_empty() {
            return Err(format!("the build made no {PLUGIN_FILE}").into());
        }
        artifacts.tests.retain(|_, file| holds_tests(file));
        Ok(artifacts)
    }

    /// Sorts the messages' artifacts of workspace members into their places.
    fn read(&mut self, messages: &str, name_of: &dyn Fn(&str) -> Option<String>) {
        for line in messages.lines() {
            let Ok(message) = serde_json::from_str::<Value>(line) else {
                continue;
            };
            if message["reason"] != "compiler-artifact" {
                continue;
            }
            let Some(package) = message["package_id"].as_str().and_then(name_of) else {
                continue;
            };
            if !TESTED_ELSEWHERE.contains(&&*package) {
                self.place(&message, &package);
            }
        }
    }

    fn place(&mut self, message: &Value, package: &str) {
        let files = message["filenames"].as_array().into_iter().flatten();
        for file in files.filter_map(Value::as_str).map(PathBuf::from) {
            if file.file_name().is_some_and(|name| name == PLUGIN_FILE) {
                self.plugin = file;
            }
        }
        let Some(executable) = message["executable"].as_str().map(PathBuf::from) else {
            return;
        };
        let target = message["target"]["name"].as_str().unwrap_or(package);
        let kind = message["target"]["kind"][0].as_str().unwrap_or_default();
        let is_test = message["profile"]["test"] == true;
        match kind {
            "bench" => self.benches.insert(target.to_owned(), executable),
            "bin" if !is_test && package == BENCHES => {
                self.benches.insert(target.to_owned(), executable)
            }
            "bin" if !is_test && package == PROGRAMS => {
                self.programs.insert(target.to_owned(), executable)
            }
            "bin" if !is_test => None,
            "test" => self.tests.insert(format!("{package}.{target}"), executable),
            "bin" => self
                .tests
                .insert(format!("{package}.bin-{target}"), executable),
            "example" if !is_test && package == EXAMPLES => {
                self.examples.insert(target.to_owned(), executable)
            }
            "example" => None,
            _ => self.tests.insert(format!("{package}.lib"), executable),
        };
    }
}

/// Runs Cargo and returns its JSON messages; diagnostics go where they always do.
fn messages(workspace: &Workspace, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = workspace
        .cargo()
        .args(arguments)
        .arg("--message-format=json-render-diagnostics")
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("cargo {}: {}", arguments.join(" "), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Whether a test executable lists any test. One that can't be asked is kept.
fn holds_tests(file: &PathBuf) -> bool {
    let listing = Command::new(file)
        .args(["--list", "--format", "terse"])
        .stdin(Stdio::null())
        .output();
    match listing {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
            .lines()
            .any(|line| line.ends_with(": test")),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(package: &str, kind: &str, name: &str, test: bool, executable: &str) -> String {
        let executable = if executable.is_empty() {
            "null".to_owned()
        } else {
            format!("\"{executable}\"")
        };
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"{package}","target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"test":{test}}},"filenames":["t/{name}.rlib","t/libgsthip.so"],"executable":{executable}}}"#
        )
    }

    #[test]
    fn artifacts_find_their_places() {
        let lines = [
            "warning: not JSON".to_owned(),
            message("gst-elements", "cdylib", "gsthip", false, ""),
            message("hip-demo", "bin", "hip-info", false, "t/hip-info"),
            message("hip-demo", "bin", "hip-info", true, "t/hip-info-1"),
            message("hip-core", "lib", "hip_core", true, "t/hip_core-1"),
            message("hip-core", "test", "conformance", true, "t/conformance-1"),
            message(BENCHES, "bin", "upload", false, "t/upload"),
            message(EXAMPLES, "example", "transform", false, "t/transform"),
            message(EXAMPLES, "example", "transform", true, "t/transform-1"),
            message("hip-core", "example", "other", false, "t/other"),
            message("xtask", "bin", "xtask", true, "t/xtask-1"),
            message("hip-oracle", "lib", "hip_oracle", true, "t/hip_oracle-1"),
            message("hip-dispatch", "bin", "probe", false, "t/probe"),
            message("elsewhere", "bin", "other", false, "t/other"),
        ];
        let mut artifacts = Artifacts::default();
        let known = |id: &str| (id != "elsewhere").then(|| id.to_owned());
        artifacts.read(&lines.join("\n"), &known);
        assert_eq!(artifacts.plugin, PathBuf::from("t/libgsthip.so"));
        let names = |map: &BTreeMap<String, PathBuf>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&artifacts.programs), ["hip-info"]);
        assert_eq!(names(&artifacts.benches), ["upload"]);
        assert_eq!(
            artifacts.examples["transform"],
            PathBuf::from("t/transform")
        );
        assert_eq!(artifacts.examples.len(), 1);
        assert_eq!(
            names(&artifacts.tests),
            [
                "hip-core.conformance",
                "hip-core.lib",
                "hip-demo.bin-hip-info"
            ]
        );
    }
}
