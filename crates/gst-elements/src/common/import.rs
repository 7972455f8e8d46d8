//! Frames in memory that the device cannot read: staged through pinned memory.

use std::sync::{Arc, Mutex};

use gst_hip::MemoryKind;
use gst_video::VideoInfo;
use hip_core::{Device, Stream};

use super::caps::{MemoryFeature, memory_of, to_system};
use super::crop::{frame_size, resized};
use super::device::DeviceSlot;
use super::element::outlives_memory;
use super::error::Error;
use super::lock;
use super::planes::{PlanePlace, PlaneShape, Planes, plane_places, plane_shapes};
use super::pool::{self, OwnPool, PoolLayout};
use super::transfer::{copy_frame, is_ours};

/// Copies frames out of ordinary memory into pinned memory, from where one DMA takes them.
#[derive(Debug)]
pub(crate) struct Staging {
    info: VideoInfo,
    shapes: Planes<PlaneShape>,
    pool: OwnPool,
}

impl Staging {
    /// Staging for frames of `caps`; memory is taken at the first frame.
    ///
    /// # Errors
    /// The caps describe no frame.
    pub(crate) fn new(device: &Device, caps: &gst::Caps, info: &VideoInfo) -> Result<Self, Error> {
        let system = to_system(caps);
        let pool = pool::new_pool(
            device,
            MemoryKind::Pinned,
            &system,
            info,
            PoolLayout::Device,
        )?;
        Ok(Staging {
            info: info.clone(),
            shapes: plane_shapes(info),
            pool: OwnPool(pool),
        })
    }

    /// A pinned copy of a frame. The CPU waits only if all of the pool's buffers are still being
    /// read by the device, and then for the oldest.
    ///
    /// # Errors
    /// The frame does not fit its caps or cannot be mapped, or there is no memory.
    pub(crate) fn stage(&self, source: &gst::BufferRef) -> Result<gst::Buffer, Error> {
        let from = plane_places(source, &self.info, &self.shapes)?;
        let mut staged = pool::acquire(&self.pool.0)?;
        let to = plane_places(&staged, &self.info, &self.shapes)?;
        {
            let unmapped = || Error::gst("pinned memory cannot be mapped");
            let target = staged.make_mut();
            let mut map = target.map_writable().map_err(|_| unmapped())?;
            for (((from, to), shape), index) in from.iter().zip(&to).zip(&self.shapes).zip(0..) {
                let target = to.range(shape).and_then(|range| map.get_mut(range));
                let target = target.ok_or_else(unmapped)?;
                with_plane(source, from, shape, |bytes| {
                    copy_rows(bytes, from, target, to, shape)
                })
                .ok_or_else(|| Error::input(format!("plane {index} cannot be read")))?;
            }
        }
        Ok(staged)
    }
}

/// Gives `read` the bytes that a plane's rows span. Memories other than the plane's are left
/// alone, unless the plane spans several.
fn with_plane(
    buffer: &gst::BufferRef,
    place: &PlanePlace,
    shape: &PlaneShape,
    read: impl FnOnce(&[u8]),
) -> Option<()> {
    let range = place.range(shape)?;
    match buffer.find_memory(range.clone()) {
        Some((memories, skip)) if memories.len() == 1 => {
            let map = buffer.peek_memory(memories.start).map_readable().ok()?;
            read(map.get(skip..skip + range.len())?);
        }
        _ => {
            let map = buffer.map_readable().ok()?;
            read(map.get(range)?);
        }
    }
    Some(())
}

/// Copies a plane's rows; each slice is what the rows span on its side.
fn copy_rows(
    source: &[u8],
    from: &PlanePlace,
    target: &mut [u8],
    to: &PlanePlace,
    shape: &PlaneShape,
) {
    if from.stride == to.stride && from.stride > 0 {
        // Both slices span the same rows at the same stride, so they are equally long.
        target.copy_from_slice(source);
        return;
    }
    let start = |row: usize, place: &PlanePlace| {
        let row = if place.stride < 0 {
            shape.rows - 1 - row
        } else {
            row
        };
        row * place.stride.unsigned_abs()
    };
    for row in 0..shape.rows {
        let (from, to) = (start(row, from), start(row, to));
        target[to..to + shape.row_bytes].copy_from_slice(&source[from..from + shape.row_bytes]);
    }
}

/// Brings frames that come under `memory:HIPMemory` caps in memory of somebody else's, or of
/// another device, onto the element's device through a CPU map.
#[derive(Debug)]
pub(crate) struct Importer {
    staging: Staging,
    pool: OwnPool,
}

impl Importer {
    /// An importer for frames of `caps`.
    ///
    /// # Errors
    /// The caps describe no frame.
    pub(crate) fn new(device: &Device, caps: &gst::Caps, info: &VideoInfo) -> Result<Self, Error> {
        let staging = Staging::new(device, caps, info)?;
        let pool = pool::new_pool(device, MemoryKind::Device, caps, info, PoolLayout::Device)?;
        Ok(Importer {
            staging,
            pool: OwnPool(pool),
        })
    }

