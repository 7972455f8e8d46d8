//! Entries as files: each is written under a name of its own and renamed, and read with its
//! checksum, so that neither a reader nor the end of a writer sees half of one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::entry::{Damage, HEADER, Header};
use super::folder::{FolderError, check_private};
use super::{Entry, Key};

/// After its key's digits.
const SUFFIX: &str = ".kernel";
/// Of files being written, whose names begin with a dot.
const UNFINISHED: &str = ".tmp";
/// How old a time of last use gets before a hit renews it: a write a minute, not one a hit.
const TOUCH_AFTER: Duration = Duration::from_secs(60);

/// Why an entry was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadError {
    #[error("there is none")]
    Missing,
    #[error("{0}")]
    Damaged(#[from] Damage),
    /// Whoever stored it has a larger bound; it is good for them.
    #[error("it is larger than this cache may be")]
    TooLarge,
    #[error("{0}")]
    Foreign(FolderError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a file of the folder is, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Entry,
    Unfinished,
    /// Not this library's: left alone.
    Other,
}

impl FileKind {
    pub(super) fn of(name: &str) -> FileKind {
        let is_key = |stem: &str| {
            stem.len() == 2 * Key::LEN && stem.bytes().all(|digit| digit.is_ascii_hexdigit())
        };
        if name.strip_suffix(SUFFIX).is_some_and(is_key) {
            return FileKind::Entry;
        }
        let stem = name.strip_prefix('.').and_then(|name| name.split_once('.'));
        match stem {
            Some((key, rest)) if is_key(key) && rest.ends_with(UNFINISHED) => FileKind::Unfinished,
            _ => FileKind::Other,
        }
    }
}

/// Where `key`'s entry lies.
pub(super) fn path(folder: &Path, key: &Key) -> PathBuf {
    folder.join(format!("{key}{SUFFIX}"))
}

/// Reads and verifies an entry of at most `max_bytes`, and renews its time of last use.
pub(super) fn read(path: &Path, key: &Key, max_bytes: u64) -> Result<Entry, ReadError> {
    // Not opened unless it is a plain file: a named pipe would block for ever.
    let found = fs::symlink_metadata(path).map_err(missing)?;
    if !found.is_file() {
        return Err(Damage::Magic.into());
    }
    let mut file = open(path).map_err(missing)?;
    let metadata = file.metadata()?;
    check_private(&metadata).map_err(ReadError::Foreign)?;

    let mut header = [0; HEADER];
    file.read_exact(&mut header)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => ReadError::Damaged(Damage::Header),
            _ => ReadError::Io(error),
        })?;
    let header = Header::parse(&header, key, metadata.len())?;
    if metadata.len() > max_bytes {
        return Err(ReadError::TooLarge);
    }
    let mut payload = Vec::new();
    usize::try_from(header.payload_bytes)
        .ok()
        .and_then(|bytes| payload.try_reserve_exact(bytes).ok())
        .ok_or(ReadError::TooLarge)?;
    (&file)
        .take(header.payload_bytes)
        .read_to_end(&mut payload)?;
    let entry = header.entry(&payload)?;
    touch(&file, metadata.modified()?);
    Ok(entry)
}

fn missing(error: io::Error) -> ReadError {
    match error.kind() {
        ErrorKind::NotFound => ReadError::Missing,
        _ => ReadError::Io(error),
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(windows)]
    {
        // GENERIC_READ, and FILE_WRITE_ATTRIBUTES to renew the time of last use.
        const READ_AND_TOUCH: u32 = 0x8000_0000 | 0x0100;
        std::os::windows::fs::OpenOptionsExt::access_mode(&mut options, READ_AND_TOUCH);
    }
    options.open(path)
}

/// Renews the time of last use. Where it cannot, as on a read-only disk, nothing is evicted either.
fn touch(file: &File, modified: SystemTime) {
    let now = SystemTime::now();
    // A time in the future is wrong and would keep the entry for ever.
    let age = now.duration_since(modified).unwrap_or(Duration::MAX);
    if age > TOUCH_AFTER && file.set_modified(now).is_err() {
        tracing::trace!("a time of last use was not renewed");
    }
}

/// Puts a whole file in the place of `path`, atomically.
///
/// It is not flushed to the disk: a file that a power cut tears is found out by its checksum, and
/// waiting for the disk would take longer than many a compilation.
pub(super) fn write(folder: &Path, path: &Path, key: &Key, bytes: &[u8]) -> io::Result<()> {
    let (unfinished, mut file) = create_unfinished(folder, key)?;
    let written = file.write_all(bytes);
    // Windows renames no open file.
    drop(file);
    let renamed = written.and_then(|()| fs::rename(&unfinished, path));
    if renamed.is_err() {
        // What cannot be removed now is removed as a left-over later.
        let _ = fs::remove_file(&unfinished);
    }
    renamed
}

/// A new file in the folder, this user's alone to read and write.
fn create_unfinished(folder: &Path, key: &Key) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    // `create_new` neither opens what is there nor follows a link.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let process = std::process::id();
    // Process numbers repeat between containers that share a folder, so the time is in the name.
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = time.unwrap_or_default().as_nanos();
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(
            ".{key}.{process}-{nanoseconds}-{count}{UNFINISHED}"
        ));
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            file => return Ok((path, file?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_names_are_touched() {
        let key = Key::builder().finish();
        let folder = tempfile::tempdir().unwrap();
        let (unfinished, _file) = create_unfinished(folder.path(), &key).unwrap();
        let kind = |path: &Path| FileKind::of(path.file_name().unwrap().to_str().unwrap());
        assert_eq!(kind(&unfinished), FileKind::Unfinished);
        assert_eq!(kind(&path(folder.path(), &key)), FileKind::Entry);
        for other in [
            "",
            "x",
            "notes.kernel",
            ".hidden.tmp",
            ".tmp",
            &format!("{key}.txt"),
            &format!(".{key}.x"),
            &format!("0{key}.kernel"),
        ] {
            assert_eq!(FileKind::of(other), FileKind::Other, "{other}");
        }
    }
}
