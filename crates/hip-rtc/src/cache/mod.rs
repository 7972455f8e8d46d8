//! What was compiled, kept on disk for the next start.
//!
//! A [`Cache`] is a folder of files, one a [`Key`]. Threads and processes share it without locks: a
//! file is renamed into place when it is whole, and verified by length and SHA-256 when it is read.
//! Whatever goes wrong with the folder (read-only, full, removed, damaged), the work goes on
//! without it: each kind of trouble is warned of once and counted in [`CacheStatistics`].
//!
//! An entry may be code for the CPU, so a folder that others own or can write to is not used, nor
//! is a file. Folder and files are made readable and writable for this user only.
//!
//! The folder is `$XDG_CACHE_HOME/hip-rtc` or `~/.cache/hip-rtc`, on macOS
//! `~/Library/Caches/hip-rtc`, on Windows `%LOCALAPPDATA%\hip-rtc`. It may be removed at any time.

mod entry;
mod evict;
mod flight;
mod folder;
mod key;
mod report;
mod store;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicPtr, Ordering};

pub use entry::{Entry, Origin};
pub use key::{Key, KeyBuilder};
pub use report::CacheStatistics;

use evict::{Schedule, disk_bytes};
use flight::{Flights, Role};
use folder::FolderError;
use report::{Counters, Problem, Warned, count};
use store::ReadError;

/// Where compiled kernels are kept, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheConfig {
    /// The folder.
    pub folder: CacheFolder,
    /// The size in bytes that entries may take on disk, each in whole blocks of 4 KiB; beyond it,
    /// those not used for longest are removed, down to 90 %.
    pub max_bytes: u64,
}

impl Default for CacheConfig {
    /// The user's cache folder, 256 MiB.
    fn default() -> CacheConfig {
        CacheConfig {
            folder: CacheFolder::Default,
            max_bytes: 256 << 20,
        }
    }
}

/// Where compiled kernels are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CacheFolder {
    /// In the user's cache folder (see [the module](self)); nowhere if the environment names none.
    #[default]
    Default,
    /// Nowhere.
    Off,
    /// Here. Made, with what is missing above it, when the first entry is written.
    At(PathBuf),
}

/// The process's cache is set up or in use already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the kernel cache of this process is configured or in use already")]
pub struct AlreadyConfigured;

/// The process's cache. Not a `OnceLock`: the child of a fork must not wait for a thread that was
/// not forked with it.
static GLOBAL: AtomicPtr<Cache> = AtomicPtr::new(std::ptr::null_mut());

/// Sets up [`global`], before its first use.
///
/// # Errors
/// It was set up or used before.
pub fn configure(config: CacheConfig) -> Result<(), AlreadyConfigured> {
    install(config).map(drop).map_err(|_| AlreadyConfigured)
}

/// The cache of this process; by [`CacheConfig::default`] unless [`configure`] was called.
pub fn global() -> &'static Cache {
    let current = GLOBAL.load(Ordering::Acquire);
    // SAFETY: null, or a cache that `install` leaked and nobody frees.
    match unsafe { current.as_ref() } {
        Some(cache) => cache,
        None => install(CacheConfig::default()).unwrap_or_else(|other| other),
    }
}

/// Makes the process's cache; fails with the one that is there.
fn install(config: CacheConfig) -> Result<&'static Cache, &'static Cache> {
    let fresh = Box::into_raw(Box::new(Cache::new(config)));
    let none = std::ptr::null_mut();
    match GLOBAL.compare_exchange(none, fresh, Ordering::AcqRel, Ordering::Acquire) {
        // SAFETY: just leaked.
        Ok(_) => Ok(unsafe { &*fresh }),
        Err(other) => {
            // SAFETY: nobody else has seen `fresh`.
            drop(unsafe { Box::from_raw(fresh) });
            // SAFETY: not null, so leaked by another call, and never freed.
            Err(unsafe { &*other })
        }
    }
}

/// Compiled kernels on disk.
///
/// Usable by any number of threads and processes at once, and in the child of a fork.
#[derive(Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
    max_bytes: u64,
    schedule: Schedule,
    flights: Flights,
    counters: Counters,
    warned: Warned,
}

impl Cache {
    /// A cache; touches no disk yet.
    pub fn new(config: CacheConfig) -> Cache {
        let folder = match config.folder {
            CacheFolder::Default => folder::default_folder(|name| std::env::var_os(name)),
            CacheFolder::Off => None,
            CacheFolder::At(folder) => Some(folder),
        };
        Cache {
            folder,
            max_bytes: config.max_bytes,
            schedule: Schedule::new(config.max_bytes),
            flights: Flights::new(),
            counters: Counters::default(),
            warned: Warned::default(),
        }
    }

    /// Where entries are kept; `None` if nowhere.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What happened so far in this process.
    pub fn statistics(&self) -> CacheStatistics {
        self.counters.statistics()
    }

    /// The entry for a key, byte for byte what was [`put`](Self::put), or `None`.
    pub fn get(&self, key: &Key) -> Option<Entry> {
        self.get_if(key, |_| true)
    }

