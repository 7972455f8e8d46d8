//! The completion worker, the pools and the events' reuse in every order in which their threads can
//! run: `cargo xtask sanitize loom`.
//!
//! The device is a model whose streams do their work when a test says so. Memory is Host's, whose
//! locks are never held across a point where loom changes threads.
#![cfg(hip_loom)]

#[macro_use]
#[path = "../../hip-dispatch/tests/support/delegate.rs"]
#[allow(unused_macros)]
mod delegate;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

use hip_core::{BufferPool, Device, DeviceBuffer, FenceData, Stream, StreamId};
use hip_dispatch::{
    Backend, ContextGuardToken, ContextHandle, DeviceInfo, DevicePtr, EventFlags, EventHandle,
    FunctionHandle, Host, HostAllocFlags, HostFn, ImageKind, LaunchConfig, LoadedLibrary, Memcpy2D,
    MemoryInfo, MemsetValue, ModuleHandle, ModuleImage, Result, StreamFlags, StreamHandle, Vendor,
    Versions,
};
use loom::sync::{Condvar, Mutex};
use loom::thread;

/// Records are numbered, whatever event they are made with.
type Record = usize;

#[derive(Default)]
struct State {
    handles: usize,
    records: Record,
    /// The last record of each event that is not destroyed.
    events: BTreeMap<usize, Record>,
    /// Records whose work is not done, with their streams.
    pending: BTreeMap<Record, usize>,
    /// Records that each stream's next work comes after.
    reached: BTreeMap<usize, BTreeSet<Record>>,
    /// Records that each record comes after.
    after: BTreeMap<Record, BTreeSet<Record>>,
    /// The records of those who used an address.
    users: BTreeMap<u64, Vec<Record>>,
    /// Addresses, or events, that somebody has.
    in_use: BTreeSet<u64>,
    released: usize,
}

/// A device whose streams make progress in [`Model::finish`] only.
struct Model {
    host: Arc<Host>,
    state: Mutex<State>,
    changed: Condvar,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Model")
    }
}

impl Model {
    fn open() -> (Arc<Model>, Device) {
        let host = Host::new(1);
        let context = host.primary_context_retain(0).unwrap();
        let model = Arc::new(Model {
            host,
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
        });
        // SAFETY: the context stays retained.
        let device =
            unsafe { Device::from_foreign_context(model.clone(), 0, context, Box::new(())) };
        (model, device.unwrap())
    }

    fn state<T>(&self, body: impl FnOnce(&mut State) -> T) -> T {
        let result = body(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        result
    }

    /// All streams do all their work.
    fn finish(&self) {
        self.state(|state| state.pending.clear());
    }

    fn wait_until(&self, condition: impl Fn(&State) -> bool) {
        let mut state = self.state.lock().unwrap();
        while !condition(&state) {
            state = self.changed.wait(state).unwrap();
        }
    }

    /// Work on a buffer that `stream` may start now: nobody else has the buffer, and the stream is
    /// behind all who had it. Gives the end of the work.
    fn use_buffer(&self, buffer: &DeviceBuffer, stream: &Stream) -> hip_core::Event {
        let (address, on) = (buffer.as_raw().0, stream.as_raw().as_raw().addr());
        self.state(|state| {
            assert!(state.in_use.insert(address), "two have the buffer");
            let reached = state.reached.entry(on).or_default();
            for record in state.users.entry(address).or_default() {
                let behind = reached.contains(record) || !state.pending.contains_key(record);
                assert!(behind, "not behind record {record}");
            }
        });
        let event = stream.record().unwrap();
        self.state(|state| {
            let record = state.events[&event.as_raw().as_raw().addr()];
            state.users.entry(address).or_default().push(record);
        });
        event
    }

    /// The buffer goes back.
    fn give_back(&self, buffer: &DeviceBuffer) {
        let address = buffer.as_raw().0;
        self.state(|state| assert!(state.in_use.remove(&address)));
    }

    fn before(&self, _call: &'static str) -> Result<()> {
        Ok(())
    }

    fn inner(&self) -> &dyn Backend {
        &*self.host
    }
}

fn id(raw: *mut c_void) -> usize {
    raw.addr()
}

impl Backend for Model {
    fn vendor(&self) -> Vendor {
        Vendor::Host
    }

    fn device_count(&self) -> Result<u32> {
        Ok(1)
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        self.host.device_info(ordinal)
    }

    delegate_identity!();
    delegate_memory_and_modules!();

    fn context_synchronize(&self) -> Result<()> {
        self.wait_until(|state| state.pending.is_empty());
        Ok(())
    }

    fn stream_create(&self, _: StreamFlags, _: i32) -> Result<StreamHandle> {
        let handle = self.state(|state| {
            state.handles += 1;
            state.handles
        });
        Ok(StreamHandle::from_raw(std::ptr::without_provenance_mut(
            handle,
        )))
    }

    unsafe fn stream_destroy(&self, _: StreamHandle) -> Result<()> {
        Ok(())
    }

    unsafe fn stream_synchronize(&self, stream: StreamHandle) -> Result<()> {
        let stream = id(stream.as_raw());
        self.wait_until(|state| state.pending.values().all(|on| *on != stream));
        Ok(())
    }

    unsafe fn stream_query(&self, stream: StreamHandle) -> Result<bool> {
        let stream = id(stream.as_raw());
        Ok(self.state(|state| state.pending.values().all(|on| *on != stream)))
    }

