//! What the elements have in common.

pub(crate) mod caps;
pub(crate) mod crop;
pub(crate) mod device;
pub(crate) mod element;
pub(crate) mod error;
pub(crate) mod formats;
pub(crate) mod import;
pub(crate) mod planes;
pub(crate) mod pool;
pub(crate) mod transfer;
pub(crate) mod vendor;

use std::sync::LazyLock;

/// The elements' debug category.
pub(crate) static CAT: LazyLock<gst::DebugCategory> = LazyLock::new(|| {
    gst::DebugCategory::new(
        "hipelement",
        gst::DebugColorFlags::empty(),
        Some("HIP elements"),
    )
});

/// Locks what a panic elsewhere may have poisoned: the values are replaced whole, so they are
/// never half written.
pub(crate) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
