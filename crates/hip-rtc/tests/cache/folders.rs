//! Folders that may not be trusted, and folders that do not work: the work goes on without them.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, lchown, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use hip_rtc::cache::Cache;
use tempfile::TempDir;

use crate::support::{
    cache_at, child, child_after, child_done, child_folder, entry, entry_of, expect_done,
    fresh_cache, key, names, path_of, warnings, with_test,
};

/// A user without rights, by the number that systems agree on.
const NOBODY: u32 = 65534;

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// Whether this is the user whom permissions do not bind, and who can give files away.
fn is_root() -> bool {
    tempfile::tempdir()
        .unwrap()
        .path()
        .metadata()
        .unwrap()
        .uid()
        == 0
}

/// A folder in which the test `name` works as a user whom permissions bind.
fn expect_done_unprivileged(name: &str) {
    let folder = tempfile::tempdir().unwrap();
    if !is_root() {
        expect_done(child(name, folder.path()));
        return;
    }
    // That user may not reach the folder in which this program was built.
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    set_mode(&program, 0o755);
    set_mode(folder.path(), 0o755);
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    chown(&work, Some(NOBODY), Some(NOBODY)).unwrap();
    let mut command = with_test(Command::new(program), name, &work);
    command.uid(NOBODY).gid(NOBODY).current_dir(&work);
    expect_done(command);
}

/// A compilation is not kept, its result is had, and the user is told once.
fn expect_work_without(cache: &Cache, warning: &str) {
    let before = cache.statistics();
    let warned = warnings(|| {
        for number in 1000..1003 {
            let make = || Ok::<_, ()>(entry(number));
            let made = cache.get_or_insert_with(&key(number), |_| true, make);
            assert_eq!(made, Ok((entry(number), false)));
            assert_eq!(cache.get(&key(number)), None);
        }
    });
    let statistics = cache.statistics();
    assert_eq!(statistics.store_failures, before.store_failures + 3);
    assert_eq!(statistics.stores, before.stores);
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains(warning), "{warned:?}");
}

#[test]
fn nobody_else_can_read_or_write() {
    let parent = tempfile::tempdir().unwrap();
    let cache = cache_at(&parent.path().join("above/cache"));
    cache.put(&key(1), &entry(1));
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path_of(&cache, &key(1))), 0o600);
    assert_eq!(mode(cache.folder().unwrap()), 0o700);
    assert_eq!(mode(&parent.path().join("above")), 0o700);
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    for mode in [0o770, 0o720, 0o702, 0o777, 0o1777] {
        let (_parent, cache) = fresh_cache();
        cache.put(&key(1), &entry(1));
        set_mode(cache.folder().unwrap(), mode);
        expect_work_without(&cache, &format!("{mode:04o} let others write"));
        assert_eq!(cache.get(&key(1)), None, "{mode:o}");
        set_mode(cache.folder().unwrap(), 0o755);
        assert_eq!(cache.get(&key(1)), Some(entry(1)), "private again");
    }
}

#[test]
fn a_file_that_others_can_write_to_is_refused() {
    let (_parent, cache) = fresh_cache();
    cache.put(&key(1), &entry(1));
    set_mode(&path_of(&cache, &key(1)), 0o620);
    let warned = warnings(|| assert_eq!(cache.get(&key(1)), None));
    assert!(warned[0].contains("0620 let others write"), "{warned:?}");
    assert_eq!(cache.statistics().rejected, 1);
    cache.put(&key(1), &entry(1));
    assert_eq!(cache.get(&key(1)), Some(entry(1)), "replaced");
}

#[test]
fn what_another_user_owns_is_refused() {
    if !is_root() {
        return println!("skipped: only root can give a folder to another user");
    }
    let (parent, cache) = fresh_cache();
    let folder = cache.folder().unwrap();
    cache.put(&key(1), &entry(1));

    let file = path_of(&cache, &key(1));
    chown(&file, Some(NOBODY), None).unwrap();
    let warned = warnings(|| assert_eq!(cache.get(&key(1)), None));
    assert!(warned[0].contains("user 65534 owns it"), "{warned:?}");
    assert!(file.exists(), "another's file is not ours to remove");
    cache.put(&key(1), &entry(1));
    assert_eq!(cache.get(&key(1)), Some(entry(1)), "but to replace");

    let link = parent.path().join("link");
    symlink(folder, &link).unwrap();
    let linked = cache_at(&link);
    assert_eq!(linked.get(&key(1)), Some(entry(1)), "by an own link");
    lchown(&link, Some(NOBODY), None).unwrap();
    expect_work_without(&linked, "user 65534 owns it");

    chown(folder, Some(NOBODY), None).unwrap();
    expect_work_without(&cache, "user 65534 owns it");
    assert_eq!(cache.get(&key(1)), None);
}

#[test]
fn a_folder_that_is_none() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, "precious").unwrap();
    expect_work_without(&cache_at(&file), "it is no folder");
    expect_work_without(&cache_at(&file.join("cache")), "not usable");
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    let nowhere = parent.path().join("nowhere");
    symlink(parent.path().join("missing"), &nowhere).unwrap();
    expect_work_without(&cache_at(&nowhere), "it does not exist");
    expect_work_without(&cache_at(Path::new("a\0b")), "not usable");
}

#[test]
fn a_folder_removed_meanwhile_is_made_again() {
    let (_parent, cache) = fresh_cache();
    cache.put(&key(1), &entry(1));
    fs::remove_dir_all(cache.folder().unwrap()).unwrap();
    let warned = warnings(|| {
        assert_eq!(cache.get(&key(1)), None);
        cache.put(&key(1), &entry(1));
        assert_eq!(cache.get(&key(1)), Some(entry(1)));
    });
    assert!(warned.is_empty(), "{warned:?}");
    assert_eq!(cache.statistics().store_failures, 0);
}

