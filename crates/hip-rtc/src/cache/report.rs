//! What went wrong, said once for each kind and counted every time.

use std::fmt::Display;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A kind of trouble; none of them stops the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// The folder may not be trusted.
    Untrusted,
    /// The folder is none, or cannot be made or listed.
    Folder,
    Read,
    Write,
    Remove,
    /// A file that no entry can be read from.
    Damaged,
    /// A file that others may have written.
    Foreign,
}

/// The kinds that were warned of.
#[derive(Debug, Default)]
pub(super) struct Warned(AtomicU32);

impl Warned {
    /// Warns, unless this kind was warned of before: a full disk fails at every store.
    pub(super) fn warn(&self, problem: Problem, path: &Path, why: &dyn Display) {
        let bit = 1 << problem as u32;
        if self.0.fetch_or(bit, Ordering::Relaxed) & bit != 0 {
            return tracing::debug!(path = %path.display(), ?problem, "kernel cache: {why}");
        }
        let text = match problem {
            Problem::Untrusted => {
                "the kernel cache is off, because others may have put files there"
            }
            Problem::Folder => "the kernel cache is off, because its folder is not usable",
            Problem::Read => "a compiled kernel cannot be read",
            Problem::Write => "a compiled kernel cannot be kept; it will be compiled again",
            Problem::Remove => "a file of the kernel cache cannot be removed",
            Problem::Damaged => "a damaged file of the kernel cache is not used",
            Problem::Foreign => {
                "a file of the kernel cache that others may have written is not used"
            }
        };
        tracing::warn!(path = %path.display(), "{text}: {why} (said once)");
    }
}

/// What a [`super::Cache`] did since it was made, in this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// Entries read from disk.
    pub hits: u64,
    /// Entries not there, not fresh, or not usable.
    pub misses: u64,
    /// Times that a thread waited for another one of this process that was at the same entry.
    pub shared: u64,
    /// Entries written.
    pub stores: u64,
    /// Entries that could not be written.
    pub store_failures: u64,
    /// Entries larger than the whole cache may be: not written.
    pub oversized: u64,
    /// Files that were there and not used: torn, damaged, another format's or another user's.
    pub rejected: u64,
    /// Entries removed to keep the cache within its size.
    pub evicted: u64,
}

/// The counters behind [`CacheStatistics`].
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) hits: AtomicU64,
    pub(super) misses: AtomicU64,
    pub(super) shared: AtomicU64,
    pub(super) stores: AtomicU64,
    pub(super) store_failures: AtomicU64,
    pub(super) oversized: AtomicU64,
    pub(super) rejected: AtomicU64,
    pub(super) evicted: AtomicU64,
}

impl Counters {
    pub(super) fn statistics(&self) -> CacheStatistics {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        CacheStatistics {
            hits: value(&self.hits),
            misses: value(&self.misses),
            shared: value(&self.shared),
            stores: value(&self.stores),
            store_failures: value(&self.store_failures),
            oversized: value(&self.oversized),
            rejected: value(&self.rejected),
            evicted: value(&self.evicted),
        }
    }
}

/// One more.
pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
