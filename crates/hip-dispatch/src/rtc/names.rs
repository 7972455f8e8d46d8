//! Where run-time compilers are looked for.

use std::collections::HashSet;
use std::ffi::{OsStr, c_int};
use std::path::{Path, PathBuf};

use super::RuntimeFile;
use crate::LoaderConfig;
use crate::loader::{Library, versioned_files};

/// Sonames of NVRTC, the newest first: those that exist (11.2 stands for all of 11.2 to 11.8) and a
/// few to come. A CUBIN does not depend on the driver's version, so newer is better.
const NVRTC_SONAMES: [&str; 5] = ["15", "14", "13", "12", "11.2"];
/// As above, for Windows.
const NVRTC_DLLS: [&str; 5] = ["150_0", "140_0", "130_0", "120_0", "112_0"];
/// Below a Python environment's package folder.
const WHEELS: [&str; 4] = [
    "nvidia/cu14/lib",
    "nvidia/cu13/lib",
    "nvidia/cuda_nvrtc/lib",
    "nvidia/cuda_nvrtc/bin",
];

/// Files that may be NVRTC, the likeliest first: the folders given, the system's own by versioned
/// name, toolkit folders, Python environments.
pub(super) fn nvrtc_candidates(config: &LoaderConfig) -> Vec<PathBuf> {
    if let Some(file) = &config.nvrtc {
        return vec![file.clone()];
    }
    let mut files = Candidates::default();
    for folder in &config.search_dirs {
        files.folder(folder, nvrtc_prefix());
    }
    match cfg!(windows) {
        true => files.names(NVRTC_DLLS.map(|version| format!("nvrtc64_{version}.dll"))),
        false => files.names(NVRTC_SONAMES.map(|version| format!("libnvrtc.so.{version}"))),
    }
    for folder in toolkit_folders() {
        files.folder(&folder, nvrtc_prefix());
    }
    for packages in python_packages() {
        for wheel in WHEELS {
            files.folder(&packages.join(wheel), nvrtc_prefix());
        }
    }
    files.files
}

const fn nvrtc_prefix() -> &'static str {
    if cfg!(windows) {
        "nvrtc64_"
    } else {
        "libnvrtc.so."
    }
}

/// NVRTC's builtins library of a version.
pub(super) fn builtins_name((major, minor): (u32, u32)) -> String {
    match cfg!(windows) {
        true => format!("nvrtc-builtins64_{major}{minor}.dll"),
        false => format!("libnvrtc-builtins.so.{major}.{minor}"),
    }
}

/// Files, each once: a soname is a link to a longer name in the same folder.
#[derive(Default)]
struct Candidates {
    files: Vec<PathBuf>,
    seen: HashSet<PathBuf>,
}

impl Candidates {
    /// The versioned files of a folder, the newest first.
    fn folder(&mut self, folder: &Path, prefix: &str) {
        for file in versioned_files(folder, prefix) {
            self.file(file);
        }
    }

    fn file(&mut self, file: PathBuf) {
        let real = std::fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
        if self.seen.insert(real) {
            self.files.push(file);
        }
    }

    /// Names for the system's loader to find.
    fn names(&mut self, names: impl IntoIterator<Item = String>) {
        self.files.extend(names.into_iter().map(PathBuf::from));
    }
}

/// The library folders of CUDA toolkits: of `CUDA_PATH`, then of those installed, the newest first.
fn toolkit_folders() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = ["CUDA_PATH", "CUDA_HOME"]
        .iter()
        .filter_map(std::env::var_os)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .collect();
    if cfg!(unix) {
        // `cuda` itself is a link to the default one: with no number it sorts behind the others.
        roots.extend(versioned_files("/usr/local".as_ref(), "cuda"));
        roots.extend(versioned_files("/opt".as_ref(), "cuda"));
    }
    let library_folders = |root: PathBuf| {
        let targets = subfolders(&root.join("targets"));
        let mut folders = vec![root.join("lib64"), root.join("lib"), root.join("bin/x64")];
        folders.push(root.join("bin"));
        folders.extend(targets.into_iter().map(|target| target.join("lib")));
        folders
    };
    roots.into_iter().flat_map(library_folders).collect()
}

