//! An entry and its file: magic, format, product, key, length of the rest, SHA-256, the rest.
//! Numbers are little-endian, texts and blobs carry their lengths.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Key;

/// Version of the file format; part of every key.
pub(super) const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"hiprtc\r\n";
/// Magic, format, product, key and length: what the digest covers besides the payload.
const FIELDS: usize = 8 + 4 + 4 + Key::LEN + 8;
const DIGEST: usize = 32;
/// Bytes before the payload.
pub(super) const HEADER: usize = FIELDS + DIGEST;

/// A compiled kernel and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What the image is (PTX, CUBIN, …), in numbers of the caller's.
    pub kind: u32,
    /// What compiled it.
    pub origin: Origin,
    /// What the compiler said.
    pub log: String,
    /// What the compiler made.
    pub image: Vec<u8>,
}

/// A compiler, so that a caller can tell whether an entry is still what it would make.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// Name and version.
    pub compiler: String,
    /// The compiler's file, its size in bytes and its modification time in nanoseconds since 1970.
    pub file: Option<(PathBuf, u64, i128)>,
}

/// Why a file is no entry for a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Damage {
    #[error("it is shorter than a header")]
    Header,
    #[error("it is another program's")]
    Magic,
    #[error("it is of another format")]
    Format,
    #[error("it is another key's")]
    Key,
    #[error("its length is not the one it names")]
    Length,
    #[error("its checksum is wrong")]
    Digest,
    #[error("its payload does not parse")]
    Payload,
}

/// A header that fits its key, and its file's size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    kind: u32,
    pub(super) payload_bytes: u64,
    fields: [u8; FIELDS],
    digest: [u8; DIGEST],
}

impl Header {
    /// Reads the header of a file of `file_bytes` bytes that is to hold `key`'s entry.
    pub(super) fn parse(
        bytes: &[u8; HEADER],
        key: &Key,
        file_bytes: u64,
    ) -> Result<Header, Damage> {
        let (fields, digest) = bytes.split_first_chunk().ok_or(Damage::Header)?;
        let mut reader = Reader(fields);
        if reader.array()? != MAGIC {
            return Err(Damage::Magic);
        }
        if u32::from_le_bytes(reader.array()?) != FORMAT {
            return Err(Damage::Format);
        }
        let kind = u32::from_le_bytes(reader.array()?);
        if reader.array()? != *key.as_bytes() {
            return Err(Damage::Key);
        }
        let payload_bytes = u64::from_le_bytes(reader.array()?);
        if payload_bytes.checked_add(HEADER as u64) != Some(file_bytes) {
            return Err(Damage::Length);
        }
        Ok(Header {
            kind,
            payload_bytes,
            fields: *fields,
            digest: digest.try_into().map_err(|_| Damage::Header)?,
        })
    }

    /// The entry, if `payload` is what was written.
    pub(super) fn entry(&self, payload: &[u8]) -> Result<Entry, Damage> {
        if payload.len() as u64 != self.payload_bytes {
            return Err(Damage::Length);
        }
        if digest(&self.fields, payload) != self.digest {
            return Err(Damage::Digest);
        }
        let mut reader = Reader(payload);
        let entry = Entry {
            kind: self.kind,
            origin: reader.origin()?,
            log: reader.text()?,
            image: reader.blob()?.to_vec(),
        };
        match reader.0.is_empty() {
            true => Ok(entry),
            false => Err(Damage::Payload),
        }
    }
}

impl Entry {
    /// The whole file.
    pub(super) fn encode(&self, key: &Key) -> Vec<u8> {
        let mut file = vec![0; HEADER];
        file.reserve(self.image.len() + self.log.len() + 512);
        push_blob(&mut file, self.origin.compiler.as_bytes());
        file.push(self.origin.file.is_some().into());
        if let Some((path, bytes, modified)) = &self.origin.file {
            push_blob(&mut file, &path_bytes(path));
            file.extend(bytes.to_le_bytes());
            file.extend(modified.to_le_bytes());
        }
        push_blob(&mut file, self.log.as_bytes());
        push_blob(&mut file, &self.image);

        let payload_bytes = (file.len() - HEADER) as u64;
        let mut fields = Vec::with_capacity(FIELDS);
        fields.extend(MAGIC);
        fields.extend(FORMAT.to_le_bytes());
        fields.extend(self.kind.to_le_bytes());
        fields.extend(key.as_bytes());
        fields.extend(payload_bytes.to_le_bytes());
        let digest = digest(&fields, &file[HEADER..]);
        file[..FIELDS].copy_from_slice(&fields);
        file[FIELDS..HEADER].copy_from_slice(&digest);
        file
    }
}

fn digest(fields: &[u8], payload: &[u8]) -> [u8; DIGEST] {
    let mut hash = Sha256::new();
    hash.update(fields);
    hash.update(payload);
    hash.finalize().into()
}

fn push_blob(file: &mut Vec<u8>, bytes: &[u8]) {
    file.extend((bytes.len() as u64).to_le_bytes());
    file.extend(bytes);
}

