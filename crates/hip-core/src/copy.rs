use std::sync::Arc;

use hip_dispatch::{CopyEnd, DevicePtr, Memcpy2D, MemsetValue};

use crate::buffer::check_range;
use crate::statistics::add;
use crate::{DeviceBuffer, Error, FenceData, PinnedBuffer, Result, Stream};

/// One end of a raw 2D copy.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum PlaneEnd {
    /// CPU memory; pinned, or the copy is not asynchronous.
    Host(*mut u8),
    /// Device memory.
    Device(DevicePtr),
}

/// A copy of `height` rows of `width_bytes`; strides in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Copy2D {
    /// Where to.
    pub dst: PlaneEnd,
    /// Bytes from row to row at `dst`.
    pub dst_stride: usize,
    /// Where from; never written.
    pub src: PlaneEnd,
    /// Bytes from row to row at `src`.
    pub src_stride: usize,
    /// Bytes of a row.
    pub width_bytes: usize,
    /// Rows.
    pub height: usize,
}

impl Stream {
    /// Enqueues a copy from pinned to device memory. Both are kept alive until it is done.
    ///
    /// # Errors
    /// A range does not fit, a buffer belongs to another device, or the vendor call fails.
    pub fn copy_htod(
        &self,
        dst: &Arc<DeviceBuffer>,
        dst_offset: usize,
        src: &Arc<PinnedBuffer>,
        src_offset: usize,
        len: usize,
    ) -> Result<()> {
        check_range(dst.len(), dst_offset, len)?;
        check_range(src.len(), src_offset, len)?;
        self.device()
            .expect_same("the device buffer", dst.device())?;
        let to = dst.as_raw().offset(dst_offset);
        // SAFETY: both ranges were checked, and the fence keeps both buffers alive.
        unsafe { self.copy_htod_raw(to, src.as_ptr().wrapping_add(src_offset), len) }?;
        self.keep(dst.clone(), src.clone())
    }

    /// Enqueues a copy from device to pinned memory. Both are kept alive until it is done.
    ///
    /// # Errors
    /// As [`Stream::copy_htod`].
    pub fn copy_dtoh(
        &self,
        dst: &Arc<PinnedBuffer>,
        dst_offset: usize,
        src: &Arc<DeviceBuffer>,
        src_offset: usize,
        len: usize,
    ) -> Result<()> {
        check_range(dst.len(), dst_offset, len)?;
        check_range(src.len(), src_offset, len)?;
        self.device()
            .expect_same("the device buffer", src.device())?;
        let from = src.as_raw().offset(src_offset);
        // SAFETY: both ranges were checked, and the fence keeps both buffers alive.
        unsafe { self.copy_dtoh_raw(dst.as_ptr().wrapping_add(dst_offset), from, len) }?;
        self.keep(dst.clone(), src.clone())
    }

    /// Enqueues a copy within the device. Both buffers are kept alive until it is done.
    ///
    /// # Errors
    /// As [`Stream::copy_htod`].
    pub fn copy_dtod(
        &self,
        dst: &Arc<DeviceBuffer>,
        dst_offset: usize,
        src: &Arc<DeviceBuffer>,
        src_offset: usize,
        len: usize,
    ) -> Result<()> {
        check_range(dst.len(), dst_offset, len)?;
        check_range(src.len(), src_offset, len)?;
        self.device().expect_same("the destination", dst.device())?;
        self.device().expect_same("the source", src.device())?;
        let (to, from) = (
            dst.as_raw().offset(dst_offset),
            src.as_raw().offset(src_offset),
        );
        let _bound = self.device().bind()?;
        add(&self.device().0.counters.copies_dtod, 1);
        // SAFETY: both ranges were checked, and the fence keeps both buffers alive.
        unsafe {
            self.device()
                .0
                .backend
                .memcpy_dtod(to, from, len, Some(self.as_raw()))
        }?;
        self.keep(dst.clone(), src.clone())
    }

