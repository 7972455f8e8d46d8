//! One thread makes an entry, the others that want it wait for that.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use hip_dispatch::ProcessStamp;

use super::{Entry, Key};

/// The keys whose entries are being made.
#[derive(Debug)]
pub(super) struct Flights {
    /// In the child of a fork the lock may be held, and a flight led, by a thread that is gone.
    process: ProcessStamp,
    flights: Mutex<HashMap<Key, Arc<Flight>>>,
}

/// An entry being made.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// `None` until it ends, then the entry, or `None` where it failed.
    outcome: Mutex<Option<Option<Entry>>>,
    landed: Condvar,
}

/// What a thread that wants an entry has to do.
pub(super) enum Role<'a> {
    /// Make it.
    Leader(Leader<'a>),
    /// [`Flight::wait`] for it.
    Follower(Arc<Flight>),
}

/// The duty to end a flight; dropped (by an error or a panic), it ends without an entry.
pub(super) struct Leader<'a> {
    /// `None` in the child of a fork, where nobody follows.
    flight: Option<(&'a Flights, Key)>,
}

impl Flights {
    pub(super) fn new() -> Flights {
        Flights {
            process: ProcessStamp::now(),
            flights: Mutex::default(),
        }
    }

    /// Follows the flight for `key`, or begins one.
    pub(super) fn join(&self, key: &Key) -> Role<'_> {
        if !self.process.is_current() {
            return Role::Leader(Leader { flight: None });
        }
        match lock(&self.flights).entry(*key) {
            Slot::Occupied(slot) => Role::Follower(slot.get().clone()),
            Slot::Vacant(slot) => {
                slot.insert(Arc::default());
                Role::Leader(Leader {
                    flight: Some((self, *key)),
                })
            }
        }
    }
}

impl Flight {
    /// The entry; `None` if its leader failed, whose error is the leader's to report.
    pub(super) fn wait(&self) -> Option<Entry> {
        let outcome = self
            .landed
            .wait_while(lock(&self.outcome), |outcome| outcome.is_none());
        let outcome = outcome.unwrap_or_else(PoisonError::into_inner);
        outcome.clone().flatten()
    }
}

impl Leader<'_> {
    /// Gives the entry to the followers.
    pub(super) fn land(mut self, entry: &Entry) {
        self.end(Some(entry));
    }

    fn end(&mut self, entry: Option<&Entry>) {
        let Some((flights, key)) = self.flight.take() else {
            return;
        };
        // A fork while this thread was leading: nobody follows in the child.
        if !flights.process.is_current() {
            return;
        }
        let flight = lock(&flights.flights).remove(&key);
        // Nobody can join any more, so that an image is copied only if somebody waits.
        if let Some(flight) = flight
            && Arc::strong_count(&flight) > 1
        {
            *lock(&flight.outcome) = Some(entry.cloned());
            flight.landed.notify_all();
        }
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        self.end(None);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing under these locks is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
