//! Tests in processes of their own.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tells a child which part of which test it is.
const PART: &str = "HIP_STRAIN_PART";

/// What became of a child.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// `None` if it was killed because it took too long.
    pub(crate) status: Option<ExitStatus>,
    /// What it printed, standard error last.
    pub(crate) text: String,
}

/// A part of a test: the test's name, and words that tell parts of one test apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The test as the harness names it.
    pub(crate) test: &'static str,
    /// Empty for the only part.
    pub(crate) words: &'static str,
}

impl Part {
    /// Whether this process was started for this part.
    pub(crate) fn is_here(self) -> bool {
        std::env::var(PART).is_ok_and(|value| value == self.value())
    }

    fn value(self) -> String {
        format!("{} {}", self.test, self.words)
    }

    /// Runs the part in a child; `limit` is what it may take.
    pub(crate) fn run(self, limit: Duration, variables: &[(&str, &str)]) -> Outcome {
        let mut command = Command::new(std::env::current_exe().expect("the program has a path"));
        command
            .args(["--exact", self.test, "--nocapture", "--test-threads=1"])
            .env(PART, self.value())
            .env("GST_REGISTRY_FORK", "no")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts again");
        let out = collect(child.stdout.take());
        let err = collect(child.stderr.take());
        let status = wait(&mut child, limit);
        let text = [out, err].map(|thread| thread.join().unwrap_or_default());
        Outcome {
            status,
            text: text.concat(),
        }
    }
}

impl Outcome {
    /// Whether the child said that all is well.
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut stream) = stream {
            // What was read until then is still of use.
            let _ = stream.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // It may end by itself meanwhile.
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// Runs `body` in a process of its own and passes on what it prints; fails if it does.
pub(crate) fn alone(test: &'static str, variables: &[(&str, &str)], body: impl FnOnce()) {
    let part = Part { test, words: "" };
    if part.is_here() {
        return body();
    }
    let outcome = part.run(Duration::from_secs(240), variables);
    println!("{}", outcome.text);
    assert!(outcome.is_success(), "{test}: {:?}", outcome.status);
}

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one.
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hip-strain-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Folder(folder)
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all::<&Path>(&self.0);
    }
}
