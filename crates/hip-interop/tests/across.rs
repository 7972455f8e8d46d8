//! Bytes between two devices of Host.

use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, LoaderConfig, PinnedBuffer, Runtime, Stream, open_device};
use hip_interop::{Error, copy_across};

fn two_devices() -> [Device; 2] {
    let mut config = LoaderConfig::default();
    config.host_devices = 2;
    let runtime = Runtime::new(config);
    ["host:0", "host:1"].map(|name| open_device(&runtime, &name.parse().unwrap()).unwrap())
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len)
        .map(|index| (index * 7 + (index >> 11)) as u8)
        .collect()
}

#[test]
fn bytes_cross_in_slices_and_keep_their_place() {
    let [a, b] = two_devices();
    assert_ne!(a, b);
    let (from, to) = (Stream::new(&a).unwrap(), Stream::new(&b).unwrap());
    for len in [1usize, 4095, 4 << 20, (4 << 20) + 1, 13_000_001] {
        let expected = bytes(len);
        let mut pinned = PinnedBuffer::new(&a, len).unwrap();
        pinned.write(0, &expected).unwrap();
        let src = Arc::new(DeviceBuffer::new(&a, len + 3).unwrap());
        from.copy_htod(&src, 3, &Arc::new(pinned), 0, len).unwrap();
        let dst = Arc::new(DeviceBuffer::new(&b, len + 17).unwrap());
        copy_across(&to, &dst, 17, &from, &src, 3, len).unwrap();
        let back = Arc::new(PinnedBuffer::new(&b, len).unwrap());
        to.copy_dtoh(&back, 0, &dst, 17, len).unwrap();
        to.synchronize().unwrap();
        // SAFETY: the copy is done and wrote every byte.
        assert!(unsafe { back.as_slice() } == &expected[..], "{len} bytes");
    }
}

#[test]
fn what_does_not_fit_or_belong_is_refused() {
    let [a, b] = two_devices();
    let (from, to) = (Stream::new(&a).unwrap(), Stream::new(&b).unwrap());
    let src = Arc::new(DeviceBuffer::new(&a, 100).unwrap());
    let dst = Arc::new(DeviceBuffer::new(&b, 100).unwrap());
    copy_across(&to, &dst, 0, &from, &src, 0, 0).unwrap();
    let too_long = copy_across(&to, &dst, 0, &from, &src, 1, 100).unwrap_err();
    assert!(matches!(too_long, Error::Source(_)), "{too_long}");
    let no_room = copy_across(&to, &dst, 1, &from, &src, 0, 100).unwrap_err();
    assert!(matches!(no_room, Error::Destination(_)), "{no_room}");
    let swapped = copy_across(&from, &dst, 0, &to, &src, 0, 100).unwrap_err();
    assert!(
        matches!(
            swapped,
            Error::Source(hip_core::Error::DeviceMismatch { .. })
        ),
        "{swapped}"
    );
}
