use hip_core::{Device, DevicePtr, Event, Stream};

use crate::Result;

/// Memory that a kernel takes by address and that somebody else keeps the order of.
///
/// A launch calls [`KernelMemory::access`] of each such argument, one inside the other, and enqueues
/// the kernel inside the innermost. So an implementation opens its access on the stack, maps only
/// while the work is enqueued, and closes on every way out; nothing is on the heap.
///
/// ```text
/// fn access(&self, stream, enqueue) {
///     let access = self.begin(stream)?;              // the stream waits, on the device, for earlier work
///     let event = enqueue(access.device_ptr())?;     // an error: dropping `access` closes it
///     access.finish(&event)?;                        // later work waits for the event
///     Ok(event)
/// }
/// ```
///
/// The memory must stay allocated until the event is done, whatever becomes of the arguments: the
/// allocation's owner sees to that when it is dropped with events still pending.
pub trait KernelMemory: Send + Sync {
    /// The device whose kernels can take it.
    fn device(&self) -> &Device;

    /// Has `stream` wait for earlier work on the memory, calls `enqueue` exactly once with the
    /// address, and lets later work wait for the event that `enqueue` gives, which it gives back.
    /// Nothing may be held once it returns.
    ///
    /// # Errors
    /// The memory cannot be used now ([`crate::Error::memory`]), or what `enqueue` fails with, which
    /// must be passed on.
    fn access(
        &self,
        stream: &Stream,
        enqueue: &mut dyn FnMut(DevicePtr) -> Result<Event>,
    ) -> Result<Event>;
}
