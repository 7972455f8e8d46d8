//! Memory: allocation, copies and fills.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use hip_dispatch::{
    Backend, CopyEnd, DevicePtr, Host, HostAllocFlags, Memcpy2D, MemsetValue, StreamHandle,
};

use crate::code::{self, Result};
use crate::order::{Area, Finding};
use crate::sim::{Sim, in_callback, thread};
use crate::state::{Kind, Moment, On, State};

/// Where one end of a copy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The caller says: on the device. Pinned memory is there too.
    Device,
    /// The caller says: on the host.
    Host,
    /// The library is to find out.
    Any,
}

/// One end of a copy.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Whose memory.
    pub side: Side,
    /// Of the first byte.
    pub address: u64,
    /// Bytes from row to row.
    pub stride: usize,
}

/// Rows of bytes to copy.
#[derive(Debug, Clone, Copy)]
pub struct Rows {
    /// Where to.
    pub dst: End,
    /// Where from.
    pub src: End,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Rows {
    /// Bytes in a row from one side to another.
    pub fn linear(dst: (Side, u64), src: (Side, u64), bytes: usize) -> Rows {
        let end = |(side, address)| End {
            side,
            address,
            stride: bytes,
        };
        Rows {
            dst: end(dst),
            src: end(src),
            width: bytes,
            height: 1,
        }
    }
}

/// What is filled.
#[derive(Debug, Clone, Copy)]
pub struct Fill {
    /// The first byte.
    pub address: u64,
    /// Bytes from row to row.
    pub stride: usize,
    /// Each element.
    pub value: MemsetValue,
    /// Elements of a row.
    pub width: usize,
    /// Rows; more than one only of bytes.
    pub height: usize,
}

fn area(address: u64, stride: usize, width: usize, height: usize) -> Result<Area> {
    let last = stride
        .checked_mul(height - 1)
        .and_then(|bytes| bytes.checked_add(width));
    let fits = last
        .and_then(|bytes| address.checked_add(bytes as u64))
        .is_some();
    if address == 0 || !fits || height > 1 && stride < width {
        return Err(code::INVALID_VALUE);
    }
    let (stride, width, rows) = (stride.max(1) as u64, width as u64, height as u64);
    Ok(Area {
        start: address,
        stride,
        width,
        rows,
    })
}

/// The block of an end that the device or the host may use; `None` for the program's own memory.
fn block_of(state: &State, context: usize, side: Side, area: &Area) -> Result<Option<u64>> {
    match side {
        Side::Device => state.device_range(context, area).map(Some),
        Side::Host => state.host_range(area),
        Side::Any => match state.block_at(area.start) {
            Some(_) => state.device_range(context, area).map(Some),
            None => Ok(None),
        },
    }
}

impl Sim {
    /// Allocates device memory.
    pub fn mem_alloc(&self, bytes: usize) -> Result<u64> {
        let context = self.current()?;
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let state = self.state();
        let used = state.used(state.contexts[context].device);
        drop(state);
        if used.saturating_add(bytes as u64) > self.total_memory() {
            return Err(code::OUT_OF_MEMORY);
        }
        let ptr = self.on_host(context, |host| host.mem_alloc(bytes))?;
        self.state()
            .add_block(ptr.0, bytes as u64, Kind::Device, context);
        Ok(ptr.0)
    }

    /// Allocates rows; gives the address and the stride in bytes.
    pub fn mem_alloc_pitch(
        &self,
        width: usize,
        height: usize,
        element: u32,
    ) -> Result<(u64, usize)> {
        if !matches!(element, 4 | 8 | 16) {
            return Err(code::INVALID_VALUE);
        }
        let pitch = width.checked_next_multiple_of(self.profile.pitch_alignment);
        let pitch = pitch.ok_or(code::OUT_OF_MEMORY)?;
        let bytes = pitch.checked_mul(height).ok_or(code::OUT_OF_MEMORY)?;
        Ok((self.mem_alloc(bytes)?, pitch))
    }

    /// Free and total bytes of the current device.
    pub fn mem_get_info(&self) -> Result<(usize, usize)> {
        let device = self.current_device()?;
        let (used, total) = (self.state().used(device), self.total_memory());
        Ok((total.saturating_sub(used) as usize, total as usize))
    }

