//! Kernels of this process, and launches of them.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::device::{MAX_GRID, MAX_SHARED_MEMORY, MAX_THREADS_PER_BLOCK};
use super::fiber;
use super::module::Kernel;
use super::pool::for_ranges;
use crate::LaunchConfig;

/// A kernel: runs the blocks `first_block..end_block` of a launch.
///
/// `args` holds the address of each argument. A block's number is `x + grid_x * (y + grid_y * z)`.
/// The function is called on several threads at once, with ranges that do not overlap and
/// together are the launch; it runs the threads of a block itself. It must not unwind.
pub type HostKernelFn = unsafe extern "C" fn(
    args: *const *const c_void,
    launch: *const HostLaunch,
    first_block: u64,
    end_block: u64,
);

/// The shape of a launch as a kernel sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct HostLaunch {
    /// Blocks in x, y, z.
    pub grid_dim: [u32; 3],
    /// Threads of a block in x, y, z.
    pub block_dim: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_mem_bytes: u32,
}

/// An entry of a module's table ([`crate::ModuleImage::HostTable`]).
#[derive(Debug, Clone, Copy)]
pub struct HostKernel {
    /// What [`crate::Backend::module_get_function`] finds it by.
    pub name: &'static str,
    /// The code.
    pub function: HostKernelFn,
    /// Bytes of each argument.
    pub arg_sizes: &'static [usize],
}

/// Launches of fewer threads than this run on the stream's worker alone: waking other threads
/// costs some ten microseconds, which is what a few thousand pixels cost.
const PARALLEL_THREADS: u64 = 4096;

/// The strictest alignment an argument can need, in bytes.
const LINE_BYTES: usize = 64;
/// Argument bytes that a launch carries without the heap.
const INLINE_BYTES: usize = 512;
/// Arguments whose addresses fit on the stack.
const INLINE_ARGS: usize = 64;

/// A piece of argument storage.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([MaybeUninit<u8>; LINE_BYTES]);

impl Line {
    const EMPTY: Line = Line([MaybeUninit::uninit(); LINE_BYTES]);
}

/// A launch with its own copy of the arguments. It keeps the kernel's code loaded.
pub(super) struct Launch {
    kernel: Arc<Kernel>,
    shape: HostLaunch,
    arguments: [Line; INLINE_BYTES / LINE_BYTES],
    /// Holds the arguments if they are more than fit in `arguments`; else empty.
    spilled: Box<[Line]>,
}

/// Where an argument of `size` bytes goes if `offset` bytes are taken, and where it ends. A C
/// type's size is a multiple of its alignment, so the largest power of two in the size will do.
fn place(offset: usize, size: usize) -> (usize, usize) {
    let alignment = (size & size.wrapping_neg()).clamp(1, LINE_BYTES);
    let start = offset.next_multiple_of(alignment);
    (start, start + size)
}

/// Whether a kernel can be launched in this shape with these arguments.
fn check_kernel(
    kernel: &Kernel,
    shape: &HostLaunch,
    args: &[*mut c_void],
) -> Result<(), &'static str> {
    let threads: u32 = shape.block_dim.iter().product(); // at most 1024, checked
    if kernel.max_threads.is_some_and(|most| threads > most) {
        return Err("a block has more threads than the kernel's __launch_bounds__");
    }
    if args.len() != kernel.arg_sizes.len() {
        return Err("the kernel takes another number of arguments");
    }
    let mut both = args.iter().zip(kernel.arg_sizes.iter());
    if both.any(|(arg, size)| arg.is_null() && *size > 0) {
        return Err("the address of an argument is null");
    }
    Ok(())
}

impl Launch {
    /// Checks the launch and copies the arguments; an error says what is wrong.
    ///
    /// # Safety
    /// Each address in `args` is null or valid for reading as many bytes as the kernel's table
    /// entry says.
    pub(super) unsafe fn new(
        kernel: Arc<Kernel>,
        config: &LaunchConfig,
        args: &[*mut c_void],
    ) -> Result<Self, &'static str> {
        let LaunchConfig {
            grid_dim,
            block_dim,
            shared_mem_bytes,
        } = *config;
        let shape = HostLaunch {
            grid_dim,
            block_dim,
            shared_mem_bytes,
        };
        check_shape(&shape)?;
        check_kernel(&kernel, &shape, args)?;
        let bytes = kernel
            .arg_sizes
            .iter()
            .fold(0, |offset, size| place(offset, *size).1);
        let spilled = if bytes <= INLINE_BYTES {
            0
        } else {
            bytes.div_ceil(LINE_BYTES)
        };
        let mut launch = Launch {
            kernel: kernel.clone(),
            shape,
            arguments: [Line::EMPTY; INLINE_BYTES / LINE_BYTES],
            spilled: vec![Line::EMPTY; spilled].into(),
        };
        let lines = if spilled == 0 {
            &mut launch.arguments[..]
        } else {
            &mut launch.spilled
        };
        let base = lines.as_mut_ptr().cast::<u8>();
        let mut offset = 0;
        for (arg, size) in args.iter().zip(kernel.arg_sizes.iter()) {
            let (start, end) = place(offset, *size);
            if *size > 0 {
                // SAFETY: the storage holds `bytes` bytes, which is where the last argument
                // ends; the caller says the argument can be read.
                unsafe {
                    base.add(start)
                        .copy_from_nonoverlapping(arg.cast::<u8>(), *size)
                };
            }
            offset = end;
        }
        Ok(launch)
    }

    /// Runs every block, and returns when all are done; `false` if the kernel failed.
    ///
    /// # Safety
    /// The kernel may be run with these arguments now.
    pub(super) unsafe fn run(&self) -> bool {
        let lines = if self.spilled.is_empty() {
            &self.arguments[..]
        } else {
            &self.spilled
        };
        let base = lines.as_ptr().cast::<u8>();
        let count = self.kernel.arg_sizes.len();
        let mut few = [std::ptr::null::<c_void>(); INLINE_ARGS];
        let mut many = Vec::new();
        let addresses = if count <= INLINE_ARGS {
            &mut few[..count]
        } else {
            many.resize(count, std::ptr::null());
            &mut many[..]
        };
        let mut offset = 0;
        for (address, size) in addresses.iter_mut().zip(self.kernel.arg_sizes.iter()) {
            let (start, end) = place(offset, *size);
            // SAFETY: `new` made the storage as large as the last argument's end.
            *address = unsafe { base.add(start) }.cast();
            offset = end;
        }
        let call = Call {
            function: self.kernel.function,
            args: addresses,
            shape: &self.shape,
            failed: AtomicBool::new(false),
        };
        let [grid_x, grid_y, grid_z] = self.shape.grid_dim.map(u64::from);
        let blocks = grid_x * grid_y * grid_z; // at most 2^63, by the limits
        let threads: u64 = self
            .shape
            .block_dim
            .iter()
            .map(|size| u64::from(*size))
            .product();
        let least = if blocks.saturating_mul(threads) < PARALLEL_THREADS {
            blocks
        } else {
            1
        };
        // SAFETY: the caller's promise; `for_ranges` gives each block to one call.
        for_ranges(blocks, least, |first, end| unsafe { call.run(first, end) });
        !call.failed.into_inner()
    }
}