    /// Enqueues a fill of `len` bytes, which are whole elements of `value`. The buffer is kept
    /// alive until it is done.
    ///
    /// # Errors
    /// The range does not fit or is not whole, aligned elements; the buffer belongs to another
    /// device; or the vendor call fails.
    pub fn fill(
        &self,
        dst: &Arc<DeviceBuffer>,
        offset: usize,
        len: usize,
        value: MemsetValue,
    ) -> Result<()> {
        check_range(dst.len(), offset, len)?;
        self.device()
            .expect_same("the device buffer", dst.device())?;
        let element = match value {
            MemsetValue::U8(_) => 1,
            MemsetValue::U16(_) => 2,
            MemsetValue::U32(_) => 4,
        };
        if !offset.is_multiple_of(element) || !len.is_multiple_of(element) {
            return Err(Error::InvalidValue(format!(
                "bytes {offset}..{} are not whole {element}-byte elements",
                offset + len
            )));
        }
        let _bound = self.device().bind()?;
        let (to, count) = (dst.as_raw().offset(offset), len / element);
        // SAFETY: the range was checked, and the fence keeps the buffer alive.
        unsafe {
            self.device()
                .0
                .backend
                .memset(to, value, count, Some(self.as_raw()))
        }?;
        let mut fence = FenceData::new();
        fence.push(dst.clone());
        self.keep_alive(fence)
    }

    /// Enqueues a copy between addresses, CPU to device.
    ///
    /// # Safety
    /// Both ranges are valid for `len` bytes and stay so until the copy is done; nothing else
    /// writes the source or touches the destination until then.
    ///
    /// # Errors
    /// The vendor call fails.
    pub unsafe fn copy_htod_raw(&self, dst: DevicePtr, src: *const u8, len: usize) -> Result<()> {
        let _bound = self.device().bind()?;
        add(&self.device().0.counters.copies_htod, 1);
        // SAFETY: the caller's; the context is bound.
        Ok(unsafe {
            self.device()
                .0
                .backend
                .memcpy_htod(dst, src, len, Some(self.as_raw()))
        }?)
    }

    /// Enqueues a copy between addresses, device to CPU.
    ///
    /// # Safety
    /// As [`Stream::copy_htod_raw`].
    ///
    /// # Errors
    /// The vendor call fails.
    pub unsafe fn copy_dtoh_raw(&self, dst: *mut u8, src: DevicePtr, len: usize) -> Result<()> {
        let _bound = self.device().bind()?;
        add(&self.device().0.counters.copies_dtoh, 1);
        // SAFETY: the caller's; the context is bound.
        Ok(unsafe {
            self.device()
                .0
                .backend
                .memcpy_dtoh(dst, src, len, Some(self.as_raw()))
        }?)
    }

    /// Enqueues a 2D copy between addresses. A copy of 0 bytes or rows does nothing.
    ///
    /// # Safety
    /// As [`Stream::copy_htod_raw`], for every row.
    ///
    /// # Errors
    /// A stride is smaller than a row, or the vendor call fails.
    pub unsafe fn copy_2d_raw(&self, copy: &Copy2D) -> Result<()> {
        if copy.width_bytes == 0 || copy.height == 0 {
            return Ok(());
        }
        let least = copy.dst_stride.min(copy.src_stride);
        if copy.height > 1 && least < copy.width_bytes {
            return Err(Error::InvalidValue(format!(
                "a stride of {least} bytes is smaller than a row of {}",
                copy.width_bytes
            )));
        }
        let counters = &self.device().0.counters;
        let counter = match (copy.dst, copy.src) {
            (PlaneEnd::Device(_), PlaneEnd::Host(_)) => &counters.copies_htod,
            (PlaneEnd::Host(_), _) => &counters.copies_dtoh,
            (PlaneEnd::Device(_), PlaneEnd::Device(_)) => &counters.copies_dtod,
        };
        add(counter, 1);
        let end = |end| match end {
            PlaneEnd::Host(ptr) => CopyEnd::Host(ptr),
            PlaneEnd::Device(ptr) => CopyEnd::Device(ptr),
        };
        let copy = Memcpy2D {
            dst: end(copy.dst),
            dst_stride: copy.dst_stride.max(copy.width_bytes),
            src: end(copy.src),
            src_stride: copy.src_stride.max(copy.width_bytes),
            width_bytes: copy.width_bytes,
            height: copy.height,
        };
        let _bound = self.device().bind()?;
        // SAFETY: the caller's; the context is bound.
        Ok(unsafe {
            self.device()
                .0
                .backend
                .memcpy_2d(&copy, Some(self.as_raw()))
        }?)
    }

    fn keep(&self, a: impl Send + 'static, b: impl Send + 'static) -> Result<()> {
        let mut fence = FenceData::new();
        fence.push(a);
        fence.push(b);
        self.keep_alive(fence)
    }
}
