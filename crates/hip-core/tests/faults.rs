//! Devices that fail or are lost: errors say so, nothing hangs, everything is given back.

mod support;

#[path = "support/mock.rs"]
mod mock;

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use hip_core::{
    BufferPool, Device, DeviceBuffer, ErrorKind, FenceData, MemsetValue, PinnedBuffer, Result,
    Stream,
};
use hip_dispatch::host::LiveObjects;
use mock::Mock;
use support::{pattern, upload};

/// Waits until the completion worker has let go of everything; fails if it never does.
fn expect_nothing_left(mock: &Mock, what: &str) {
    let limit = Instant::now() + Duration::from_secs(30);
    while mock.host.live() != LiveObjects::default() {
        assert!(
            Instant::now() < limit,
            "{what}: still alive: {:?}",
            mock.host.live()
        );
        std::thread::yield_now();
    }
}

/// What a program does with a device: memory, copies, pools, order between streams, fences.
fn everything(device: &Device) -> Result<()> {
    let (producer, consumer) = (Stream::new(device)?, Stream::new(device)?);
    let mut pinned = PinnedBuffer::new(device, 4096)?;
    pinned.write(0, &pattern(4096))?;
    let pinned = Arc::new(pinned);
    let pool = BufferPool::<DeviceBuffer>::new(device, 4096, 1);
    let staging = BufferPool::<PinnedBuffer>::new(device, 4096, 2);
    for _ in 0..2 {
        let mut input = pool.acquire(&producer)?;
        let output = Arc::new(DeviceBuffer::new(device, 4096)?);
        // SAFETY: the pool keeps the buffer behind the event recorded below, or, where that
        // fails, the stream is waited for here; `pinned` outlives both.
        unsafe { producer.copy_htod_raw(input.as_raw(), pinned.as_ptr(), 4096) }?;
        let written = producer.record().inspect_err(|_| {
            let _ = producer.synchronize();
        })?;
        input.busy_until(written.clone());
        consumer.wait(&written)?;
        consumer.fill(&output, 0, 4096, MemsetValue::U32(7))?;
        let down = staging.acquire_for_cpu()?;
        let mut fence = FenceData::new();
        fence.push((input, down, output));
        consumer.keep_alive(fence)?;
        let (called, call) = mpsc::channel();
        consumer.launch_host_func(move || called.send(()).unwrap_or(()))?;
        let (timed, idle) = (consumer.record_timed()?, consumer.is_idle()?);
        timed.synchronize()?;
        let _ = (call.recv(), idle, timed.is_done()?);
    }
    device.memory_info()?;
    device.synchronize()?;
    pool.trim(0);
    producer.synchronize()?;
    consumer.synchronize()
}

#[test]
fn every_call_may_fail_once() {
    let (mock, device) = Mock::open();
    everything(&device).unwrap();
    drop(device);
    expect_nothing_left(&mock, "no fault");
    let calls = mock.calls();
    let mut tried = 0;
    for call in calls.keys() {
        // Under Miri, which is slow, only the first call of each name.
        for n in 1..=if cfg!(miri) { 1 } else { u32::MAX } {
            mock.plan(call, n, 999);
            let outcome = mock.device().and_then(|device| everything(&device));
            expect_nothing_left(&mock, &format!("{call} {n}: {outcome:?}"));
            if mock.unplan() {
                outcome.unwrap();
                break;
            }
            tried += 1;
        }
    }
    println!("{tried} faults in {} calls", calls.len());
    let least = if cfg!(miri) { 20 } else { 60 };
    assert!(calls.len() > 20 && tried >= least, "{tried} {calls:?}");
}

