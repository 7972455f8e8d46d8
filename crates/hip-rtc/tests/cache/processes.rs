//! Processes that share a folder, that are killed, and that fork.

use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hip_rtc::cache::{Cache, Entry};

use crate::support::{
    BLOCK, cache_at, cache_of, child, child_after, child_done, child_folder, disk_bytes, entry,
    entry_of, finish, key, names, set_age,
};

const SIGKILL: i32 = 9;
const SIGXFSZ: i32 = 25;

/// The variable that tells a child which writer it is.
const WRITER: &str = "HIP_TEST_CACHE_WRITER";
const STORM_KEYS: u64 = 50;
/// Room for a few of the fifty.
const STORM_BYTES: u64 = 32 * BLOCK;

/// A writer's entry for a key, of one to six blocks; every writer has another one.
fn storm_entry(number: u64, writer: u64) -> Entry {
    let image_bytes = (number as usize * 397) % 20_000;
    entry_of(number + STORM_KEYS * writer, image_bytes)
}

/// Whether some writer wrote this for the key, byte for byte.
fn is_right(number: u64, entry: &Entry) -> bool {
    let (found, writer) = (
        u64::from(entry.kind) % STORM_KEYS,
        u64::from(entry.kind) / STORM_KEYS,
    );
    found == number && *entry == storm_entry(number, writer)
}

/// Puts and gets at random.
fn storm(cache: &Cache, writer: u64) {
    let mut state = writer;
    for step in 0..500 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let number = (state >> 33) % STORM_KEYS;
        let key = key(number);
        match step % 3 {
            0 => cache.put(&key, &storm_entry(number, writer)),
            1 => {
                let found = cache.get(&key);
                assert!(found.is_none_or(|found| is_right(number, &found)));
            }
            _ => {
                let make = || Ok::<_, ()>(storm_entry(number, writer));
                let got = cache.get_or_insert_with(&key, |_| true, make);
                assert!(got.is_ok_and(|(got, _)| is_right(number, &got)));
            }
        }
    }
}

#[test]
fn eight_processes_in_one_small_folder() {
    if let (Some(folder), Ok(writer)) = (child_folder(), std::env::var(WRITER)) {
        let cache = cache_of(&folder, STORM_BYTES);
        storm(&cache, writer.parse().unwrap());
        let statistics = cache.statistics();
        assert_eq!((statistics.rejected, statistics.store_failures), (0, 0));
        assert!(
            statistics.evicted > 0 && statistics.hits > 0,
            "{statistics:?}"
        );
        return child_done();
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "processes::eight_processes_in_one_small_folder";
    let start = |writer: u32| {
        let mut command = child(name, folder.path());
        command.env(WRITER, writer.to_string()).spawn().unwrap()
    };
    for output in finish((0..8).map(start).collect()) {
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("done"),
            "{output:?}"
        );
    }
    let unfinished = names(folder.path())
        .iter()
        .any(|name| name.ends_with(".tmp"));
    assert!(!unfinished, "left over");
    let cache = cache_of(folder.path(), STORM_BYTES);
    cache.put(&key(0), &storm_entry(0, 0));
    assert!(disk_bytes(folder.path()) <= STORM_BYTES);
}

/// The system ends a child in the middle of a write, at a limit on file sizes.
#[test]
fn a_writer_that_ends_in_the_middle_of_a_write() {
    if let Some(folder) = child_folder() {
        cache_at(&folder).put(&key(1), &entry_of(1, 100_000));
        return child_done();
    }
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_at(folder.path());
    let name = "processes::a_writer_that_ends_in_the_middle_of_a_write";
    let script = "ulimit -c 0; ulimit -f 8";
    let mut command = child_after(script, name, folder.path());
    let output: Output = finish(vec![command.spawn().unwrap()]).remove(0);
    assert_eq!(output.status.signal(), Some(SIGXFSZ), "{output:?}");

    let left: Vec<String> = names(folder.path());
    assert!(left.len() == 1 && left[0].ends_with(".tmp"), "{left:?}");
    let left = folder.path().join(&left[0]);
    assert!(left.metadata().unwrap().len() > 0, "nothing was written");
    assert_eq!(cache.get(&key(1)), None);
    cache.put(&key(1), &entry_of(1, 100_000));
    assert!(left.exists(), "its writer could be alive");
    assert_eq!(cache.get(&key(1)), Some(entry_of(1, 100_000)));
    assert_eq!(cache.statistics().rejected, 0);

    set_age(&left, Duration::from_secs(2 * 60 * 60));
    cache_at(folder.path()).put(&key(2), &entry(2));
    assert!(!left.exists(), "nobody writes for two hours");
}