    /// Width and height of the frames.
    fn frame_size(&self) -> (u32, u32) {
        (self.staging.info.width(), self.staging.info.height())
    }

    /// The same frame, with its times, flags and metas, in device memory of ours.
    ///
    /// # Errors
    /// The frame cannot be mapped or does not fit its caps, or a device call fails.
    pub(crate) fn import(
        &self,
        stream: &Stream,
        source: &gst::BufferRef,
    ) -> Result<gst::Buffer, Error> {
        let staged = self.staging.stage(source)?;
        let mut imported = pool::acquire(&self.pool.0)?;
        let target = imported.make_mut();
        copy_frame(stream, &staged, target, &self.staging.info)?;
        let fields = gst::BufferCopyFlags::FLAGS | gst::BufferCopyFlags::TIMESTAMPS;
        source
            .copy_into(target, fields, ..)
            .map_err(|error| Error::gst(format!("a frame's times cannot be copied: {error}")))?;
        copy_metas(source, target);
        Ok(imported)
    }
}

/// Makes sure that an element only sees memory of its own device.
#[derive(Debug, Default)]
pub(crate) struct ImportSlot(Mutex<ImportState>);

#[derive(Debug, Default)]
struct ImportState {
    /// Caps of `memory:HIPMemory`, if that is what comes in.
    caps: Option<(gst::Caps, VideoInfo)>,
    importer: Option<Arc<Importer>>,
    warned: bool,
}

impl ImportSlot {
    /// Takes note of new input caps.
    pub(crate) fn set_caps(&self, caps: &gst::Caps, info: &VideoInfo) {
        let hip = memory_of(caps) == MemoryFeature::Hip;
        let mut state = lock(&self.0);
        state.caps = hip.then(|| (caps.clone(), info.clone()));
        let old = state.importer.take();
        drop(state);
        drop(old);
    }

    /// Forgets everything.
    pub(crate) fn clear(&self) {
        let old = std::mem::take(&mut *lock(&self.0));
        drop(old);
    }

    /// Gives the buffer back as it is, or, where device memory was promised and it is not of
    /// the element's device, a copy that is. The first such buffer is reported on the bus.
    ///
    /// # Errors
    /// The frame cannot be copied.
    pub(crate) fn localise(
        &self,
        element: &gst::Element,
        slot: &DeviceSlot,
        buffer: gst::Buffer,
    ) -> Result<gst::Buffer, Error> {
        let Some((caps, info)) = lock(&self.0).caps.clone() else {
            return Ok(buffer);
        };
        let (device, stream) = slot.in_use()?;
        if is_ours(&buffer, &device, MemoryKind::Device) {
            return Ok(buffer);
        }
        let size = frame_size(&buffer, &info);
        let known = lock(&self.0).importer.clone();
        let importer = match known.filter(|known| known.frame_size() == size) {
            Some(importer) => importer,
            None => {
                // What is cropped away is imported too: the crop counts from the frame's corner.
                let mut caps = caps;
                caps.make_mut().set("width", size.0 as i32);
                caps.make_mut().set("height", size.1 as i32);
                let info = resized(&info, size)?;
                Arc::new(Importer::new(&device, &caps, &info)?)
            }
        };
        let imported = importer.import(&stream, &buffer)?;
        let mut state = lock(&self.0);
        state.importer = Some(importer);
        let first = !std::mem::replace(&mut state.warned, true);
        drop(state);
        if first {
            gst::element_warning!(
                element,
                gst::ResourceError::Settings,
                (
                    "Frames come in memory that {} cannot use; each is copied by the CPU",
                    device.info()
                )
            );
        }
        Ok(imported)
    }
}

/// Copies the metas that do not describe the memory.
fn copy_metas(source: &gst::BufferRef, target: &mut gst::BufferRef) {
    source.foreach_meta(|meta| {
        // A parent buffer would be kept from its pool for as long as the copy is in use.
        let holds_memory = meta.has_tag::<gst::meta::tags::MemoryReference>();
        if outlives_memory(&meta) && !holds_memory {
            let copy = gst::meta::MetaTransformCopy::new(..);
            // A meta that cannot be copied says so itself and is left out.
            let _ = meta.transform(target, &copy);
        }
        std::ops::ControlFlow::Continue(())
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_move_between_strides_of_either_sign() {
        let shape = PlaneShape {
            row_bytes: 2,
            rows: 3,
        };
        let place = |stride| PlanePlace { offset: 0, stride };
        let source = [1, 2, 9, 3, 4, 9, 5, 6];
        let mut target = [0; 10];
        copy_rows(&source, &place(3), &mut target, &place(4), &shape);
        assert_eq!(target, [1, 2, 0, 0, 3, 4, 0, 0, 5, 6]);
        copy_rows(&source, &place(-3), &mut target, &place(4), &shape);
        assert_eq!(target, [5, 6, 0, 0, 3, 4, 0, 0, 1, 2]);
        let mut same = [0; 8];
        copy_rows(&source, &place(3), &mut same, &place(3), &shape);
        assert_eq!(same, source);
    }
}
