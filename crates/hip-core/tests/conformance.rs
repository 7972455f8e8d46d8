//! One suite for every vendor: `HIP_TEST_VENDOR` chooses (default `host`).

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use hip_core::{
    BufferPool, Copy2D, Device, DeviceBuffer, Error, ErrorKind, FenceData, MemsetValue,
    PinnedBuffer, PlaneEnd, Stream,
};
use support::{device, pattern, read_back, upload};

/// Bytes and rounds, less under Miri, which is a thousand times slower.
const LARGE: usize = if cfg!(miri) { 5003 } else { 1_000_003 };
const TIMED_BYTES: usize = if cfg!(miri) { 1 << 20 } else { 32 << 20 };
const ROUNDS: usize = if cfg!(miri) { 2 } else { 20 };

/// A device of the test's own, whose counters are nobody else's: the shared one's context adopted.
fn own(shared: &Device) -> Device {
    let (context, backend) = (shared.as_raw_context(), shared.backend().clone());
    let keep = Box::new(shared.clone());
    // SAFETY: `keep` holds the device whose context this is.
    unsafe { Device::from_foreign_context(backend, shared.info().ordinal, context, keep) }.unwrap()
}

/// Says when the stream got here.
fn reached(stream: &Stream) -> mpsc::Receiver<()> {
    let (here, reached) = mpsc::channel();
    // The receiver may have given up.
    let tell = move || {
        let _ = here.send(());
    };
    stream.launch_host_func(tell).unwrap();
    reached
}

/// Whether a stream that only has to get going does not get there.
fn is_held(reached: &mpsc::Receiver<()>) -> bool {
    let long = std::time::Duration::from_millis(200);
    reached.recv_timeout(long) == Err(mpsc::RecvTimeoutError::Timeout)
}

#[test]
fn a_device_says_what_it_is() {
    let Some(device) = device() else { return };
    let info = device.info();
    assert!(!info.name.is_empty() && !info.architecture.is_empty());
    assert!(info.total_memory > 64 << 20 && info.multiprocessors > 0);
    assert!(info.limits.pitch_alignment.is_power_of_two());
    let memory = device.memory_info().unwrap();
    assert!(memory.free > 0 && memory.free <= memory.total, "{memory:?}");
    assert_eq!(
        device,
        support::device().unwrap(),
        "opened twice, the same object"
    );
}

#[test]
fn bytes_go_up_across_and_down() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    for size in [1usize, 3, 255, 4096, LARGE] {
        let bytes = pattern(size);
        let a = upload(&stream, &bytes);
        let b = Arc::new(DeviceBuffer::new(&device, size + 5).unwrap());
        stream.copy_dtod(&b, 5, &a, 0, size).unwrap();
        assert_eq!(&read_back(&stream, &b)[5..], &bytes[..]);
    }
}

#[test]
fn rows_keep_their_strides() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (width, height) = (37, 11);
    for (src_stride, dst_stride) in [(37, 64), (48, 256), (512, 37), (41, 43)] {
        let bytes = pattern(src_stride * height);
        let src = upload(&stream, &bytes);
        let dst = upload(&stream, &vec![0xEE; dst_stride * height]);
        let copy = Copy2D {
            dst: PlaneEnd::Device(dst.as_raw()),
            dst_stride,
            src: PlaneEnd::Device(src.as_raw()),
            src_stride,
            width_bytes: width,
            height,
        };
        // SAFETY: both buffers have `height` rows of their stride and outlive the read back.
        unsafe { stream.copy_2d_raw(&copy) }.unwrap();
        let result = read_back(&stream, &dst);
        for row in 0..height {
            let (from, to) = (row * src_stride, row * dst_stride);
            assert_eq!(result[to..to + width], bytes[from..from + width]);
            let end = ((row + 1) * dst_stride).min(result.len());
            assert!(
                result[to + width..end].iter().all(|byte| *byte == 0xEE),
                "row {row}"
            );
        }
    }
}

