//! Which folder is used, and what an entry goes through there.

use hip_rtc::cache::{AlreadyConfigured, Cache, CacheConfig, CacheFolder, configure, global};

use crate::support::{
    cache_at, child, child_done, child_folder, entry, expect_done, fresh_cache, key, names,
};

#[test]
fn what_was_put_is_got() {
    let (_parent, cache) = fresh_cache();
    assert_eq!(cache.get(&key(1)), None);
    assert!(!cache.folder().unwrap().exists(), "made by a look");
    cache.put(&key(1), &entry(1));
    cache.put(&key(2), &entry(2));
    assert_eq!(cache.get(&key(1)), Some(entry(1)));
    cache.put(&key(1), &entry(11));
    assert_eq!(cache.get(&key(1)), Some(entry(11)));
    assert_eq!(cache.get(&key(3)), None);
    let statistics = cache.statistics();
    assert_eq!((statistics.hits, statistics.misses), (2, 2));
    assert_eq!((statistics.stores, statistics.store_failures), (3, 0));
    assert_eq!(names(cache.folder().unwrap()).len(), 2);

    let second = cache_at(cache.folder().unwrap());
    assert_eq!(second.get(&key(2)), Some(entry(2)));
    assert_eq!(second.statistics().hits, 1);
}

#[test]
fn off_is_off() {
    let cache = Cache::new(CacheConfig {
        folder: CacheFolder::Off,
        ..CacheConfig::default()
    });
    assert_eq!(cache.folder(), None);
    cache.put(&key(1), &entry(1));
    assert_eq!(cache.get(&key(1)), None);
    let statistics = cache.statistics();
    assert_eq!((statistics.misses, statistics.stores), (1, 0));
    assert_eq!(statistics.store_failures, 0);
}

#[test]
fn the_process_has_one_cache() {
    let Some(folder) = child_folder() else {
        let parent = tempfile::tempdir().unwrap();
        expect_done(child("setup::the_process_has_one_cache", parent.path()));
        return;
    };
    let config = CacheConfig {
        folder: CacheFolder::At(folder.join("mine")),
        max_bytes: 1 << 20,
    };
    assert_eq!(configure(config.clone()), Ok(()));
    assert_eq!(configure(config), Err(AlreadyConfigured));
    assert_eq!(global().folder(), Some(folder.join("mine").as_path()));
    assert!(std::ptr::eq(global(), global()));
    child_done();
}

#[test]
#[cfg(all(unix, not(target_os = "macos")))]
fn the_environment_names_the_default_folder() {
    let Some(folder) = child_folder() else {
        let parent = tempfile::tempdir().unwrap();
        let mut command = child(
            "setup::the_environment_names_the_default_folder",
            parent.path(),
        );
        command.env("XDG_CACHE_HOME", parent.path());
        expect_done(command);
        return;
    };
    global().put(&key(1), &entry(1));
    assert_eq!(names(&folder.join("hip-rtc")).len(), 1);
    let late = configure(CacheConfig::default());
    assert_eq!(late, Err(AlreadyConfigured), "it is in use");
    child_done();
}
