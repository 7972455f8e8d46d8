//! Files that are not what was written: never used, never a panic.

use std::fs;

use hip_rtc::cache::Cache;

use crate::support::{entry_of, fresh_cache, key, path_of, warnings};

/// Puts `bytes` in the place of the entry: it must be refused, removed and counted.
fn expect_refused(cache: &Cache, bytes: &[u8], what: &str) {
    let path = path_of(cache, &key(1));
    fs::write(&path, bytes).unwrap();
    let before = cache.statistics();
    assert_eq!(cache.get(&key(1)), None, "{what}");
    assert_eq!(cache.statistics().rejected, before.rejected + 1, "{what}");
    assert_eq!(cache.statistics().misses, before.misses + 1, "{what}");
    assert!(!path.exists(), "{what}");
}

/// A private file of the cache's in place, and its bytes.
fn written(cache: &Cache) -> Vec<u8> {
    cache.put(&key(1), &entry_of(1, 64));
    fs::read(path_of(cache, &key(1))).unwrap()
}

#[test]
fn a_file_torn_anywhere_is_refused() {
    let (_parent, cache) = fresh_cache();
    let whole = written(&cache);
    for len in 0..whole.len() {
        // What is removed is written anew, so that permissions stay the cache's.
        cache.put(&key(1), &entry_of(1, 64));
        expect_refused(&cache, &whole[..len], &format!("{len} bytes"));
        // As after a power cut: the length is there, the bytes are not.
        cache.put(&key(1), &entry_of(1, 64));
        let mut zeroed = whole.clone();
        zeroed[len..].fill(0);
        expect_refused(&cache, &zeroed, &format!("zeros from {len}"));
    }
    for more in [1, 4096] {
        cache.put(&key(1), &entry_of(1, 64));
        let longer = [whole.clone(), vec![0; more]].concat();
        expect_refused(&cache, &longer, &format!("{more} bytes more"));
    }
    cache.put(&key(1), &entry_of(1, 64));
    assert_eq!(cache.get(&key(1)), Some(entry_of(1, 64)));
}

#[test]
fn a_flipped_byte_is_noticed_wherever_it_is() {
    let (_parent, cache) = fresh_cache();
    let whole = written(&cache);
    for at in 0..whole.len() {
        for flip in [0x01, 0x80, 0xff] {
            cache.put(&key(1), &entry_of(1, 64));
            let mut flipped = whole.clone();
            flipped[at] ^= flip;
            expect_refused(&cache, &flipped, &format!("byte {at} by {flip:#x}"));
        }
    }
}

#[test]
fn another_keys_or_programs_file_is_refused() {
    let (_parent, cache) = fresh_cache();
    cache.put(&key(2), &entry_of(2, 64));
    let other = fs::read(path_of(&cache, &key(2))).unwrap();
    let warned = warnings(|| {
        written(&cache);
        expect_refused(&cache, &other, "another key's");
        written(&cache);
        expect_refused(&cache, &b"\x7fELF".repeat(100), "an object file");
        written(&cache);
        expect_refused(&cache, b"", "empty");
    });
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("another key's"), "{warned:?}");
    assert_eq!(cache.get(&key(2)), Some(entry_of(2, 64)));
}

/// 4 GiB that are all hole, with a header that names them: not read, before any memory is asked for,
/// and left to whoever may have stored them under a larger bound.
#[test]
fn a_huge_length_allocates_nothing() {
    /// Where the header names the payload's length, and where the payload begins.
    const LENGTH: std::ops::Range<usize> = 48..56;
    const HEADER: u64 = 88;
    let (_parent, cache) = fresh_cache();
    let mut bytes = written(&cache);
    let stored = u64::from_le_bytes(bytes[LENGTH].try_into().unwrap());
    assert_eq!(stored + HEADER, bytes.len() as u64, "the format is this");
    let huge = 1u64 << 32;
    bytes[LENGTH].copy_from_slice(&(huge - HEADER).to_le_bytes());
    let path = path_of(&cache, &key(1));
    fs::write(&path, &bytes).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    if let Err(error) = file.set_len(huge) {
        return println!("skipped: this disk has no files of 4 GiB: {error}");
    }
    let warned = warnings(|| assert_eq!(cache.get(&key(1)), None));
    assert_eq!(warned, [""; 0]);
    assert_eq!(cache.statistics().rejected, 0);
    assert!(path.exists());
    cache.put(&key(1), &entry_of(1, 64));
    assert_eq!(cache.get(&key(1)), Some(entry_of(1, 64)));
}

#[test]
#[cfg(unix)]
fn what_is_no_plain_file_is_never_opened() {
    use std::os::unix::fs::symlink;
    let (parent, cache) = fresh_cache();
    let victim = parent.path().join("victim");
    fs::write(&victim, written(&cache)).unwrap();
    let path = path_of(&cache, &key(1));

    fs::remove_file(&path).unwrap();
    symlink(&victim, &path).unwrap();
    assert_eq!(cache.get(&key(1)), None, "a link to a good entry");
    assert!(path.symlink_metadata().is_err(), "the link is removed");

    // To write through a link would be to write into another's file.
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &path).unwrap();
    cache.put(&key(1), &entry_of(1, 64));
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert!(path.symlink_metadata().unwrap().is_file());
    assert_eq!(cache.get(&key(1)), Some(entry_of(1, 64)));

    // To open a pipe that nobody writes to would be to wait for ever.
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    assert_eq!(cache.get(&key(1)), None);
    assert!(!path.exists());

    fs::create_dir(&path).unwrap();
    assert_eq!(cache.get(&key(1)), None);
    cache.put(&key(1), &entry_of(1, 64));
    assert_eq!(cache.statistics().store_failures, 1);
    assert_eq!(cache.statistics().rejected, 3);
}
