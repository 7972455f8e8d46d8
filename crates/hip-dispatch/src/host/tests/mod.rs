//! The backend as a whole; parts of it are tested where they are.

mod handles;
mod launches;
mod order;
mod stress;

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::Host;
use crate::{
    Backend, ContextGuardToken, DevicePtr, ErrorKind, EventFlags, EventHandle, HipError, HostFn,
    MemsetValue, Result, StreamFlags, StreamHandle,
};

/// Keeps a context current on this thread.
pub(super) struct Current {
    host: Arc<Host>,
    ordinal: u32,
    token: ContextGuardToken,
}

pub(super) fn enter(host: &Arc<Host>, ordinal: u32) -> Current {
    let context = host.primary_context_retain(ordinal).unwrap();
    // SAFETY: just retained, and released by `drop`.
    let token = unsafe { host.context_push(context) }.unwrap();
    Current {
        host: host.clone(),
        ordinal,
        token,
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.host.context_pop(self.token).unwrap();
        // SAFETY: retained by `enter`; Host refuses whatever outlives its context.
        unsafe { self.host.primary_context_release(self.ordinal) }.unwrap();
    }
}

pub(super) fn new_stream(host: &Host) -> StreamHandle {
    host.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap()
}

pub(super) fn new_event(host: &Host) -> EventHandle {
    host.event_create(EventFlags::empty()).unwrap()
}

/// Enqueues a closure as a host function.
pub(super) fn call(host: &Host, stream: StreamHandle, job: impl FnOnce() + Send + 'static) {
    unsafe extern "C" fn run<F: FnOnce()>(data: *mut c_void) {
        // SAFETY: `call` made `data` from such a box, for this one call.
        let job = unsafe { Box::from_raw(data.cast::<F>()) };
        job();
    }
    fn runner<F: FnOnce()>(_: &F) -> HostFn {
        run::<F>
    }
    let function = runner(&job);
    let data = Box::into_raw(Box::new(job)).cast();
    // SAFETY: function and data belong together, and the closure is `Send`.
    unsafe { host.launch_host_func(stream, function, data) }.unwrap();
}

/// Holds a stream until the gate is dropped; so a test that fails leaves nobody hanging.
pub(super) fn hold(host: &Host, stream: StreamHandle) -> Sender<()> {
    let (gate, held): (Sender<()>, Receiver<()>) = channel();
    call(host, stream, move || {
        // An error says that the gate was dropped, which is what opens it.
        let _ = held.recv();
    });
    gate
}

pub(super) fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.map_err(|HipError { kind, .. }| kind).unwrap_err()
}

/// Bytes of device memory, read at once.
pub(super) fn read(host: &Host, from: DevicePtr, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    // SAFETY: the callers read no more than they allocated, when nobody writes it.
    unsafe { host.memcpy_dtoh(data.as_mut_ptr(), from, bytes, None) }.unwrap();
    data
}

pub(super) fn fill(host: &Host, at: DevicePtr, value: u8, bytes: usize, on: Option<StreamHandle>) {
    // SAFETY: the callers write no more than they allocated, in an order that they test.
    unsafe { host.memset(at, MemsetValue::U8(value), bytes, on) }.unwrap();
}