    /// Allocates pinned memory.
    pub fn host_alloc(&self, bytes: usize) -> Result<u64> {
        let context = self.current()?;
        if bytes == 0 {
            return Err(code::INVALID_VALUE);
        }
        let flags = HostAllocFlags::PORTABLE;
        let ptr = self.on_host(context, |host| host.host_alloc(bytes, flags))?;
        let address = ptr.as_ptr().expose_provenance() as u64;
        self.state()
            .add_block(address, bytes as u64, Kind::Pinned, context);
        Ok(address)
    }

    /// Takes a block away from the calls that may use it.
    fn take_block(&self, context: usize, kind: Kind, address: u64) -> Result<()> {
        let mut state = self.state();
        let found = state.blocks.get(&address).ok_or(code::INVALID_VALUE)?;
        if found.kind != kind || kind == Kind::Device && found.context != context {
            return Err(code::INVALID_VALUE);
        }
        state.blocks.remove(&address);
        Ok(())
    }

    fn damage(&self, result: Result<()>, address: u64) -> Result<()> {
        if result == Err(code::ILLEGAL_ADDRESS) {
            self.record.complain(&format!(
                "memory outside the block at {address:#x} was overwritten"
            ));
        }
        result
    }

    /// Frees device memory, once all work is done.
    pub fn mem_free(&self, address: u64) -> Result<()> {
        let context = self.current()?;
        self.take_block(context, Kind::Device, address)?;
        // SAFETY: the block was in the table, so it is Host's, and no call can use it any more.
        let freed = self.on_host(context, |host| unsafe { host.mem_free(DevicePtr(address)) });
        self.damage(freed, address)
    }

    /// Frees pinned memory, once all work is done.
    pub fn host_free(&self, address: u64) -> Result<()> {
        let context = self.current()?;
        let pointer = NonNull::new(address as *mut u8).ok_or(code::INVALID_VALUE)?;
        self.take_block(context, Kind::Pinned, address)?;
        // SAFETY: as in `mem_free`.
        let freed = self.on_host(context, |host| unsafe { host.host_free(pointer) });
        self.damage(freed, address)
    }

    /// Copies rows.
    ///
    /// # Safety
    /// Memory of the program's own is valid for its rows until the work is done.
    pub unsafe fn copy(&self, name: &str, rows: &Rows, stream: Option<usize>) -> Result<()> {
        let context = self.current()?;
        let mut state = self.state();
        let on = state.on(context, stream)?;
        if rows.width == 0 || rows.height == 0 {
            return Ok(());
        }
        let (dst, src) = (rows.dst, rows.src);
        let area_of = |end: &End| area(end.address, end.stride, rows.width, rows.height);
        let (written, read) = (area_of(&dst)?, area_of(&src)?);
        let dst_block = block_of(&state, context, dst.side, &written)?;
        let src_block = block_of(&state, context, src.side, &read)?;
        let moment = state.moment(context, on, thread(), &crate::calls::thread_name());
        let what: Arc<str> = name.into();
        let mut findings = Vec::new();
        if let Some(block) = src_block {
            findings.extend(state.access(block, read, false, &moment, &what));
        }
        if let Some(block) = dst_block {
            findings.extend(state.access(block, written, true, &moment, &what));
        }
        let copy = Memcpy2D {
            dst: CopyEnd::Device(DevicePtr(dst.address)),
            dst_stride: dst.stride,
            src: CopyEnd::Device(DevicePtr(src.address)),
            src_stride: src.stride,
            width_bytes: rows.width,
            height: rows.height,
        };
        // SAFETY: each end is inside a block, or the program's own, which the caller vouches for.
        let work = |host: &Host, stream| unsafe { host.memcpy_2d(&copy, Some(stream)) };
        self.finish(state, context, on, &moment, findings, work)
    }

    /// Fills memory.
    pub fn fill(&self, name: &str, fill: &Fill, stream: Option<usize>) -> Result<()> {
        let context = self.current()?;
        let mut state = self.state();
        let on = state.on(context, stream)?;
        let element = match fill.value {
            MemsetValue::U8(_) => 1,
            MemsetValue::U16(_) => 2,
            MemsetValue::U32(_) => 4,
        };
        if fill.width == 0 || fill.height == 0 {
            return Ok(());
        }
        let width = fill.width.checked_mul(element).ok_or(code::INVALID_VALUE)?;
        let area = area(fill.address, fill.stride, width, fill.height)?;
        if !fill.address.is_multiple_of(element as u64) {
            return Err(code::INVALID_VALUE);
        }
        let block = state.device_range(context, &area)?;
        let moment = state.moment(context, on, thread(), &crate::calls::thread_name());
        let findings = state.access(block, area, true, &moment, &name.into());
        let ptr = DevicePtr(fill.address);
        // SAFETY: the rows are inside a live block.
        let work = |host: &Host, stream| unsafe {
            match fill.value {
                MemsetValue::U8(value) if fill.height > 1 => host.memset_2d(
                    ptr,
                    fill.stride,
                    value,
                    fill.width,
                    fill.height,
                    Some(stream),
                ),
                value => host.memset(ptr, value, fill.width, Some(stream)),
            }
        };
        self.finish(state, context, on, &moment, findings, work)
    }

