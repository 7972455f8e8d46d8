use std::fmt;

use gst_video::{VideoFormat, VideoInfo, VideoMeta};
use hip_core::{DevicePtr, Event, PlaneEnd, Stream};
use smallvec::SmallVec;

use crate::layout::{PlaneShape, plane_shapes};
use crate::memory::Mode;
use crate::{DeviceAccess, Error, HipMemoryRef, MemoryKind};

/// A buffer has at most this many memories that planes lie in.
const MAX_MEMORIES: usize = 4;

/// Why a buffer is no frame for the device.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum FrameError {
    /// The memory is foreign: it is to be copied through a CPU map.
    #[error("memory {index} of the buffer is not HIP memory")]
    NotHipMemory {
        /// Which of the buffer's memories.
        index: usize,
    },
    /// The memory is pinned CPU memory: it has to be uploaded first.
    #[error("memory {index} of the buffer is pinned CPU memory, not device memory")]
    NotOnDevice {
        /// Which of the buffer's memories.
        index: usize,
    },
    /// The buffer has no memory, or more than planes can need.
    #[error("the buffer has {0} memories; 1 to 4 can hold a frame")]
    MemoryCount(usize),
    /// The memory is shared or read-only.
    #[error("memory {index} of the buffer is not writable")]
    NotWritable {
        /// Which of the buffer's memories.
        index: usize,
    },
    /// The buffer says that it holds another format.
    #[error("the buffer holds {found}, not {expected}")]
    Format {
        /// The buffer's format.
        found: VideoFormat,
        /// The format asked for.
        expected: VideoFormat,
    },
    /// Rows overlap, or go backwards.
    #[error("plane {plane} has a stride of {stride} bytes and rows of {row_bytes}")]
    Stride {
        /// Which plane.
        plane: usize,
        /// Bytes from row to row.
        stride: i32,
        /// Bytes of a row.
        row_bytes: usize,
    },
    /// A plane does not lie inside one memory.
    #[error("plane {plane} needs {len} bytes from {offset}, which lie outside its memory")]
    OutOfRange {
        /// Which plane.
        plane: usize,
        /// Its first byte in the buffer.
        offset: usize,
        /// Bytes up to its last sample.
        len: usize,
    },
    /// The memory is of another device, or is in use, or the device failed.
    #[error(transparent)]
    Access(#[from] Error),
}

/// One plane as a kernel takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneRef {
    /// The first sample on the device; for pinned memory the CPU's address (see
    /// [`PlaneRef::end`]).
    pub ptr: DevicePtr,
    /// Bytes from row to row.
    pub stride: usize,
    /// Samples in a row; a CbCr pair is one.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes of a row that carry samples; at most `stride` unless there is one row.
    pub row_bytes: usize,
    /// Where it is.
    pub kind: MemoryKind,
}

impl PlaneRef {
    /// The first sample as one end of a copy.
    pub fn end(&self) -> PlaneEnd {
        match self.kind {
            MemoryKind::Device => PlaneEnd::Device(self.ptr),
            MemoryKind::Pinned => PlaneEnd::Host(self.ptr.as_ptr()),
        }
    }
}

/// The planes of a video buffer, open for work on one stream.
///
/// Lives only while the work is enqueued; [`DeviceFrame::finish`] stores the event after it, and
/// dropping records one. It holds allocations, neither the buffer nor a map.
#[must_use = "the work must be enqueued while the frame lives"]
pub struct DeviceFrame {
    planes: SmallVec<[PlaneRef; 4]>,
    accesses: SmallVec<[DeviceAccess; 4]>,
}

/// A plane's place in the buffer.
struct Place {
    memory: usize,
    offset: usize,
    stride: usize,
    shape: PlaneShape,
}

impl DeviceFrame {
    /// Opens a frame in device memory for reading. The stream waits on the device for whoever
    /// wrote it; the thread does not.
    ///
    /// Planes are where the buffer's `GstVideoMeta` says, else where `info` says; format and size
    /// are `info`'s.
    ///
    /// # Errors
    /// The buffer is not 1 to 4 memories of HIP device memory of the stream's device, in use, or
    /// too small for its planes.
    pub fn read(
        buffer: &gst::BufferRef,
        info: &VideoInfo,
        stream: &Stream,
    ) -> Result<DeviceFrame, FrameError> {
        DeviceFrame::open(buffer, info, stream, Mode::Read, false)
    }

    /// Opens a frame in device memory for work that writes it, wholly or in part. The stream waits
    /// on the device for whoever wrote or reads it.
    ///
    /// # Errors
    /// As [`DeviceFrame::read`], and where a memory is not writable.
    pub fn write(
        buffer: &mut gst::BufferRef,
        info: &VideoInfo,
        stream: &Stream,
    ) -> Result<DeviceFrame, FrameError> {
        DeviceFrame::open(buffer, info, stream, Mode::Write, false)
    }

    /// As [`DeviceFrame::write`] for work that writes every sample: what the CPU wrote before is not
    /// uploaded first.
    ///
    /// # Errors
    /// As [`DeviceFrame::write`].
    pub fn overwrite(
        buffer: &mut gst::BufferRef,
        info: &VideoInfo,
        stream: &Stream,
    ) -> Result<DeviceFrame, FrameError> {
        DeviceFrame::open(buffer, info, stream, Mode::Overwrite, false)
    }

    /// As [`DeviceFrame::read`], for copies: pinned memory will do too.
    ///
    /// # Errors
    /// As [`DeviceFrame::read`], but for [`FrameError::NotOnDevice`].
    pub fn read_for_copy(
        buffer: &gst::BufferRef,
        info: &VideoInfo,
        stream: &Stream,
    ) -> Result<DeviceFrame, FrameError> {
        DeviceFrame::open(buffer, info, stream, Mode::Read, true)
    }