#[test]
fn a_lost_device_gives_typed_errors_and_takes_everything_back() {
    for (code, kind) in [
        (719, ErrorKind::LaunchFailure),
        (46, ErrorKind::DeviceLost),
        (710, ErrorKind::DeviceLost),
        (700, ErrorKind::IllegalAddress),
    ] {
        let (mock, device) = Mock::open();
        let stream = Stream::new(&device).unwrap();
        let other = Stream::new(&device).unwrap();
        let buffer = upload(&stream, &pattern(10_000));
        let pool = BufferPool::<DeviceBuffer>::new(&device, 64, 4);
        let staging = BufferPool::<PinnedBuffer>::new(&device, 64, 4);
        let mut on_loan = pool.acquire(&stream).unwrap();
        let idle = [(); 3].map(|()| staging.acquire_for_cpu().unwrap());
        drop(idle);
        let event = stream.record().unwrap();
        let timed = stream.record_timed().unwrap();
        on_loan.busy_until(event.clone());
        let (released, signal) = mpsc::channel();
        let mut fence = FenceData::new();
        fence.push(buffer.clone());
        fence.on_complete(move || released.send(()).unwrap());
        mock.lose(code);
        fence.release_after([event.clone()]).unwrap();
        signal.recv().unwrap();

        let kinds = [
            stream.synchronize().unwrap_err().kind(),
            stream.is_idle().unwrap_err().kind(),
            stream.record().unwrap_err().kind(),
            other.wait(&event).unwrap_err().kind(),
            event.synchronize().unwrap_err().kind(),
            timed.is_done().unwrap_err().kind(),
            device.synchronize().unwrap_err().kind(),
            device.memory_info().unwrap_err().kind(),
            Stream::new(&device).unwrap_err().kind(),
            DeviceBuffer::new(&device, 1).unwrap_err().kind(),
            PinnedBuffer::new(&device, 1).unwrap_err().kind(),
            pool.acquire(&other).unwrap_err().kind(),
            stream.launch_host_func(|| ()).unwrap_err().kind(),
        ];
        assert_eq!(kinds, [kind; 13], "{code}");
        let (released, signal) = mpsc::channel();
        let mut fence = FenceData::new();
        fence.on_complete(move || released.send(()).unwrap());
        assert_eq!(stream.keep_alive(fence).unwrap_err().kind(), kind);
        signal.recv().unwrap();
        drop((on_loan, pool, staging, event, timed, buffer, stream, other));
        while device.statistics().fences_pending > 0 {
            std::thread::yield_now();
        }
        let s = device.statistics();
        assert_eq!((s.device_live, s.pinned_live, s.streams_live), (0, 0, 0));
        drop(device);
        expect_nothing_left(&mock, &code.to_string());
    }
}

#[test]
fn a_refused_wait_leaves_the_buffer_behind_its_last_user() {
    let (mock, device) = Mock::open();
    let (user, next) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let pool = BufferPool::<DeviceBuffer>::new(&device, 64, 1);
    let mut buffer = pool.acquire(&user).unwrap();
    let (open, gate) = support::gate(&device);
    user.launch_host_func(gate).unwrap();
    buffer.busy_until(user.record().unwrap());
    drop(buffer);
    mock.plan("stream_wait_event", 1, 999);
    assert!(pool.acquire(&next).is_err());
    assert_eq!(pool.idle(), 1);
    let _again = pool.acquire(&next).unwrap();
    let behind = next.record().unwrap();
    assert!(
        !behind.is_done().unwrap(),
        "the next user waits all the same"
    );
    open();
    behind.synchronize().unwrap();
}

#[test]
fn a_buffer_whose_user_failed_is_used_again() {
    let (mock, device) = Mock::open();
    let (user, next) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let pool = BufferPool::<DeviceBuffer>::new(&device, 64, 1);
    let mut buffer = pool.acquire(&user).unwrap();
    buffer.busy_until(user.record().unwrap());
    let address = buffer.as_raw();
    drop(buffer);
    mock.lose(719);
    assert_eq!(pool.idle(), 1);
    let again = pool.acquire(&next).unwrap();
    assert_eq!(again.as_raw(), address);
}