/// A cache with one entry, in the folder of a child.
fn filled(folder: PathBuf) -> Cache {
    let cache = cache_at(&folder.join("cache"));
    cache.put(&key(1), &entry(1));
    assert_eq!(cache.get(&key(1)), Some(entry(1)));
    cache
}

#[test]
fn a_read_only_folder_is_read() {
    let Some(folder) = child_folder() else {
        return expect_done_unprivileged("folders::a_read_only_folder_is_read");
    };
    let cache = filled(folder);
    set_mode(cache.folder().unwrap(), 0o500);
    expect_work_without(&cache, "cannot be kept");
    assert_eq!(cache.get(&key(1)), Some(entry(1)));
    let file = path_of(&cache, &key(1));
    fs::File::options()
        .append(true)
        .open(&file)
        .unwrap()
        .set_len(10)
        .unwrap();
    let warned = warnings(|| assert_eq!(cache.get(&key(1)), None));
    assert_eq!(warned.len(), 2, "damaged, and not to remove: {warned:?}");
    set_mode(cache.folder().unwrap(), 0o700);
    child_done();
}

#[test]
fn no_permission_at_all() {
    let Some(folder) = child_folder() else {
        return expect_done_unprivileged("folders::no_permission_at_all");
    };
    let cache = filled(folder.clone());
    let file = path_of(&cache, &key(1));
    set_mode(&file, 0o000);
    let warned = warnings(|| assert_eq!(cache.get(&key(1)), None));
    assert!(warned[0].contains("cannot be read"), "{warned:?}");
    set_mode(&file, 0o600);
    // Files can be had by name, but not listed: nothing can be evicted.
    set_mode(cache.folder().unwrap(), 0o300);
    let fresh = cache_at(cache.folder().unwrap());
    let warned = warnings(|| fresh.put(&key(2), &entry(2)));
    assert_eq!(fresh.get(&key(2)), Some(entry(2)));
    assert_eq!((warned.len(), fresh.statistics().stores), (1, 1));
    set_mode(cache.folder().unwrap(), 0o000);
    let warned = warnings(|| {
        assert_eq!(fresh.get(&key(2)), None);
        fresh.put(&key(3), &entry(3));
    });
    assert_eq!(warned.len(), 2, "not read, not written: {warned:?}");
    assert_eq!(fresh.statistics().store_failures, 1);
    set_mode(cache.folder().unwrap(), 0o700);

    // A folder that cannot be made, and one that cannot be made again.
    set_mode(&folder, 0o500);
    expect_work_without(&cache_at(&folder.join("other")), "not usable");
    set_mode(&folder, 0o700);
    fs::remove_dir_all(cache.folder().unwrap()).unwrap();
    set_mode(&folder, 0o500);
    expect_work_without(&cache, "not usable");
    set_mode(&folder, 0o700);
    child_done();
}

/// What a full disk does, on a disk of 64 KiB or with files of at most 4 KiB.
fn expect_full(folder: &Path) {
    let cache = cache_at(&folder.join("cache"));
    cache.put(&key(1), &entry(1));
    let large = entry_of(2, 100_000);
    let warned = warnings(|| {
        for _ in 0..3 {
            let make = || Ok::<_, ()>(large.clone());
            let made = cache.get_or_insert_with(&key(2), |_| true, make);
            assert_eq!(made, Ok((large.clone(), false)));
        }
    });
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("cannot be kept"), "{warned:?}");
    println!("the disk said: {}", warned[0]);
    assert_eq!(cache.statistics().store_failures, 3);
    assert_eq!(cache.get(&key(1)), Some(entry(1)));
    // Nothing is left of what did not fit, and there is room for what fits.
    assert_eq!(names(cache.folder().unwrap()).len(), 1);
    cache.put(&key(3), &entry(3));
    assert_eq!(cache.get(&key(3)), Some(entry(3)));
    child_done();
}

#[test]
fn a_full_disk() {
    if let Some(folder) = child_folder() {
        return expect_full(&folder);
    }
    let folder: TempDir = tempfile::tempdir().unwrap();
    let mount = "mount -t tmpfs -o size=64k,mode=700 none \"$HIP_TEST_CACHE_CHILD\"";
    // A mount of its own, as root or in a user namespace.
    let isolate = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(arguments);
        command
    };
    let works = |arguments: &&[&str]| {
        let mut command = isolate(arguments);
        command.args(["sh", "-c", mount]);
        command.env("HIP_TEST_CACHE_CHILD", folder.path());
        command.output().is_ok_and(|output| output.status.success())
    };
    let Some(arguments) = [&["-m"][..], &["-rm"][..]].into_iter().find(works) else {
        return println!("skipped: no file system can be mounted here");
    };
    let mut command = isolate(arguments);
    command.args(["sh", "-c", &format!("{mount} && exec \"$@\""), "sh"]);
    command.arg(std::env::current_exe().unwrap());
    let command = with_test(command, "folders::a_full_disk", folder.path());
    let text = expect_done(command);
    assert!(text.contains("No space left on device"), "{text}");
    assert_eq!(names(folder.path()), [] as [String; 0], "not mounted");
}

#[test]
fn a_limit_on_file_sizes() {
    if let Some(folder) = child_folder() {
        return expect_full(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    // In blocks of 512 or of 1024 bytes; beyond it a write fails, as the signal is ignored.
    let script = "trap '' XFSZ; ulimit -f 8";
    let name = "folders::a_limit_on_file_sizes";
    let text = expect_done(child_after(script, name, folder.path()));
    assert!(text.contains("File too large"), "{text}");
}
