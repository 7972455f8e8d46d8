//! The compilers that kernels are built and checked with, fetched without installing them:
//! NVRTC is a Python wheel, HIPRTC comes with `xtask rocm`.

use std::error::Error;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::compiler::{Api, Compiler, Installed, Origin};
use super::families::files_in;
use super::{Result, families};
use crate::bounded::{verdict, within};
use crate::debian::fill_whole;
use crate::rocm::{self, Version};
use crate::workspace::describe;

/// How long one download may take: the largest is 90 MB.
const LIMIT: Duration = Duration::from_secs(8 * 60);

/// Every compiler that kernels must compile with, of each vendor the oldest first. NVRTC 11.8 is the
/// last that knows compute_35 and the first whose PTX drivers since 2022 load; HIPRTC 5.2 is Debian
/// 12's.
pub(super) const COMPILERS: [Compiler; 7] = [
    nvrtc(
        "NVRTC 11.8",
        "nvidia-cuda-nvrtc-cu11",
        "11.8.89",
        "nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2",
    ),
    nvrtc(
        "NVRTC 12.9",
        "nvidia-cuda-nvrtc-cu12",
        "12.9.86",
        "nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
    ),
    nvrtc(
        "NVRTC 13.5",
        "nvidia-cuda-nvrtc",
        "13.5.37",
        "nvidia/cu13/lib/libnvrtc.so.13",
    ),
    hiprtc(
        "HIPRTC 5.2",
        rocm::VERSIONS[0],
        &["gfx906", "gfx90a", "gfx1030"],
    ),
    hiprtc(
        "HIPRTC 5.7",
        rocm::VERSIONS[1],
        &["gfx906", "gfx90a", "gfx942", "gfx1030", "gfx1100"],
    ),
    hiprtc("HIPRTC 6", rocm::VERSIONS[2], &KNOWN_SINCE_6),
    hiprtc("HIPRTC 7", rocm::VERSIONS[3], &KNOWN_SINCE_6),
];

const KNOWN_SINCE_6: [&str; 8] = [
    "gfx906", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1151", "gfx1201",
];

const fn nvrtc(
    label: &'static str,
    package: &'static str,
    version: &'static str,
    library: &'static str,
) -> Compiler {
    Compiler {
        label,
        api: Api::Nvrtc,
        origin: Origin::Wheel {
            package,
            version,
            library,
        },
        architectures: &[],
    }
}

const fn hiprtc(
    label: &'static str,
    runtime: Version,
    architectures: &'static [&'static str],
) -> Compiler {
    Compiler {
        label,
        api: Api::Hiprtc,
        origin: Origin::Debian { runtime },
        architectures,
    }
}

/// Why a compiler is not here.
#[derive(Debug)]
pub(super) enum Missing {
    /// This machine cannot have it: no network, another system.
    Here(String),
    /// It should have been had.
    Failed(Box<dyn Error>),
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Here(reason) => formatter.write_str(reason),
            Missing::Failed(error) => error.fmt(formatter),
        }
    }
}

impl From<Box<dyn Error>> for Missing {
    fn from(error: Box<dyn Error>) -> Missing {
        let said = error.to_string();
        match says_offline(&said) {
            // pip says the same five times over.
            true => Missing::Here(said.lines().next().unwrap_or_default().to_owned()),
            false => Missing::Failed(error),
        }
    }
}

/// Whether pip or apt-get complains of having no network, or no archive to ask.
fn says_offline(complaint: &str) -> bool {
    [
        // pip
        "Failed to establish a new connection",
        "Connection refused",
        "Name or service not known",
        // apt-get
        "Could not resolve",
        "Temporary failure resolving",
        "Could not connect",
        "Cannot initiate the connection",
        "Unable to connect",
        "Network is unreachable",
        // rocm
        "no Debian archive is among",
    ]
    .iter()
    .any(|phrase| complaint.contains(phrase))
}

/// Finds or fetches a compiler below the target folder.
pub(super) fn fetch(
    compiler: &'static Compiler,
    target: &Path,
) -> std::result::Result<Installed, Missing> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(Missing::Here(
            "the compilers are fetched on x86-64 Linux only".to_owned(),
        ));
    }
    let folder = target.join("compilers");
    fs::create_dir_all(&folder).map_err(Box::<dyn Error>::from)?;
    match compiler.origin {
        Origin::Wheel {
            package,
            version,
            library,
        } => {
            let root = folder.join(format!("nvrtc-{version}"));
            let identity = format!("{package} {version}");
            if !root.exists() {
                fill_whole(&root, |partial| unpack_wheel(package, version, partial))?;
            }
            Ok(Installed {
                compiler,
                library: root.join(library),
                run: None,
                version: version.to_owned(),
                identity,
                scratch: folder,
            })
        }
        Origin::Debian { runtime } => {
            let root = rocm::fetch(target, runtime)?;
            let packages = packages(&root)?;
            Ok(Installed {
                compiler,
                library: hiprtc_in(&root)?,
                run: Some(root.join("run")),
                version: runtime_version(&packages).unwrap_or_default(),
                identity: packages.join(", "),
                scratch: folder,
            })
        }
    }
}

