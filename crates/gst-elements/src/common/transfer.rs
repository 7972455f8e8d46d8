//! Copies of frames between pinned and device memory, on a stream.

use gst_hip::{DeviceFrame, HipMemoryRef, MemoryKind, PlaneRef};
use gst_video::VideoInfo;
use hip_core::{Copy2D, Device, PlaneEnd, Stream};

use super::error::Error;

/// Whether every memory of `buffer` is ours, of this kind, on this device.
pub(crate) fn is_ours(buffer: &gst::BufferRef, device: &Device, kind: MemoryKind) -> bool {
    let ours = |memory: &gst::MemoryRef| {
        HipMemoryRef::from_memory(memory)
            .is_some_and(|memory| memory.kind() == kind && memory.device() == device)
    };
    buffer.n_memory() > 0 && buffer.iter_memories().all(ours)
}

/// Enqueues the copy of a frame from one buffer to another, both of our memory: one plain copy
/// where both are laid out alike, else one copy a plane. The memories are in use until the copies are
/// done, by their own events; nothing waits here.
///
/// # Errors
/// A buffer is not our memory or too small, or a device call fails.
pub(crate) fn copy_frame(
    stream: &Stream,
    source: &gst::BufferRef,
    destination: &mut gst::BufferRef,
    info: &VideoInfo,
) -> Result<(), Error> {
    let one_memory_each = source.n_memory() == 1 && destination.n_memory() == 1;
    let from = DeviceFrame::read_for_copy(source, info, stream)?;
    let to = DeviceFrame::write_for_copy(destination, info, stream)?;
    match shared_span(from.planes(), to.planes()).filter(|_| one_memory_each) {
        Some(len) => copy_span(stream, &from.planes()[0], &to.planes()[0], len)?,
        None => {
            for (from, to) in from.planes().iter().zip(to.planes()) {
                let copy = Copy2D {
                    dst: to.end(),
                    dst_stride: to.stride,
                    src: from.end(),
                    src_stride: from.stride,
                    width_bytes: from.row_bytes,
                    height: from.height as usize,
                };
                // SAFETY: `DeviceFrame` checked that every row of both planes lies inside its
                // memory, keeps the memories alive, and orders other accesses behind the event
                // that `finish` stores.
                unsafe { stream.copy_2d_raw(&copy) }?;
            }
        }
    }
    let event = stream.record()?;
    from.finish(&event)?;
    to.finish(&event)?;
    Ok(())
}

/// The bytes from the first plane's start to the last one's end, if both frames are laid out
/// alike, so that one copy of them all, padding included, is a copy of the frame.
fn shared_span(from: &[PlaneRef], to: &[PlaneRef]) -> Option<usize> {
    let (from_start, to_start) = (from.first()?.ptr.0, to.first()?.ptr.0);
    let mut span = 0;
    for (from, to) in from.iter().zip(to) {
        let offset = from.ptr.0.checked_sub(from_start)?;
        if to.ptr.0.checked_sub(to_start)? != offset || from.stride != to.stride {
            return None;
        }
        let rows = from.stride * (from.height as usize).saturating_sub(1) + from.row_bytes;
        span = span.max(offset as usize + rows);
    }
    Some(span)
}

fn copy_span(stream: &Stream, from: &PlaneRef, to: &PlaneRef, len: usize) -> Result<(), Error> {
    // All three: as in `copy_frame`; both frames are one memory each, in which the
    // span lies, since its last plane's end does.
    match (from.end(), to.end()) {
        (PlaneEnd::Host(from), PlaneEnd::Device(to)) => {
            // SAFETY: as above.
            unsafe { stream.copy_htod_raw(to, from, len) }?;
        }
        (PlaneEnd::Device(from), PlaneEnd::Host(to)) => {
            // SAFETY: as above.
            unsafe { stream.copy_dtoh_raw(to, from, len) }?;
        }
        (src, dst) => {
            let (dst_stride, src_stride) = (len, len);
            let row = Copy2D {
                dst,
                dst_stride,
                src,
                src_stride,
                width_bytes: len,
                height: 1,
            };
            // SAFETY: as above.
            unsafe { stream.copy_2d_raw(&row) }?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hip_core::DevicePtr;

    fn plane(ptr: u64, stride: usize) -> PlaneRef {
        let (width, height, row_bytes) = (3, 2, 3);
        let ptr = DevicePtr(ptr);
        PlaneRef {
            ptr,
            stride,
            width,
            height,
            row_bytes,
            kind: MemoryKind::Device,
        }
    }

    #[test]
    fn layouts_that_are_alike_are_one_span() {
        let from = [plane(1000, 8), plane(1256, 16)];
        assert_eq!(
            shared_span(&from, &[plane(5000, 8), plane(5256, 16)]),
            Some(256 + 19)
        );
        assert_eq!(shared_span(&from, &[plane(5000, 8), plane(5256, 12)]), None);
        assert_eq!(shared_span(&from, &[plane(5000, 8), plane(5260, 16)]), None);
        // Planes in another order.
        let back = [plane(1256, 8), plane(1000, 16)];
        assert_eq!(shared_span(&back, &[plane(5256, 8), plane(5000, 16)]), None);
    }
}
