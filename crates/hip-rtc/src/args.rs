use std::ffi::c_void;
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, DevicePtr, PinnedBuffer};
use smallvec::SmallVec;

use crate::{Error, KernelMemory, Result};

/// A value that can be a kernel's argument, byte for byte as the kernel reads it.
///
/// A struct of one's own becomes one by being `#[repr(C)]`, having the fields of the kernel's
/// struct, and an `unsafe impl`. Values that need no struct of their own need no `unsafe`: scalars,
/// [`DevicePtr`], and arrays of these (for a kernel's `struct { float v[4]; }` by value).
///
/// ```
/// use hip_rtc::{KernelArg, KernelArgs};
///
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Gain {
///     factor: f32,
///     channel: u32,
/// }
/// // SAFETY: laid out as the kernel's `struct Gain { float factor; unsigned channel; };`.
/// unsafe impl KernelArg for Gain {}
///
/// let mut args = KernelArgs::new();
/// args.add(Gain { factor: 0.5, channel: 2 });
/// args.add([1.0_f32; 4]);
/// assert_eq!(args.len(), 2);
/// ```
///
/// # Safety
/// The type's size, alignment and layout are those of the kernel's parameter type on every
/// compiler: a scalar, a device address, or a `#[repr(C)]` struct of such.
pub unsafe trait KernelArg: Copy + 'static {
    /// Whether it is a device address, and nothing else.
    const IS_ADDRESS: bool = false;
}

macro_rules! scalars {
    ($($type:ty),*) => {
        // SAFETY: scalars of fixed width, and of the address's width on 64-bit platforms, are laid
        // out alike by every compiler served.
        $(unsafe impl KernelArg for $type {})*
    };
}

scalars!(
    bool, u8, i8, u16, i16, u32, i32, u64, i64, usize, isize, f32, f64
);

// SAFETY: a transparent 64-bit address, as a kernel's pointer parameter is.
unsafe impl KernelArg for DevicePtr {
    const IS_ADDRESS: bool = true;
}

// SAFETY: a C struct whose only member is an array is laid out as the array.
unsafe impl<T: KernelArg, const N: usize> KernelArg for [T; N] {}

/// Room for values before the heap is used, in units of 16 bytes.
const INLINE_UNITS: usize = 32;
/// Arguments before the heap is used.
pub(crate) const INLINE_ARGS: usize = 16;

/// Set in a size where the value is an address.
pub(crate) const ADDRESS: u32 = 1 << 31;

/// Where an argument is, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Where its value starts, in units of 16 bytes.
    start: u32,
    /// Bytes, with [`ADDRESS`].
    pub(crate) size: u32,
}

