//! `hipDeviceProp_t`, of which there are two: the unversioned function fills the old struct even on
//! ROCm 6 and 7, so the versioned name is asked for first and says which struct it is.

use std::ffi::{CStr, c_int, c_void};

use crate::driver::{Code, Resolver};

type GetProperties = unsafe extern "C" fn(*mut c_void, c_int) -> Code;

/// Size of the struct and place of `gcnArchName[256]` in it, in bytes. The newest struct is 1472
/// bytes; the room given is larger, in case a later one grows at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) size: usize,
    pub(crate) gcn_arch_name: usize,
}

/// The struct of ROCm 5.x, which 6.x and 7.x still fill under the old name.
pub(crate) const R0000: Shape = Shape {
    size: 792,
    gcn_arch_name: 396,
};
/// The struct of ROCm 6.0 and newer.
pub(crate) const R0600: Shape = Shape {
    size: 1472,
    gcn_arch_name: 1160,
};

const ROOM: usize = 4096;
const ARCH_NAME_LEN: usize = 256;

/// The function that fills one of the two structs, and which.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Properties {
    get: GetProperties,
    name: &'static str,
    shape: Shape,
}

impl Properties {
    /// The newest function that the library has; the resolver notes it if there is none.
    pub(crate) fn resolve(resolver: &mut Resolver<'_>) -> Option<Properties> {
        let newest = [
            (c"hipGetDevicePropertiesR0600", R0600),
            (c"hipGetDevicePropertiesR0000", R0000),
        ]
        .into_iter()
        .find(|(symbol, _)| resolver.has(symbol));
        let (symbol, shape) = newest.unwrap_or((c"hipGetDeviceProperties", R0000));
        // SAFETY: all three have this signature in hip_runtime_api.h.
        let get = unsafe { resolver.get::<GetProperties>(symbol) }?;
        Some(Properties {
            get,
            name: symbol.to_str().unwrap_or("hipGetDeviceProperties"),
            shape,
        })
    }

    /// The device's full architecture name (`gfx942:sramecc+:xnack-`), with the call made.
    pub(crate) fn gcn_arch_name(&self, device: c_int) -> (&'static str, Result<String, Code>) {
        // u64: the struct's alignment is 8.
        let mut room = [0u64; ROOM / 8];
        // SAFETY: the room is larger than any version's struct and aligned for it.
        let code = unsafe { (self.get)(room.as_mut_ptr().cast(), device) };
        if code != 0 {
            return (self.name, Err(code));
        }
        let bytes: Vec<u8> = room.iter().flat_map(|word| word.to_ne_bytes()).collect();
        (self.name, Ok(text_at(&bytes, self.shape.gcn_arch_name)))
    }
}

fn text_at(bytes: &[u8], offset: usize) -> String {
    let field = &bytes[offset..offset + ARCH_NAME_LEN];
    match CStr::from_bytes_until_nul(field) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(field).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_lies_inside_the_struct() {
        for shape in [R0000, R0600] {
            assert!(shape.gcn_arch_name + ARCH_NAME_LEN <= shape.size);
            assert!(shape.size <= ROOM);
        }
    }

    #[test]
    fn a_field_without_end_is_taken_whole() {
        let bytes = vec![b'g'; ROOM];
        assert_eq!(text_at(&bytes, 396).len(), ARCH_NAME_LEN);
    }
}