/// What is left to read; a length is checked against it before anything is allocated.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damage> {
        let (array, rest) = self.0.split_first_chunk().ok_or(Damage::Payload)?;
        self.0 = rest;
        Ok(*array)
    }

    fn blob(&mut self) -> Result<&'a [u8], Damage> {
        let len = usize::try_from(u64::from_le_bytes(self.array()?));
        let split = len.ok().and_then(|len| self.0.split_at_checked(len));
        let (blob, rest) = split.ok_or(Damage::Payload)?;
        self.0 = rest;
        Ok(blob)
    }

    fn text(&mut self) -> Result<String, Damage> {
        let text = str::from_utf8(self.blob()?).map_err(|_| Damage::Payload)?;
        Ok(text.to_owned())
    }

    fn origin(&mut self) -> Result<Origin, Damage> {
        let compiler = self.text()?;
        let file = match self.array()? {
            [0] => None,
            [1] => Some((
                path_of(self.blob()?).ok_or(Damage::Payload)?,
                u64::from_le_bytes(self.array()?),
                i128::from_le_bytes(self.array()?),
            )),
            _ => return Err(Damage::Payload),
        };
        Ok(Origin { compiler, file })
    }
}

/// A path as this system has it, which need not be Unicode.
#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

#[cfg(unix)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    let name: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec());
    Some(name.into())
}

/// A path as this system has it: UTF-16 that need not be well-formed.
#[cfg(windows)]
fn path_bytes(path: &Path) -> Vec<u8> {
    std::os::windows::ffi::OsStrExt::encode_wide(path.as_os_str())
        .flat_map(u16::to_le_bytes)
        .collect()
}

#[cfg(windows)]
fn path_of(bytes: &[u8]) -> Option<PathBuf> {
    let (units, rest) = bytes.as_chunks();
    let wide: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    let name: OsString = std::os::windows::ffi::OsStringExt::from_wide(&wide);
    rest.is_empty().then(|| name.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(file: &[u8], key: &Key) -> Result<Entry, Damage> {
        let (header, payload) = file.split_first_chunk().ok_or(Damage::Header)?;
        Header::parse(header, key, file.len() as u64)?.entry(payload)
    }

    fn with_digest(mut file: Vec<u8>) -> Vec<u8> {
        let digest = digest(&file[..FIELDS], &file[HEADER..]);
        file[FIELDS..HEADER].copy_from_slice(&digest);
        file
    }

    fn sample() -> Entry {
        Entry {
            kind: 3,
            origin: Origin {
                compiler: "nvrtc 12.8".to_owned(),
                file: Some((PathBuf::from("lib/libnvrtc.so.12"), 7, -5)),
            },
            log: "a warning: ä".to_owned(),
            image: vec![1, 2, 3, 4],
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let key = Key::builder().finish();
        let empty = Entry {
            kind: 0,
            origin: Origin::default(),
            log: String::new(),
            image: Vec::new(),
        };
        for entry in [sample(), empty] {
            assert_eq!(parse(&entry.encode(&key), &key), Ok(entry));
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_path_need_not_be_unicode() {
        let bytes = b"lib/\xff\xfe.so";
        assert_eq!(path_bytes(&path_of(bytes).unwrap()), bytes);
    }

    #[test]
    fn each_damage_has_its_name() {
        let key = Key::builder().finish();
        let good = sample().encode(&key);
        let other = Key::builder().text("a", "b").finish();
        assert_eq!(parse(&good, &other), Err(Damage::Key));
        assert_eq!(parse(&good[..HEADER - 1], &key), Err(Damage::Header));
        assert_eq!(parse(&good[..good.len() - 1], &key), Err(Damage::Length));
        let changed = |at: usize| {
            let mut file = good.clone();
            file[at] ^= 1;
            parse(&file, &key)
        };
        assert_eq!(changed(0), Err(Damage::Magic));
        assert_eq!(changed(8), Err(Damage::Format));
        assert_eq!(changed(12), Err(Damage::Digest));
        assert_eq!(changed(FIELDS), Err(Damage::Digest));
        assert_eq!(changed(good.len() - 1), Err(Damage::Digest));
    }

    /// A file with a right checksum and wrong lengths inside: no allocation follows them.
    #[test]
    fn a_bogus_length_allocates_nothing() {
        let key = Key::builder().finish();
        let good = sample().encode(&key);
        for at in HEADER..good.len() {
            let mut file = good.clone();
            file[at] = !file[at];
            // Whatever it gives: no panic and no memory beyond the file's size.
            let _ = parse(&with_digest(file), &key);
        }
        for len in [u64::MAX, 1 << 63, good.len() as u64] {
            let mut file = good.clone();
            file[HEADER..HEADER + 8].copy_from_slice(&len.to_le_bytes());
            assert_eq!(parse(&with_digest(file), &key), Err(Damage::Payload));
            let mut file = good.clone();
            file[FIELDS - 8..FIELDS].copy_from_slice(&len.to_le_bytes());
            assert_eq!(parse(&with_digest(file), &key), Err(Damage::Length));
        }
        let mut longer = good.clone();
        longer.push(0);
        let payload_bytes = (longer.len() - HEADER) as u64;
        longer[FIELDS - 8..FIELDS].copy_from_slice(&payload_bytes.to_le_bytes());
        assert_eq!(parse(&with_digest(longer), &key), Err(Damage::Payload));
    }
}
