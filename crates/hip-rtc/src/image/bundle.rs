//! Clang's offload bundles (LLVM's "Clang Offload Bundler"): code objects for several targets in
//! one file, which AMD's runtime takes as they are.

use super::{ImageError, ImageFormat, elf};

const MAGIC: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
/// Start of a compressed one, which is not taken apart here.
const COMPRESSED: &[u8] = b"CCOB";

/// One target's part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`, or the host's, whose image is empty.
    pub id: &'a str,
    /// The file for it.
    pub image: &'a [u8],
}

/// Whether a file starts like a bundle, compressed or not.
pub fn is_bundle(file: &[u8]) -> bool {
    file.starts_with(MAGIC) || file.starts_with(COMPRESSED)
}

/// The parts of a bundle.
///
/// # Errors
/// It is compressed, or a part lies outside the file.
pub fn entries(file: &[u8]) -> Result<Vec<Entry<'_>>, ImageError> {
    let damaged = |what: &str| ImageError::damaged(ImageFormat::OffloadBundle, what);
    if !file.starts_with(MAGIC) {
        return Err(damaged("it is compressed"));
    }
    let count = elf::size_at(file, MAGIC.len());
    let count = count.ok_or_else(|| damaged("it ends before its table"))?;
    let mut at = MAGIC.len() + 8;
    let mut found = Vec::new();
    // A made-up count ends at the file's end: each entry is at least 24 bytes of it.
    for _ in 0..count {
        let entry = entry(file, &mut at).ok_or_else(|| damaged("a part lies outside the file"))?;
        found.push(entry);
    }
    Ok(found)
}

/// The entry at a place in the table, which moves on: offset, size, length of the name, name.
fn entry<'a>(file: &'a [u8], at: &mut usize) -> Option<Entry<'a>> {
    let [offset, size, length] = [0, 8, 16].map(|field| elf::size_at(file, *at + field));
    let length = length?;
    let id = std::str::from_utf8(elf::bytes(file, *at + 24, length)?).ok()?;
    let image = elf::bytes(file, offset?, size?)?;
    *at = at.checked_add(24)?.checked_add(length)?;
    Some(Entry { id, image })
}