#[test]
fn rows_go_between_pinned_and_device_memory() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (width, height, host_stride, device_stride) = (1920 * 3, 7, 5999, 6144);
    let bytes = pattern(host_stride * height);
    let mut pinned = PinnedBuffer::new(&device, bytes.len()).unwrap();
    pinned.write(0, &bytes).unwrap();
    let on_device = upload(&stream, &vec![0; device_stride * height]);
    let back = PinnedBuffer::new(&device, bytes.len()).unwrap();
    let up = Copy2D {
        dst: PlaneEnd::Device(on_device.as_raw()),
        dst_stride: device_stride,
        src: PlaneEnd::Host(pinned.as_ptr()),
        src_stride: host_stride,
        width_bytes: width,
        height,
    };
    let down = Copy2D {
        dst: PlaneEnd::Host(back.as_ptr()),
        dst_stride: host_stride,
        src: up.dst,
        src_stride: device_stride,
        ..up
    };
    // SAFETY: all buffers have `height` rows of their stride and outlive the synchronisation.
    unsafe {
        stream.copy_2d_raw(&up).unwrap();
        stream.copy_2d_raw(&down).unwrap();
    }
    stream.synchronize().unwrap();
    for row in 0..height {
        let from = row * host_stride;
        // SAFETY: the copy is done and wrote these bytes.
        let read = unsafe { std::slice::from_raw_parts(back.as_ptr().add(from), width) };
        assert_eq!(read, &bytes[from..from + width], "row {row}");
    }
}

#[test]
fn fills_write_whole_elements_and_nothing_else() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let buffer = upload(&stream, &[9; 64]);
    stream.fill(&buffer, 0, 3, MemsetValue::U8(1)).unwrap();
    stream
        .fill(&buffer, 4, 6, MemsetValue::U16(0x0302))
        .unwrap();
    stream
        .fill(&buffer, 12, 8, MemsetValue::U32(0x0706_0504))
        .unwrap();
    let mut expected = [9; 64];
    expected[..3].fill(1);
    expected[4..10].copy_from_slice(&[2, 3, 2, 3, 2, 3]);
    expected[12..20].copy_from_slice(&[4, 5, 6, 7, 4, 5, 6, 7]);
    assert_eq!(read_back(&stream, &buffer), expected);
    let error = stream.fill(&buffer, 2, 4, MemsetValue::U32(0)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidValue);
}

#[test]
fn a_stream_waits_for_an_event_on_the_device() {
    let Some(device) = device() else { return };
    let (producer, consumer) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let buffer = upload(&producer, &[0; 1024]);
    let copy = Arc::new(DeviceBuffer::new(&device, 1024).unwrap());
    let (open, gate) = support::gate(&device);
    producer.launch_host_func(gate).unwrap();
    producer.fill(&buffer, 0, 1024, MemsetValue::U8(7)).unwrap();
    let written = producer.record().unwrap();
    consumer.wait(&written).unwrap();
    consumer.copy_dtod(&copy, 0, &buffer, 0, 1024).unwrap();
    assert!(!written.is_done().unwrap(), "the gate is shut");
    assert!(!consumer.is_idle().unwrap());
    open();
    assert_eq!(read_back(&consumer, &copy), [7; 1024]);
    written.synchronize().unwrap();
    assert!(written.is_done().unwrap());
}

#[test]
fn time_stamps_grow() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let buffer = Arc::new(DeviceBuffer::new(&device, TIMED_BYTES).unwrap());
    let before = stream.record_timed().unwrap();
    stream
        .fill(&buffer, 0, TIMED_BYTES, MemsetValue::U8(1))
        .unwrap();
    let after = stream.record_timed().unwrap();
    after.synchronize().unwrap();
    assert!(after.elapsed_ms(&before).unwrap() > 0.0);
    let untimed = stream.record().unwrap();
    untimed.synchronize().unwrap();
    assert!(untimed.elapsed_ms(&before).is_err());
}

#[test]
fn a_fence_releases_when_the_work_is_done_and_not_before() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (released, signal) = mpsc::channel();
    let (open, gate) = support::gate(&device);
    stream.launch_host_func(gate).unwrap();
    let mut fence = FenceData::new();
    let caller = std::thread::current().id();
    fence.on_complete(move || released.send(std::thread::current().id()).unwrap());
    fence.on_complete(|| panic!("a destructor that panics harms nobody"));
    stream.keep_alive(fence).unwrap();
    assert!(signal.try_recv().is_err(), "the gate is shut");
    open();
    assert_ne!(signal.recv().unwrap(), caller, "released on the worker");
    // The worker survived the panic.
    let (sender, done) = mpsc::channel();
    let mut fence = FenceData::new();
    fence.on_complete(move || sender.send(()).unwrap());
    stream.keep_alive(fence).unwrap();
    done.recv().unwrap();
}

#[test]
fn a_pool_reuses_buffers_behind_their_last_user() {
    let Some(device) = device() else { return };
    let (user, next) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let pool = BufferPool::<DeviceBuffer>::new(&device, 4096, 2);
    let mut buffer = pool.acquire(&user).unwrap();
    let address = buffer.as_raw();
    let (open, gate) = support::gate(&device);
    user.launch_host_func(gate).unwrap();
    let event = user.record().unwrap();
    buffer.busy_until(event);
    drop(buffer);
    assert_eq!(pool.idle(), 1);
    let again = pool.acquire(&next).unwrap();
    assert_eq!(again.as_raw(), address, "the idle buffer is used again");
    let behind = reached(&next);
    assert!(is_held(&behind), "the next user waits on the device");
    open();
    behind.recv().unwrap();
    let held: Vec<_> = (0..3).map(|_| pool.acquire(&next).unwrap()).collect();
    drop((again, held));
    assert_eq!(pool.idle(), 2, "no more than two are kept");
    pool.trim(0);
    assert_eq!(pool.idle(), 0);
}