/// What every part of a launch shares.
struct Call<'a> {
    function: HostKernelFn,
    args: &'a [*const c_void],
    shape: &'a HostLaunch,
    failed: AtomicBool,
}

// SAFETY: a kernel only reads the argument block through these addresses, as
// [`HostKernelFn`] says that it is called on several threads at once.
unsafe impl Sync for Call<'_> {}

impl Call<'_> {
    /// # Safety
    /// The kernel may be run for these blocks.
    unsafe fn run(&self, first: u64, end: u64) {
        if self.failed.load(Ordering::Relaxed) {
            return;
        }
        // SAFETY: the caller's promise; the addresses and the shape outlive the call.
        unsafe { (self.function)(self.args.as_ptr(), self.shape, first, end) };
        if fiber::take_failure() {
            self.failed.store(true, Ordering::Relaxed);
        }
    }
}

fn check_shape(shape: &HostLaunch) -> Result<(), &'static str> {
    let threads: u64 = shape
        .block_dim
        .iter()
        .map(|size| u64::from(*size))
        .fold(1, u64::saturating_mul);
    if shape.grid_dim.contains(&0) || shape.block_dim.contains(&0) {
        Err("a dimension of the launch is 0")
    } else if shape
        .grid_dim
        .iter()
        .zip(MAX_GRID)
        .any(|(size, most)| *size > most)
    {
        Err("the grid is larger than the device's limit")
    } else if threads > u64::from(MAX_THREADS_PER_BLOCK) {
        Err("a block has more threads than the device's limit")
    } else if shape.shared_mem_bytes > MAX_SHARED_MEMORY {
        Err("a block has more shared memory than the device's limit")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_placed_as_c_places_them() {
        let mut offset = 0;
        let sizes = [1, 8, 4, 2, 16, 12, 64, 24, 128, 3];
        let starts = [0, 8, 16, 20, 32, 48, 64, 128, 192, 320];
        for (size, start) in sizes.into_iter().zip(starts) {
            let placed = place(offset, size);
            assert_eq!(placed, (start, start + size));
            offset = placed.1;
        }
        assert_eq!(place(7, 0), (7, 7));
    }

    #[test]
    fn shapes_beyond_the_limits_are_refused() {
        let good = HostLaunch {
            grid_dim: [1; 3],
            block_dim: [1; 3],
            shared_mem_bytes: 0,
        };
        let most = HostLaunch {
            grid_dim: MAX_GRID,
            block_dim: [1024, 1, 1],
            shared_mem_bytes: MAX_SHARED_MEMORY,
        };
        assert_eq!(check_shape(&good), Ok(()));
        assert_eq!(check_shape(&most), Ok(()));
        for axis in 0..3 {
            let mut shape = most;
            shape.grid_dim[axis] += 1;
            assert!(check_shape(&shape).is_err());
            shape = good;
            shape.grid_dim[axis] = 0;
            assert!(check_shape(&shape).is_err());
            shape = good;
            shape.block_dim[axis] = 0;
            assert!(check_shape(&shape).is_err());
            shape.block_dim[axis] = 1025;
            assert!(check_shape(&shape).is_err());
        }
        assert!(
            check_shape(&HostLaunch {
                block_dim: [32, 33, 1],
                ..good
            })
            .is_err()
        );
        assert!(
            check_shape(&HostLaunch {
                block_dim: [u32::MAX; 3],
                ..good
            })
            .is_err()
        );
        let shared_mem_bytes = MAX_SHARED_MEMORY + 1;
        assert!(
            check_shape(&HostLaunch {
                shared_mem_bytes,
                ..good
            })
            .is_err()
        );
    }
}
