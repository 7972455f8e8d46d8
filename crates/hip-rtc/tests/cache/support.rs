use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use hip_rtc::cache::{Cache, CacheConfig, CacheFolder, Entry, Key, Origin};
use tempfile::TempDir;

/// What a file counts as is a multiple of this.
pub(crate) const BLOCK: u64 = 4096;

pub(crate) fn key(number: u64) -> Key {
    Key::builder().number("test", number).finish()
}

/// An entry told apart from every other by each of its parts.
pub(crate) fn entry_of(number: u64, image_bytes: usize) -> Entry {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    Entry {
        kind: number as u32,
        origin: Origin {
            compiler: format!("compiler {number}"),
            file: Some((PathBuf::from("lib/compiler.so"), number, -(number as i128))),
        },
        log: format!("log of {number}"),
        image: (0..image_bytes).map(|_| next()).collect(),
    }
}

pub(crate) fn entry(number: u64) -> Entry {
    entry_of(number, 1000)
}

pub(crate) fn cache_of(folder: &Path, max_bytes: u64) -> Cache {
    Cache::new(CacheConfig {
        folder: CacheFolder::At(folder.to_owned()),
        max_bytes,
    })
}

pub(crate) fn cache_at(folder: &Path) -> Cache {
    cache_of(folder, CacheConfig::default().max_bytes)
}

/// A cache in a folder that does not exist yet, within one that goes with the test.
pub(crate) fn fresh_cache() -> (TempDir, Cache) {
    let parent = tempfile::tempdir().unwrap();
    let cache = cache_at(&parent.path().join("cache"));
    (parent, cache)
}

/// Where `key`'s entry lies.
pub(crate) fn path_of(cache: &Cache, key: &Key) -> PathBuf {
    cache.folder().unwrap().join(format!("{key}.kernel"))
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let name = |file: std::io::Result<std::fs::DirEntry>| file.unwrap().file_name();
    let files = folder.read_dir().unwrap();
    files
        .map(|file| name(file).into_string().unwrap())
        .collect()
}

/// Bytes of the folder's files, in whole blocks.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    let bytes = |name: String| folder.join(name).metadata().unwrap().len();
    let files = names(folder).into_iter().map(bytes);
    files.map(|bytes| bytes.next_multiple_of(BLOCK)).sum()
}

pub(crate) fn set_age(path: &Path, age: Duration) {
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - age).unwrap();
}

/// The warnings that `work` gives on this thread.
pub(crate) fn warnings(work: impl FnOnce()) -> Vec<String> {
    let collected = Arc::<Mutex<Vec<String>>>::default();
    tracing::subscriber::with_default(Collector(collected.clone()), work);
    let warnings = collected.lock().unwrap();
    warnings.clone()
}

struct Collector(Arc<Mutex<Vec<String>>>);

impl tracing::Subscriber for Collector {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() <= tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Text(String);
        impl tracing::field::Visit for Text {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                self.0 += &format!("{field}={value:?} ");
            }
        }
        let mut text = Text(String::new());
        event.record(&mut text);
        self.0.lock().unwrap().push(text.0);
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

/// What a child may take before it counts as hanging.
const LIMIT: Duration = Duration::from_secs(120);
/// The variable by which a test finds that it is the child of its own, and which folder is meant.
const CHILD: &str = "HIP_TEST_CACHE_CHILD";
const DONE: &str = "the child has done its part";

/// The folder that a child is to work in; `None` in the parent.
pub(crate) fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Said by a child at its end: a program that runs no test ends well, too.
pub(crate) fn child_done() {
    println!("{DONE}");
}

/// The test `name` alone, in another process.
pub(crate) fn child(name: &str, folder: &Path) -> Command {
    with_test(Command::new(std::env::current_exe().unwrap()), name, folder)
}

/// The same, started by a shell after `script`.
#[cfg(unix)]
pub(crate) fn child_after(script: &str, name: &str, folder: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{script}\nexec \"$@\""), "sh"]);
    shell.arg(std::env::current_exe().unwrap());
    with_test(shell, name, folder)
}

pub(crate) fn with_test(mut command: Command, name: &str, folder: &Path) -> Command {
    command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
    command.env(CHILD, folder).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits for children that were started, which must end by themselves.
pub(crate) fn finish(children: Vec<std::process::Child>) -> Vec<Output> {
    let end = Instant::now() + LIMIT;
    let finish_one = |mut child: std::process::Child| {
        while child.try_wait().unwrap().is_none() {
            if Instant::now() > end {
                child.kill().unwrap();
                let output = child.wait_with_output().unwrap();
                panic!("a child does not end: {output:?}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait_with_output().unwrap()
    };
    children.into_iter().map(finish_one).collect()
}

/// Runs a child, which must end well; gives what it printed.
pub(crate) fn expect_done(mut command: Command) -> String {
    let output = finish(vec![command.spawn().unwrap()]).remove(0);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains(DONE),
        "{}: {text}{errors}",
        output.status
    );
    text
}
