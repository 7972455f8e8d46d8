//! What the two ABI layers share: structs, error names, descriptions of devices.

mod devices;
mod errors;
mod properties;

use std::ffi::{CStr, c_char, c_void};

pub use devices::{cuda_attribute, hip_attribute, pci_address, uuid};
pub use errors::{cuda_error, hip_error};
pub use properties::{PropertiesShape, R0000, R0600, properties};

use crate::code::{self, Result};
use crate::memory::{End, Rows, Side};
use crate::modules::Args;

/// Defines exported functions: `Class name(arguments) |sim| result;`. The library has a `PROFILE`
/// in the module above.
#[macro_export]
macro_rules! api {
    ($($class:ident $name:ident($($arg:ident: $type:ty),* $(,)?) |$sim:ident| $body:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[allow(unused_unsafe, clippy::too_many_arguments)]
            unsafe extern "C" fn $name($($arg: $type),*) -> $crate::code::Code {
                let sim = $crate::Sim::get(&super::PROFILE);
                sim.call(stringify!($name), $crate::Class::$class, |$sim| {
                    // SAFETY: the program keeps to the vendor's documentation of this function:
                    // addresses are valid for what it reads and writes there.
                    unsafe { $body }
                })
            }
        )*
    };
}

/// Writes what `make` gives to `out`, which must not be null; nothing is made otherwise.
///
/// # Safety
/// `out` is null or writable.
///
/// # Errors
/// `out` is null, or `make` fails: `out` is left as it was.
pub unsafe fn give<T>(out: *mut T, make: impl FnOnce() -> Result<T>) -> Result<()> {
    if out.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let value = make()?;
    // SAFETY: not null, so writable by the caller's promise.
    unsafe { out.write(value) };
    Ok(())
}

/// Writes as much of a text as fits into `size` bytes, and a NUL.
///
/// # Safety
/// `out` is null or has room for `size` bytes.
///
/// # Errors
/// `out` is null or there is no room for the NUL.
pub unsafe fn give_text(out: *mut c_char, size: i32, text: &str) -> Result<()> {
    let size = usize::try_from(size).map_err(|_| code::INVALID_VALUE)?;
    if out.is_null() || size == 0 {
        return Err(code::INVALID_VALUE);
    }
    let bytes = &text.as_bytes()[..text.len().min(size - 1)];
    // SAFETY: the text and its NUL fit, by the size told.
    unsafe {
        out.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        out.add(bytes.len()).write(0);
    }
    Ok(())
}

/// A C string as text.
///
/// # Safety
/// `text` is null or NUL-terminated.
///
/// # Errors
/// `text` is null.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a CStr> {
    if text.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so a C string by the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// `CUDA_MEMCPY2D` / `hip_Memcpy2D`: 128 bytes in every version of both.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)] // the vendors' names in other words
pub struct Memcpy2D {
    pub src_x_bytes: usize,
    pub src_y: usize,
    pub src_memory_type: u32,
    pub src_host: *const c_void,
    pub src_device: u64,
    pub src_array: *mut c_void,
    pub src_pitch: usize,
    pub dst_x_bytes: usize,
    pub dst_y: usize,
    pub dst_memory_type: u32,
    pub dst_host: *mut c_void,
    pub dst_device: u64,
    pub dst_array: *mut c_void,
    pub dst_pitch: usize,
    pub width_bytes: usize,
    pub height: usize,
}

const _: () = assert!(size_of::<Memcpy2D>() == 128);

/// Rows of a 2D copy; `types` are the version's numbers of host and device memory.
///
/// # Safety
/// `copy` is null or readable.
///
/// # Errors
/// A memory type is none of the two, or an address cannot be.
pub unsafe fn rows(copy: *const Memcpy2D, types: [u32; 2]) -> Result<Rows> {
    if copy.is_null() {
        return Err(code::INVALID_VALUE);
    }
    // SAFETY: not null, so readable by the caller's promise.
    let copy = unsafe { copy.read() };
    let end = |kind, host: *const c_void, device, pitch: usize, x: usize, y: usize| {
        let (side, start) = match kind {
            kind if kind == types[0] => (Side::Host, host.expose_provenance() as u64),
            kind if kind == types[1] => (Side::Device, device),
            _ => return Err(code::INVALID_VALUE),
        };
        // A pitch of 0 is that of rows without gaps.
        let stride = if pitch == 0 { copy.width_bytes } else { pitch };
        if start == 0 || stride < copy.width_bytes {
            return Err(code::INVALID_VALUE);
        }
        let into = y.checked_mul(stride).and_then(|bytes| bytes.checked_add(x));
        let address = into.and_then(|bytes| start.checked_add(bytes as u64));
        Ok(End {
            side,
            address: address.ok_or(code::INVALID_VALUE)?,
            stride,
        })
    };
    let c = &copy;
    Ok(Rows {
        dst: end(
            c.dst_memory_type,
            c.dst_host,
            c.dst_device,
            c.dst_pitch,
            c.dst_x_bytes,
            c.dst_y,
        )?,
        src: end(
            c.src_memory_type,
            c.src_host,
            c.src_device,
            c.src_pitch,
            c.src_x_bytes,
            c.src_y,
        )?,
        width: copy.width_bytes,
        height: copy.height,
    })
}