#[test]
fn events_are_reused() {
    let Some(device) = device().as_ref().map(own) else {
        return;
    };
    let stream = Stream::new(&device).unwrap();
    for _ in 0..50 * ROUNDS {
        stream.record().unwrap().synchronize().unwrap();
    }
    assert_eq!(device.statistics().events_created, 1);
}

#[test]
fn wrong_arguments_are_errors() {
    let Some(device) = device() else { return };
    let stream = Stream::new(&device).unwrap();
    let zero = DeviceBuffer::new(&device, 0).unwrap_err();
    assert_eq!(zero.kind(), ErrorKind::InvalidValue);
    assert!(PinnedBuffer::new(&device, 0).is_err());
    assert!(DeviceBuffer::new(&device, usize::MAX).is_err());
    let too_large = DeviceBuffer::new(&device, 1 << 50).unwrap_err();
    assert_eq!(too_large.kind(), ErrorKind::OutOfMemory, "{too_large}");
    let a = Arc::new(DeviceBuffer::new(&device, 16).unwrap());
    let b = Arc::new(DeviceBuffer::new(&device, 16).unwrap());
    for (offset, len) in [(0, 17), (16, 1), (usize::MAX, 2)] {
        let error = stream.copy_dtod(&a, offset, &b, 0, len).unwrap_err();
        assert!(matches!(error, Error::OutOfBounds { .. }), "{error}");
    }
}

#[test]
fn a_buffer_that_goes_back_unused_keeps_its_last_users() {
    let Some(device) = device() else { return };
    let [user, second, elsewhere, third] = [(); 4].map(|()| Stream::new(&device).unwrap());
    let pool = BufferPool::<DeviceBuffer>::new(&device, 4096, 1);
    let mut buffer = pool.acquire(&user).unwrap();
    let (open, gate) = support::gate(&device);
    user.launch_host_func(gate).unwrap();
    buffer.busy_until(user.record().unwrap());
    drop(buffer);
    drop(pool.acquire(&second).unwrap());
    // An event of a stream that did not wait does not stand for those before.
    let mut buffer = pool.acquire(&second).unwrap();
    buffer.busy_until(elsewhere.record().unwrap());
    drop(buffer);
    let _buffer = pool.acquire(&third).unwrap();
    let behind = third.record().unwrap();
    assert!(!behind.is_done().unwrap(), "the first user is waited for");
    open();
    behind.synchronize().unwrap();
}

#[test]
fn objects_are_dropped_on_any_thread() {
    let Some(device) = device().as_ref().map(own) else {
        return;
    };
    let objects = || {
        let stream = Stream::new(&device).unwrap();
        let buffer = upload(&stream, &pattern(1000));
        let pool = BufferPool::<PinnedBuffer>::new(&device, 100, 2);
        let mut pooled = pool.acquire(&stream).unwrap();
        pooled.busy_until(stream.record().unwrap());
        let timed = stream.record_timed().unwrap();
        (buffer, pooled, pool, timed, stream, device.clone())
    };
    let dropped = objects();
    std::thread::spawn(move || drop(dropped)).join().unwrap();
    // On the completion worker, the stream that it waited for among them.
    let dropped = objects();
    let stream = dropped.4.clone();
    let mut fence = FenceData::new();
    fence.push(dropped);
    stream.keep_alive(fence).unwrap();
    drop(stream);
    // When a thread's other locals are gone already.
    thread_local! {
        static HELD: std::cell::RefCell<Option<Box<dyn std::any::Any>>> =
            const { std::cell::RefCell::new(None) };
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            HELD.set(None);
            HELD.set(Some(Box::new(objects())));
        });
    });
    let live = |s: hip_core::Statistics| s.device_live + s.pinned_live + s.streams_live;
    while live(device.statistics()) > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn the_last_reference_to_a_device_may_be_the_workers() {
    let Some(shared) = device() else { return };
    let (dropped, signal) = mpsc::channel();
    let keep = DropSignal(dropped, shared.clone());
    let (context, backend) = (shared.as_raw_context(), shared.backend().clone());
    // SAFETY: `keep` holds the device whose context this is.
    let device = unsafe {
        Device::from_foreign_context(backend, shared.info().ordinal, context, Box::new(keep))
    }
    .unwrap();
    let stream = Stream::new(&device).unwrap();
    let buffer = upload(&stream, &pattern(100));
    stream.synchronize().unwrap();
    let (open, gate) = support::gate(&device);
    stream.launch_host_func(gate).unwrap();
    let mut fence = FenceData::new();
    fence.push((buffer, stream.clone()));
    stream.keep_alive(fence).unwrap();
    drop((stream, device));
    assert!(signal.try_recv().is_err(), "the gate is shut");
    open();
    assert_ne!(signal.recv().unwrap(), std::thread::current().id());
}

