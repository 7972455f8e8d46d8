use std::path::PathBuf;

use crate::LoaderConfig;
use crate::loader::versioned_files;

/// Soname versions tried by name, the newest first: those that exist (5 to 7) and a few to come.
const VERSIONS: std::ops::RangeInclusive<u32> = 5..=10;

/// Files that may be AMD's HIP runtime, the likeliest first: the folders given, the system's own
/// by versioned name, then ROCm's folders. The unversioned name is a development symlink and is
/// not tried by itself.
pub(crate) fn runtime_candidates(config: &LoaderConfig) -> Vec<PathBuf> {
    if let Some(file) = &config.amd_runtime {
        return vec![file.clone()];
    }
    if cfg!(windows) {
        windows_candidates(config)
    } else {
        unix_candidates(config)
    }
}

fn unix_candidates(config: &LoaderConfig) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in &config.search_dirs {
        files.extend(versioned_files(folder, "libamdhip64.so."));
    }
    files.extend(
        VERSIONS
            .rev()
            .map(|version| PathBuf::from(format!("libamdhip64.so.{version}"))),
    );
    let mut folders: Vec<PathBuf> = ["ROCM_PATH", "HIP_PATH"]
        .iter()
        .filter_map(std::env::var_os)
        .map(|folder| PathBuf::from(folder).join("lib"))
        .collect();
    let installed = versioned_files("/opt".as_ref(), "rocm");
    folders.extend(installed.into_iter().map(|folder| folder.join("lib")));
    for folder in folders {
        files.extend(versioned_files(&folder, "libamdhip64.so."));
    }
    files
}

/// The versioned name first: an old driver leaves an `amdhip64.dll` behind that is another ABI.
pub(crate) fn windows_candidates(config: &LoaderConfig) -> Vec<PathBuf> {
    let names: Vec<String> = VERSIONS
        .rev()
        .filter(|version| *version >= 6)
        .map(|version| format!("amdhip64_{version}.dll"))
        .chain(["amdhip64.dll".to_owned()])
        .collect();
    let mut folders = config.search_dirs.clone();
    folders.extend(std::env::var_os("HIP_PATH").map(|folder| PathBuf::from(folder).join("bin")));
    let in_folders = folders
        .iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .filter(|path| path.exists());
    in_folders.chain(names.iter().map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_soname_is_tried_newest_first() {
        let files = unix_candidates(&LoaderConfig::default());
        let position = |name: &str| files.iter().position(|file| file == &PathBuf::from(name));
        let (seven, six, five) = (
            position("libamdhip64.so.7").unwrap(),
            position("libamdhip64.so.6").unwrap(),
            position("libamdhip64.so.5").unwrap(),
        );
        assert!(seven < six && six < five);
        assert_eq!(position("libamdhip64.so"), None);
    }

    #[test]
    fn windows_prefers_versioned_names() {
        let files = windows_candidates(&LoaderConfig::default());
        let position = |name: &str| files.iter().position(|file| file == &PathBuf::from(name));
        assert!(position("amdhip64_7.dll") < position("amdhip64_6.dll"));
        assert!(position("amdhip64_6.dll") < position("amdhip64.dll"));
        // 5.x had no versioned name.
        assert_eq!(position("amdhip64_5.dll"), None);
        assert_eq!(files.last(), Some(&PathBuf::from("amdhip64.dll")));
        let unix = |file: &PathBuf| file.to_string_lossy().contains(".so");
        assert!(!files.iter().any(unix), "{files:?}");
    }

    #[test]
    fn windows_takes_what_lies_in_a_folder_before_the_systems() {
        let folder = std::env::temp_dir().join(format!("hip-amdhip-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["amdhip64.dll", "amdhip64_6.dll", "hiprtc0604.dll"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let config = LoaderConfig {
            search_dirs: vec![folder.clone()],
            ..LoaderConfig::default()
        };
        let files = windows_candidates(&config);
        assert_eq!(
            files[..2],
            ["amdhip64_6.dll", "amdhip64.dll"].map(|name| folder.join(name))
        );
        let system = PathBuf::from("amdhip64_10.dll");
        assert!(files[2..].contains(&system), "{files:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_named_file_is_the_only_one() {
        let config = LoaderConfig {
            amd_runtime: Some("x.so".into()),
            ..LoaderConfig::default()
        };
        assert_eq!(runtime_candidates(&config), [PathBuf::from("x.so")]);
    }
}
