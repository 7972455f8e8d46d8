//! `cargo xtask rocm DIR 5|5.7|6|7`: AMD's real runtime and compiler in a folder, no GPU needed.
//!
//! They come from Debian's packages and are unpacked beside the system. Versions 6 and 7 need a
//! newer C library than Debian 12's, so the folder brings its own, and `DIR/run` starts a program
//! through that one's loader. With them come the headers of the same version
//! (`DIR/usr/include/hip`), which the tests compare our layouts and numbers with.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use crate::apt::{self, Consent};
use crate::args::{Args, flag, value};
use crate::debian::{Archive, Dependencies, fill_whole, partial_of, unpack_packages, write_run};
use crate::workspace::Workspace;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "\
Usage: cargo xtask rocm DIR 5|5.7|6|7 [--mirror ADDRESS] [--yes]

Unpacks AMD's HIP runtime, run-time compiler and headers into DIR, beside the system: about 90 MB
are downloaded, 300 MB unpacked. 5 is 5.2.3 of Debian 12, 5.7 is 5.7.1 of Debian 13, 6 is what
Debian's unstable suite has, 7 what its experimental suite has. `DIR/run PROGRAM [ARGUMENT...]`
starts a program against them; `DIR/packages` names what was unpacked.

  --mirror ADDRESS  the Debian archive to use, if not the system's own
  --yes             install missing packages without asking
";

/// A generation of AMD's runtime, named by its soname's number; 5 has two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// 5, 5.7, 6 or 7.
    pub(crate) number: &'static str,
    suites: &'static [&'static str],
    packages: &'static [&'static str],
}

/// Every generation there is.
pub(crate) const VERSIONS: [Version; 4] = [
    Version {
        number: "5",
        suites: &["bookworm"],
        packages: &["libamdhip64-5", "libhiprtc-builtins5"],
    },
    Version {
        number: "5.7",
        suites: &["trixie"],
        packages: &["libamdhip64-5", "libhiprtc-builtins5"],
    },
    Version {
        number: "6",
        suites: &["sid"],
        packages: &["libamdhip64-6", "libhiprtc6", "libhiprtc-builtins6"],
    },
    Version {
        number: "7",
        suites: &["sid", "experimental"],
        packages: &["libamdhip64-7", "libhiprtc7", "libhiprtc-builtins7"],
    },
];

/// Names what a folder was unpacked from.
pub(crate) const PACKAGES: &str = "packages";

/// The headers, of the same suite and version.
const HEADERS: &str = "libamdhip64-dev";

/// Runs the subcommand.
pub(crate) fn main(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    if crate::wants_help(arguments) {
        print!("{HELP}");
        return Ok(());
    }
    let args = Args::parse(arguments, &[value("--mirror"), flag("--yes")], 2, false)?;
    let [folder, number] = args.positional() else {
        return Err("rocm needs a folder and a version: cargo xtask rocm DIR 5|5.7|6|7".into());
    };
    let version = VERSIONS
        .into_iter()
        .find(|version| version.number == number)
        .ok_or_else(|| format!("version '{number}' is none of 5, 5.7, 6 and 7"))?;
    let consent = Consent {
        yes: args.has("--yes"),
        quiet: false,
    };
    apt::ensure(workspace, &["rocm"], consent)?;
    let folder = Path::new(folder);
    unpack(version, folder, args.value("--mirror"))?;
    for library in libraries(folder)? {
        println!("{}", library.display());
    }
    println!("{}", folder.join("run").display());
    Ok(())
}

/// Unpacks every version into the tests' folder; gives a line for each that can't be had, with
/// the reason.
pub(crate) fn fetch_for_tests(workspace: &Workspace) -> Vec<String> {
    let mut skipped = Vec::new();
    for version in VERSIONS {
        if let Err(reason) = fetch(&workspace.target, version) {
            let line = format!("rocm {}: not run: {reason}", version.number);
            println!("{line}");
            skipped.push(line);
        }
    }
    skipped
}

/// Unpacks a version below the target folder, where tests and `kernels` look: in a folder of its
/// number. Gives that folder.
pub(crate) fn fetch(target: &Path, version: Version) -> Result<PathBuf> {
    let folder = target.join("amd-runtime").join(version.number);
    unpack(version, &folder, None)?;
    Ok(folder)
}

/// Unpacks a version into `folder`, unless it is there already.
fn unpack(version: Version, folder: &Path, mirror: Option<&str>) -> Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("AMD's runtime is fetched on x86-64 Linux only".into());
    }
    if is_whole(folder) {
        return Ok(());
    }
    // Not a rename over it: that succeeds on an empty folder only.
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{} holds something else", folder.display()).into());
    }
    let folder = std::path::absolute(folder)?;
    fs::create_dir_all(folder.parent().ok_or("DIR is the root folder")?)?;
    let lists = partial_of(&folder.with_extension("lists"));
    let archive = Archive::open(lists, version.suites, &["amd64"], mirror)?;
    let mut files = archive.download(version.packages, Dependencies::Fetched)?;
    files.extend(archive.download(&[HEADERS], Dependencies::Left)?);
    fill_whole(&folder, |partial| {
        unpack_packages(&files, partial)?;
        fs::write(partial.join(PACKAGES), listing(&files))?;
        write_run(partial)?;
        match libraries(partial)?.is_empty() {
            true => Err("the packages hold no libamdhip64.so".into()),
            false => Ok(()),
        }
    })
}

/// The packages by file name (`name_version_architecture`), one a line: Debian's newer suites move,
/// and what a compiler writes depends on its exact version.
fn listing(files: &[PathBuf]) -> String {
    let mut names: Vec<String> = files
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned() + "\n"))
        .collect();
    names.sort();
    names.concat()
}

/// `run` is written last.
fn is_whole(folder: &Path) -> bool {
    folder.join("run").is_file() && folder.join("usr/include/hip/hip_runtime_api.h").is_file()
}

/// The runtime's and the compiler's libraries in `folder`, by soname.
pub(crate) fn libraries(folder: &Path) -> Result<Vec<PathBuf>> {
    let wanted = [
        "libamdhip64.so.",
        "libhiprtc.so.",
        "libhiprtc-builtins.so.",
        "libamd_comgr.so.",
    ];
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("usr/lib/x86_64-linux-gnu"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_soname = |prefix| {
            name.strip_prefix(prefix)
                .is_some_and(|version: &str| version.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if wanted.into_iter().any(is_soname) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_something_else_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("xtask-else-{}", std::process::id()));
        fs::create_dir_all(folder.join("usr")).unwrap();
        let error = unpack(VERSIONS[0], &folder, None).unwrap_err();
        assert!(
            error.to_string().contains("holds something else"),
            "{error}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn libraries_are_told_by_soname() {
        let folder = std::env::temp_dir().join(format!("xtask-sonames-{}", std::process::id()));
        let lib = folder.join("usr/lib/x86_64-linux-gnu");
        fs::create_dir_all(&lib).unwrap();
        for name in [
            "libamdhip64.so",
            "libamdhip64.so.6",
            "libamdhip64.so.6.4.43484",
            "libc.so.6",
        ] {
            fs::write(lib.join(name), "").unwrap();
        }
        assert_eq!(libraries(&folder).unwrap(), [lib.join("libamdhip64.so.6")]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