/// The stream of a copy without one: copies within the device do not block the caller, they are
/// the null stream's.
pub fn unnamed_stream(rows: &Rows) -> Option<usize> {
    (rows.dst.side == Side::Device && rows.src.side == Side::Device).then_some(0)
}

/// The arguments of a launch; `end` is the vendor's last key of `extra`.
///
/// # Safety
/// Both are as the vendors document them.
///
/// # Errors
/// Both are given, or `extra` has other keys.
pub unsafe fn args(params: *mut *mut c_void, extra: *mut *mut c_void, end: usize) -> Result<Args> {
    if extra.is_null() {
        return Ok(Args::Pointers(params));
    }
    if !params.is_null() {
        return Err(code::INVALID_VALUE);
    }
    let (mut buffer, mut size) = (std::ptr::null::<u8>(), 0);
    for index in (0..).step_by(2) {
        // SAFETY: the caller's promise: the list goes on until `end`.
        let key = unsafe { extra.add(index).read() }.addr();
        if key == end {
            break;
        }
        // SAFETY: as above; a key has a value behind it.
        let value = unsafe { extra.add(index + 1).read() };
        match key {
            1 => buffer = value.cast(),
            // SAFETY: the documented value of this key is the address of a size.
            2 if !value.is_null() => size = unsafe { value.cast::<usize>().read() },
            _ => return Err(code::INVALID_VALUE),
        }
    }
    Ok(Args::Buffer(buffer, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copy() -> Memcpy2D {
        Memcpy2D {
            src_x_bytes: 1,
            src_y: 2,
            src_memory_type: 1,
            src_host: std::ptr::without_provenance(0x9000),
            src_device: 0,
            src_array: std::ptr::null_mut(),
            src_pitch: 16,
            dst_x_bytes: 3,
            dst_y: 0,
            dst_memory_type: 2,
            dst_host: std::ptr::null_mut(),
            dst_device: 0x8000,
            dst_array: std::ptr::null_mut(),
            dst_pitch: 0,
            width_bytes: 8,
            height: 4,
        }
    }

    #[test]
    fn rows_start_where_the_struct_says() {
        // SAFETY: the struct is readable.
        let found = unsafe { rows(&copy(), [1, 2]) }.unwrap();
        let dst = (found.dst.side, found.dst.address, found.dst.stride);
        let src = (found.src.side, found.src.address, found.src.stride);
        assert_eq!(dst, (Side::Device, 0x8003, 8));
        assert_eq!(src, (Side::Host, 0x9021, 16));
    }

    #[test]
    fn memory_types_are_the_versions() {
        // SAFETY: the struct is readable. With the numbers of ROCm 5 it says device and array.
        assert!(unsafe { rows(&copy(), [0, 1]) }.is_err());
        let narrow = Memcpy2D {
            src_pitch: 7,
            ..copy()
        };
        // SAFETY: as above.
        assert!(unsafe { rows(&narrow, [1, 2]) }.is_err());
    }

    #[test]
    fn texts_are_cut_to_fit() {
        let mut room = [1 as c_char; 8];
        // SAFETY: the room has the size told.
        unsafe { give_text(room.as_mut_ptr(), 4, "abcdef") }.unwrap();
        assert_eq!(room.map(|c| c as u8), *b"abc\0\x01\x01\x01\x01");
        // SAFETY: as above.
        assert!(unsafe { give_text(room.as_mut_ptr(), 0, "") }.is_err());
    }

    #[test]
    fn argument_buffers_are_found() {
        let (mut buffer, mut size) = ([0_u8; 16], 16_usize);
        let mut extra = [
            std::ptr::without_provenance_mut(1),
            buffer.as_mut_ptr().cast(),
            std::ptr::without_provenance_mut(2),
            (&raw mut size).cast(),
            std::ptr::without_provenance_mut(3),
        ];
        // SAFETY: the list ends with AMD's key.
        let found = unsafe { args(std::ptr::null_mut(), extra.as_mut_ptr(), 3) }.unwrap();
        assert!(matches!(found, Args::Buffer(start, 16) if start == buffer.as_ptr()));
        let list = extra.as_mut_ptr();
        // SAFETY: as above.
        assert!(unsafe { args(list, list, 3) }.is_err());
    }
}