/// Tells which thread dropped it.
struct DropSignal(
    mpsc::Sender<std::thread::ThreadId>,
    #[allow(dead_code)] Device,
);

impl Drop for DropSignal {
    fn drop(&mut self) {
        let _ = self.0.send(std::thread::current().id());
    }
}

#[test]
fn many_threads_allocate_copy_and_release() {
    let Some(device) = device().as_ref().map(own) else {
        return;
    };
    let pool = BufferPool::<DeviceBuffer>::new(&device, 20_000, 3);
    let staging = BufferPool::<PinnedBuffer>::new(&device, 20_000, 3);
    let (done, released) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let (device, done, released) = (&device, &done, &released);
            let (pool, staging) = (pool.clone(), staging.clone());
            scope.spawn(move || {
                let stream = Stream::new(device).unwrap();
                for round in 0..ROUNDS {
                    let bytes = vec![thread.wrapping_mul(31) ^ round as u8; 1000 + round * 997];
                    let buffer = upload(&stream, &bytes);
                    assert_eq!(read_back(&stream, &buffer), bytes);
                    through_pools(&stream, &pool, &staging, &bytes, released);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 8 * ROUNDS);
    drop((pool, staging));
    while device.statistics().fences_pending > 0 {
        std::thread::yield_now();
    }
    assert_eq!(released.load(Ordering::Relaxed), 8 * ROUNDS);
    let s = device.statistics();
    assert_eq!((s.device_live, s.pinned_live, s.streams_live), (0, 0, 0));
}

/// Bytes up into a pool's buffer and down into another pool's, which are those that went up; a
/// fence keeps the buffers.
fn through_pools(
    stream: &Stream,
    pool: &BufferPool<DeviceBuffer>,
    staging: &BufferPool<PinnedBuffer>,
    bytes: &[u8],
    released: &Arc<AtomicUsize>,
) {
    let up = staging.acquire_for_cpu().unwrap();
    let mut on_device = pool.acquire(stream).unwrap();
    let down = staging.acquire_for_cpu().unwrap();
    let len = bytes.len();
    // SAFETY: the CPU's pool has waited for the last users of `up`, which has the room; both
    // buffers are held until the stream is synchronised.
    unsafe {
        up.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), len);
        stream
            .copy_htod_raw(on_device.as_raw(), up.as_ptr(), len)
            .unwrap();
        stream
            .copy_dtoh_raw(down.as_ptr(), on_device.as_raw(), len)
            .unwrap();
    }
    let end = stream.record().unwrap();
    on_device.busy_until(end.clone());
    end.synchronize().unwrap();
    // SAFETY: the copy is done and wrote these bytes.
    let came_back = unsafe { std::slice::from_raw_parts(down.as_ptr(), len) };
    assert_eq!(came_back, bytes);
    let mut fence = FenceData::new();
    fence.push((up, on_device, down));
    let released = released.clone();
    fence.on_complete(move || {
        released.fetch_add(1, Ordering::Relaxed);
    });
    fence.release_after([end]).unwrap();
}

#[test]
fn everything_is_given_back() {
    let Some(own) = device().as_ref().map(own) else {
        return;
    };
    assert!(own.is_foreign());
    {
        let stream = Stream::new(&own).unwrap();
        let buffer = upload(&stream, &pattern(LARGE));
        read_back(&stream, &buffer);
        let pool = BufferPool::<PinnedBuffer>::new(&own, 4096, 4);
        drop(pool.acquire(&stream).unwrap());
        stream.synchronize().unwrap();
    }
    // The completion worker may hold the last references for a moment.
    let live = |s: hip_core::Statistics| (s.device_live, s.pinned_live, s.streams_live);
    while live(own.statistics()) != (0, 0, 0) {
        std::thread::yield_now();
    }
    let statistics = own.statistics();
    assert_eq!((statistics.device_bytes, statistics.pinned_bytes), (0, 0));
    assert!(statistics.copies_htod >= 1 && statistics.copies_dtoh >= 1);
}
