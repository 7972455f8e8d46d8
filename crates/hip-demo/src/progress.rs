//! The line that shows how far the work is.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// How far the work is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// Frames that have come back from the device.
    pub frames: u64,
    /// Frames there will be, if the input says.
    pub total: Option<u64>,
    /// Time since the first frame.
    pub elapsed: Duration,
}

impl Progress {
    pub(crate) fn new(frames: u64, total: Option<u64>, elapsed: Duration) -> Self {
        Self {
            frames,
            total,
            elapsed,
        }
    }

    /// Frames a second so far.
    pub fn rate(&self) -> f64 {
        let seconds = self.elapsed.as_secs_f64();
        if seconds > 0.0 {
            self.frames as f64 / seconds
        } else {
            0.0
        }
    }

    fn text(&self) -> String {
        let rate = self.rate();
        match self.total {
            Some(total) if total > 0 => {
                let percent = (100 * self.frames / total).min(100);
                format!(
                    "{percent:>3} %  frame {} of {total}  {rate:.0} frames/s",
                    self.frames
                )
            }
            _ => format!("frame {}  {rate:.0} frames/s", self.frames),
        }
    }
}

/// Prints progress to standard error: one line written over and over on a terminal,
/// one a second elsewhere.
#[derive(Debug)]
pub struct Line {
    terminal: bool,
    quiet: bool,
    last: Option<Instant>,
    width: usize,
}

impl Line {
    /// A line that prints nothing if `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self {
            terminal: io::stderr().is_terminal(),
            quiet,
            last: None,
            width: 0,
        }
    }

    /// Shows `progress`, unless it was shown a moment ago.
    pub fn show(&mut self, progress: &Progress) {
        let pause = Duration::from_millis(if self.terminal { 100 } else { 1000 });
        if self.quiet || self.last.is_some_and(|last| last.elapsed() < pause) {
            return;
        }
        self.last = Some(Instant::now());
        let text = progress.text();
        // Whether standard error can be written is no concern of the work's.
        let _ = if self.terminal {
            let padded = format!("{text:<width$}", width = self.width);
            self.width = text.len();
            write!(io::stderr(), "\r{padded}").and_then(|()| io::stderr().flush())
        } else {
            writeln!(io::stderr(), "{text}")
        };
    }

    /// Takes the line away.
    pub fn clear(&mut self) {
        if self.terminal && self.width > 0 {
            let _ = write!(io::stderr(), "\r{:width$}\r", "", width = self.width);
            self.width = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let second = Duration::from_secs(2);
        assert_eq!(
            Progress::new(50, Some(200), second).text(),
            " 25 %  frame 50 of 200  25 frames/s"
        );
        // More frames than the input promised are no more than all of it.
        assert!(
            Progress::new(300, Some(200), second)
                .text()
                .starts_with("100 %")
        );
        assert_eq!(
            Progress::new(50, None, second).text(),
            "frame 50  25 frames/s"
        );
        assert_eq!(
            Progress::new(0, Some(0), Duration::ZERO).text(),
            "frame 0  0 frames/s"
        );
    }
}