    /// The entry, if there is one and it is `fresh`; counts a hit or a miss.
    fn get_if(&self, key: &Key, fresh: impl Fn(&Entry) -> bool) -> Option<Entry> {
        let entry = self.read(key).filter(fresh);
        count(match entry {
            Some(_) => &self.counters.hits,
            None => &self.counters.misses,
        });
        entry
    }

    fn read(&self, key: &Key) -> Option<Entry> {
        let folder = self.trusted_folder()?;
        let path = store::path(folder, key);
        match store::read(&path, key, self.max_bytes) {
            Ok(entry) => return Some(entry),
            Err(ReadError::Missing | ReadError::TooLarge) => {}
            Err(ReadError::Damaged(damage)) => {
                count(&self.counters.rejected);
                self.warned.warn(Problem::Damaged, &path, &damage);
                // If another process has just replaced it, a good entry goes: it is made again.
                if let Err(error) = std::fs::remove_file(&path) {
                    self.warned.warn(Problem::Remove, &path, &error);
                }
            }
            Err(ReadError::Foreign(why)) => {
                count(&self.counters.rejected);
                self.warned.warn(Problem::Foreign, &path, &why);
            }
            Err(ReadError::Io(error)) => self.warned.warn(Problem::Read, &path, &error),
        }
        None
    }

    /// The folder, if it is there and may be used. Looked at each time (a miss takes 8 µs), since
    /// it may be removed or opened to others while the process runs.
    fn trusted_folder(&self) -> Option<&Path> {
        let folder = self.folder()?;
        match folder::check(folder) {
            Ok(()) => return Some(folder),
            Err(FolderError::Missing) => {}
            Err(error) => self.warn_of_folder(folder, &error),
        }
        None
    }

    fn warn_of_folder(&self, folder: &Path, error: &FolderError) {
        let problem = match error {
            FolderError::Owner { .. } | FolderError::Writable { .. } => Problem::Untrusted,
            _ => Problem::Folder,
        };
        self.warned.warn(problem, folder, error);
    }

    /// Keeps an entry, in the place of one that is there. Of several writers the last one wins.
    ///
    /// An entry that cannot be kept, or that is larger than the whole cache may be, is not: see
    /// [`CacheStatistics::store_failures`] and [`CacheStatistics::oversized`].
    pub fn put(&self, key: &Key, entry: &Entry) {
        let Some(folder) = self.folder() else {
            return;
        };
        let bytes = entry.encode(key);
        if disk_bytes(bytes.len() as u64) > self.max_bytes {
            count(&self.counters.oversized);
            let bytes = bytes.len();
            return tracing::debug!(bytes, "a compiled kernel is too large to be kept");
        }
        if let Err(error) = folder::create(folder).and_then(|()| folder::check(folder)) {
            count(&self.counters.store_failures);
            return self.warn_of_folder(folder, &error);
        }
        let path = store::path(folder, key);
        if let Err(error) = store::write(folder, &path, key, &bytes) {
            count(&self.counters.store_failures);
            return self.warned.warn(Problem::Write, &path, &error);
        }
        count(&self.counters.stores);
        self.keep_within_size(folder, bytes.len() as u64);
    }

    fn keep_within_size(&self, folder: &Path, len: u64) {
        match self.schedule.stored(folder, len) {
            Ok(scan) => {
                self.counters
                    .evicted
                    .fetch_add(scan.evicted, Ordering::Relaxed);
                if let Some((path, error)) = scan.failed {
                    self.warned.warn(Problem::Remove, &path, &error);
                }
            }
            Err(error) => self.warned.warn(Problem::Folder, folder, &error),
        }
    }

    /// The entry for a key, if there is one and it is `fresh`; otherwise what `make` gives, which is
    /// kept. Gives whether `make` was spared.
    ///
    /// Of threads that want the same key at once, one calls `make` and the others get its entry,
    /// whether or not it can be kept on disk; if `make` fails or panics, the next of them calls its
    /// own. `make` must not ask for the same key again: it would wait for itself.
    ///
    /// # Errors
    /// What `make` fails with.
    pub fn get_or_insert_with<E>(
        &self,
        key: &Key,
        fresh: impl Fn(&Entry) -> bool,
        make: impl FnOnce() -> Result<Entry, E>,
    ) -> Result<(Entry, bool), E> {
        let leader = loop {
            match self.flights.join(key) {
                Role::Leader(leader) => break leader,
                Role::Follower(flight) => {
                    count(&self.counters.shared);
                    if let Some(entry) = flight.wait() {
                        return Ok((entry, true));
                    }
                }
            }
        };
        let kept = self.get_if(key, fresh);
        let is_kept = kept.is_some();
        let entry = match kept {
            Some(entry) => entry,
            None => make()?,
        };
        if !is_kept {
            self.put(key, &entry);
        }
        leader.land(&entry);
        Ok((entry, is_kept))
    }
}
