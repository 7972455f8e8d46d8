//! One compilation for threads that want the same entry.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use hip_rtc::cache::{Cache, CacheConfig, CacheFolder, Entry};

use crate::support::{entry, fresh_cache, key};

fn off() -> Cache {
    Cache::new(CacheConfig {
        folder: CacheFolder::Off,
        ..CacheConfig::default()
    })
}

/// Waits until so many threads follow another one's compilation.
fn wait_for_followers(cache: &Cache, followers: u64) {
    while cache.statistics().shared < followers {
        thread::yield_now();
    }
}

fn unwanted() -> Result<Entry, ()> {
    panic!("it is there")
}

#[test]
fn a_hit_compiles_nothing() {
    let (_parent, cache) = fresh_cache();
    let make = || Ok::<_, ()>(entry(1));
    let made = cache.get_or_insert_with(&key(1), |_| true, make);
    assert_eq!(made, Ok((entry(1), false)));
    let hit = cache.get_or_insert_with(&key(1), |_| true, unwanted);
    assert_eq!(hit, Ok((entry(1), true)));
    let statistics = cache.statistics();
    assert_eq!((statistics.hits, statistics.misses), (1, 1));
}

#[test]
fn what_is_not_fresh_is_made_again() {
    let (_parent, cache) = fresh_cache();
    cache.put(&key(1), &entry(1));
    let fresh = |entry: &Entry| entry.origin.compiler == "compiler 2";
    let made = cache.get_or_insert_with(&key(1), fresh, || Ok::<_, ()>(entry(2)));
    assert_eq!(made, Ok((entry(2), false)));
    let hit = cache.get_or_insert_with(&key(1), fresh, unwanted);
    assert_eq!(hit, Ok((entry(2), true)));
    let statistics = cache.statistics();
    assert_eq!((statistics.hits, statistics.misses), (1, 1));
}

/// With the cache off, so that the disk cannot be where the others have it from.
#[test]
fn eight_threads_compile_once() {
    let cache = off();
    let made = AtomicU64::new(0);
    let make = || {
        made.fetch_add(1, Ordering::Relaxed);
        wait_for_followers(&cache, 7);
        Ok::<_, ()>(entry(1))
    };
    thread::scope(|scope| {
        let want = || cache.get_or_insert_with(&key(1), |_| true, make).unwrap();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(want)).collect();
        let outcomes = threads.into_iter().map(|thread| thread.join().unwrap());
        let spared = outcomes.inspect(|(got, _)| assert_eq!(*got, entry(1)));
        assert_eq!(spared.filter(|(_, spared)| *spared).count(), 7);
    });
    assert_eq!(made.into_inner(), 1);
    assert_eq!(cache.statistics().shared, 7);
}

#[test]
fn other_keys_do_not_wait() {
    let cache = off();
    let make_both = || {
        let other = || cache.get_or_insert_with(&key(2), |_| true, || Ok::<_, ()>(entry(2)));
        let (got, _) = thread::scope(|scope| scope.spawn(other).join().unwrap())?;
        Ok::<_, ()>(got)
    };
    let outer = cache.get_or_insert_with(&key(1), |_| true, make_both);
    assert_eq!(outer, Ok((entry(2), false)));
}

/// Whichever way a compilation fails, the one that waits for it makes its own.
fn expect_second_try(fail: fn() -> Result<Entry, &'static str>) {
    let cache = off();
    thread::scope(|scope| {
        let first = scope.spawn(|| {
            let make = || {
                wait_for_followers(&cache, 1);
                fail()
            };
            let want = || cache.get_or_insert_with(&key(1), |_| true, make);
            let outcome = catch_unwind(AssertUnwindSafe(want));
            !matches!(outcome, Ok(Ok(_)))
        });
        // The first has counted its miss, so it leads.
        let second = scope.spawn(|| {
            loop {
                if cache.statistics().misses > 0 {
                    let make = || Ok::<_, &str>(entry(2));
                    return cache.get_or_insert_with(&key(1), |_| true, make);
                }
                thread::yield_now();
            }
        });
        assert!(first.join().unwrap(), "it failed");
        assert_eq!(second.join().unwrap(), Ok((entry(2), false)));
    });
    assert_eq!(cache.statistics().shared, 1);
}

#[test]
fn after_an_error_the_next_thread_tries() {
    expect_second_try(|| Err("no such kernel"));
}

#[test]
fn after_a_panic_the_next_thread_tries() {
    expect_second_try(|| panic!("a compiler that panics"));
}

#[test]
fn a_hundred_keys_from_eight_threads() {
    let (_parent, cache) = fresh_cache();
    let made = AtomicU64::new(0);
    thread::scope(|scope| {
        for first in 0..8 {
            let (cache, made) = (&cache, &made);
            scope.spawn(move || {
                for step in 0..100 {
                    let number = (first * 13 + step) % 100;
                    let make = || {
                        made.fetch_add(1, Ordering::Relaxed);
                        Ok::<_, ()>(entry(number))
                    };
                    let (got, _) = cache
                        .get_or_insert_with(&key(number), |_| true, make)
                        .unwrap();
                    assert_eq!(got, entry(number));
                }
            });
        }
    });
    assert_eq!(made.into_inner(), 100);
    assert_eq!(cache.statistics().stores, 100);
}
