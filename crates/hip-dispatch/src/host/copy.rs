//! Copies and fills as plain values that a stream's worker, or the caller, carries out.

use super::pool::{for_ranges, parallelism};
use crate::{CopyEnd, DevicePtr, Memcpy2D, MemsetValue};

/// Work of at least this many bytes is spread over threads, in parts of at least
/// [`PART_BYTES`].
const PARALLEL_BYTES: usize = 1 << 20;
/// The least part of a copy that is worth waking a thread for.
const PART_BYTES: usize = 512 << 10;
/// Threads there must be for that. Two share the memory's bandwidth that one nearly uses up:
/// on a machine with two, 4 MiB took 95 µs in parts and 69 µs in one.
const PARALLEL_THREADS: usize = 4;

/// Rows of bytes from one place to another. A linear copy is one row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copy {
    dst: *mut u8,
    dst_stride: usize,
    src: *const u8,
    src_stride: usize,
    width: usize,
    height: usize,
}

/// Rows of one value. A linear fill is one row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fill {
    dst: *mut u8,
    stride: usize,
    value: MemsetValue,
    /// Elements of a row.
    count: usize,
    height: usize,
}

// SAFETY: both are descriptions; who carries them out says why threads may share the work.
unsafe impl Sync for Copy {}
// SAFETY: as above.
unsafe impl Sync for Fill {}

/// Bytes from the first to the last of `height` rows, `None` if no address space holds them.
fn extent(stride: usize, width: usize, height: usize) -> Option<usize> {
    let bytes = stride.checked_mul(height - 1)?.checked_add(width)?;
    (bytes <= isize::MAX as usize).then_some(bytes)
}

/// A range of bytes is one if it starts at an address and does not run past the last one.
fn is_range(address: usize, bytes: usize) -> bool {
    address != 0 && address.checked_add(bytes).is_some()
}

/// Bytes a part must have, given the bytes of the whole: all of them if it stays on one thread.
/// Tests take what threads there are.
fn least_part(total: usize) -> usize {
    let enough_threads = cfg!(test) || parallelism() >= PARALLEL_THREADS;
    if enough_threads && total >= PARALLEL_BYTES {
        PART_BYTES
    } else {
        total
    }
}

