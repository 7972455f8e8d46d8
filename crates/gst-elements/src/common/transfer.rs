//! Copies of frames between pinned and device memory, on a stream.

use gst_hip::{DeviceAccess, HipMemoryRef, MemoryKind};
use gst_video::VideoInfo;
use hip_core::{Copy2D, Device, PlaneEnd, Stream};
use smallvec::SmallVec;

use super::error::Error;
use super::planes::{PlaneShape, Planes, plane_places};

/// Which way a copy goes over a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is read.
    Source,
    /// All of its samples are written.
    Destination,
}

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
    destination: &gst::BufferRef,
    info: &VideoInfo,
    shapes: &[PlaneShape],
) -> Result<(), Error> {
    let from = FrameAccess::new(stream, source, Role::Source, info, shapes)?;
    let to = FrameAccess::new(stream, destination, Role::Destination, info, shapes)?;
    match from.span_shared_with(&to, shapes) {
        Some(len) => copy_span(stream, from.planes[0].end, to.planes[0].end, len)?,
        None => {
            for ((from, to), shape) in from.planes.iter().zip(&to.planes).zip(shapes) {
                let copy = Copy2D {
                    dst: to.end,
                    dst_stride: to.stride,
                    src: from.end,
                    src_stride: from.stride,
                    width_bytes: shape.row_bytes,
                    height: shape.rows,
                };
                // SAFETY: `FrameAccess::new` checked that every row of both planes lies inside its
                // memory, and the accesses that it holds keep the memories alive and ordered until
                // the event that `finish` stores.
                unsafe { stream.copy_2d_raw(&copy) }?;
            }
        }
    }
    let event = stream.record()?;
    from.finish(&event)?;
    to.finish(&event)
}

fn copy_span(stream: &Stream, from: PlaneEnd, to: PlaneEnd, len: usize) -> Result<(), Error> {
    match (from, to) {
        // SAFETY: as in `copy_frame`; the span lies inside both memories.
        (PlaneEnd::Host(from), PlaneEnd::Device(to)) => unsafe {
            stream.copy_htod_raw(to, from, len)
        }?,
        // SAFETY: as above.
        (PlaneEnd::Device(from), PlaneEnd::Host(to)) => unsafe {
            stream.copy_dtoh_raw(to, from, len)
        }?,
        (src, dst) => {
            let row = Copy2D { dst, dst_stride: len, src, src_stride: len, width_bytes: len, height: 1 };
            // SAFETY: as above.
            unsafe { stream.copy_2d_raw(&row) }?;
        }
    }
    Ok(())
}

/// A plane as the device or the DMA engine sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plane {
    /// Its first sample.
    pub(crate) end: PlaneEnd,
    /// Bytes from row to row.
    pub(crate) stride: usize,
    /// Bytes from the start of its memory.
    offset: usize,
    /// Index of its memory in the buffer.
    memory: usize,
}

/// A buffer's memories, opened for work on a stream.
#[derive(Debug)]
pub(crate) struct FrameAccess {
    accesses: SmallVec<[DeviceAccess; 4]>,
    planes: Planes<Plane>,
}

impl FrameAccess {
    /// Opens a frame in our memory, of either kind; every plane is checked to lie inside its
    /// memory.
    ///
    /// # Errors
    /// A memory is not ours, of another device, too small, or mapped by the CPU.
    pub(crate) fn new(
        stream: &Stream,
        buffer: &gst::BufferRef,
        role: Role,
        info: &VideoInfo,
        shapes: &[PlaneShape],
    ) -> Result<FrameAccess, Error> {
        let places = plane_places(buffer, info, shapes)?;
        let mut accesses: SmallVec<[DeviceAccess; 4]> = SmallVec::new();
        for memory in buffer.iter_memories() {
            let memory = HipMemoryRef::from_memory(memory)
                .ok_or_else(|| Error::input("the buffer holds memory that is not HIP memory"))?;
            let access = match role {
                Role::Source => memory.begin_read(stream)?,
                Role::Destination => memory.begin_overwrite(stream)?,
            };
            accesses.push(access);
        }
        let mut planes = Planes::new();
        for (index, (place, shape)) in places.iter().zip(shapes).enumerate() {
            let range = place.range(shape).unwrap_or(0..usize::MAX);
            let len = range.len();
            let (memory, offset) = match buffer.find_memory(range) {
                Some((memories, offset)) if memories.len() == 1 => (memories.start, offset),
                _ => {
                    return Err(Error::input(format!("plane {index} spans several memories")));
                }
            };
            let Ok(stride) = usize::try_from(place.stride) else {
                return Err(Error::input(format!(
                    "plane {index} of device memory has a stride of {} bytes",
                    place.stride
                )));
            };
            if offset + len > accesses[memory].len() {
                return Err(Error::input(format!("plane {index} leaves its memory")));
            }
            let end = match accesses[memory].end() {
                PlaneEnd::Device(base) => PlaneEnd::Device(base.offset(offset)),
                PlaneEnd::Host(base) => PlaneEnd::Host(base.wrapping_add(offset)),
            };
            planes.push(Plane { end, stride, offset, memory });
        }
        Ok(FrameAccess { accesses, planes })
    }

    /// The bytes from the first plane's start to the last one's end, if both ends have one memory
    /// and the same layout, so that one copy of them all, padding included, is a copy of the frame.
    fn span_shared_with(&self, other: &FrameAccess, shapes: &[PlaneShape]) -> Option<usize> {
        let one_memory = self.accesses.len() == 1 && other.accesses.len() == 1;
        let (first, other_first) = (self.planes.first()?, other.planes.first()?);
        let alike = self.planes.iter().zip(&other.planes).all(|(a, b)| {
            a.stride == b.stride
                && a.offset.checked_sub(first.offset) == b.offset.checked_sub(other_first.offset)
                && a.offset >= first.offset
        });
        if !one_memory || !alike {
            return None;
        }
        let end = |(plane, shape): (&Plane, &PlaneShape)| {
            plane.offset + plane.stride * (shape.rows - 1) + shape.row_bytes
        };
        let end = self.planes.iter().zip(shapes).map(end).max()?;
        Some(end - first.offset)
    }

    /// The planes, as many as the format has.
    pub(crate) fn planes(&self) -> &[Plane] {
        &self.planes
    }

    /// All work on the frame is enqueued, and `event` was recorded behind it.
    ///
    /// # Errors
    /// The event is of another stream.
    pub(crate) fn finish(self, event: &hip_core::Event) -> Result<(), Error> {
        for access in self.accesses {
            access.finish(event)?;
        }
        Ok(())
    }
}