    unsafe fn stream_wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        self.state(|state| {
            let record = state.events[&id(event.as_raw())];
            let after = state.after[&record].clone();
            let reached = state.reached.entry(id(stream.as_raw())).or_default();
            reached.extend(after);
            reached.insert(record);
        });
        Ok(())
    }

    unsafe fn launch_host_func(&self, _: StreamHandle, _: HostFn, _: *mut c_void) -> Result<()> {
        unreachable!("no model uses it")
    }

    fn event_create(&self, _: EventFlags) -> Result<EventHandle> {
        let handle = self.state(|state| {
            state.handles += 1;
            state.events.insert(state.handles, 0);
            state.handles
        });
        Ok(EventHandle::from_raw(std::ptr::without_provenance_mut(
            handle,
        )))
    }

    unsafe fn event_destroy(&self, event: EventHandle) -> Result<()> {
        let known = self.state(|state| state.events.remove(&id(event.as_raw())));
        assert!(known.is_some(), "destroyed twice");
        Ok(())
    }

    unsafe fn event_record(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        self.state(|state| {
            state.records += 1;
            let (record, stream) = (state.records, id(stream.as_raw()));
            state.events.insert(id(event.as_raw()), record);
            state.pending.insert(record, stream);
            let reached = state.reached.entry(stream).or_default();
            state.after.insert(record, reached.clone());
            reached.insert(record);
        });
        Ok(())
    }

    unsafe fn event_query(&self, event: EventHandle) -> Result<bool> {
        Ok(self.state(|state| {
            let record = state.events[&id(event.as_raw())];
            !state.pending.contains_key(&record)
        }))
    }

    unsafe fn event_synchronize(&self, event: EventHandle) -> Result<()> {
        let event = id(event.as_raw());
        let record = self.state(|state| state.events[&event]);
        self.wait_until(|state| !state.pending.contains_key(&record));
        Ok(())
    }

    unsafe fn event_elapsed_time(&self, _: EventHandle, _: EventHandle) -> Result<f32> {
        unreachable!("no model uses it")
    }
}

/// What a fence holds: is released once, when the work is done.
struct Resource(Arc<Model>, Record);

impl Drop for Resource {
    fn drop(&mut self) {
        self.0.state(|state| {
            assert!(!state.pending.contains_key(&self.1), "released too early");
            state.released += 1;
        });
    }
}

/// Hands one resource to the completion worker behind work on a new stream.
fn fence(model: &Arc<Model>, device: &Device) {
    let stream = Stream::new(device).unwrap();
    let event = stream.record().unwrap();
    let record = model.state(|state| state.events[&id(event.as_raw().as_raw())]);
    let mut fence = FenceData::new();
    fence.push(Resource(model.clone(), record));
    fence.release_after([event]).unwrap();
}

fn check(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

#[test]
fn a_fence_is_released_once_after_its_work() {
    check(|| {
        let (model, device) = Model::open();
        let streams = {
            let model = model.clone();
            thread::spawn(move || model.finish())
        };
        fence(&model, &device);
        drop(device);
        streams.join().unwrap();
        model.finish();
        // Here loom finds a worker that sleeps for ever, and at the end one that does not end.
        model.wait_until(|state| state.released == 1);
    });
}

#[test]
fn two_threads_may_start_the_worker() {
    check(|| {
        let (model, device) = Model::open();
        let other = {
            let (model, device) = (model.clone(), device.clone());
            thread::spawn(move || {
                fence(&model, &device);
                model.finish();
            })
        };
        fence(&model, &device);
        drop(device);
        other.join().unwrap();
        model.finish();
        model.wait_until(|state| state.released == 2);
    });
}

/// Takes a buffer, works on it and gives it back.
fn one_use(model: &Model, device: &Device, pool: &BufferPool<DeviceBuffer>) -> StreamId {
    let stream = Stream::new(device).unwrap();
    let mut buffer = pool.acquire(&stream).unwrap();
    let event = model.use_buffer(&buffer, &stream);
    buffer.busy_until(event);
    model.give_back(&buffer);
    stream.id()
}

#[test]
fn a_pools_buffer_has_one_user_at_a_time() {
    check(|| {
        let (model, device) = Model::open();
        let pool = BufferPool::new(&device, 16, 1);
        let other = {
            let (model, device, pool) = (model.clone(), device.clone(), pool.clone());
            thread::spawn(move || one_use(&model, &device, &pool))
        };
        let first = one_use(&model, &device, &pool);
        let second = one_use(&model, &device, &pool);
        let third = other.join().unwrap();
        assert!(first != second && second != third);
        model.finish();
        drop((pool, device));
    });
}

#[test]
fn a_vendors_event_serves_one_record_at_a_time() {
    check(|| {
        let (model, device) = Model::open();
        let records = |model: &Arc<Model>, device: &Device| {
            let stream = Stream::new(device).unwrap();
            for _ in 0..2 {
                let event = stream.record().unwrap();
                let handle = id(event.as_raw().as_raw()) as u64;
                model.state(|state| assert!(state.in_use.insert(handle), "in use twice"));
                thread::yield_now();
                model.state(|state| assert!(state.in_use.remove(&handle)));
                drop(event);
            }
        };
        let other = {
            let (model, device) = (model.clone(), device.clone());
            thread::spawn(move || records(&model, &device))
        };
        records(&model, &device);
        other.join().unwrap();
        drop(device);
        model.state(|state| assert!(state.events.is_empty(), "events left"));
    });
}