/// The package folders of Python environments: the one in use, the user's, the system's.
fn python_packages() -> Vec<PathBuf> {
    let mut roots: Vec<PathBuf> = Vec::new();
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"];
    for environment in environments.iter().filter_map(std::env::var_os) {
        roots.push(environment.into());
    }
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    roots.extend(home.map(|home| PathBuf::from(home).join(".local")));
    roots.extend(["/usr/local", "/usr"].map(PathBuf::from));
    let mut packages = Vec::new();
    for root in roots {
        for python in versioned_files(&root.join("lib"), "python3") {
            packages.push(python.join("site-packages"));
            packages.push(python.join("dist-packages"));
        }
        // Windows.
        packages.push(root.join("Lib/site-packages"));
    }
    packages.retain(|folder| folder.is_dir());
    packages
}

fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    folders
}

/// Files that may be HIPRTC, the likeliest first: beside the runtime in use, the runtime itself, the
/// folders given, the system's own by name. All are of the runtime's major version.
pub(super) fn hiprtc_candidates(
    config: &LoaderConfig,
    runtime: Option<&RuntimeFile>,
) -> Vec<PathBuf> {
    if let Some(file) = &config.hiprtc {
        return vec![file.clone()];
    }
    let major = runtime
        .map(|runtime| runtime.version / 10_000_000)
        .filter(|major| *major > 0);
    let fits = |file: &PathBuf| {
        let found = file_version(file).map(|version| version.0 as i32);
        major.is_none() || found == major
    };
    let beside = runtime.and_then(|runtime| runtime.path.parent());
    let mut files = Candidates::default();
    for folder in beside
        .into_iter()
        .chain(config.search_dirs.iter().map(PathBuf::as_path))
    {
        for file in versioned_files(folder, hiprtc_prefix())
            .into_iter()
            .filter(fits)
        {
            files.file(file);
        }
        if Some(folder) == beside
            && let Some(runtime) = runtime
        {
            files.file(runtime.path.clone());
        }
    }
    let majors = major.map_or((5..=10).rev().collect(), |major| vec![major]);
    for major in majors {
        match cfg!(windows) {
            true => files.names(
                (0..10)
                    .rev()
                    .map(|minor| format!("hiprtc{major:02}{minor:02}.dll")),
            ),
            false => files.names([format!("libhiprtc.so.{major}")]),
        }
    }
    files.files
}

const fn hiprtc_prefix() -> &'static str {
    if cfg!(windows) {
        "hiprtc"
    } else {
        "libhiprtc.so."
    }
}

/// ROCm's version of a HIPRTC: that of `runtime`, which it belongs to, or else of the runtime that it
/// is in or needs, or else what its file's name says. What HIPRTC says of itself was 9.0 for years.
pub(super) fn hiprtc_version(
    library: &Library,
    runtime: Option<&RuntimeFile>,
) -> Option<(u32, u32)> {
    // Up to 6.x HIPRTC is in the runtime or needs it, so this finds the runtime's function.
    let asked = || {
        type GetVersion = unsafe extern "C" fn(*mut c_int) -> c_int;
        let address = library.symbol(c"hipRuntimeGetVersion")?;
        // SAFETY: the signature is that of hip_runtime_api.h; function pointers are data pointers'
        // size on every platform served.
        let get = unsafe { std::mem::transmute::<*const std::ffi::c_void, GetVersion>(address) };
        let mut version = 0;
        // SAFETY: `version` is writable; the call needs no device.
        let code = unsafe { get(&mut version) };
        let path = library.path().to_owned();
        (code == 0).then_some(RuntimeFile { path, version })
    };
    let told = runtime.and_then(RuntimeFile::release);
    told.or_else(|| asked()?.release()).or_else(|| {
        let real = std::fs::canonicalize(library.path());
        file_version(&real.unwrap_or_else(|_| library.path().to_owned()))
    })
}

