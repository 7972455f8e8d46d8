use std::ffi::c_void;
use std::mem::MaybeUninit;

use hip_core::DevicePtr;
use smallvec::SmallVec;

/// A value that can be a kernel's argument, byte for byte as the kernel reads it.
///
/// # Safety
/// The type's size, alignment and layout are those of the kernel's parameter type on every
/// compiler: a scalar, a device address, or a `#[repr(C)]` struct of such.
pub unsafe trait KernelArg: Copy + 'static {}

macro_rules! scalars {
    ($($type:ty),*) => {
        // SAFETY: fixed-width scalars are laid out alike by every compiler served.
        $(unsafe impl KernelArg for $type {})*
    };
}

scalars!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

// SAFETY: a transparent 64-bit address, as a kernel's pointer parameter is.
unsafe impl KernelArg for DevicePtr {}

/// Room for values before the heap is used, in units of 16 bytes.
const INLINE_UNITS: usize = 32;
/// Arguments before the heap is used.
const INLINE_ARGS: usize = 16;

/// Argument values in the order of the kernel's parameters.
///
/// No heap is used for up to 16 arguments of 512 bytes in all.
#[derive(Debug, Clone, Default)]
pub struct KernelArgs {
    /// The values, each at a multiple of 16 bytes; what lies between them was never written.
    values: SmallVec<[MaybeUninit<Unit>; INLINE_UNITS]>,
    /// Where each argument starts, in units.
    starts: SmallVec<[u32; INLINE_ARGS]>,
}

/// The strictest alignment that a kernel parameter has.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(16))]
struct Unit([u8; 16]);

impl KernelArgs {
    /// No arguments.
    #[inline]
    pub fn new() -> KernelArgs {
        KernelArgs::default()
    }

    /// Adds a value.
    #[inline]
    pub fn add<T: KernelArg>(&mut self, value: T) {
        const {
            assert!(
                align_of::<T>() <= 16,
                "kernel parameters align to 16 bytes at most"
            )
        };
        let (start, units) = (self.values.len(), size_of::<T>().div_ceil(16).max(1));
        self.values.reserve(units);
        // SAFETY: there is room for the units, which need not be initialised; they have room for a
        // `T` and are aligned for it.
        unsafe {
            self.values.set_len(start + units);
            self.values.as_mut_ptr().add(start).cast::<T>().write(value);
        }
        self.starts.push(start as u32);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// The address of each value, valid until `self` is changed or dropped.
    pub(crate) fn addresses(&self) -> SmallVec<[*mut c_void; INLINE_ARGS]> {
        let base = self.values.as_ptr();
        self.starts
            .iter()
            .map(|start| base.wrapping_add(*start as usize) as *mut c_void)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    #[repr(C)]
    struct Params {
        a: f32,
        b: [u64; 5],
        c: u8,
    }
    // SAFETY: for this test only: read back as the same type.
    unsafe impl KernelArg for Params {}

    #[test]
    fn values_come_back_in_order_and_aligned() {
        let params = Params {
            a: 0.5,
            b: [1, 2, 3, 4, u64::MAX],
            c: 9,
        };
        let mut args = KernelArgs::new();
        args.add(7u8);
        args.add(params);
        args.add(DevicePtr(0x1234_5678_9abc));
        args.add(-2.5f64);
        let addresses = args.addresses();
        assert_eq!(addresses.len(), 4);
        assert!(
            addresses
                .iter()
                .all(|address| (*address as usize).is_multiple_of(16))
        );
        // SAFETY: each address holds a value of the type it was added as.
        unsafe {
            assert_eq!(*addresses[0].cast::<u8>(), 7);
            assert_eq!(*addresses[1].cast::<Params>(), params);
            assert_eq!(*addresses[2].cast::<u64>(), 0x1234_5678_9abc);
            assert_eq!(*addresses[3].cast::<f64>(), -2.5);
        }
    }

    #[test]
    fn sixteen_arguments_stay_off_the_heap() {
        let mut args = KernelArgs::new();
        (0..16).for_each(|value| args.add::<u64>(value));
        assert!(!args.values.spilled() && !args.starts.spilled());
        assert!(!args.addresses().spilled());
        args.add(0u8);
        assert_eq!(args.len(), 17);
    }
}
