//! The CPU as a device: a full peer of the GPU backends that needs no GPU and no driver.
//!
//! * Memory is ordinary memory, so a device address may be read by the CPU. In debug builds it is
//!   guarded: a write outside a block is an error of [`crate::ErrorKind::IllegalAddress`] when the
//!   block is freed.
//! * A stream is a thread with a queue: asynchronous, in order. The null stream is one per
//!   device; a call on it first waits for the streams that are not
//!   [`crate::StreamFlags::NON_BLOCKING`] and returns when its work is done.
//! * Kernels are functions of this process ([`HostKernel`]) or of a shared object that `hip-rtc`
//!   built ([`crate::ModuleImage::HostObject`]); the blocks of a launch are spread over the CPU's
//!   threads, and all threads of a block run on one of them.
//! * Handles are numbers that are never used twice: a destroyed or foreign one is an error.
//! * What CUDA's driver refuses is refused here, with its codes: a call without a current
//!   context, a context that nobody retains, a stream of another context.
//!
//! Freeing memory waits for all work of the backend, as `hipFree` documents and `cuMemFree` does:
//! a program that is right on a GPU must be right here.
//!
//! In the child of a process that was forked every call fails with code 3: the threads are not there.
//!
//! A fault in a stream's work makes that stream fail for good with code 719; it passes on to
//! streams that wait for its events, and nobody who waits is left hanging.

mod backend;
mod context;
mod copy;
mod device;
mod event;
mod fiber;
mod image_file;
mod launch;
mod memory;
mod module;
mod object;
mod pool;
mod registry;
mod stream;
mod system_memory;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use device::Device;
use event::Event;
pub use launch::{HostKernel, HostKernelFn, HostLaunch};
use memory::{FreeError, Kind, Memory};
use module::{Function, Module};
pub use object::{ObjectKernel, ObjectParam, object_kernels, object_nameless};
use registry::Registry;
use stream::{Refused, Stream, Work};

use crate::{HipError, ProcessStamp, Result, StreamHandle, Vendor};

/// Codes of `CUresult` and `hipError_t`, which Host shares.
mod code {
    pub(super) const INVALID_VALUE: i32 = 1;
    pub(super) const OUT_OF_MEMORY: i32 = 2;
    pub(super) const INVALID_DEVICE: i32 = 101;
    pub(super) const INVALID_IMAGE: i32 = 200;
    pub(super) const INVALID_CONTEXT: i32 = 201;
    pub(super) const INVALID_HANDLE: i32 = 400;
    pub(super) const NOT_FOUND: i32 = 500;
    pub(super) const NOT_READY: i32 = 600;
    pub(super) const ILLEGAL_ADDRESS: i32 = 700;
    pub(super) const CONTEXT_IS_DESTROYED: i32 = 709;
    pub(super) const LAUNCH_FAILED: i32 = 719;
}

/// Locks, and takes no notice of a panic elsewhere: what these mutexes guard is consistent
/// between any two statements that could panic.
fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn fail(call: &'static str, code: i32, text: impl Into<Cow<'static, str>>) -> HipError {
    HipError::new(Vendor::Host, call, code, text)
}

fn stream_failed(call: &'static str) -> HipError {
    fail(
        call,
        code::LAUNCH_FAILED,
        "earlier work on the stream failed",
    )
}

/// What exists at a moment, for tests of leaks: all 0 when everything was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LiveObjects {
    /// Blocks of device memory.
    pub allocations: usize,
    /// Their bytes, as asked for.
    pub bytes: u64,
    /// Blocks of pinned memory.
    pub pinned: usize,
    /// Their bytes, as asked for.
    pub pinned_bytes: u64,
    /// Streams that were not destroyed; the default streams are not counted.
    pub streams: usize,
    /// Events that were not destroyed.
    pub events: usize,
    /// Modules that were not unloaded.
    pub modules: usize,
    /// Primary contexts retained and not released, each as often as it was retained.
    pub contexts: usize,
}

/// The CPU backend.
pub struct Host {
    /// Tells this backend's entries from another's in a thread's stack of contexts.
    id: usize,
    devices: Box<[Arc<Device>]>,
    memory: Memory,
    streams: Registry<Stream>,
    events: Registry<Event>,
    modules: Registry<Module>,
    functions: Registry<Function>,
    process: ProcessStamp,
}

impl Host {
    /// A backend that shows the CPU as `device_count` devices (at least one), which have memory,
    /// streams and contexts of their own. Starts no thread yet.
    pub fn new(device_count: u32) -> Arc<Host> {
        Arc::new(Host {
            id: registry::next_id(),
            devices: (0..device_count.max(1))
                .map(|ordinal| Arc::new(Device::new(ordinal)))
                .collect(),
            memory: Memory::default(),
            streams: Registry::new(),
            events: Registry::new(),
            modules: Registry::new(),
            functions: Registry::new(),
            process: ProcessStamp::now(),
        })
    }

    /// What exists now; nothing in the child of a process that was forked.
    pub fn live(&self) -> LiveObjects {
        if !self.process.is_current() {
            return LiveObjects::default();
        }
        let device = self.memory.usage(Kind::Device);
        let pinned = self.memory.usage(Kind::Pinned);
        LiveObjects {
            allocations: device.blocks,
            bytes: device.bytes,
            pinned: pinned.blocks,
            pinned_bytes: pinned.bytes,
            streams: self.streams.len(),
            events: self.events.len(),
            modules: self.modules.len(),
            contexts: self
                .devices
                .iter()
                .map(|device| device.retained() as usize)
                .sum(),
        }
    }

