//! What tests run on: a vendor's devices, or a stand-in for its library.

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;

use crate::workspace::{Profile, Workspace, run_silently};

/// Packages whose tests depend on the device; on anything but Host only these run again.
const ON_DEVICES: [&str; 9] = [
    "hip-dispatch",
    "hip-core",
    "hip-interop",
    "hip-rtc",
    "hip-video",
    "gst-hip",
    "gst-elements",
    "hip-demo",
    "gst-hip-capi",
];

/// One thing to test on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    /// As given on the command line.
    pub(crate) name: String,
    /// What `HIP_TEST_VENDOR` says.
    pub(crate) vendor: &'static str,
    /// The stand-in library to install first, by hip-sim-install's name.
    sim: Option<&'static str>,
}

/// The names there are; `sim-amd` stands for all three of AMD's versions.
pub(crate) const NAMES: &str = "host, nvidia, amd, sim-nvidia, sim-amd5, sim-amd6, sim-amd7";

impl FromStr for Target {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let (vendor, sim) = match name {
            "host" => ("host", None),
            "nvidia" => ("nvidia", None),
            "amd" => ("amd", None),
            "sim-nvidia" => ("nvidia", Some("nvidia")),
            "sim-amd5" => ("amd", Some("amd5")),
            "sim-amd6" => ("amd", Some("amd6")),
            "sim-amd7" => ("amd", Some("amd7")),
            _ => return Err(format!("unknown vendor '{name}': {NAMES} or sim-amd")),
        };
        let name = name.to_owned();
        Ok(Target { name, vendor, sim })
    }
}

/// The targets that `names` stand for, each once, in order; Host if there is no name.
pub(crate) fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Vec<Target>, String> {
    let mut targets: Vec<Target> = Vec::new();
    for name in names {
        let expanded: &[&str] = match name {
            "sim-amd" => &["sim-amd5", "sim-amd6", "sim-amd7"],
            _ => &[name],
        };
        for name in expanded {
            let target = name.parse()?;
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    if targets.is_empty() {
        targets.push("host".parse()?);
    }
    Ok(targets)
}

impl Target {
    /// Puts the stand-in library where the tests find it; `None` for a real device.
    pub(crate) fn install(
        &self,
        workspace: &Workspace,
        profile: Profile,
    ) -> Result<Option<PathBuf>, Box<dyn Error>> {
        let Some(library) = self.sim else {
            return Ok(None);
        };
        let mut build = workspace.cargo();
        build
            .args([
                "build",
                "--quiet",
                "--package",
                "hip-sim",
                "--examples",
                "--bins",
            ])
            .args(profile.cargo_args());
        run_silently(&mut build)?;
        let folder = workspace.target.join("sim").join(&self.name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir_all(&folder)?;
        let mut install = Command::new(workspace.output(profile).join("hip-sim-install"));
        run_silently(install.arg(&folder).arg(library))?;
        Ok(Some(folder))
    }

    /// The arguments that choose the packages to test.
    pub(crate) fn packages(&self) -> Vec<&'static str> {
        match self.vendor {
            "host" => vec!["--workspace"],
            _ => ON_DEVICES
                .iter()
                .flat_map(|name| ["--package", name])
                .collect(),
        }
    }
}

/// Makes a program load the stand-in from `folder`, and end if it finds accesses out of order.
pub(crate) fn with_sim(command: &mut Command, folder: &std::path::Path) {
    let mut path = folder.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("LD_LIBRARY_PATH") {
        path.push(":");
        path.push(rest);
    }
    command
        .env("LD_LIBRARY_PATH", path)
        .env("HIP_SIM_ABORT", "1");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_targets_once_each() {
        let names = |list: &[&str]| -> Vec<String> {
            let targets = parse(list.iter().copied()).unwrap();
            targets.into_iter().map(|target| target.name).collect()
        };
        assert_eq!(names(&[]), ["host"]);
        assert_eq!(
            names(&["sim-amd6", "sim-amd", "nvidia"]),
            ["sim-amd6", "sim-amd5", "sim-amd7", "nvidia"]
        );
        assert!(parse(["sim-intel"]).unwrap_err().contains("sim-nvidia"));
    }
}
