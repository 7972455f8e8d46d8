//! Numbers for objects: what a destroyed or foreign handle is checked against.

use std::collections::HashMap;
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// Shards of a registry, so that threads that use different objects do not share a lock's
/// cache line. A power of two.
const SHARDS: usize = 8;

/// A number that no other object of this process has or had. One counter serves every kind and
/// every [`super::Host`], so a stream's handle is never an event's, nor another backend's.
///
/// Starts above the small numbers that the vendors give a meaning (1 and 2 are CUDA's legacy and
/// per-thread streams).
pub(super) fn next_id() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x1000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Ids count up from one counter: they are spread well enough as they are.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_usize(&mut self, id: usize) {
        // The map takes its bucket from the low bits and its tag from the high ones: an odd
        // multiplier keeps the first and fills the second.
        self.0 = (id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

type Shard<T> = RwLock<HashMap<usize, Arc<T>, BuildHasherDefault<IdHasher>>>;

/// Live objects of one kind by id.
pub(super) struct Registry<T> {
    shards: [Shard<T>; SHARDS],
}

impl<T> Registry<T> {
    pub(super) fn new() -> Self {
        Registry {
            shards: std::array::from_fn(|_| RwLock::default()),
        }
    }

    fn shard(&self, id: usize) -> &Shard<T> {
        &self.shards[id % SHARDS]
    }

    /// Adds an object under an id from [`next_id`]; gives the handle's pointer.
    pub(super) fn insert(&self, id: usize, object: Arc<T>) -> *mut c_void {
        self.shard(id)
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(id, object);
        std::ptr::without_provenance_mut(id)
    }

    pub(super) fn get(&self, raw: *mut c_void) -> Option<Arc<T>> {
        let id = raw.addr();
        self.shard(id)
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&id)
            .cloned()
    }

    /// Takes an object out; a second caller gets `None`.
    pub(super) fn remove(&self, raw: *mut c_void) -> Option<Arc<T>> {
        let id = raw.addr();
        self.shard(id)
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&id)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        let count = |shard: &Shard<T>| shard.read().unwrap_or_else(PoisonError::into_inner).len();
        self.shards.iter().map(count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_serves_one_object_once() {
        let registry = Registry::new();
        let handles: Vec<_> = (0..100)
            .map(|value| registry.insert(next_id(), Arc::new(value)))
            .collect();
        assert_eq!(registry.len(), 100);
        for (value, handle) in handles.iter().enumerate() {
            assert_eq!(registry.get(*handle).as_deref(), Some(&value));
            assert_eq!(registry.remove(*handle).as_deref(), Some(&value));
            assert!(registry.remove(*handle).is_none());
            assert!(registry.get(*handle).is_none());
        }
        assert_eq!(registry.len(), 0);
        let again = registry.insert(next_id(), Arc::new(7));
        assert!(!handles.contains(&again));
        assert!(registry.get(std::ptr::null_mut()).is_none());
    }
}
