//! The versions of AMD's runtime that `cargo xtask ci` (or `cargo xtask rocm`) unpacked, and
//! programs started under them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// One version, unpacked.
pub(crate) struct Version {
    /// 5, 6 or 7.
    pub(crate) major: u32,
    folder: PathBuf,
}

/// What a probe printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) status: ExitStatus,
    lines: HashMap<String, String>,
    errors: String,
}

impl Seen {
    /// The value printed under a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.lines.get(name).map(String::as_str)
    }

    /// As [`Seen::get`], for what must be there.
    pub(crate) fn value(&self, name: &str) -> &str {
        self.get(name)
            .unwrap_or_else(|| panic!("no {name} in {self:?}: {}", self.errors))
    }

    /// Panics unless the program came to the end of `main` and left with 0 after that.
    pub(crate) fn assert_ended_well(&self, what: &str) {
        assert!(
            self.status.success() && self.get("end") == Some("main"),
            "{what}: {self:?}, and said: {}",
            self.errors
        );
    }
}

/// The versions that are there; a line is printed for each that is not.
pub(crate) fn versions() -> Vec<Version> {
    let root = std::env::var_os("HIP_TEST_AMD_RUNTIME").map_or_else(
        || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("amd-runtime"),
        PathBuf::from,
    );
    [5, 6, 7]
        .into_iter()
        .filter_map(|major: u32| {
            let folder = root.join(major.to_string());
            if folder.join("run").exists() {
                return Some(Version { major, folder });
            }
            println!(
                "skipped: version {major} is not unpacked; `cargo xtask rocm {} {major}` does it",
                folder.display()
            );
            None
        })
        .collect()
}

/// As [`versions`], for tests of what the runtime says where there is no AMD GPU.
pub(crate) fn versions_without_a_device() -> Vec<Version> {
    if Path::new("/dev/kfd").exists() {
        println!("skipped: there is an AMD GPU here");
        return Vec::new();
    }
    versions()
}

impl Version {
    /// The folder with the libraries.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.folder.join("usr/lib/x86_64-linux-gnu")
    }

    /// The folder with the headers of the same version.
    pub(crate) fn headers(&self) -> PathBuf {
        self.folder.join("usr/include")
    }

    /// The runtime by its soname.
    pub(crate) fn runtime(&self) -> PathBuf {
        let name = format!("libamdhip64.so.{}", self.major);
        self.libraries().join(name)
    }

    /// Runs `amd-runtime-probe HOW PATH [SYMBOL...]` under this version.
    pub(crate) fn probe(&self, how: &str, path: &Path, symbols: &[&str]) -> Seen {
        let output = Command::new(self.folder.join("run"))
            .arg(env!("CARGO_BIN_EXE_amd-runtime-probe"))
            .arg(how)
            .arg(path)
            .args(symbols)
            .output()
            .expect("the version's run starts");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines = text
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Seen {
            status: output.status,
            lines,
            errors: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