impl Copy {
    /// `bytes` bytes in a row. `None` if there is nothing to do; an error says what is wrong.
    pub(super) fn linear(
        dst: *mut u8,
        src: *const u8,
        bytes: usize,
    ) -> Result<Option<Self>, &'static str> {
        Self::rows(dst, bytes, src, bytes, bytes, 1)
    }

    /// A 2D copy, with the same answers as [`Copy::linear`].
    pub(super) fn rect(copy: &Memcpy2D) -> Result<Option<Self>, &'static str> {
        let address = |end| match end {
            CopyEnd::Host(pointer) => pointer,
            CopyEnd::Device(pointer) => DevicePtr::as_ptr(pointer),
        };
        let (dst, src) = (address(copy.dst), address(copy.src));
        Self::rows(
            dst,
            copy.dst_stride,
            src,
            copy.src_stride,
            copy.width_bytes,
            copy.height,
        )
    }

    fn rows(
        dst: *mut u8,
        dst_stride: usize,
        src: *const u8,
        src_stride: usize,
        width: usize,
        height: usize,
    ) -> Result<Option<Self>, &'static str> {
        if width == 0 || height == 0 {
            return Ok(None);
        }
        if dst_stride < width || src_stride < width {
            return Err("a stride is less than the bytes of a row");
        }
        let written = extent(dst_stride, width, height).ok_or("the destination is too large")?;
        let read = extent(src_stride, width, height).ok_or("the source is too large")?;
        if !is_range(dst.addr(), written) || !is_range(src.addr(), read) {
            return Err("an address is null or the range wraps round");
        }
        if dst_stride == width && src_stride == width {
            let bytes = width * height;
            return Ok(Some(Copy {
                dst,
                dst_stride: bytes,
                src,
                src_stride: bytes,
                width: bytes,
                height: 1,
            }));
        }
        Ok(Some(Copy {
            dst,
            dst_stride,
            src,
            src_stride,
            width,
            height,
        }))
    }

    /// Whether the two places share a byte (of rows or between rows).
    fn overlaps(&self) -> bool {
        let bytes = |stride: usize| stride * (self.height - 1) + self.width;
        let (dst, src) = (self.dst.addr(), self.src.addr());
        dst < src + bytes(self.src_stride) && src < dst + bytes(self.dst_stride)
    }

    /// Copies. A linear copy may overlap, as `memmove`'s.
    ///
    /// # Safety
    /// Both places are valid for their rows, and nothing else writes what is read nor touches
    /// what is written meanwhile.
    pub(super) unsafe fn run(&self) {
        let total = self.width * self.height;
        let least = if self.overlaps() {
            total
        } else {
            least_part(total)
        };
        if self.height == 1 {
            // SAFETY: the caller's promise; parts do not share bytes, and where source and
            // destination do there is one part.
            for_ranges(total as u64, least as u64, |first, end| unsafe {
                self.part(first as usize, end as usize - first as usize);
            });
        } else {
            let rows = least.div_ceil(self.width) as u64;
            for_ranges(self.height as u64, rows, |first, end| {
                for row in first as usize..end as usize {
                    // SAFETY: as above, for a row less than the height.
                    unsafe { self.row(row) };
                }
            });
        }
    }

    /// # Safety
    /// As [`Copy::run`], for `bytes` bytes from `first` of the first row.
    unsafe fn part(&self, first: usize, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.src.add(first).copy_to(self.dst.add(first), bytes) };
    }

    /// # Safety
    /// As [`Copy::run`], for this row.
    unsafe fn row(&self, row: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let src = self.src.add(row * self.src_stride);
            src.copy_to(self.dst.add(row * self.dst_stride), self.width);
        }
    }
}

impl Fill {
    /// `count` elements in a row. `None` if there is nothing to do; an error says what is wrong.
    pub(super) fn linear(
        dst: DevicePtr,
        value: MemsetValue,
        count: usize,
    ) -> Result<Option<Self>, &'static str> {
        let bytes = count
            .checked_mul(element_bytes(value))
            .ok_or("the range is too large")?;
        Self::rows(dst, bytes, value, count, 1)
    }

    /// `height` rows of `width_bytes` bytes, with the same answers as [`Fill::linear`].
    pub(super) fn rect(
        dst: DevicePtr,
        stride: usize,
        value: u8,
        width_bytes: usize,
        height: usize,
    ) -> Result<Option<Self>, &'static str> {
        Self::rows(dst, stride, MemsetValue::U8(value), width_bytes, height)
    }

    fn rows(
        dst: DevicePtr,
        stride: usize,
        value: MemsetValue,
        count: usize,
        height: usize,
    ) -> Result<Option<Self>, &'static str> {
        if count == 0 || height == 0 {
            return Ok(None);
        }
        let element = element_bytes(value);
        let width = count * element;
        if stride < width {
            return Err("the stride is less than the bytes of a row");
        }
        let bytes = extent(stride, width, height).ok_or("the range is too large")?;
        let dst = dst.as_ptr();
        if !is_range(dst.addr(), bytes) {
            return Err("the address is null or the range wraps round");
        }
        if !dst.addr().is_multiple_of(element) {
            return Err("the address is not a multiple of the element's size");
        }
        if stride == width {
            return Ok(Some(Fill {
                dst,
                stride,
                value,
                count: count * height,
                height: 1,
            }));
        }
        Ok(Some(Fill {
            dst,
            stride,
            value,
            count,
            height,
        }))
    }

    /// Fills.
    ///
    /// # Safety
    /// The rows are valid for writing, and nothing else touches them meanwhile.
    pub(super) unsafe fn run(&self) {
        let element = element_bytes(self.value);
        let least = least_part(self.count * element * self.height);
        if self.height == 1 {
            let elements = least.div_ceil(element) as u64;
            // SAFETY: the caller's promise; parts have elements of their own.
            for_ranges(self.count as u64, elements, |first, end| unsafe {
                self.part(first as usize * element, end as usize - first as usize);
            });
        } else {
            let rows = least.div_ceil(self.count * element) as u64;
            for_ranges(self.height as u64, rows, |first, end| {
                for row in first as usize..end as usize {
                    // SAFETY: as above, for a row less than the height.
                    unsafe { self.part(row * self.stride, self.count) };
                }
            });
        }
    }

    /// # Safety
    /// As [`Fill::run`], for `count` elements from byte `offset` on. The offset is a multiple of
    /// the element's size: only bytes have more than one row.
    unsafe fn part(&self, offset: usize, count: usize) {
        // SAFETY: the caller's promise; the address was found to be aligned.
        unsafe { fill_row(self.dst.add(offset), self.value, count) };
    }
}

