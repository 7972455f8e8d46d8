//! Programs that may hang: everything here that waits for one waits for a limited time.

use std::error::Error;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::workspace::describe;

/// What `timeout` ends with when it had to end its command.
const TIMED_OUT: i32 = 124;

/// The command, ended after `limit` together with whatever it started: `timeout` of coreutils
/// makes a process group of them. Program, arguments, folder and environment are taken over; pipes
/// and files for input and output are not, and are set on the result.
pub(crate) fn within(command: &Command, limit: Duration) -> Command {
    let mut bounded = Command::new("timeout");
    bounded
        .arg("--kill-after=10")
        .arg(limit.as_secs_f64().to_string())
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        bounded.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => bounded.env(name, value),
            None => bounded.env_remove(name),
        };
    }
    bounded
}

/// What the end of a command that ran [`within`] a limit means.
pub(crate) fn verdict(status: ExitStatus, limit: Duration) -> Result<(), String> {
    match status.code() {
        Some(0) => Ok(()),
        Some(TIMED_OUT) => Err(format!("not done after {} s", limit.as_secs())),
        _ => Err(status.to_string()),
    }
}

/// Runs a command for `limit` at most; anything but success is an error that names it.
pub(crate) fn run_within(command: &Command, limit: Duration) -> Result<(), Box<dyn Error>> {
    let what = describe(command);
    let status = within(command, limit)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("timeout: {error}"))?;
    verdict(status, limit).map_err(|reason| format!("{what}: {reason}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_failure_and_a_success_are_told_apart() {
        assert!(run_within(&Command::new("true"), LONG).is_ok());
        let error = run_within(&Command::new("false"), LONG).unwrap_err();
        assert!(error.to_string().starts_with("false: "), "{error}");
    }

    #[test]
    fn folder_and_environment_are_taken_over() {
        let mut command = Command::new("sh");
        command
            .args(["-c", "test \"$HIP_TEST\" = x && test \"$PWD\" = /"])
            .current_dir("/")
            .env("HIP_TEST", "x");
        run_within(&command, LONG).unwrap();
    }

    #[test]
    fn a_command_past_its_limit_is_ended_with_what_it_started() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & wait"]);
        // The pipe closes when the last process that holds it has ended: `output` would wait for a
        // `sleep` that was left.
        let limit = Duration::from_millis(50);
        let output = within(&command, limit).output().unwrap();
        let reason = verdict(output.status, limit).unwrap_err();
        assert!(reason.starts_with("not done after"), "{reason}");
    }
}
