use std::path::PathBuf;

use crate::LoaderConfig;

/// Files that may be NVIDIA's driver, the likeliest first. The driver package installs the
/// versioned name; the unversioned one is a development symlink and comes last.
pub(crate) fn driver_candidates(config: &LoaderConfig) -> Vec<PathBuf> {
    if let Some(file) = &config.cuda_driver {
        return vec![file.clone()];
    }
    candidates(config, names(cfg!(windows)))
}

const fn names(windows: bool) -> &'static [&'static str] {
    if windows {
        &["nvcuda.dll"]
    } else {
        &["libcuda.so.1", "libcuda.so"]
    }
}

/// Those of `names` that lie in a folder given, then all by name, for the system to find.
fn candidates(config: &LoaderConfig, names: &[&str]) -> Vec<PathBuf> {
    let from_dirs = config
        .search_dirs
        .iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .filter(|path| path.exists());
    from_dirs.chain(names.iter().map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_is_the_only_one() {
        let config = LoaderConfig {
            cuda_driver: Some("x.so".into()),
            ..LoaderConfig::default()
        };
        assert_eq!(driver_candidates(&config), [PathBuf::from("x.so")]);
    }

    #[test]
    fn windows_has_one_name_and_folders_given_come_first() {
        let folder = std::env::temp_dir().join(format!("hip-nvcuda-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = LoaderConfig {
            search_dirs: vec![folder.join("none"), folder.clone()],
            ..LoaderConfig::default()
        };
        let by_name = PathBuf::from("nvcuda.dll");
        assert_eq!(
            candidates(&config, names(true)),
            std::slice::from_ref(&by_name)
        );
        let there = folder.join("nvcuda.dll");
        std::fs::write(&there, "").unwrap();
        assert_eq!(candidates(&config, names(true)), [there, by_name]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    #[cfg(unix)]
    fn the_versioned_name_comes_first() {
        assert_eq!(
            driver_candidates(&LoaderConfig::default())[0],
            PathBuf::from("libcuda.so.1")
        );
    }
}
