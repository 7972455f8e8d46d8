use std::ops::{Deref, DerefMut};

use hip_rtc::KernelArgs;

use super::KernelMemoryError;
use super::memory::argument;
use crate::memory::Mode;
use crate::{MemoryKind, PlaneRef};

/// [`KernelArgs`] that take GStreamer's memory.
///
/// Memory is neither mapped nor referred to: a buffer whose memory is among the arguments goes
/// back to its pool and stays writable for others, and a launch after the memory is freed is an
/// error. Its order is kept by each launch, which the memory outlives, whoever drops it meanwhile.
///
/// The arguments can be used for any number of launches. Scalars, structs and hip-core's buffers
/// are added as to [`KernelArgs`].
#[derive(Debug, Clone, Default)]
pub struct HipKernelArgs(KernelArgs);

impl HipKernelArgs {
    /// No arguments.
    pub fn new() -> HipKernelArgs {
        HipKernelArgs::default()
    }

    /// Adds the address of device memory, after `offset` bytes, for a kernel that reads and writes
    /// it.
    ///
    /// # Errors
    /// The memory is not HIP memory, is pinned CPU memory, or is no longer than `offset`.
    pub fn add_memory(
        &mut self,
        memory: &gst::MemoryRef,
        offset: usize,
    ) -> Result<(), KernelMemoryError> {
        self.add_for(memory, offset, Mode::Write)
    }

    /// As [`HipKernelArgs::add_memory`], for a kernel that only reads (a `const` parameter):
    /// readers on other streams run beside it, so a launch whose kernel writes it all the same is
    /// undefined behaviour.
    ///
    /// # Errors
    /// As [`HipKernelArgs::add_memory`].
    pub fn add_memory_read(
        &mut self,
        memory: &gst::MemoryRef,
        offset: usize,
    ) -> Result<(), KernelMemoryError> {
        self.add_for(memory, offset, Mode::Read)
    }

    /// As [`HipKernelArgs::add_memory`], for a kernel that writes every byte and reads none: what
    /// the CPU wrote last is not uploaded first.
    ///
    /// # Errors
    /// As [`HipKernelArgs::add_memory`].
    pub fn add_memory_overwrite(
        &mut self,
        memory: &gst::MemoryRef,
    ) -> Result<(), KernelMemoryError> {
        self.add_for(memory, 0, Mode::Overwrite)
    }

    /// Adds a plane of a [`crate::DeviceFrame`] as four arguments: the address of its first
    /// sample, bytes from row to row, samples in a row and rows (`T *pixels, unsigned stride,
    /// unsigned width, unsigned height`).
    ///
    /// The frame keeps the order: open it on the launch's stream before, and
    /// [`crate::DeviceFrame::finish`] it with an event after the launch.
    ///
    /// # Errors
    /// The plane is in pinned CPU memory, or its stride does not fit 32 bits.
    pub fn add_plane(&mut self, plane: &PlaneRef) -> Result<(), KernelMemoryError> {
        if plane.kind != MemoryKind::Device {
            return Err(KernelMemoryError::NotOnDevice);
        }
        let stride =
            u32::try_from(plane.stride).map_err(|_| KernelMemoryError::Stride(plane.stride))?;
        self.0.add(plane.ptr);
        self.0.add(stride);
        self.0.add(plane.width);
        self.0.add(plane.height);
        Ok(())
    }

    fn add_for(
        &mut self,
        memory: &gst::MemoryRef,
        offset: usize,
        mode: Mode,
    ) -> Result<(), KernelMemoryError> {
        self.0.add_memory(argument(memory, offset, mode)?);
        Ok(())
    }
}

impl Deref for HipKernelArgs {
    type Target = KernelArgs;

    fn deref(&self) -> &KernelArgs {
        &self.0
    }
}

impl DerefMut for HipKernelArgs {
    fn deref_mut(&mut self) -> &mut KernelArgs {
        &mut self.0
    }
}

impl From<KernelArgs> for HipKernelArgs {
    fn from(args: KernelArgs) -> HipKernelArgs {
        HipKernelArgs(args)
    }
}