    /// Fails in the child of a process that was forked: locks may be held there by threads that
    /// are gone.
    #[inline]
    fn alive(&self, call: &'static str) -> Result<()> {
        self.process.check(Vendor::Host, call)
    }

    fn device(&self, call: &'static str, ordinal: u32) -> Result<&Arc<Device>> {
        self.alive(call)?;
        self.devices.get(ordinal as usize).ok_or_else(|| {
            let text = format!(
                "there is no device {ordinal}: there are {}",
                self.devices.len()
            );
            fail(call, code::INVALID_DEVICE, text)
        })
    }

    /// The device whose context is current on this thread.
    fn current(&self, call: &'static str) -> Result<&Arc<Device>> {
        let ordinal = context::current(self.id).ok_or_else(|| {
            fail(
                call,
                code::INVALID_CONTEXT,
                "no context is current on this thread",
            )
        })?;
        let device = self.device(call, ordinal)?;
        if device.retained() == 0 {
            let text = "the current context was released by everybody";
            return Err(fail(call, code::CONTEXT_IS_DESTROYED, text));
        }
        Ok(device)
    }

    /// A stream by its handle, which is not null.
    fn stream(&self, call: &'static str, handle: StreamHandle) -> Result<Arc<Stream>> {
        let stream = self.streams.get(handle.as_raw());
        stream.ok_or_else(|| fail(call, code::INVALID_HANDLE, "the handle is no live stream"))
    }

    /// Where work for a stream of the current context goes. For the null stream this waits for
    /// the streams that it waits for.
    fn target(&self, call: &'static str, handle: StreamHandle) -> Result<Target> {
        let device = self.current(call)?;
        if handle.is_null() {
            if !device.synchronize_blocking_streams() {
                return Err(stream_failed(call));
            }
            let stream = device
                .default_stream()
                .map_err(|error| no_thread(call, &error))?;
            return Ok(Target {
                call,
                stream,
                synchronous: true,
            });
        }
        let stream = self.stream(call, handle)?;
        if stream.device != device.ordinal {
            let text = "the stream belongs to another context than the current one";
            return Err(fail(call, code::INVALID_HANDLE, text));
        }
        Ok(Target {
            call,
            stream,
            synchronous: false,
        })
    }

    /// Does work at once (`None`) or enqueues it.
    ///
    /// # Safety
    /// What `Backend` asks of copies and fills.
    unsafe fn submit(
        &self,
        call: &'static str,
        stream: Option<StreamHandle>,
        work: Result<Option<Work>, &'static str>,
    ) -> Result<()> {
        self.current(call)?;
        let work = work.map_err(|text| fail(call, code::INVALID_VALUE, text))?;
        match (stream, work) {
            (Some(stream), Some(work)) => {
                let target = self.target(call, stream)?;
                target.finish(target.enqueue(work)?)
            }
            // Nothing to do, but the handle is checked all the same.
            (Some(stream), None) => self.target(call, stream).map(drop),
            (None, Some(work)) => {
                // SAFETY: the caller's promise.
                unsafe { work.run() };
                Ok(())
            }
            (None, None) => Ok(()),
        }
    }

    /// Frees a block; with `wait` once no stream of any device can still use it.
    ///
    /// # Safety
    /// Nothing uses the block, but with `wait` work already enqueued may.
    unsafe fn free(
        &self,
        call: &'static str,
        kind: Kind,
        address: usize,
        wait: bool,
    ) -> Result<()> {
        self.current(call)?;
        let unknown = || fail(call, code::INVALID_VALUE, "no live allocation starts there");
        if !self.memory.contains(kind, address) {
            return Err(unknown());
        }
        if wait {
            for device in &self.devices {
                // A stream that failed has no work left either.
                device.synchronize();
            }
        }
        // SAFETY: the caller's promise, and the enqueued work is done now.
        match unsafe { self.memory.free(kind, address) } {
            Ok(()) => Ok(()),
            Err(FreeError::Unknown) => Err(unknown()),
            Err(FreeError::Damaged(text)) => {
                tracing::error!(call, "{text}");
                Err(fail(call, code::ILLEGAL_ADDRESS, text))
            }
        }
    }
}

/// A stream that work goes to.
struct Target {
    call: &'static str,
    stream: Arc<Stream>,
    /// The call returns when the work is done.
    synchronous: bool,
}

impl Target {
    /// Enqueues; gives the mark that [`Target::finish`] waits for.
    fn enqueue(&self, work: Work) -> Result<u64> {
        self.stream.enqueue(work).map_err(|refused| match refused {
            Refused::Failed => stream_failed(self.call),
            Refused::Closed => fail(self.call, code::INVALID_HANDLE, "the stream was destroyed"),
        })
    }

    fn finish(&self, mark: u64) -> Result<()> {
        if !self.synchronous {
            return Ok(());
        }
        self.stream.wait(mark);
        if self.stream.failed() {
            Err(stream_failed(self.call))
        } else {
            Ok(())
        }
    }
}

/// A stream's thread could not be started: threads or memory are used up.
fn no_thread(call: &'static str, error: &std::io::Error) -> HipError {
    fail(
        call,
        code::OUT_OF_MEMORY,
        format!("a stream's thread could not be started: {error}"),
    )
}

impl Drop for Host {
    fn drop(&mut self) {
        if !self.process.is_current() {
            return;
        }
        // Workers finish what is queued and end by themselves: waiting here could hang a process
        // that exits. What they work on is therefore not freed either.
        self.devices.iter().for_each(|device| device.close());
        let live = self.live();
        if live != LiveObjects::default() {
            tracing::warn!(?live, "the backend was dropped before what it gave out");
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("devices", &self.devices.len())
            .field("live", &self.live())
            .finish()
    }
}
