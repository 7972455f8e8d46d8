//! The call log and the counters.

use std::collections::HashMap;
use std::ffi::CStr;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::code::Code;
use crate::lock;

/// Every call so far.
#[derive(Debug)]
pub struct Calls {
    sequence: AtomicU64,
    /// By function, then by thread name.
    counts: Mutex<HashMap<&'static str, HashMap<String, u64>>>,
    log: Option<Mutex<File>>,
}

impl Calls {
    /// No calls yet; each will be a line of the file at `log`, which is added to.
    pub fn new(log: Option<&Path>) -> Calls {
        let open = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            file.unwrap_or_else(|error| {
                eprintln!("hip-sim: HIP_SIM_LOG: {}: {error}", path.display());
                std::process::abort()
            })
        };
        Calls {
            sequence: AtomicU64::new(0),
            counts: Mutex::default(),
            log: log.map(open).map(Mutex::new),
        }
    }

    /// Counts a call; gives its number.
    pub fn begin(&self, name: &'static str, thread: &str) -> u64 {
        let mut counts = lock(&self.counts);
        let by_thread = counts.entry(name).or_default();
        match by_thread.get_mut(thread) {
            Some(count) => *count += 1,
            None => {
                by_thread.insert(thread.to_owned(), 1);
            }
        }
        drop(counts);
        self.sequence.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Writes the line of a call that is over: number, thread, function, code.
    pub fn end(&self, number: u64, name: &'static str, thread: &str, code: Code) {
        self.line(&format!("{number}\t{thread}\t{name}\t{code}"));
    }

    /// Writes a line to the log, if there is one.
    pub fn line(&self, text: &str) {
        if let Some(file) = &self.log
            && let Err(error) = writeln!(lock(file), "{text}")
        {
            eprintln!("hip-sim: HIP_SIM_LOG: {error}");
        }
    }

    /// Calls of `name` on threads whose name contains `thread`.
    pub fn count(&self, name: &str, thread: &str) -> u64 {
        let counts = lock(&self.counts);
        let by_thread = counts.get(name).into_iter().flatten();
        by_thread
            .filter(|(on, _)| on.contains(thread))
            .map(|(_, count)| count)
            .sum()
    }

    /// All calls.
    pub fn total(&self) -> u64 {
        self.sequence.load(Ordering::Relaxed)
    }
}

/// The calling thread's name as the system knows it: at most 15 bytes, without tabs.
pub fn thread_name() -> String {
    let mut name = [0 as libc::c_char; 16];
    // SAFETY: the buffer has the length told, which is the longest that a name can need.
    let code = unsafe { libc::pthread_getname_np(libc::pthread_self(), name.as_mut_ptr(), 16) };
    if code != 0 {
        return String::new();
    }
    // SAFETY: the system wrote a NUL-terminated name.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) };
    name.to_string_lossy().replace(['\t', '\n'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_function_and_thread() {
        let calls = Calls::new(None);
        let numbers = [("a", "one"), ("b", "one"), ("a", "two"), ("a", "one")]
            .map(|(name, thread)| calls.begin(name, thread));
        assert_eq!(numbers, [1, 2, 3, 4]);
        let counts = [("a", ""), ("a", "one"), ("a", "t"), ("c", "")];
        let counts = counts.map(|(name, thread)| calls.count(name, thread));
        assert_eq!((counts, calls.total()), ([3, 2, 1, 0], 4));
    }

    #[test]
    fn threads_have_their_names() {
        let thread = std::thread::Builder::new().name("a long thread name".into());
        let name = thread.spawn(thread_name).unwrap().join().unwrap();
        assert_eq!(name, "a long thread n");
    }
}
