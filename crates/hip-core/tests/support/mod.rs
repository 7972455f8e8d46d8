//! The device under test, and bytes to and fro.
#![allow(dead_code)] // each test program uses its part

use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, DeviceSelector, PinnedBuffer, Stream};

/// The device that `HIP_TEST_VENDOR` names (default `host`); `None`, with the reason printed, if it
/// is not there. With `HIP_TEST_REQUIRE` set, as `cargo xtask test` does once it has seen the
/// device, a device that is not there is a failure.
pub(crate) fn device() -> Option<Device> {
    let wanted = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".to_owned());
    let selector: DeviceSelector = wanted.parse().expect("HIP_TEST_VENDOR names a device");
    match Device::open(&selector) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
            println!("skipped: {error}");
            None
        }
    }
}

/// A host function that holds its stream until the other half is called, or for twenty seconds.
///
/// While a gate is shut no memory may be freed: a GPU driver waits in its free calls for all work,
/// and keeps other threads' calls waiting with it. So whatever is pending is let out first, what a
/// test needs is allocated before, and suites run one test at a time on GPUs.
pub(crate) fn gate(device: &Device) -> (impl FnOnce() + use<>, impl FnOnce() + Send + use<>) {
    while device.statistics().fences_pending > 0 {
        std::thread::yield_now();
    }
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let wait = move || {
        let _ = gate.recv_timeout(std::time::Duration::from_secs(20));
    };
    let open = move || {
        let _ = open.send(());
    };
    (open, wait)
}

/// Bytes that repeat with a long period.
pub(crate) fn pattern(size: usize) -> Vec<u8> {
    (0..size)
        .map(|index| (index as u32).wrapping_mul(2_654_435_761).to_be_bytes()[1])
        .collect()
}

/// A device buffer of these bytes.
pub(crate) fn upload(stream: &Stream, bytes: &[u8]) -> Arc<DeviceBuffer> {
    let mut pinned = PinnedBuffer::new(stream.device(), bytes.len()).unwrap();
    pinned.write(0, bytes).unwrap();
    let buffer = Arc::new(DeviceBuffer::new(stream.device(), bytes.len()).unwrap());
    stream
        .copy_htod(&buffer, 0, &Arc::new(pinned), 0, bytes.len())
        .unwrap();
    buffer
}

/// The bytes of a device buffer, behind everything on the stream.
pub(crate) fn read_back(stream: &Stream, buffer: &Arc<DeviceBuffer>) -> Vec<u8> {
    let pinned = Arc::new(PinnedBuffer::new(stream.device(), buffer.len()).unwrap());
    stream
        .copy_dtoh(&pinned, 0, buffer, 0, buffer.len())
        .unwrap();
    stream.synchronize().unwrap();
    // SAFETY: the copy, which wrote every byte, is done.
    unsafe { pinned.as_slice() }.to_vec()
}
