//! A locale whose decimal point is a comma, for a process of its own.
#![cfg(unix)]

use std::ffi::{CStr, OsString};
use std::path::Path;
use std::process::Command;

/// German as spoken in Germany: `0,5`.
const NAME: &str = "de_DE.UTF-8";

/// What a process's environment needs for the locale, which is made in `folder` if the system can.
/// Where it cannot, it may be installed.
pub(crate) fn environment(folder: &Path) -> Vec<(&'static str, OsString)> {
    let made = Command::new("localedef")
        .args(["--no-archive", "-i", "de_DE", "-f", "UTF-8"])
        .arg(folder.join(NAME))
        .output();
    let mut environment = vec![("LC_ALL", NAME.into())];
    if made.is_ok_and(|output| output.status.success()) {
        environment.push(("LOCPATH", folder.into()));
    }
    environment
}

/// Gives this process the locale of its environment; `false`, with the reason printed, if that has
/// no decimal comma. For a process with one test: other threads may not read the locale meanwhile.
pub(crate) fn enter() -> bool {
    // SAFETY: the name is a C string, and no other thread uses the locale.
    let entered = unsafe { libc::setlocale(libc::LC_ALL, c"".as_ptr()) };
    let mut text = [0; 16];
    // SAFETY: the buffer has the length told, and the format takes the one double.
    unsafe { libc::snprintf(text.as_mut_ptr(), 16, c"%.1f".as_ptr(), 0.5) };
    // SAFETY: snprintf ended the text with a NUL.
    let comma = unsafe { CStr::from_ptr(text.as_ptr()) } == c"0,5";
    if entered.is_null() || !comma {
        println!("skipped: the system has no locale {NAME}, nor can it make one");
    }
    comma
}
