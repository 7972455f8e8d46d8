//! Every shared library the bundle's ELF files need, less glibc and the GPU drivers.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Libraries of glibc and of drivers: the other machine's own must be used. Each entry is
/// what stands before the first `.so` of a file name.
const NEVER: &[&str] = &[
    "linux-vdso",
    "ld-linux-x86-64",
    "ld-linux-aarch64",
    "libc",
    "libm",
    "libdl",
    "libpthread",
    "librt",
    "libresolv",
    "libutil",
    "libcuda",
    "libnvrtc",
    "libamdhip64",
    "libhiprtc",
    "libEGL",
    "libGL",
    "libGLX",
    "libGLdispatch",
    "libGLESv2",
    "libOpenGL",
];

/// Libraries of the C++ compiler: an older copy before a newer one would break the other
/// machine's drivers, so these serve only where there is none.
const FALLBACK: &[&str] = &["libstdc++", "libgcc_s"];

/// Copies what `folder`'s programs, tests and plugins need into `lib` and `lib-fallback`.
pub(crate) fn collect(folder: &Path) -> Result<(), Box<dyn Error>> {
    let mut found: BTreeMap<String, PathBuf> = BTreeMap::new();
    let mut absent: BTreeSet<String> = BTreeSet::new();
    for part in ["bin", "bench", "examples", "tests", "plugins"] {
        for file in super::files_of(&folder.join(part))? {
            // ldd closes over what the libraries need in turn.
            let output = Command::new("ldd")
                .arg(&file)
                .stdin(Stdio::null())
                .output()
                .map_err(|error| format!("ldd: {error}"))?;
            let listing = String::from_utf8_lossy(&output.stdout);
            for (name, path) in parse(&listing) {
                match path {
                    _ if is_one_of(&name, NEVER) => {}
                    Some(path) => {
                        found.insert(name, path);
                    }
                    None => {
                        absent.insert(format!("{name} (of {})", file.display()));
                    }
                }
            }
        }
    }
    if !absent.is_empty() {
        let names: Vec<String> = absent.into_iter().collect();
        return Err(format!("libraries not found: {}", names.join(", ")).into());
    }
    for (name, path) in found {
        let part = if is_one_of(&name, FALLBACK) {
            "lib-fallback"
        } else {
            "lib"
        };
        // fs::copy follows links, so the copy is a file under the name that is asked for.
        fs::copy(&path, folder.join(part).join(&name))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Pairs of library name and path (`None` for `not found`) of what ldd prints.
fn parse(listing: &str) -> Vec<(String, Option<PathBuf>)> {
    listing
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.trim().split_once(" => ")?;
            if rest == "not found" {
                return Some((name.to_owned(), None));
            }
            // `/path/libx.so.1 (0x00007f...)`
            let path = rest.rsplit_once(" (").map_or(rest, |(path, _)| path);
            path.starts_with('/')
                .then(|| (name.to_owned(), Some(PathBuf::from(path))))
        })
        .collect()
}

fn is_one_of(name: &str, stems: &[&str]) -> bool {
    let stem = name.split(".so").next().unwrap_or(name);
    stems.contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ldd_prints_is_understood() {
        let listing = "\tlinux-vdso.so.1 (0x00007ffd)\n\
            \tlibglib-2.0.so.0 => /usr/lib/libglib-2.0.so.0 (0x00007f01)\n\
            \tlibgone.so.3 => not found\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n";
        assert_eq!(
            parse(listing),
            [
                (
                    "libglib-2.0.so.0".to_owned(),
                    Some(PathBuf::from("/usr/lib/libglib-2.0.so.0"))
                ),
                ("libgone.so.3".to_owned(), None),
            ]
        );
        assert!(parse("\tstatically linked\n").is_empty());
    }

    #[test]
    fn the_other_machines_own_libraries_are_left_out() {
        for name in ["libc.so.6", "libm.so.6", "libcuda.so.1", "libGLX.so.0"] {
            assert!(is_one_of(name, NEVER), "{name}");
        }
        for name in [
            "libcap.so.2",
            "libmount.so.1",
            "libgstgl-1.0.so.0",
            "libcurl.so.4",
        ] {
            assert!(!is_one_of(name, NEVER), "{name}");
        }
        assert!(is_one_of("libstdc++.so.6", FALLBACK));
    }
}
