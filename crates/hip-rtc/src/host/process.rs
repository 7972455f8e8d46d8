//! Programs run with a time limit, their output kept.

use std::fs::File;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::HostError;
use super::scratch::Scratch;

/// How long a compiler may take. The largest of our own kernels takes a few seconds.
const LIMIT: Duration = Duration::from_secs(120);
/// How often a running compiler is looked at; a small kernel takes 100 ms.
const STEP: Duration = Duration::from_millis(1);

/// What a program left behind.
pub(super) struct Output {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: String,
}

/// Runs a command in a folder's `user` part. Its output goes through files of the folder: pipes
/// would have to be emptied meanwhile.
pub(super) fn run(command: Command, scratch: &Scratch) -> Result<Output, HostError> {
    run_within(command, scratch, LIMIT)
}

fn run_within(
    mut command: Command,
    scratch: &Scratch,
    limit: Duration,
) -> Result<Output, HostError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let [out, err] = ["stdout", "stderr"].map(|name| scratch.path(name));
    let file = |path| File::create(path).map_err(HostError::io("cannot keep a compiler's output"));
    command
        .current_dir(scratch.path("user"))
        .stdin(Stdio::null())
        .stdout(file(&out)?)
        .stderr(file(&err)?);
    // A group of its own, so that what a compiler starts can be ended with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command
        .spawn()
        .map_err(HostError::io(format!("cannot start {program}")))?;
    let Some(status) = wait(&mut child, limit)? else {
        return Err(HostError::TimedOut {
            compiler: program,
            seconds: limit.as_secs(),
        });
    };
    let read = |path| std::fs::read(path).map_err(HostError::io("cannot read a compiler's output"));
    Ok(Output {
        status,
        stdout: read(&out)?,
        stderr: String::from_utf8_lossy(&read(&err)?).into_owned(),
    })
}

/// Waits for a program; past the limit it is ended, and this gives `None`.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>, HostError> {
    let end = Instant::now() + limit;
    loop {
        let status = child
            .try_wait()
            .map_err(HostError::io("cannot wait for a compiler"))?;
        if status.is_some() {
            return Ok(status);
        }
        if Instant::now() >= end {
            kill(child);
            return Ok(None);
        }
        std::thread::sleep(STEP);
    }
}

fn kill(child: &mut Child) {
    // The group first: a compiler's driver does not take its parts with it.
    #[cfg(unix)]
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: the child leads a group of its own and was not waited for, so that its number is
        // still that group's.
        if unsafe { libc::kill(-group, libc::SIGKILL) } != 0 {
            let error = std::io::Error::last_os_error();
            tracing::warn!(%error, "parts of a compiler may still run");
        }
    }
    if let Err(error) = child.kill().and_then(|()| child.wait()) {
        tracing::warn!(%error, "a compiler cannot be ended");
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn scratch() -> Scratch {
        let scratch = Scratch::new().unwrap();
        scratch.write("user", "x", b"").unwrap();
        scratch
    }

    #[test]
    fn output_and_status_are_kept() {
        let scratch = scratch();
        let output = run(shell("cat; ls; echo no >&2; exit 3"), &scratch).unwrap();
        assert_eq!(output.stdout, b"x\n");
        assert_eq!(output.stderr, "no\n");
        assert_eq!(output.status.code(), Some(3));
    }

    #[test]
    fn what_takes_too_long_is_ended_with_all_it_started() {
        let scratch = scratch();
        let pid_file = scratch.path("user/pid");
        let script = "sleep 1000 & echo $! >pid; wait";
        // Until the shell came to write the line: on a busy machine it may not have been started yet.
        let pid = (0..12)
            .find_map(|doubled| {
                let limit = Duration::from_millis(100 << doubled);
                let error = run_within(shell(script), &scratch, limit);
                assert!(matches!(error, Err(HostError::TimedOut { .. })));
                let line = std::fs::read_to_string(&pid_file).ok()?;
                line.ends_with('\n').then_some(line)
            })
            .expect("the shell writes a line");
        // The zombie of a killed process has no command line; one that is gone has no file. A signal
        // takes its time to arrive; one that never does hangs the test.
        let file = format!("/proc/{}/cmdline", pid.trim());
        let ended = || std::fs::read(&file).map_or(true, |line| line.is_empty());
        while !ended() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_program_that_does_not_start_says_so() {
        let error = run(Command::new("/no/such/compiler"), &scratch()).err();
        let text = error.map(|error| error.to_string()).unwrap_or_default();
        assert!(text.starts_with("cannot start /no/such/compiler"), "{text}");
    }
}
