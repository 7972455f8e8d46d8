//! Whether a file can be given to the system's loader, which maps what an ELF header promises: a file
//! that was cut off, as by an interrupted download, ends the process with SIGBUS.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const HEADER_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;
/// `PT_LOAD`.
const LOAD: u32 = 1;
/// This machine's `e_machine`; 0 where it is not known.
const MACHINE: u16 = if cfg!(target_arch = "x86_64") {
    62
} else if cfg!(target_arch = "aarch64") {
    183
} else {
    0
};

/// What is wrong with a file that is named by its path. `None` where nothing is, where it is not
/// there, and where it is no 64-bit little-endian ELF, of which the loader says what it thinks.
pub(crate) fn flaw(path: &Path) -> Option<String> {
    // A bare name is looked up by the loader.
    if path.components().count() < 2 {
        return None;
    }
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(|data| data.is_file())?.len();
    let mut header = [0; HEADER_BYTES];
    file.read_exact(&mut header).ok()?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let machine = u16::from_le_bytes([header[18], header[19]]);
    if MACHINE != 0 && machine != MACHINE {
        return Some(format!(
            "it is for another processor (ELF machine {machine})"
        ));
    }
    let count = u16::from_le_bytes([header[56], header[57]]);
    file.seek(SeekFrom::Start(long(&header, 32))).ok()?;
    let mut needed = 0;
    for _ in 0..count {
        let mut segment = [0; SEGMENT_BYTES];
        if file.read_exact(&mut segment).is_err() {
            return Some(format!(
                "it is cut off within its headers, at {length} bytes"
            ));
        }
        if segment.starts_with(&LOAD.to_le_bytes()) {
            let end = long(&segment, 8).saturating_add(long(&segment, 32));
            needed = needed.max(end);
        }
    }
    (needed > length).then(|| format!("it is cut off: {length} of at least {needed} bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut long = [0; 8];
    long.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(long)
}

// Miri reads no files of the system's.
#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    /// What is wrong with a copy of this program that is changed.
    fn flaw_of(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Option<String> {
        let mut bytes = std::fs::read("/proc/self/exe").unwrap();
        change(&mut bytes);
        let file = std::env::temp_dir().join(format!("hip-elf-{name}-{}", std::process::id()));
        std::fs::write(&file, bytes).unwrap();
        let flaw = flaw(&file);
        std::fs::remove_file(&file).unwrap();
        flaw
    }

    #[test]
    fn files_that_would_end_the_process_are_told() {
        assert_eq!(flaw_of("whole", |_| {}), None);
        let cut = flaw_of("cut", |bytes| bytes.truncate(4096)).unwrap_or_default();
        assert!(cut.starts_with("it is cut off: "), "{cut}");
        let head = flaw_of("head", |bytes| bytes.truncate(100)).unwrap_or_default();
        assert!(head.contains("within its headers"), "{head}");
        let other = flaw_of("other", |bytes| bytes[18] = 8).unwrap_or_default();
        assert!(other.contains("another processor"), "{other}");
        // The loader has words of its own for these.
        assert_eq!(flaw_of("text", |bytes| *bytes = b"text".to_vec()), None);
        assert_eq!(flaw(Path::new("/nowhere/libcuda.so.1")), None);
    }
}