    /// As [`DeviceFrame::overwrite`], for copies: pinned memory will do too.
    ///
    /// # Errors
    /// As [`DeviceFrame::write`], but for [`FrameError::NotOnDevice`].
    pub fn write_for_copy(
        buffer: &mut gst::BufferRef,
        info: &VideoInfo,
        stream: &Stream,
    ) -> Result<DeviceFrame, FrameError> {
        DeviceFrame::open(buffer, info, stream, Mode::Overwrite, true)
    }

    fn open(
        buffer: &gst::BufferRef,
        info: &VideoInfo,
        stream: &Stream,
        mode: Mode,
        pinned: bool,
    ) -> Result<DeviceFrame, FrameError> {
        let places = places(buffer, info)?;
        // The access of each memory that has a plane; `MAX_MEMORIES` bounds the indices.
        let mut access_of = [None; MAX_MEMORIES];
        let mut accesses = SmallVec::<[DeviceAccess; 4]>::new();
        let mut planes = SmallVec::new();
        for Place {
            memory: index,
            offset,
            stride,
            shape,
        } in places
        {
            let access = match access_of[index] {
                Some(access) => access,
                None => {
                    accesses.push(open_memory(buffer, index, stream, mode, pinned)?);
                    *access_of[index].insert(accesses.len() - 1)
                }
            };
            let access: &DeviceAccess = &accesses[access];
            let kind = access.kind();
            let base = match kind {
                MemoryKind::Device => access.device_ptr(),
                MemoryKind::Pinned => DevicePtr(access.host_ptr() as u64),
            };
            let PlaneShape {
                width,
                height,
                row_bytes,
            } = shape;
            let ptr = base.offset(offset);
            planes.push(PlaneRef {
                ptr,
                stride,
                width,
                height,
                row_bytes,
                kind,
            });
        }
        Ok(DeviceFrame { planes, accesses })
    }

    /// The planes, in the format's order.
    pub fn planes(&self) -> &[PlaneRef] {
        &self.planes
    }

    /// The work is enqueued, and `event` was recorded after it on the stream the frame was opened
    /// with.
    ///
    /// # Errors
    /// The event is of another stream; events of their own are then recorded.
    pub fn finish(self, event: &Event) -> Result<(), Error> {
        self.accesses
            .into_iter()
            .try_for_each(|access| access.finish(event))
    }
}

impl fmt::Debug for DeviceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceFrame")
            .field("planes", &self.planes)
            .finish_non_exhaustive()
    }
}

fn open_memory(
    buffer: &gst::BufferRef,
    index: usize,
    stream: &Stream,
    mode: Mode,
    pinned: bool,
) -> Result<DeviceAccess, FrameError> {
    let memory = buffer.peek_memory(index);
    let ours = HipMemoryRef::from_memory(memory).ok_or(FrameError::NotHipMemory { index })?;
    if ours.kind() == MemoryKind::Pinned && !pinned {
        return Err(FrameError::NotOnDevice { index });
    }
    if mode.writes() {
        let read_only = memory.flags().contains(gst::MemoryFlags::READONLY);
        if read_only || !buffer.is_memory_range_writable(index..index + 1) {
            return Err(FrameError::NotWritable { index });
        }
    }
    Ok(ours.begin(stream, mode)?)
}

/// Where each plane is, checked to lie inside one memory.
fn places(buffer: &gst::BufferRef, info: &VideoInfo) -> Result<SmallVec<[Place; 4]>, FrameError> {
    let shapes = plane_shapes(info)?;
    let meta = buffer.meta::<VideoMeta>();
    let (offsets, strides) = match &meta {
        Some(meta) if meta.format() != info.format() => {
            return Err(FrameError::Format {
                found: meta.format(),
                expected: info.format(),
            });
        }
        Some(meta) => (meta.offset(), meta.stride()),
        None => (info.offset(), info.stride()),
    };
    let sizes: SmallVec<[usize; 4]> = buffer.iter_memories().map(gst::MemoryRef::size).collect();
    if sizes.is_empty() || sizes.len() > MAX_MEMORIES {
        return Err(FrameError::MemoryCount(sizes.len()));
    }
    let planes = offsets.iter().zip(strides).zip(shapes).enumerate();
    planes
        .map(|(plane, ((&start, &stride), shape))| {
            let row_bytes = shape.row_bytes;
            let steps = usize::try_from(stride)
                .ok()
                .filter(|s| *s >= row_bytes || shape.height == 1);
            let steps = steps.ok_or(FrameError::Stride {
                plane,
                stride,
                row_bytes,
            })?;
            let rows = shape.height.saturating_sub(1) as usize;
            let len = rows.saturating_mul(steps).saturating_add(row_bytes);
            let (memory, offset) = find(&sizes, start, len).ok_or(FrameError::OutOfRange {
                plane,
                offset: start,
                len,
            })?;
            Ok(Place {
                memory,
                offset,
                stride: steps,
                shape,
            })
        })
        .collect()
}

/// The memory that `len` bytes from the buffer's byte `start` on lie in, and where in it.
fn find(sizes: &[usize], start: usize, len: usize) -> Option<(usize, usize)> {
    let mut before = 0;
    for (index, size) in sizes.iter().enumerate() {
        let offset = start - before;
        if offset < *size {
            return (len <= size - offset).then_some((index, offset));
        }
        before += size;
    }
    None
}
