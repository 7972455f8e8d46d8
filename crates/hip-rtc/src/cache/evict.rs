//! Keeps the folder within its size: the entries not used for longest go first.

use std::fs::{self, DirEntry};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::store::FileKind;

/// What a file takes on common file systems is a multiple of this, so that many small entries count
/// as what they are.
const BLOCK: u64 = 4096;
/// Stores of this process between two looks at what other processes stored. A look costs about
/// 4 µs a file.
const STORES_PER_SCAN: u32 = 64;
/// The age at which an unfinished file's writer is taken for dead.
const LEFT_OVER_AFTER: Duration = Duration::from_secs(60 * 60);

/// When to look at the folder next. Holds no lock, which the child of a fork could find held.
#[derive(Debug)]
pub(super) struct Schedule {
    max_bytes: u64,
    /// Bytes at the last look and those stored since.
    estimate: AtomicU64,
    stores_left: AtomicU32,
    /// The process whose thread is looking, or 0. In the child of a fork the parent's number does
    /// not count.
    scanning: AtomicU32,
}

/// What a look at the folder did.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) evicted: u64,
    /// What could not be removed, and why.
    pub(super) failed: Option<(PathBuf, io::Error)>,
    bytes: u64,
}

struct Candidate {
    path: PathBuf,
    used: SystemTime,
    bytes: u64,
}

/// What a file counts as.
pub(super) fn disk_bytes(len: u64) -> u64 {
    len.div_ceil(BLOCK).saturating_mul(BLOCK)
}

impl Schedule {
    pub(super) fn new(max_bytes: u64) -> Schedule {
        Schedule {
            max_bytes,
            estimate: AtomicU64::new(0),
            // The first store looks: a program that stores one kernel and ends would else never.
            stores_left: AtomicU32::new(1),
            scanning: AtomicU32::new(0),
        }
    }

    /// Notes a file of `len` bytes, and looks at the folder if it is time.
    ///
    /// # Errors
    /// The folder cannot be listed.
    pub(super) fn stored(&self, folder: &Path, len: u64) -> io::Result<Scan> {
        let bytes = disk_bytes(len);
        let estimate = self.estimate.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let one_less = |left: u32| Some(left.saturating_sub(1));
        let left = self
            .stores_left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less)
            .unwrap_or_default();
        if left > 1 && estimate <= self.max_bytes {
            return Ok(Scan::default());
        }
        let process = std::process::id();
        if self.scanning.swap(process, Ordering::Acquire) == process {
            // Another thread is at it.
            return Ok(Scan::default());
        }
        let scan = scan(folder, self.max_bytes);
        if let Ok(scan) = &scan {
            self.estimate.store(scan.bytes, Ordering::Relaxed);
        }
        self.stores_left.store(STORES_PER_SCAN, Ordering::Relaxed);
        self.scanning.store(0, Ordering::Release);
        scan
    }
}

/// Removes left-overs, and entries down to 90 % if they are more than `max_bytes`.
fn scan(folder: &Path, max_bytes: u64) -> io::Result<Scan> {
    let mut scan = Scan::default();
    let mut candidates = Vec::new();
    let now = SystemTime::now();
    for file in fs::read_dir(folder)? {
        let Some((kind, candidate)) = file.ok().and_then(|file| look_at(&file)) else {
            continue;
        };
        let age = now.duration_since(candidate.used).unwrap_or_default();
        match kind {
            FileKind::Entry => candidates.push(candidate),
            FileKind::Unfinished if age > LEFT_OVER_AFTER => {
                scan.remove(&candidate);
            }
            FileKind::Unfinished | FileKind::Other => {}
        }
    }
    scan.bytes = candidates.iter().map(|candidate| candidate.bytes).sum();
    if scan.bytes <= max_bytes {
        return Ok(scan);
    }
    // Down to less than the limit, so that the next store need not look again.
    let target = max_bytes / 10 * 9;
    candidates.sort_by_key(|candidate| candidate.used);
    let newest = candidates.len() - 1;
    for (index, candidate) in candidates.iter().enumerate() {
        // The newest may take all of it.
        if scan.bytes <= target || (index == newest && scan.bytes <= max_bytes) {
            break;
        }
        if scan.remove(candidate) {
            scan.evicted += 1;
            scan.bytes -= candidate.bytes;
        }
    }
    Ok(scan)
}

/// A plain file of the folder and what it is; `None` if it has gone or is something else.
fn look_at(file: &DirEntry) -> Option<(FileKind, Candidate)> {
    let kind = FileKind::of(file.file_name().to_str()?);
    if kind == FileKind::Other {
        return None;
    }
    // Of a link itself, not of what it points to.
    let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
    let candidate = Candidate {
        path: file.path(),
        used: metadata.modified().ok()?,
        bytes: disk_bytes(metadata.len()),
    };
    Some((kind, candidate))
}

impl Scan {
    /// Removes a file; gives whether it has gone.
    fn remove(&mut self, candidate: &Candidate) -> bool {
        match fs::remove_file(&candidate.path) {
            Ok(()) => true,
            // Another process was faster.
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => {
                self.failed = Some((candidate.path.clone(), error));
                false
            }
        }
    }
}
