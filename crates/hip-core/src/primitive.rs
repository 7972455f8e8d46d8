//! The locks and threads of pools and the completion worker: the standard library's, or loom's
//! under `--cfg hip_loom`, where `tests/loom.rs` tries every order in which they can run.

#[cfg(hip_loom)]
pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};
#[cfg(hip_loom)]
pub(crate) use loom::thread;
#[cfg(not(hip_loom))]
pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
#[cfg(not(hip_loom))]
pub(crate) use std::thread;

use std::sync::PoisonError;

/// Locks, and takes no notice of a panic elsewhere: what these mutexes guard is consistent
/// between any two statements that could panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sleeps until it is notified, or for no reason.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}