#[test]
fn writers_that_are_killed_at_any_moment() {
    if let Some(folder) = child_folder() {
        let cache = cache_at(&folder);
        for number in (0..10).cycle() {
            cache.put(&key(number), &entry_of(number, 60_000));
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "processes::writers_that_are_killed_at_any_moment";
    let cache = cache_at(folder.path());
    let mut found = 0;
    for round in 0..10 {
        let mut writer = child(name, folder.path()).spawn().unwrap();
        // Each round ends it after another number of changes seen.
        let mut seen = 0;
        while seen <= round {
            seen += i32::from(cache.get(&key(9)).is_some());
            assert_eq!(writer.try_wait().unwrap(), None, "it ended by itself");
        }
        writer.kill().unwrap();
        assert_eq!(writer.wait().unwrap().signal(), Some(SIGKILL));
        for number in 0..10 {
            let entry = cache.get(&key(number));
            found += i32::from(entry.is_some());
            assert!(entry.is_none_or(|entry| entry == entry_of(number, 60_000)));
        }
        let entries = names(folder.path()).into_iter();
        for name in entries.filter(|name| name.ends_with(".kernel")) {
            std::fs::remove_file(folder.path().join(name)).unwrap();
        }
    }
    assert!(found >= 10, "{found}");
    assert_eq!(cache.statistics().rejected, 0);
}

/// Runs `work` in a fork of this process; gives its exit status.
fn in_fork(work: impl FnOnce()) -> i32 {
    // SAFETY: the child runs `work` and ends without returning. The C library makes its heap usable
    // in the child; what else `work` uses is what is tested.
    let process = unsafe { libc::fork() };
    assert!(process >= 0, "fork failed");
    if process == 0 {
        // Ends a child that waits for a lock of its parent's.
        // SAFETY: takes a number.
        unsafe { libc::alarm(60) };
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // SAFETY: ends the child at once; nothing of it is needed any more.
        unsafe { libc::_exit(outcome.is_err().into()) };
    }
    let mut status = 0;
    // SAFETY: `status` is writable; the child is this process's and waited for once.
    assert_eq!(unsafe { libc::waitpid(process, &mut status, 0) }, process);
    status
}

/// What the child of a fork does while its parent's threads hold what there is to hold.
fn work_in_fork(cache: &Cache) {
    let wanted = |number| {
        let make = || Ok::<_, ()>(entry(number));
        let got = cache.get_or_insert_with(&key(number), |_| true, make);
        assert!(got.is_ok_and(|(got, _)| got == entry(number)));
    };
    // The parent's threads are at these.
    (0..4).for_each(wanted);
    cache.put(&key(100), &entry(100));
    (101..151).for_each(wanted);
    assert!(cache.get(&key(150)).is_some());
}

#[test]
fn the_child_of_a_fork_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_of(folder.path(), 20 * BLOCK);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (cache, stop) = (&cache, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let make = || Ok::<_, ()>(entry(number));
                    let never = |_: &Entry| false;
                    let got = cache.get_or_insert_with(&key(number), never, make);
                    assert_eq!(got.unwrap().0, entry(number));
                }
            });
        }
        let mut statuses = (0..10).map(|_| in_fork(|| work_in_fork(&cache)));
        let failed = statuses.find(|status| *status != 0);
        stop.store(true, Ordering::Relaxed);
        assert_eq!(failed, None, "a signal or an exit code");
    });
    // A thread that forks while it leads a compilation.
    let make = || {
        let status = in_fork(|| work_in_fork(&cache));
        (status == 0).then(|| entry(500)).ok_or(status)
    };
    let got = cache.get_or_insert_with(&key(500), |_| true, make);
    assert_eq!(got, Ok((entry(500), false)));
}
