//! What a function is like: its attributes, and how many blocks of it fit on a compute unit.

use crate::code::{self, Result};
use crate::sim::Sim;
use crate::state::Function;

/// Threads of a block, at most, where the kernel does not limit them.
const MAX_THREADS: u32 = 1024;
/// Threads, and blocks, that a compute unit holds.
const THREADS_OF_UNIT: u32 = 2048;
const BLOCKS_OF_UNIT: u32 = 32;
/// Registers that every kernel here uses a thread: what leaves a unit full of threads.
const REGISTERS: i32 = 32;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES` and its like of HIP.
const MAX_DYNAMIC_SHARED: i32 = 8;
/// `…PREFERRED_SHARED_MEMORY_CARVEOUT`: a hint, which is taken and changes nothing.
const CARVEOUT: i32 = 9;

impl Sim {
    /// A function of the current context.
    fn function(&self, function: usize) -> Result<Function> {
        let context = self.current()?;
        let state = self.state();
        let found = state.functions.get(&function);
        let found = found.filter(|found| found.context == context);
        found.cloned().ok_or(code::INVALID_HANDLE)
    }

    /// An attribute by the number that both vendors give it.
    ///
    /// # Errors
    /// There is no such function or attribute.
    pub fn function_attribute(&self, function: usize, attribute: i32) -> Result<i32> {
        let function = self.function(function)?;
        Ok(match attribute {
            0 => most_threads(&function) as i32,
            // Static shared memory, constants, local memory: images of stand-ins for compilers
            // say nothing of them, and this workspace's kernels have none.
            1..=3 => 0,
            4 => REGISTERS,
            // Versions of PTX and of the machine code, caching.
            5 | 6 => 90,
            7 => 0,
            MAX_DYNAMIC_SHARED => function.most_shared.unwrap_or(self.profile.shared_memory) as i32,
            CARVEOUT => -1,
            _ => return Err(code::INVALID_VALUE),
        })
    }

    /// Sets one of the two attributes that can be set.
    ///
    /// # Errors
    /// There is no such function, no other attribute can be set, or no block has so much memory.
    pub fn set_function_attribute(
        &self,
        function: usize,
        attribute: i32,
        value: i32,
    ) -> Result<()> {
        self.function(function)?;
        let bytes = match attribute {
            MAX_DYNAMIC_SHARED => u32::try_from(value).map_err(|_| code::INVALID_VALUE)?,
            CARVEOUT => return Ok(()),
            _ => return Err(code::INVALID_VALUE),
        };
        if bytes > self.profile.shared_memory_on_request {
            return Err(code::INVALID_VALUE);
        }
        let mut state = self.state();
        let found = state.functions.get_mut(&function);
        found.ok_or(code::INVALID_HANDLE)?.most_shared = Some(bytes);
        Ok(())
    }

    /// Blocks of `threads` threads and `shared` bytes of dynamic shared memory that a compute
    /// unit holds at once; none if a block is too large for it.
    ///
    /// # Errors
    /// There is no such function, or a block of no threads is asked for.
    pub fn occupancy(&self, function: usize, threads: i32, shared: usize) -> Result<i32> {
        let function = self.function(function)?;
        let threads = u32::try_from(threads).map_err(|_| code::INVALID_VALUE)?;
        if threads == 0 {
            return Err(code::INVALID_VALUE);
        }
        if threads > most_threads(&function) {
            return Ok(0);
        }
        let of_unit = self.profile.shared_memory_of_unit as usize;
        let by_memory = of_unit.checked_div(shared).unwrap_or(usize::MAX);
        let warp = crate::Profile::warp_size(self.architecture()).unsigned_abs();
        let by_threads = THREADS_OF_UNIT / threads.next_multiple_of(warp);
        let blocks = by_threads.min(BLOCKS_OF_UNIT) as usize;
        Ok(blocks.min(by_memory) as i32)
    }

    /// The fewest blocks that fill the device, and the block size that fills it best, at most
    /// `limit` threads unless that is 0; `shared` tells how much a block of a size needs.
    ///
    /// # Errors
    /// As [`Sim::occupancy`].
    pub fn suggested_block(
        &self,
        function: usize,
        shared: impl Fn(i32) -> usize,
        limit: i32,
    ) -> Result<(i32, i32)> {
        let most = most_threads(&self.function(function)?) as i32;
        let most = if limit > 0 { most.min(limit) } else { most };
        let warp = crate::Profile::warp_size(self.architecture());
        let (mut best, mut most_resident, mut blocks) = (most.min(warp), 0, 0);
        for size in (warp..=most).step_by(warp.unsigned_abs() as usize) {
            let fitting = self.occupancy(function, size, shared(size))?;
            // Of equally good ones the largest, as the vendors choose.
            if fitting > 0 && fitting * size >= most_resident {
                (best, most_resident, blocks) = (size, fitting * size, fitting);
            }
        }
        Ok((blocks * self.profile.multiprocessors, best))
    }
}

fn most_threads(function: &Function) -> u32 {
    function.kernel.info.max_threads.unwrap_or(MAX_THREADS)
}