fn element_bytes(value: MemsetValue) -> usize {
    match value {
        MemsetValue::U8(_) => 1,
        MemsetValue::U16(_) => 2,
        MemsetValue::U32(_) => 4,
    }
}

/// # Safety
/// `dst` is aligned for the element, and valid for writing `count` of them.
unsafe fn fill_row(dst: *mut u8, value: MemsetValue, count: usize) {
    match value {
        // SAFETY: the caller's promise.
        MemsetValue::U8(value) => unsafe { dst.write_bytes(value, count) },
        MemsetValue::U16(value) => {
            for index in 0..count {
                // SAFETY: the caller's promise, for an index less than the count.
                unsafe { dst.cast::<u16>().add(index).write(value) };
            }
        }
        MemsetValue::U32(value) => {
            for index in 0..count {
                // SAFETY: as above.
                unsafe { dst.cast::<u32>().add(index).write(value) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 2D copy between two pictures of random-looking sizes touches the rows and nothing else.
    fn check_rect(width: usize, height: usize, src_stride: usize, dst_stride: usize) {
        let src: Vec<u8> = (0..src_stride * height)
            .map(|index| (index * 7 % 251) as u8)
            .collect();
        let mut dst = vec![0xee; dst_stride * height + 1];
        let copy = Copy::rows(
            dst.as_mut_ptr(),
            dst_stride,
            src.as_ptr(),
            src_stride,
            width,
            height,
        );
        // SAFETY: both vectors hold the rows.
        unsafe { copy.unwrap().unwrap().run() };
        for row in 0..height {
            let (from, to) = (&src[row * src_stride..], &dst[row * dst_stride..]);
            assert!(from[..width] == to[..width], "row {row}");
            assert!(
                to[width..dst_stride].iter().all(|byte| *byte == 0xee),
                "row {row}"
            );
        }
        assert_eq!(dst.last(), Some(&0xee));
    }

    #[test]
    fn rects_are_copied() {
        check_rect(1, 1, 1, 1);
        check_rect(5, 3, 7, 11);
        check_rect(64, 9, 64, 64);
        if !cfg!(miri) {
            // Large enough for several threads: rows that are short, long, and one block.
            check_rect(1000, 3001, 1024, 1001);
            check_rect(700_001, 5, 700_001, 700_002);
            check_rect(2048, 1024, 2048, 2048);
        }
    }

    #[test]
    fn overlapping_copies_move() {
        for bytes in [300, if cfg!(miri) { 400 } else { PARALLEL_BYTES * 3 }] {
            for (from, to) in [(0, 100), (100, 0)] {
                let mut data: Vec<u8> = (0..bytes + 100).map(|index| (index % 253) as u8).collect();
                let mut expected = data.clone();
                expected.copy_within(from..from + bytes, to);
                let base = data.as_mut_ptr();
                // SAFETY: both ranges are inside the vector.
                let copy = unsafe { Copy::linear(base.add(to), base.add(from), bytes) };
                // SAFETY: as above.
                unsafe { copy.unwrap().unwrap().run() };
                assert!(data == expected);
            }
        }
    }

    #[test]
    fn fills_write_their_elements_only() {
        let large = if cfg!(miri) { 100 } else { PARALLEL_BYTES };
        for count in [1, 3, 1000, large] {
            for value in [
                MemsetValue::U8(7),
                MemsetValue::U16(0x1234),
                MemsetValue::U32(0x8765_4321),
            ] {
                let mut data = vec![0u32; count + 2];
                let bytes = count * element_bytes(value);
                let dst = DevicePtr(data[1..].as_mut_ptr().expose_provenance() as u64);
                // SAFETY: the vector holds the elements.
                unsafe { Fill::linear(dst, value, count).unwrap().unwrap().run() };
                let native = match value {
                    MemsetValue::U8(value) => [value; 4],
                    MemsetValue::U16(value) => {
                        let [low, high] = value.to_ne_bytes();
                        [low, high, low, high]
                    }
                    MemsetValue::U32(value) => value.to_ne_bytes(),
                };
                let written: Vec<u8> = data.iter().flat_map(|word| word.to_ne_bytes()).collect();
                let expected = |index: usize| native[index % 4];
                assert_eq!(&written[..4], &[0; 4]);
                assert!(
                    (0..bytes).all(|index| written[4 + index] == expected(index)),
                    "{value:?}"
                );
                assert!(
                    written[4 + bytes..].iter().all(|byte| *byte == 0),
                    "{value:?} {count}"
                );
            }
        }
    }

    #[test]
    fn fills_keep_to_their_rows() {
        let (width, height, stride) = if cfg!(miri) {
            (3, 5, 8)
        } else {
            (1500, 1001, 1536)
        };
        let mut data = vec![1u8; stride * height];
        let dst = DevicePtr(data.as_mut_ptr().expose_provenance() as u64);
        // SAFETY: the vector holds the rows.
        unsafe {
            Fill::rect(dst, stride, 9, width, height)
                .unwrap()
                .unwrap()
                .run()
        };
        for row in data.chunks(stride) {
            assert!(row[..width].iter().all(|byte| *byte == 9));
            assert!(row[width..].iter().all(|byte| *byte == 1));
        }
    }

    #[test]
    fn wrong_shapes_are_refused() {
        let byte = &mut [0u8; 8];
        let dst = byte.as_mut_ptr();
        let src: *const u8 = dst;
        assert!(Copy::linear(std::ptr::null_mut(), src, 1).is_err());
        assert!(Copy::linear(dst, std::ptr::null(), 1).is_err());
        assert!(Copy::linear(dst, src, usize::MAX).is_err());
        assert!(
            Copy::linear(std::ptr::null_mut(), std::ptr::null(), 0)
                .unwrap()
                .is_none()
        );
        assert!(Copy::rows(dst, 3, src, 4, 4, 1).is_err());
        assert!(Copy::rows(dst, 4, src, 3, 4, 1).is_err());
        assert!(Copy::rows(dst, usize::MAX / 2, src, 4, 4, 9).is_err());
        assert!(Copy::rows(dst, 0, src, 0, 0, 9).unwrap().is_none());
        let device = DevicePtr(dst.expose_provenance() as u64);
        let odd = DevicePtr(device.0 | 1);
        assert!(Fill::linear(odd, MemsetValue::U16(1), 1).is_err());
        assert!(Fill::linear(DevicePtr(device.0 & !3 | 2), MemsetValue::U32(1), 1).is_err());
        assert!(Fill::linear(device, MemsetValue::U32(1), usize::MAX).is_err());
        assert!(Fill::linear(DevicePtr::NULL, MemsetValue::U8(1), 1).is_err());
        assert!(Fill::rect(device, 3, 0, 4, 2).is_err());
        assert!(Fill::rect(DevicePtr::NULL, 0, 0, 0, 2).unwrap().is_none());
    }
}