/// Argument values in the order of the kernel's parameters.
///
/// No heap is used for up to 16 arguments of 512 bytes in all. They can be used for any number of
/// launches.
#[derive(Clone, Default)]
pub struct KernelArgs {
    /// The values, each at a multiple of 16 bytes; what lies between them was never written.
    values: SmallVec<[MaybeUninit<Unit>; INLINE_UNITS]>,
    /// One an argument.
    slots: SmallVec<[Slot; INLINE_ARGS]>,
    /// Memory whose address a launch asks for, and which argument it is.
    memories: SmallVec<[(u32, Arc<dyn KernelMemory>); 4]>,
    /// Whose the buffers among the arguments are.
    owner: Option<Device>,
    /// The first buffer of another device than `owner`'s.
    stranger: Option<(usize, Device)>,
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
            );
            assert!(
                size_of::<T>() <= 1 << 20,
                "kernel parameters are 32764 bytes at most, on any vendor"
            );
        };
        let (start, units) = (self.values.len(), size_of::<T>().div_ceil(16).max(1));
        if self.values.capacity() - start < units {
            self.grow(units);
        }
        // SAFETY: there is room for the units, which need not be initialised; they have room for a
        // `T` and are aligned for it.
        unsafe {
            self.values.set_len(start + units);
            self.values.as_mut_ptr().add(start).cast::<T>().write(value);
        }
        let address = if T::IS_ADDRESS { ADDRESS } else { 0 };
        self.slots.push(Slot {
            start: start as u32,
            size: size_of::<T>() as u32 | address,
        });
    }

    #[cold]
    fn grow(&mut self, units: usize) {
        self.values.reserve(units);
    }

    /// Adds a buffer's address, after `offset` bytes. A launch on another device than the buffer's is
    /// refused. The buffer is not kept alive.
    ///
    /// # Errors
    /// `offset` lies outside the buffer.
    #[inline]
    pub fn add_buffer(&mut self, buffer: &DeviceBuffer, offset: usize) -> Result<()> {
        within(offset, buffer.len())?;
        self.note_device(buffer.device());
        self.add(buffer.as_raw().offset(offset));
        Ok(())
    }

    /// As [`KernelArgs::add_buffer`], for pinned memory, which the device reads and writes through
    /// the bus: both vendors map it at its own address.
    ///
    /// # Errors
    /// `offset` lies outside the buffer.
    pub fn add_pinned(&mut self, buffer: &PinnedBuffer, offset: usize) -> Result<()> {
        within(offset, buffer.len())?;
        self.note_device(buffer.device());
        self.add(DevicePtr(buffer.as_ptr().addr() as u64).offset(offset));
        Ok(())
    }

    /// Adds memory whose address is asked for, and whose order is kept, by each launch. It is kept
    /// as long as the arguments are.
    pub fn add_memory(&mut self, memory: Arc<dyn KernelMemory>) {
        self.memories.push((self.slots.len() as u32, memory));
        self.add(DevicePtr::NULL);
    }

    #[inline]
    fn note_device(&mut self, device: &Device) {
        match &self.owner {
            None => self.owner = Some(device.clone()),
            Some(owner) if owner != device && self.stranger.is_none() => {
                self.stranger = Some((self.len(), device.clone()));
            }
            Some(_) => {}
        }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Where each is, and how large.
    #[inline]
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(crate) fn memories(&self) -> &[(u32, Arc<dyn KernelMemory>)] {
        &self.memories
    }

    /// Fails if a buffer or memory among the arguments is not `device`'s.
    #[inline]
    pub(crate) fn check_device(&self, device: &Device) -> Result<()> {
        let own = match &self.owner {
            Some(owner) => self.stranger.is_none() && owner == device,
            None => true,
        };
        match own && self.memories.iter().all(|(_, m)| m.device() == device) {
            true => Ok(()),
            false => Err(self.foreign(device)),
        }
    }

    #[cold]
    fn foreign(&self, device: &Device) -> Error {
        let memory = self.memories.iter().find(|(_, m)| m.device() != device);
        let (what, found) = match (memory, &self.owner, &self.stranger) {
            (Some((index, memory)), ..) => (format!("argument {index}"), memory.device()),
            (None, Some(owner), _) if owner != device => {
                ("a buffer among the arguments".to_owned(), owner)
            }
            (None, _, Some((index, stranger))) => (format!("argument {index}"), stranger),
            (None, ..) => ("a buffer among the arguments".to_owned(), device),
        };
        Error::WrongDevice {
            what,
            found: format!("{found:?}"),
            expected: format!("{device:?}"),
        }
    }

    /// The address of each value, valid until `self` is changed or dropped.
    #[inline]
    pub(crate) fn addresses(&self) -> Addresses {
        let base = self.values.as_ptr();
        self.slots
            .iter()
            .map(|slot| base.wrapping_add(slot.start as usize) as *mut c_void)
            .collect()
    }
}

/// Where each argument's value is.
pub(crate) type Addresses = SmallVec<[*mut c_void; INLINE_ARGS]>;

#[inline]
fn within(offset: usize, size: usize) -> Result<()> {
    match offset < size {
        true => Ok(()),
        false => Err(outside(offset, size)),
    }
}

#[cold]
fn outside(offset: usize, size: usize) -> Error {
    let len = 1;
    hip_core::Error::OutOfBounds { offset, len, size }.into()
}

impl fmt::Debug for KernelArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self.slots.iter().map(|slot| slot.size & !ADDRESS);
        f.write_str("KernelArgs of bytes ")?;
        f.debug_list().entries(sizes).finish()
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
        args.add([1.5_f32, -1.5]);
        args.add(true);
        let addresses = args.addresses();
        assert_eq!(addresses.len(), 6);
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
            assert_eq!(*addresses[4].cast::<[f32; 2]>(), [1.5, -1.5]);
            assert_eq!(*addresses[5].cast::<u8>(), 1);
        }
        let sizes: Vec<u32> = args.slots().iter().map(|slot| slot.size).collect();
        assert_eq!(sizes, [1, 56, 8 | ADDRESS, 8, 8, 1]);
    }

    #[test]
    fn sixteen_arguments_stay_off_the_heap() {
        let mut args = KernelArgs::new();
        (0..16).for_each(|value| args.add::<u64>(value));
        assert!(!args.values.spilled() && !args.slots.spilled());
        assert!(!args.addresses().spilled());
        args.add(0u8);
        assert_eq!(args.len(), 17);
    }
}