/// The version in a HIPRTC's file name: `libhiprtc.so.7.2.70253` is 7.2, `hiprtc0604.dll` is 6.4.
fn file_version(file: &Path) -> Option<(u32, u32)> {
    let name = file.file_name().and_then(OsStr::to_str)?;
    if let Some(digits) = name
        .strip_prefix("hiprtc")
        .and_then(|n| n.strip_suffix(".dll"))
    {
        let (major, minor) = digits.split_at_checked(2)?;
        return Some((major.parse().ok()?, minor.parse().ok()?));
    }
    let (_, version) = name.split_once(".so.")?;
    let mut parts = version.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with empty files, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[&str]) -> Folder {
            let folder =
                std::env::temp_dir().join(format!("hip-rtc-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            for file in files {
                std::fs::write(folder.join(file), "").unwrap();
            }
            Folder(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            // Left behind at worst.
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_named_compiler_is_the_only_one() {
        let config = LoaderConfig {
            nvrtc: Some("x.so".into()),
            hiprtc: Some("y.so".into()),
            search_dirs: vec!["/usr/lib".into()],
            ..LoaderConfig::default()
        };
        assert_eq!(nvrtc_candidates(&config), [PathBuf::from("x.so")]);
        assert_eq!(hiprtc_candidates(&config, None), [PathBuf::from("y.so")]);
    }

    #[test]
    #[cfg(unix)]
    fn folders_given_come_first_and_the_newest_of_them() {
        let files = [
            "libnvrtc.so.12",
            "libnvrtc.so.13",
            "libnvrtc-builtins.so.13.0",
        ];
        let folder = Folder::new("nvrtc", &files);
        let config = LoaderConfig {
            search_dirs: vec![folder.0.clone()],
            ..LoaderConfig::default()
        };
        let found = nvrtc_candidates(&config);
        assert_eq!(found[0], folder.0.join("libnvrtc.so.13"));
        assert_eq!(found[1], folder.0.join("libnvrtc.so.12"));
        let position = |name: &str| found.iter().position(|file| file == &PathBuf::from(name));
        assert!(position("libnvrtc.so.13") < position("libnvrtc.so.12"));
        assert!(position("libnvrtc.so.12") < position("libnvrtc.so.11.2"));
        assert_eq!(position("libnvrtc.so"), None);
        assert!(
            !found
                .iter()
                .any(|file| file.to_string_lossy().contains("builtins"))
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_link_to_a_file_in_the_list_is_no_second_one() {
        let folder = Folder::new("link", &["libnvrtc.so.12.9.86"]);
        let link = folder.0.join("libnvrtc.so.12");
        std::os::unix::fs::symlink("libnvrtc.so.12.9.86", link).unwrap();
        let mut files = Candidates::default();
        files.folder(&folder.0, "libnvrtc.so.");
        assert_eq!(files.files.len(), 1, "{:?}", files.files);
    }

    #[test]
    #[cfg(unix)]
    fn hiprtc_is_of_the_runtimes_major_version() {
        let names = ["libamdhip64.so.6", "libhiprtc.so.6", "libhiprtc.so.7"];
        let folder = Folder::new("hiprtc", &names);
        let runtime = |version| RuntimeFile {
            path: folder.0.join("libamdhip64.so.6"),
            version,
        };
        let config = LoaderConfig::default();
        let six = hiprtc_candidates(&config, Some(&runtime(60_443_484)));
        let expected = [
            folder.0.join("libhiprtc.so.6"),
            folder.0.join("libamdhip64.so.6"),
            "libhiprtc.so.6".into(),
        ];
        assert_eq!(six, expected);
        // The functions of 5.x are in the runtime.
        let five = hiprtc_candidates(&config, Some(&runtime(50_221_153)));
        assert_eq!(five[0], folder.0.join("libamdhip64.so.6"));
    }

    #[test]
    fn versions_are_read_from_names() {
        let version = |name: &str| file_version(Path::new(name));
        assert_eq!(version("/x/libhiprtc.so.7.2.70253"), Some((7, 2)));
        assert_eq!(version("libhiprtc.so.6"), Some((6, 0)));
        assert_eq!(version("hiprtc0604.dll"), Some((6, 4)));
        assert_eq!(version("hiprtc-builtins.dll"), None);
        assert_eq!(version("libhiprtc.so"), None);
    }
}
