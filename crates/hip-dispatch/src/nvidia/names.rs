use std::path::PathBuf;

use crate::LoaderConfig;

/// Files that may be NVIDIA's driver, the likeliest first. The driver package installs the
/// versioned name; the unversioned one is a development symlink and comes last.
pub(crate) fn driver_candidates(config: &LoaderConfig) -> Vec<PathBuf> {
    if let Some(file) = &config.cuda_driver {
        return vec![file.clone()];
    }
    let names: &[&str] = if cfg!(windows) {
        &["nvcuda.dll"]
    } else {
        &["libcuda.so.1", "libcuda.so"]
    };
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
    #[cfg(unix)]
    fn the_versioned_name_comes_first() {
        assert_eq!(
            driver_candidates(&LoaderConfig::default())[0],
            PathBuf::from("libcuda.so.1")
        );
    }
}