    /// Hands work to Host: on a stream under the lock, so that the order in which it is enqueued
    /// is the one that was checked; elsewhere without it, because Host then waits.
    pub(crate) fn finish(
        &self,
        state: std::sync::MutexGuard<'_, State>,
        context: usize,
        on: On,
        moment: &Moment,
        findings: Vec<Finding>,
        work: impl FnOnce(&Host, StreamHandle) -> hip_dispatch::Result<()>,
    ) -> Result<()> {
        let handle = match on {
            On::Stream(handle) => state.streams[&handle].handle,
            On::Null | On::Call => StreamHandle::NULL,
        };
        let slow = self.record.settings.slow;
        let enqueue = || {
            self.on_host(context, |host| {
                if !slow.is_zero() {
                    let micros = std::ptr::without_provenance_mut(slow.as_micros() as usize);
                    // SAFETY: the function takes a number, and the stream is alive.
                    unsafe { host.launch_host_func(handle, sleep, micros) }?;
                }
                work(host, handle)
            })
        };
        let result = if matches!(on, On::Stream(_)) {
            let result = enqueue();
            drop(state);
            result
        } else {
            drop(state);
            enqueue()
        };
        self.report(findings);
        result?;
        if on == On::Call {
            self.state().order.host_learns(thread(), &moment.clock);
        }
        Ok(())
    }

    /// What an address is in, and the number of its context (on AMD the device's).
    pub fn kind_at(&self, address: u64) -> Option<(Kind, usize)> {
        let state = self.state();
        state
            .block_at(address)
            .map(|(_, block)| (block.kind, block.context))
    }

    /// How much there is of something: 0 blocks of device memory, 1 their bytes, 2 blocks of pinned
    /// memory, 3 their bytes, 4 streams, 5 events, 6 modules, 7 contexts that are retained (as often
    /// as they are; none on AMD). 0 for any other number.
    pub fn live(&self, what: i32) -> u64 {
        let state = self.state();
        let sizes = |kind| {
            state
                .blocks
                .values()
                .filter(move |b| b.kind == kind)
                .map(|b| b.len)
        };
        match what {
            0 => sizes(Kind::Device).count() as u64,
            1 => sizes(Kind::Device).sum(),
            2 => sizes(Kind::Pinned).count() as u64,
            3 => sizes(Kind::Pinned).sum(),
            4 => state.streams.len() as u64,
            5 => state.events.len() as u64,
            6 => state.modules.len() as u64,
            7 if !self.profile.is_amd() => state
                .contexts
                .iter()
                .map(|context| u64::from(context.retained))
                .sum(),
            _ => 0,
        }
    }

    /// The program says that this thread reads or writes memory that the library gave out: 0 if
    /// that is ordered after the device's work, 1 if not, -1 if it is no such memory.
    pub fn host_access(&self, address: u64, bytes: usize, write: bool) -> i32 {
        let area = Area::linear(address, bytes.max(1) as u64);
        let mut state = self.state();
        let Ok(Some(block)) = state.host_range(&area) else {
            return -1;
        };
        let moment = in_callback().unwrap_or_else(|| {
            let (epoch, clock) = state.order.host_acts(thread());
            let on = format!("the CPU (by {})", crate::calls::thread_name()).into();
            Moment { epoch, clock, on }
        });
        let findings = state.access(block, area, write, &moment, &"the program".into());
        drop(state);
        let ordered = findings
            .iter()
            .all(|finding| finding.unproven && !self.record.settings.strict);
        self.report(findings);
        i32::from(!ordered)
    }
}

/// Keeps a stream busy for some microseconds.
unsafe extern "C" fn sleep(micros: *mut c_void) {
    std::thread::sleep(std::time::Duration::from_micros(micros.addr() as u64));
}
