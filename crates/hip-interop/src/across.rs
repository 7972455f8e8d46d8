use std::sync::Arc;

use hip_core::{DeviceBuffer, Event, PinnedBuffer, Stream};

/// What [`copy_across`] gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why bytes did not cross.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading on the source's device failed.
    #[error("reading from the source failed: {0}")]
    Source(#[source] hip_core::Error),
    /// Writing on the destination's device failed.
    #[error("writing to the destination failed: {0}")]
    Destination(#[source] hip_core::Error),
}

/// Bytes that cross at a time: large enough for the link's full speed, small enough that both
/// directions overlap within one video frame.
const SLICE: usize = 4 << 20;
/// Slices in flight: one is written while the next is read.
const SLICES: usize = 2;

/// A slice's memory on both sides. Memory pinned by one vendor's driver is ordinary memory to
/// another's, so each side has its own and the CPU copies between them.
struct Slice {
    from: Arc<PinnedBuffer>,
    to: Arc<PinnedBuffer>,
    /// The bytes have arrived in `from`.
    read: Option<(Event, usize, usize)>,
    /// The bytes have left `to`.
    written: Option<Event>,
}

/// Copies `len` bytes from a buffer of one device to a buffer of another, whatever the vendors.
///
/// The source is read behind the work on `src_stream`, the destination written behind the work on
/// `dst_stream`. The bytes go through pinned memory in slices, reading and writing at the same
/// time. Blocks the calling thread until the last slice has been read; the writes are then
/// enqueued on `dst_stream`, and later work there sees them.
///
/// # Errors
/// A range does not fit its buffer, a stream is of another device than its buffer, there is no
/// pinned memory, or a vendor call fails.
pub fn copy_across(
    dst_stream: &Stream,
    dst: &Arc<DeviceBuffer>,
    dst_offset: usize,
    src_stream: &Stream,
    src: &Arc<DeviceBuffer>,
    src_offset: usize,
    len: usize,
) -> Result<()> {
    if len == 0 {
        return Ok(());
    }
    let size = len.min(SLICE);
    let mut slices = (0..SLICES.min(len.div_ceil(SLICE)))
        .map(|_| {
            let from = PinnedBuffer::new(src.device(), size).map_err(Error::Source)?;
            let to = PinnedBuffer::new(dst.device(), size).map_err(Error::Destination)?;
            Ok(Slice {
                from: Arc::new(from),
                to: Arc::new(to),
                read: None,
                written: None,
            })
        })
        .collect::<Result<Vec<Slice>>>()?;
    let count = slices.len();
    for (index, start) in (0..len).step_by(SLICE).enumerate() {
        let slice = &mut slices[index % count];
        slice.forward(dst_stream, dst, dst_offset)?;
        let bytes = SLICE.min(len - start);
        src_stream
            .copy_dtoh(&slice.from, 0, src, src_offset + start, bytes)
            .map_err(Error::Source)?;
        let arrived = src_stream.record().map_err(Error::Source)?;
        slice.read = Some((arrived, start, bytes));
    }
    // The oldest slice first, so that the destination is written in order.
    slices.sort_by_key(|slice| slice.read.as_ref().map(|(_, start, _)| *start));
    slices
        .iter_mut()
        .try_for_each(|slice| slice.forward(dst_stream, dst, dst_offset))
}

impl Slice {
    /// Passes what was read on to the destination, if anything was.
    fn forward(
        &mut self,
        dst_stream: &Stream,
        dst: &Arc<DeviceBuffer>,
        dst_offset: usize,
    ) -> Result<()> {
        let Some((arrived, start, bytes)) = self.read.take() else {
            return Ok(());
        };
        arrived.synchronize().map_err(Error::Source)?;
        if let Some(written) = self.written.take() {
            written.synchronize().map_err(Error::Destination)?;
        }
        // SAFETY: both have room for a slice; the read has arrived and the last write out of `to`
        // is done, so no device touches either; they are different allocations.
        unsafe { std::ptr::copy_nonoverlapping(self.from.as_ptr(), self.to.as_ptr(), bytes) };
        dst_stream
            .copy_htod(dst, dst_offset + start, &self.to, 0, bytes)
            .map_err(Error::Destination)?;
        self.written = Some(dst_stream.record().map_err(Error::Destination)?);
        Ok(())
    }
}
