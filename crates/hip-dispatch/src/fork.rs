//! What a fork leaves behind: nothing of a vendor's runtime, and none of this crate's threads,
//! works in the child of a process that used them. Objects carry a [`ProcessStamp`], so that the
//! child gets an error where it would crash or wait for ever.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{HipError, Result, Vendor};

/// Forks from the first process to this one, plus one. 0 until the first stamp is taken.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Which process something was made in; costs one load to compare.
///
/// Told apart by `pthread_atfork`: a child of `fork` has a number of its own from its first
/// instruction on. What is spawned (`posix_spawn`, `vfork` and `exec`) starts afresh anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStamp(u32);

impl ProcessStamp {
    /// This process.
    pub fn now() -> ProcessStamp {
        // Not a `Once`: a child must not wait for a thread that was not forked with it.
        if PROCESS
            .compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            count_forks();
        }
        ProcessStamp(PROCESS.load(Ordering::Relaxed))
    }

    /// Whether this process is the one the stamp was taken in.
    #[inline]
    pub fn is_current(self) -> bool {
        PROCESS.load(Ordering::Relaxed) == self.0
    }

    /// Fails with code 3, [`crate::ErrorKind::NotInitialized`], in a child.
    ///
    /// # Errors
    /// The process was forked since the stamp was taken.
    #[inline]
    pub fn check(self, vendor: Vendor, call: &'static str) -> Result<()> {
        match self.is_current() {
            true => Ok(()),
            false => Err(forked(vendor, call)),
        }
    }
}

#[cold]
fn forked(vendor: Vendor, call: &'static str) -> HipError {
    let text = "this process was forked after the device was opened, and neither a vendor's \
                runtime nor a worker thread survives that: open devices after the fork, or \
                start another program";
    HipError::new(vendor, call, 3, text)
}

/// Has every child of a fork count itself.
#[cfg(all(unix, not(miri)))]
fn count_forks() {
    unsafe extern "C" fn in_child() {
        PROCESS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler touches one atomic, which is allowed between fork and exec; libc forgets
    // it if this library is unloaded.
    let code = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    if code != 0 {
        tracing::warn!(code, "forks cannot be noticed: memory is used up");
    }
}

/// There is no fork here.
#[cfg(not(all(unix, not(miri))))]
fn count_forks() {}

/// A `OnceLock` that a child of a fork never waits for.
pub(crate) struct ForkOnce<T> {
    value: OnceLock<T>,
    /// The process that began to make the value; 0 before.
    begun: AtomicU32,
}

impl<T> ForkOnce<T> {
    pub(crate) const fn new() -> Self {
        ForkOnce {
            value: OnceLock::new(),
            begun: AtomicU32::new(0),
        }
    }

    /// The value, made now if nobody made it; `None` if the process was forked while another
    /// thread was making it.
    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> Option<&T> {
        if let Some(value) = self.value.get() {
            return Some(value);
        }
        let now = ProcessStamp::now().0;
        match self
            .begun
            .compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed)
        {
            Err(other) if other != now => None,
            _ => Some(self.value.get_or_init(make)),
        }
    }
}

impl<T: std::fmt::Debug> std::fmt::Debug for ForkOnce<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_stamp_of_another_process_is_refused() {
        let now = ProcessStamp::now();
        assert!(now.is_current() && now.check(Vendor::Host, "x").is_ok());
        let parents = ProcessStamp(now.0.wrapping_sub(1));
        let error = parents.check(Vendor::Nvidia, "cuMemAlloc").unwrap_err();
        assert_eq!(
            (error.kind, error.call),
            (ErrorKind::NotInitialized, "cuMemAlloc")
        );
        assert!(error.to_string().contains("forked"), "{error}");
    }

    #[test]
    fn what_another_process_began_is_not_waited_for() {
        let once = ForkOnce::new();
        assert_eq!(once.get_or_init(|| 7), Some(&7));
        assert_eq!(once.get_or_init(|| 8), Some(&7));
        let begun = ForkOnce::<u32>::new();
        begun.begun.store(u32::MAX, Ordering::Relaxed);
        assert_eq!(begun.get_or_init(|| 9), None);
    }
}
