//! Shared objects of kernels: what is in one, and how it is loaded from memory.
//!
//! `hip-rtc` builds them; its `prelude/execution.h` mirrors the structures here.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

use super::fiber::{RUNTIME, Runtime};
use super::image_file::{self, Library};
use super::launch::HostKernelFn;

/// Changes whenever a structure here does.
const VERSION: u32 = 1;
/// The function that an object exports.
const ENTRY: &CStr = c"hip_host_module";
/// Most parameters of a kernel, and bytes of its name: what is beyond is no record.
const MAX_PARAMS: usize = 4096;
const MAX_NAME: usize = 4096;
const HEADER_BYTES: usize = 32;
const PARAM_BYTES: usize = 12;

const fn magic(kind: u8) -> [u8; 16] {
    let mut magic = *b"\x8fhip-host-?\xd1\x1e\xa5\x93\x0a";
    magic[10] = kind;
    magic
}

/// Starts a kernel's record.
const KERNEL_MAGIC: [u8; 16] = magic(b'k');
/// Starts the name of a kernel that cannot be looked up.
const NAMELESS_MAGIC: [u8; 16] = magic(b'n');
/// Starts the module's.
const MODULE_MAGIC: [u8; 16] = magic(b'm');

/// A parameter of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectParam {
    /// Bytes.
    pub size: usize,
    /// Power of two.
    pub align: usize,
    /// Whether it is an address.
    pub pointer: bool,
}

/// A kernel of a shared object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectKernel {
    /// What it is looked up by.
    pub name: String,
    /// What it takes.
    pub params: Vec<ObjectParam>,
    /// From `__launch_bounds__`.
    pub max_threads: Option<u32>,
}

/// The kernels of a shared object for [`crate::ModuleImage::HostObject`], read from the file's
/// bytes without loading it, sorted by name. `None` if `hip-rtc` of this version did not build it.
pub fn object_kernels(image: &[u8]) -> Option<Vec<ObjectKernel>> {
    let module = records(image, &MODULE_MAGIC).next()?;
    // The magic is followed by the size of the structure and the version.
    if word(module, 20)? != VERSION {
        return None;
    }
    let mut kernels: Vec<_> = records(image, &KERNEL_MAGIC)
        .filter_map(parse_kernel)
        .collect();
    kernels.sort_by(|a, b| a.name.cmp(&b.name));
    // A linker may keep a copy of a section, and with it of a record.
    kernels.dedup();
    Some(kernels)
}

/// Kernels of a shared object's text that cannot be looked up, being templates or not
/// `extern "C"`, each once: for the message to one who tries. Empty for any other file.
pub fn object_nameless(image: &[u8]) -> Vec<String> {
    let mut names: Vec<_> = records(image, &NAMELESS_MAGIC)
        .filter_map(parse_nameless)
        .collect();
    names.sort();
    names.dedup();
    names
}

/// What follows each place where `magic` stands, itself included.
fn records<'a>(image: &'a [u8], magic: &'a [u8; 16]) -> impl Iterator<Item = &'a [u8]> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            // The first byte is rare in code and text, so that this passes over most of a file.
            from += image.get(from..)?.iter().position(|b| *b == magic[0])?;
            let record = &image[from..];
            from += 1;
            if record.starts_with(magic) {
                return Some(record);
            }
        }
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(bytes.try_into().ok()?))
}

