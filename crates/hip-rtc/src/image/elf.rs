//! As much of ELF64, little endian, as module images need (System V ABI, chapters 4 and 5). Reads
//! outside the file give `None`.

use super::{ImageError, ImageFormat};

/// How every ELF file starts.
pub const MAGIC: [u8; 4] = *b"\x7fELF";
/// Bytes of the file header.
pub const HEADER: usize = 64;
/// Where `e_machine` is.
pub const MACHINE_AT: usize = 18;
/// Where `e_flags` is.
pub const FLAGS_AT: usize = 48;
/// `SHT_NOTE`.
pub const NOTE: u32 = 7;
/// `SHT_DYNSYM`.
pub const DYNSYM: u32 = 11;
/// `SHT_DYNAMIC`.
pub const DYNAMIC: u32 = 6;

/// A section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'a> {
    /// Its name.
    pub name: &'a str,
    /// `SHT_…`.
    pub kind: u32,
    /// Place in the file.
    pub offset: usize,
    /// Bytes.
    pub size: usize,
    /// The section it refers to.
    pub link: u32,
}

/// Bytes at a place.
pub fn bytes(file: &[u8], offset: usize, size: usize) -> Option<&[u8]> {
    file.get(offset..offset.checked_add(size)?)
}

/// 16 bits at a place.
pub fn u16_at(file: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes(file, offset, 2)?.try_into().ok()?))
}

/// 32 bits at a place.
pub fn u32_at(file: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes(file, offset, 4)?.try_into().ok()?))
}

/// 64 bits at a place, as a size.
pub fn size_at(file: &[u8], offset: usize) -> Option<usize> {
    let number = u64::from_le_bytes(bytes(file, offset, 8)?.try_into().ok()?);
    usize::try_from(number).ok()
}

/// The text at a place, up to its NUL.
pub fn text_at(file: &[u8], offset: usize) -> Option<&str> {
    let rest = file.get(offset..)?;
    std::ffi::CStr::from_bytes_until_nul(rest)
        .ok()?
        .to_str()
        .ok()
}

/// Whether this is a 64-bit little-endian ELF file of a machine (`e_machine`).
pub fn is_for(file: &[u8], machine: u16) -> bool {
    file.len() >= HEADER
        && file[..6] == [0x7f, b'E', b'L', b'F', 2, 1]
        && u16_at(file, MACHINE_AT) == Some(machine)
}

/// `e_flags`.
pub fn flags(file: &[u8]) -> u32 {
    u32_at(file, FLAGS_AT).unwrap_or(0)
}

/// Refuses a file that is shorter than its header tells, or than a header.
pub(super) fn check_size(file: &[u8], format: ImageFormat) -> Result<(), ImageError> {
    let actual = file.len();
    let expected = if actual < HEADER {
        HEADER
    } else {
        file_size(file)
    };
    if actual < expected {
        return Err(ImageError::Truncated {
            format,
            expected,
            actual,
        });
    }
    Ok(())
}

/// Size of a file by its header: where the later of its two header tables ends. Linkers write the
/// section headers last.
pub fn file_size(header: &[u8]) -> usize {
    let table = |offset, size, count| {
        let entries = usize::from(u16_at(header, size)?) * usize::from(u16_at(header, count)?);
        size_at(header, offset)?.checked_add(entries)
    };
    let ends = [table(32, 54, 56), table(40, 58, 60)];
    // Absurd numbers are a damaged header: nothing but it is read then.
    let limit = |end: &usize| *end <= 1 << 30;
    ends.into_iter()
        .flatten()
        .filter(limit)
        .max()
        .unwrap_or(0)
        .max(HEADER)
}

/// The sections.
pub fn sections(file: &[u8]) -> Option<Vec<Section<'_>>> {
    let (start, size) = (size_at(file, 40)?, usize::from(u16_at(file, 58)?));
    let (count, names) = (
        usize::from(u16_at(file, 60)?),
        usize::from(u16_at(file, 62)?),
    );
    let at = |index: usize| start.checked_add(index.checked_mul(size)?);
    let names = size_at(file, at(names)?.checked_add(24)?)?;
    let section = |index| {
        let at = at(index)?;
        // Every field below lies in these 64 bytes, so no sum of `at` overflows.
        bytes(file, at, 64)?;
        Some(Section {
            name: text_at(file, names.checked_add(u32_at(file, at)? as usize)?)?,
            kind: u32_at(file, at + 4)?,
            offset: size_at(file, at + 24)?,
            size: size_at(file, at + 32)?,
            link: u32_at(file, at + 40)?,
        })
    };
    (0..count).map(section).collect()
}

/// The note of an owner and a kind in a note section's bytes.
pub fn note<'a>(mut section: &'a [u8], owner: &str, kind: u32) -> Option<&'a [u8]> {
    while !section.is_empty() {
        let name_size = u32_at(section, 0)? as usize;
        let size = u32_at(section, 4)? as usize;
        let name = bytes(section, 12, name_size)?;
        let data = name_size.checked_next_multiple_of(4)?.checked_add(12)?;
        let description = bytes(section, data, size)?;
        if name.strip_suffix(b"\0") == Some(owner.as_bytes()) && u32_at(section, 8)? == kind {
            return Some(description);
        }
        section = section
            .get(data.checked_add(size.checked_next_multiple_of(4)?)?..)
            .unwrap_or_default();
    }
    None
}
