//! Where the cache lies, and whether it may be trusted: a Host entry is code that will be run.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why a folder is not used.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "others are kept out by access lists there")
)]
pub(super) enum FolderError {
    #[error("it does not exist")]
    Missing,
    #[error("it is no folder")]
    NotAFolder,
    #[error("user {owner} owns it, this process is user {user}'s")]
    Owner { owner: u32, user: u32 },
    #[error("its permissions {:04o} let others write to it (chmod go-w would do)", .mode & 0o7777)]
    Writable { mode: u32 },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The folder for caches of this user's programs, by the system's convention; `None` if the
/// environment names none.
pub(super) fn default_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // The XDG Base Directory Specification has relative paths ignored; an empty one counts as unset.
    let absolute = |name| {
        let path = PathBuf::from(variable(name)?);
        path.is_absolute().then_some(path)
    };
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };
    caches.map(|caches| caches.join("hip-rtc"))
}

/// Makes the folder for this user alone, with what is missing above it, unless it is there.
pub(super) fn create(folder: &Path) -> Result<(), FolderError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        // Something else of that name, which `check` will say.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => Ok(other?),
    }
}

/// Whether only this user can have put files into the folder.
///
/// A link is followed if it is this user's, too.
pub(super) fn check(folder: &Path) -> Result<(), FolderError> {
    let missing = |error: io::Error| match error.kind() {
        ErrorKind::NotFound => FolderError::Missing,
        ErrorKind::NotADirectory => FolderError::NotAFolder,
        _ => FolderError::Io(error),
    };
    let link = fs::symlink_metadata(folder).map_err(missing)?;
    check_owner(&link)?;
    let target = match link.is_symlink() {
        true => fs::metadata(folder).map_err(missing)?,
        false => link,
    };
    if !target.is_dir() {
        return Err(FolderError::NotAFolder);
    }
    check_private(&target)
}

/// Whether what was opened is this user's and nobody else's to write.
#[cfg(unix)]
pub(super) fn check_private(metadata: &Metadata) -> Result<(), FolderError> {
    check_owner(metadata)?;
    let mode = std::os::unix::fs::MetadataExt::mode(metadata);
    match mode & 0o022 {
        0 => Ok(()),
        _ => Err(FolderError::Writable { mode }),
    }
}

#[cfg(unix)]
fn check_owner(metadata: &Metadata) -> Result<(), FolderError> {
    let owner = std::os::unix::fs::MetadataExt::uid(metadata);
    // SAFETY: takes nothing and never fails, by POSIX.
    match unsafe { libc::geteuid() } {
        user if user == owner => Ok(()),
        user => Err(FolderError::Owner { owner, user }),
    }
}

/// A user's local application data is that user's by its access list, which its files inherit.
#[cfg(not(unix))]
pub(super) fn check_private(_metadata: &Metadata) -> Result<(), FolderError> {
    Ok(())
}

#[cfg(not(unix))]
fn check_owner(_metadata: &Metadata) -> Result<(), FolderError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(variables: &[(&str, &str)]) -> Option<PathBuf> {
        default_folder(|name| {
            let found = variables.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    #[cfg(all(unix, not(target_os = "macos")))]
    fn xdg_is_followed() {
        let home = ("HOME", "/home/me");
        let xdg = |value| folder(&[("XDG_CACHE_HOME", value), home]);
        assert_eq!(xdg("/var/me"), Some("/var/me/hip-rtc".into()));
        let default = Some(PathBuf::from("/home/me/.cache/hip-rtc"));
        assert_eq!(xdg("relative/path"), default);
        assert_eq!(xdg(""), default);
        assert_eq!(folder(&[home]), default);
        assert_eq!(folder(&[("HOME", "me")]), None);
        assert_eq!(folder(&[("HOME", "")]), None);
        assert_eq!(folder(&[]), None);
    }

    #[test]
    #[cfg(target_os = "macos")]
    fn caches_lie_in_the_library() {
        let default = Some(PathBuf::from("/Users/me/Library/Caches/hip-rtc"));
        assert_eq!(folder(&[("HOME", "/Users/me")]), default);
        assert_eq!(folder(&[]), None);
    }

    #[test]
    #[cfg(windows)]
    fn caches_lie_in_local_application_data() {
        let found = folder(&[("LOCALAPPDATA", r"C:\Users\me\AppData\Local")]);
        assert_eq!(found, Some(r"C:\Users\me\AppData\Local\hip-rtc".into()));
        assert_eq!(folder(&[]), None);
    }
}
