//! What a test asks of a stand-in: environment variables, or lines of the same form in a file
//! `hip-sim.conf` beside the library, which the environment overrides.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::code::Code;
use crate::faults::Fault;

/// The file beside a library.
pub const FILE: &str = "hip-sim.conf";

/// See the crate's documentation for the variables.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `HIP_SIM_DEVICES`.
    pub devices: Option<u32>,
    /// `HIP_SIM_ARCH`.
    pub architecture: Option<String>,
    /// `HIP_SIM_MEMORY`, bytes.
    pub memory: Option<u64>,
    /// `HIP_SIM_SLOW`, for each kernel, copy and fill.
    pub slow: Duration,
    /// `HIP_SIM_STRICT`.
    pub strict: bool,
    /// `HIP_SIM_ABORT`.
    pub abort_on_race: bool,
    /// `HIP_SIM_LOG`.
    pub log: Option<PathBuf>,
    /// `HIP_SIM_FAIL`.
    pub faults: Vec<Fault>,
    /// `HIP_SIM_LOST`: the first call that finds the device gone, and its code.
    pub lost: Option<(u64, Option<Code>)>,
}

impl Settings {
    /// Reads settings by name; an error says which one is wrong.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let number = |name: &str| match get(name) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<u64>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(format!("{name} is no number: {text}")),
            },
        };
        let flag = |name: &str| get(name).is_some_and(|text| !matches!(text.trim(), "" | "0"));
        let lost = match get("HIP_SIM_LOST") {
            None => None,
            Some(text) => Some(lost(&text)?),
        };
        Ok(Settings {
            devices: number("HIP_SIM_DEVICES")?.map(|count| count.min(64) as u32),
            architecture: get("HIP_SIM_ARCH"),
            memory: number("HIP_SIM_MEMORY")?,
            slow: Duration::from_micros(number("HIP_SIM_SLOW")?.unwrap_or(0)),
            strict: flag("HIP_SIM_STRICT"),
            abort_on_race: flag("HIP_SIM_ABORT"),
            log: get("HIP_SIM_LOG").map(PathBuf::from),
            faults: Fault::parse_all(&get("HIP_SIM_FAIL").unwrap_or_default())?,
            lost,
        })
    }

    /// The settings of this process for the library that this code is part of. Wrong ones end the
    /// process: a test that sets them must not run without them.
    pub fn of_process() -> Settings {
        let file = own_folder().map(|folder| folder.join(FILE));
        let lines = file
            .and_then(|file| std::fs::read_to_string(file).ok())
            .unwrap_or_default();
        let get = |name: &str| std::env::var(name).ok().or_else(|| line(&lines, name));
        Settings::read(get).unwrap_or_else(|error| {
            eprintln!("hip-sim: {error}");
            std::process::abort()
        })
    }
}

fn lost(text: &str) -> Result<(u64, Option<Code>), String> {
    let wrong = || format!("HIP_SIM_LOST is not n or n=code: {text}");
    let (count, code) = text
        .split_once('=')
        .map_or((text, None), |(n, c)| (n, Some(c)));
    let code = code.map(|code| code.trim().parse()).transpose();
    Ok((
        count.trim().parse().map_err(|_| wrong())?,
        code.map_err(|_| wrong())?,
    ))
}

/// The value of the line `name=value`.
fn line(lines: &str, name: &str) -> Option<String> {
    lines.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The folder of the file that this code was loaded from.
fn own_folder() -> Option<PathBuf> {
    // SAFETY: an all-zero Dl_info is valid: it is made of pointers.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let address = own_folder as *const libc::c_void;
    // SAFETY: the address is this function's and `info` is writable.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a NUL-terminated name that lives as long as this code is loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Path::new(name.to_str().ok()?).parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &str) -> Result<Settings, String> {
        Settings::read(|name| line(lines, name))
    }

    #[test]
    fn settings_are_read() {
        let settings = read(
            "HIP_SIM_DEVICES=2\nHIP_SIM_SLOW = 50\nHIP_SIM_LOST=7=710\nHIP_SIM_FAIL=a:1,b:2=3\n\
             HIP_SIM_ABORT=0",
        )
        .unwrap();
        assert_eq!(settings.devices, Some(2));
        assert_eq!(settings.slow, Duration::from_micros(50));
        assert_eq!(settings.lost, Some((7, Some(710))));
        assert_eq!(settings.faults.len(), 2);
        assert!(!settings.abort_on_race && !settings.strict);
        assert_eq!(read("HIP_SIM_LOST=3").unwrap().lost, Some((3, None)));
    }

    #[test]
    fn wrong_settings_are_errors() {
        for text in [
            "HIP_SIM_DEVICES=x",
            "HIP_SIM_LOST=a",
            "HIP_SIM_LOST=1=b",
            "HIP_SIM_FAIL=a",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