fn unpack_wheel(package: &str, version: &str, folder: &Path) -> Result<()> {
    let mut pip = Command::new("python3");
    pip.args("-m pip download --quiet --no-deps --only-binary=:all: --dest .".split(' '))
        .arg(format!("{package}=={version}"))
        .env("LC_ALL", "C.UTF-8")
        .current_dir(folder);
    succeed(&pip)?;
    let wheel = files_in(folder)?
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "whl"))
        .ok_or("pip downloaded no wheel")?;
    let mut unzip = Command::new("python3");
    unzip.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder);
    succeed(&unzip)?;
    Ok(fs::remove_file(wheel)?)
}

fn succeed(command: &Command) -> Result<()> {
    let output = within(command, LIMIT)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("timeout: {error}"))?;
    verdict(output.status, LIMIT).map_err(|reason| {
        let said = String::from_utf8_lossy(&output.stderr);
        format!("{}: {reason}: {}", describe(command), said.trim()).into()
    })
}

/// The library that holds HIPRTC: its own since 6, the runtime before.
fn hiprtc_in(root: &Path) -> Result<PathBuf> {
    let libraries = rocm::libraries(root)?;
    ["libhiprtc.so.", "libamdhip64.so."]
        .iter()
        .find_map(|prefix| {
            let fits = |path: &&PathBuf| families::file_name(path).starts_with(prefix);
            libraries.iter().find(fits).cloned()
        })
        .ok_or_else(|| format!("{} holds no HIPRTC", root.display()).into())
}

/// Those of a runtime's packages that have a part in what its compiler writes, `name version`.
fn packages(root: &Path) -> Result<Vec<String>> {
    let file = root.join(rocm::PACKAGES);
    let listing = fs::read_to_string(&file).map_err(|error| {
        format!(
            "{}: {error}; remove {} to have it fetched anew",
            file.display(),
            root.display()
        )
    })?;
    Ok(compiler_packages(&listing))
}

fn compiler_packages(listing: &str) -> Vec<String> {
    let parts = [
        "libamd-comgr",
        "libamdhip64-",
        "libhiprtc",
        "libllvm",
        "libclang",
    ];
    listing
        .lines()
        .filter(|line| parts.iter().any(|part| line.starts_with(part)))
        .filter(|line| !line.starts_with("libamdhip64-dev"))
        .filter_map(|line| {
            let mut fields = line.split('_');
            // A colon is not allowed in file names, and apt-get escapes it.
            Some(format!(
                "{} {}",
                fields.next()?,
                fields.next()?.replace("%3a", ":")
            ))
        })
        .collect()
}

/// `6.4.3` of `libamdhip64-6 6.4.3-5`.
fn runtime_version(packages: &[String]) -> Option<String> {
    let runtime = packages
        .iter()
        .find_map(|package| package.strip_prefix("libamdhip64-"))?;
    let (_, version) = runtime.split_once(' ')?;
    Some(version.split('-').next()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_part_in_the_code_is_named_with_its_version() {
        let listing = "libamd-comgr3_7.0.2+dfsg-3_amd64\nlibamdhip64-6_6.4.3-5_amd64\n\
                       libamdhip64-dev_6.4.3-5_amd64\nlibc6_2.42-1_amd64\n\
                       libllvm21_1%3a21.1.8-14_amd64\n";
        let packages = compiler_packages(listing);
        assert_eq!(
            packages,
            [
                "libamd-comgr3 7.0.2+dfsg-3",
                "libamdhip64-6 6.4.3-5",
                "libllvm21 1:21.1.8-14"
            ]
        );
        assert_eq!(runtime_version(&packages).as_deref(), Some("6.4.3"));
    }

    #[test]
    fn only_a_missing_network_excuses() {
        let missing = |text: &str| Missing::from(Box::<dyn Error>::from(text));
        for offline in [
            "pip: NewConnectionError('...: Failed to establish a new connection: [Errno 111]')",
            "apt-get update: exit status: 100: Temporary failure resolving 'mirror.example'",
        ] {
            assert!(matches!(missing(offline), Missing::Here(_)), "{offline}");
        }
        for broken in [
            "pip: No matching distribution found for nvidia-cuda-nvrtc==99",
            "apt-get install: exit status: 100: Unable to locate package libamdhip64-5",
        ] {
            assert!(matches!(missing(broken), Missing::Failed(_)), "{broken}");
        }
    }
}
