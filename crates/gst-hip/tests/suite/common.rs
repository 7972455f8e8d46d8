//! What the tests share: a device of the vendor under test, and work that can be held up.
#![allow(dead_code, unreachable_pub)] // each test binary uses its part

use std::sync::mpsc::{Receiver, Sender, channel};

use gst_hip::{
    Copy2D, Device, DeviceSelector, HipAllocator, HipMemoryRef, MemoryKind, Stream, Vendor,
};
use hip_core::{LoaderConfig, MemsetValue, Runtime};

/// The vendor that `HIP_TEST_VENDOR` names; the CPU's by default.
pub fn vendor() -> Vendor {
    let name = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".into());
    name.parse()
        .unwrap_or_else(|error| panic!("HIP_TEST_VENDOR: {error}"))
}

/// A device of the vendor under test, of a runtime of its own, so that its counters are this
/// test's alone. `None`, with a line that says why, where the vendor is not there.
pub fn test_device() -> Option<Device> {
    gst::init().unwrap();
    let runtime = Runtime::new(LoaderConfig::default());
    match hip_core::open_device(&runtime, &DeviceSelector::Vendor(vendor())) {
        Ok(device) => Some(device),
        Err(error) => {
            // Set by whoever has seen the device: then its absence is a failure.
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
            println!("skipped: no {} device: {error}", vendor());
            None
        }
    }
}

/// The ways memory can be mapped by the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Device memory as the device has it.
    Device,
    /// Device memory with a pinned copy, on every device.
    Staged,
    /// Pinned memory.
    Pinned,
}

pub const DEVICE_WAYS: [Way; 2] = [Way::Device, Way::Staged];
pub const WAYS: [Way; 3] = [Way::Device, Way::Staged, Way::Pinned];

pub fn alloc(device: &Device, way: Way, size: usize) -> gst::Memory {
    match way {
        Way::Device => HipAllocator::alloc_device(device, size),
        Way::Staged => HipAllocator::alloc_device_staged(device, size),
        Way::Pinned => HipAllocator::alloc_pinned(device, size),
    }
    .unwrap()
}

pub fn ours(memory: &gst::MemoryRef) -> HipMemoryRef<'_> {
    HipMemoryRef::from_memory(memory).expect("HIP memory")
}

/// Bytes that differ from their neighbours and from other seeds' bytes.
pub fn pattern(size: usize, seed: usize) -> Vec<u8> {
    (0..size)
        .map(|i| ((i * 7) ^ (i >> 8) ^ (seed * 85)) as u8)
        .collect()
}

/// Writes all bytes through a CPU map.
pub fn cpu_write(memory: &mut gst::Memory, bytes: &[u8]) {
    let writable = memory.get_mut().expect("the only reference");
    writable
        .map_writable()
        .expect("a write map")
        .copy_from_slice(bytes);
}

/// Reads all bytes through a CPU map.
pub fn cpu_read(memory: &gst::MemoryRef) -> Vec<u8> {
    memory.map_readable().expect("a read map").to_vec()
}

/// Enqueues a fill of device memory; finishes the access.
pub fn device_fill(memory: &gst::MemoryRef, stream: &Stream, value: u8) {
    let access = ours(memory).begin_write(stream).unwrap();
    enqueue_fill(&access, stream, value);
    access.finish(&stream.record().unwrap()).unwrap();
}

/// Enqueues a fill of what an access allows.
pub fn enqueue_fill(access: &gst_hip::DeviceAccess, stream: &Stream, value: u8) {
    assert_eq!(access.kind(), MemoryKind::Device);
    let (device, value) = (stream.device(), MemsetValue::U8(value));
    let _bound = device.bind().unwrap();
    // SAFETY: the access vouches for the range while the work is enqueued, and its event keeps
    // the bytes alive; the context is bound.
    unsafe {
        device.backend().memset(
            access.device_ptr(),
            value,
            access.len(),
            Some(stream.as_raw()),
        )
    }
    .unwrap();
}

/// Enqueues a copy of one memory to another as long; finishes both accesses.
pub fn device_copy(to: &gst::MemoryRef, from: &gst::MemoryRef, stream: &Stream) {
    let source = ours(from).begin_read(stream).unwrap();
    let target = ours(to).begin_overwrite(stream).unwrap();
    assert_eq!(source.len(), target.len());
    let copy = Copy2D {
        dst: target.end(),
        dst_stride: target.len(),
        src: source.end(),
        src_stride: source.len(),
        width_bytes: source.len(),
        height: 1,
    };
    // SAFETY: the accesses vouch for both ranges while the work is enqueued, and the event keeps
    // the bytes alive.
    unsafe { stream.copy_2d_raw(&copy) }.unwrap();
    let event = stream.record().unwrap();
    source.finish(&event).unwrap();
    target.finish(&event).unwrap();
}

/// Holds a stream up until it is opened (or dropped), or for five seconds.
///
/// While a gate is shut no memory may be freed: a GPU driver waits in its free calls for all work,
/// and keeps other threads' calls waiting with it. So whatever is pending is let out first, and
/// suites run one test at a time on GPUs.
pub struct Gate(Option<Sender<()>>);

impl Gate {
    pub fn close(stream: &Stream) -> Gate {
        let (sender, receiver): (Sender<()>, Receiver<()>) = channel();
        let device = stream.device();
        eventually("pending memory is freed", || {
            device.statistics().fences_pending == 0
        });
        // An error means that the sender is gone: open.
        stream
            .launch_host_func(move || {
                let _ = receiver.recv_timeout(std::time::Duration::from_secs(5));
            })
            .unwrap();
        Gate(Some(sender))
    }

    pub fn open(mut self) {
        self.0.take();
    }
}

/// Waits for something that another thread brings about; a hang is a failure.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("never happened: {what}");
}

/// Runs `work` on a thread and opens `gate` only after it had its chance to return too early.
/// Gives whether it waited for the gate.
pub fn waits_for_gate(gate: Gate, work: impl FnOnce() + Send) -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    let opened = AtomicBool::new(false);
    let (started, is_started) = channel();
    std::thread::scope(|scope| {
        let opened = &opened;
        let worker = scope.spawn(move || {
            started.send(()).unwrap();
            work();
            opened.load(Ordering::SeqCst)
        });
        is_started.recv().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        opened.store(true, Ordering::SeqCst);
        gate.open();
        worker.join().unwrap()
    })
}

/// Live objects of the device: bytes, allocations, streams.
pub fn live(device: &Device) -> [u64; 5] {
    let s = device.statistics();
    [
        s.device_live,
        s.device_bytes,
        s.pinned_live,
        s.pinned_bytes,
        s.streams_live,
    ]
}
