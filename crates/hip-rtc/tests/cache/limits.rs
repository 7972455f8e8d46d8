//! The size bound, what goes first, and what writers left behind.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::support::{
    BLOCK, cache_at, cache_of, disk_bytes, entry, entry_of, key, names, path_of, set_age, warnings,
};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn the_least_recently_used_go_first() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_of(folder.path(), 20 * BLOCK);
    for number in 0..20 {
        cache.put(&key(number), &entry(number));
        let age = 2 * MINUTE * (40 - number as u32);
        set_age(&path_of(&cache, &key(number)), age);
    }
    assert_eq!(cache.statistics().evicted, 0, "just full");
    // A hit makes the oldest the newest.
    assert_eq!(cache.get(&key(0)), Some(entry(0)));
    cache.put(&key(20), &entry(20));
    // 21 blocks, down to 18.
    assert_eq!(cache.statistics().evicted, 3);
    let there = |number| path_of(&cache, &key(number)).exists();
    let gone: Vec<u64> = (0..=20).filter(|number| !there(*number)).collect();
    assert_eq!(gone, [1, 2, 3]);
}

#[test]
fn the_time_of_last_use_is_renewed_once_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_at(folder.path());
    cache.put(&key(1), &entry(1));
    let path = path_of(&cache, &key(1));
    let modified = || path.metadata().unwrap().modified().unwrap();
    let after_hit = |age: Duration| {
        set_age(&path, age);
        let before = modified();
        assert!(cache.get(&key(1)).is_some());
        modified() != before
    };
    assert!(!after_hit(Duration::ZERO));
    assert!(after_hit(2 * MINUTE));

    // A wrong clock's time would keep the entry for ever.
    let file = fs::File::options().append(true).open(&path).unwrap();
    let tomorrow = SystemTime::now() + 24 * 60 * MINUTE;
    file.set_modified(tomorrow).unwrap();
    assert!(cache.get(&key(1)).is_some());
    assert!(modified() < tomorrow - MINUTE);
}

#[test]
fn the_bound_holds_after_every_store() {
    let folder = tempfile::tempdir().unwrap();
    let max_bytes = 32 * BLOCK;
    let cache = cache_of(folder.path(), max_bytes);
    for number in 0..300 {
        let image_bytes = (number as usize * 7919) % 30_000;
        cache.put(&key(number), &entry_of(number, image_bytes));
        assert!(disk_bytes(folder.path()) <= max_bytes, "after {number}");
        let kept = cache.get(&key(number));
        assert_eq!(kept, Some(entry_of(number, image_bytes)));
    }
    assert!(cache.statistics().evicted > 200);
}

#[test]
fn another_process_bound_is_kept_at_the_first_store() {
    let folder = tempfile::tempdir().unwrap();
    let large = cache_at(folder.path());
    (0..30).for_each(|number| large.put(&key(number), &entry(number)));
    let small = cache_of(folder.path(), 10 * BLOCK);
    small.put(&key(30), &entry(30));
    assert_eq!(disk_bytes(folder.path()), 9 * BLOCK);
    assert_eq!(small.statistics().evicted, 22);
    assert_eq!(small.get(&key(30)), Some(entry(30)));
}

#[test]
fn an_entry_beyond_this_process_bound_is_left_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let (large, small) = (cache_at(folder.path()), cache_of(folder.path(), 2 * BLOCK));
    let image = entry_of(1, 4 * BLOCK as usize);
    large.put(&key(1), &image);
    assert_eq!(small.get(&key(1)), None);
    let statistics = small.statistics();
    assert_eq!((statistics.misses, statistics.rejected), (1, 0));
    assert_eq!(large.get(&key(1)), Some(image));
}

#[test]
fn small_entries_count_as_the_blocks_they_take() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_of(folder.path(), 10 * BLOCK);
    (0..50).for_each(|number| cache.put(&key(number), &entry_of(number, 1)));
    assert!(names(folder.path()).len() <= 10);
}

#[test]
fn what_is_larger_than_the_cache_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_of(folder.path(), 4 * BLOCK);
    cache.put(&key(1), &entry(1));
    cache.put(&key(2), &entry_of(2, 4 * BLOCK as usize));
    assert_eq!(cache.statistics().oversized, 1);
    assert_eq!(cache.get(&key(1)), Some(entry(1)), "others stay");
    // More than the 90 % that are left after an eviction.
    cache.put(&key(3), &entry_of(3, 4 * BLOCK as usize - 1000));
    assert!(cache.get(&key(3)).is_some());
    assert_eq!(cache.get(&key(1)), None);

    let none = cache_of(folder.path(), 0);
    none.put(&key(4), &entry(4));
    assert_eq!((none.statistics().oversized, none.get(&key(4))), (1, None));
}

#[test]
fn left_overs_go_after_an_hour_and_others_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: String, minutes: u32| {
        let path = folder.path().join(name);
        fs::write(&path, b"half a fi").unwrap();
        set_age(&path, minutes * MINUTE);
        path
    };
    let key_name = key(1);
    let old = file(format!(".{key_name}.1-2-3.tmp"), 61);
    let young = file(format!(".{key_name}.1-2-4.tmp"), 59);
    let others = [
        file("notes.txt".to_owned(), 10_000),
        file(".hidden.tmp".to_owned(), 10_000),
    ];
    // So small that entries are evicted: others' files are none.
    let cache = cache_of(folder.path(), 2 * BLOCK);
    for number in 0..10 {
        cache.put(&key(number), &entry(number));
    }
    assert!(!old.exists());
    assert!(young.exists() && others.iter().all(|file| file.exists()));
    assert!(cache.statistics().evicted > 0);
}

#[test]
fn a_folder_is_no_entry_whatever_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let cache = cache_of(folder.path(), 2 * BLOCK);
    let inner = path_of(&cache, &key(99));
    fs::create_dir(&inner).unwrap();
    let warned = warnings(|| {
        (0..5).for_each(|number| cache.put(&key(number), &entry(number)));
    });
    assert!(warned.is_empty(), "{warned:?}");
    assert_eq!(cache.statistics().stores, 5);
    assert!(inner.exists() && cache.statistics().evicted > 0);
}