/// Reads `hip_host::Info`.
fn parse_kernel(record: &[u8]) -> Option<ObjectKernel> {
    let [version, max_threads, count, name_bytes] =
        [16, 20, 24, 28].map(|at| word(record, at).map(|word| word as usize));
    let (count, name_bytes) = (count?, name_bytes?);
    if version? != VERSION as usize || count > MAX_PARAMS || name_bytes > MAX_NAME {
        return None;
    }
    let params = (0..count)
        .map(|index| {
            let at = HEADER_BYTES + index * PARAM_BYTES;
            let align = word(record, at + 4)? as usize;
            align.is_power_of_two().then_some(ObjectParam {
                size: word(record, at)? as usize,
                align,
                pointer: word(record, at + 8)? != 0,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    // One parameter of nothing ends the list.
    let name_at = HEADER_BYTES + (count + 1) * PARAM_BYTES;
    let name = record.get(name_at..name_at + name_bytes)?;
    let max_threads = u32::try_from(max_threads?).ok()?;
    Some(ObjectKernel {
        name: std::str::from_utf8(name).ok()?.to_owned(),
        params,
        max_threads: (max_threads > 0).then_some(max_threads),
    })
}

/// Reads `hip_host::Nameless`.
fn parse_nameless(record: &[u8]) -> Option<String> {
    let (version, bytes) = (word(record, 16)?, word(record, 20)? as usize);
    if version != VERSION || bytes > MAX_NAME {
        return None;
    }
    let name = record.get(24..24 + bytes)?;
    Some(std::str::from_utf8(name).ok()?.to_owned())
}

/// `hip_host::Kernel`.
#[repr(C)]
struct KernelEntry {
    name: *const c_char,
    /// The record, which is read from the file's bytes instead.
    _info: *const c_void,
    run: HostKernelFn,
    next: *const KernelEntry,
}

/// `hip_host::Module`.
#[repr(C)]
struct ModuleEntry {
    magic: [u8; 16],
    bytes: u32,
    version: u32,
    first: *const KernelEntry,
}

type Entry = unsafe extern "C" fn(*const Runtime) -> *const ModuleEntry;

/// An object's code in this process, unmapped with the last clone of the `Arc`.
pub(super) struct Object {
    _library: Library,
}

/// A kernel found in a loaded object.
pub(super) struct Loaded {
    pub(super) kernel: ObjectKernel,
    pub(super) run: HostKernelFn,
}

impl Object {
    /// Loads an object; an error says what is wrong.
    ///
    /// # Safety
    /// What bears the marks of an object built by `hip-rtc` was built by it, and is whole.
    pub(super) unsafe fn load(image: &[u8]) -> Result<(Arc<Object>, Vec<Loaded>), String> {
        let kernels = object_kernels(image).ok_or_else(|| {
            format!(
                "the {} bytes are no shared object of kernels, or one of another version than {VERSION}",
                image.len()
            )
        })?;
        // SAFETY: the marks are there, so by the caller's promise its initialisers are the
        // prelude's and the kernel text's.
        let library = unsafe { image_file::open(image) }?;
        // SAFETY: by the caller's promise the symbol, if there, is of this type.
        let entry: Entry = unsafe { library.symbol(ENTRY) }?;
        // SAFETY: the function keeps the table's address, and the table is static.
        let module = unsafe { &*entry(&RUNTIME) };
        if module.magic != MODULE_MAGIC
            || module.version != VERSION
            || module.bytes as usize != size_of::<ModuleEntry>()
        {
            return Err("the object does not give the table that its bytes announce".to_owned());
        }
        let mut runs = HashMap::new();
        let mut next = module.first;
        // SAFETY: null or an entry of the list, which the object's initialisers built and nobody
        // changes any more.
        while let Some(entry) = unsafe { next.as_ref() } {
            // SAFETY: an entry's name is a literal of the object.
            let name = unsafe { CStr::from_ptr(entry.name) };
            runs.insert(name.to_string_lossy().into_owned(), entry.run);
            next = entry.next;
        }
        let loaded = kernels
            .into_iter()
            .map(|kernel| match runs.get(&kernel.name) {
                Some(run) => Ok(Loaded { run: *run, kernel }),
                None => Err(format!("the object has no code for {}", kernel.name)),
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok((Arc::new(Object { _library: library }), loaded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, params: &[[u32; 3]], max_threads: u32) -> Vec<u8> {
        let mut bytes = KERNEL_MAGIC.to_vec();
        let head = [VERSION, max_threads, params.len() as u32, name.len() as u32];
        let words = head.iter().chain(params.iter().flatten()).chain(&[0, 0, 0]);
        bytes.extend(words.flat_map(|word| word.to_ne_bytes()));
        bytes.extend(name.as_bytes());
        bytes
    }

    fn image(version: u32, records: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = b"some file \x8fhip-host-".to_vec();
        bytes.extend(MODULE_MAGIC);
        bytes.extend([32, version].iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(records.concat());
        bytes
    }

    #[test]
    fn records_are_found_wherever_they_are() {
        let records = [
            record("scale", &[[8, 8, 1], [4, 4, 0]], 256),
            record("clear", &[], 0),
        ];
        let kernels = object_kernels(&image(VERSION, &records)).unwrap();
        assert_eq!(kernels.len(), 2);
        assert_eq!(kernels[0].name, "clear");
        assert_eq!((kernels[0].params.len(), kernels[0].max_threads), (0, None));
        assert_eq!(kernels[1].name, "scale");
        assert_eq!(kernels[1].max_threads, Some(256));
        let [pointer, number] = kernels[1].params[..] else {
            panic!("{:?}", kernels[1].params)
        };
        assert_eq!((pointer.size, pointer.align, pointer.pointer), (8, 8, true));
        assert_eq!((number.size, number.align, number.pointer), (4, 4, false));
    }

    #[test]
    fn names_that_find_nothing_are_read_too() {
        let nameless = |name: &str| {
            let mut bytes = NAMELESS_MAGIC.to_vec();
            let words = [VERSION, name.len() as u32];
            bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
            bytes.extend(name.as_bytes());
            bytes
        };
        let records = [
            nameless("b"),
            record("scale", &[], 0),
            nameless("a"),
            nameless("b"),
        ];
        let whole = image(VERSION, &records);
        assert_eq!(object_nameless(&whole), ["a", "b"]);
        assert_eq!(object_kernels(&whole).unwrap().len(), 1);
        assert_eq!(object_nameless(&whole[..whole.len() - 1]), ["a", "b"]);
        assert_eq!(object_nameless(b"\x7fELF and nothing else"), [""; 0]);
    }

    #[test]
    fn a_file_cut_anywhere_is_read_to_no_harm() {
        let whole = image(VERSION, &[record("scale", &[[8, 8, 1]], 0)]);
        for end in 0..whole.len() {
            let kernels = object_kernels(&whole[..end]).unwrap_or_default();
            assert!(kernels.is_empty(), "{end} bytes gave {kernels:?}");
        }
    }

    #[test]
    fn other_versions_and_other_files_are_refused() {
        assert_eq!(object_kernels(&image(VERSION + 1, &[])), None);
        assert_eq!(object_kernels(b"\x7fELF and nothing else"), None);
        assert_eq!(object_kernels(&[]), None);
        for wild in [
            record("x", &[[4, 3, 0]], 0),
            image(VERSION, &[KERNEL_MAGIC.to_vec(), vec![0xff; 64]]),
        ] {
            let kernels = object_kernels(&image(VERSION, &[wild]));
            assert_eq!(kernels, Some(Vec::new()));
        }
        // SAFETY: the bytes bear no marks, so nothing of them is run.
        let error = unsafe { Object::load(b"\x7fELF of somebody else") };
        assert!(error.is_err_and(|text| text.contains("no shared object of kernels")));
    }
}
