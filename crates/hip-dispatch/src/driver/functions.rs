//! What a driver tells of a kernel, through functions that it may lack.

use std::ffi::c_int;

use super::{Dialect, Driver};
use crate::{FunctionAttributes, FunctionHandle, HipError, Result, SuggestedBlockSize};

/// Calls an entry that the library may lack.
macro_rules! call_optional {
    ($driver:expr, $call:literal, $entry:expr, ($($arg:expr),*)) => {{
        match $entry {
            Some(entry) => {
                $driver.alive(entry.name)?;
                // SAFETY: the arguments follow the vendor's documented signature; the handle is
                // valid by the contract of `Backend`, outputs are writable locals.
                let code = unsafe { (entry.call)($($arg),*) };
                $driver.check(entry.name, code)
            }
            None => Err(HipError::unsupported(
                D::VENDOR,
                $call,
                "the vendor's library is too old to have the function",
            )),
        }
    }};
}

/// Under the contract of [`crate::Backend`]'s unsafe calls.
impl<D: Dialect> Driver<D> {
    pub(super) unsafe fn attributes_of(
        &self,
        function: FunctionHandle,
    ) -> Result<FunctionAttributes> {
        // `CUfunction_attribute` and `hipFunction_attribute` have the same numbers.
        let get = |attribute: c_int| {
            let mut value = 0;
            let entry = self.table.func_get_attribute;
            call_optional!(
                self,
                "function_attributes",
                entry,
                (&mut value, attribute, function.as_raw())
            )?;
            Ok::<_, HipError>(u32::try_from(value).unwrap_or(0))
        };
        Ok(FunctionAttributes {
            max_threads_per_block: get(0)?,
            shared_bytes: get(1)?,
            const_bytes: get(2)?,
            local_bytes: get(3)?,
            registers: get(4)?,
        })
    }

    pub(super) unsafe fn allow_dynamic_shared(
        &self,
        function: FunctionHandle,
        bytes: u32,
    ) -> Result<()> {
        /// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
        const MAX_DYNAMIC_SHARED_SIZE: c_int = 8;
        if !D::ASKS_FOR_SHARED_MEMORY {
            return Ok(());
        }
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        let entry = self.table.func_set_attribute;
        call_optional!(
            self,
            "allow_dynamic_shared_memory",
            entry,
            (function.as_raw(), MAX_DYNAMIC_SHARED_SIZE, bytes)
        )
    }

    pub(super) unsafe fn occupancy_of(
        &self,
        function: FunctionHandle,
        block_threads: u32,
        dynamic_shared_bytes: u32,
    ) -> Result<u32> {
        let mut blocks = 0;
        let threads = c_int::try_from(block_threads).unwrap_or(c_int::MAX);
        let entry = self.table.occupancy_blocks;
        call_optional!(
            self,
            "occupancy",
            entry,
            (
                &mut blocks,
                function.as_raw(),
                threads,
                dynamic_shared_bytes as usize
            )
        )?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    pub(super) unsafe fn block_size_for(
        &self,
        function: FunctionHandle,
        dynamic_shared_bytes: u32,
    ) -> Result<SuggestedBlockSize> {
        let (mut grid, mut block) = (0, 0);
        let (function, shared) = (function.as_raw(), dynamic_shared_bytes as usize);
        match self.table.occupancy_block_size {
            Some(_) => {
                let entry = self.table.occupancy_block_size;
                call_optional!(
                    self,
                    "suggested_block_size",
                    entry,
                    (&mut grid, &mut block, function, shared, 0)
                )?;
            }
            None => {
                let (entry, none) = (self.table.occupancy_block_size_with, std::ptr::null());
                call_optional!(
                    self,
                    "suggested_block_size",
                    entry,
                    (&mut grid, &mut block, function, none, shared, 0)
                )?;
            }
        }
        Ok(SuggestedBlockSize {
            block_threads: u32::try_from(block).unwrap_or(0),
            min_grid_blocks: u32::try_from(grid).unwrap_or(0),
        })
    }
}
