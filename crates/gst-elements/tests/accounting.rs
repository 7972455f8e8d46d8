//! The steady state allocates nothing and waits for no stream. One test to the process, since
//! the device counts for all.

mod common;

use common::{Storage, buffer_of, caps_of, harness, offered_pool, random_image, test_device};
use gst::prelude::*;
use gst_hip::{Device, MemoryKind, Statistics};
use hip_oracle::{Format, FrameInfo};

/// What a steady state leaves alone. Threads wait for events only where the CPU touches a frame.
fn steady(statistics: &Statistics) -> [u64; 3] {
    [
        statistics.device_allocations,
        statistics.pinned_allocations,
        statistics.stream_waits,
    ]
}

/// Frames that each part sends; the first ten do not count.
const FRAMES: u8 = 60;
const COUNTED: u64 = 50;

/// Sends frames, and checks what they cost from the tenth on.
fn check_steady(
    device: &Device,
    harness: &mut gst_check::Harness,
    mut next: impl FnMut(u8) -> gst::Buffer,
) -> Statistics {
    let mut tenth = device.statistics();
    for frame in 1..=FRAMES {
        harness.push(next(frame)).unwrap();
        drop(harness.pull().unwrap());
        if frame == 10 {
            tenth = device.statistics();
        }
    }
    let last = device.statistics();
    assert_eq!(steady(&last), steady(&tenth));
    assert_eq!(
        last.copies_htod - tenth.copies_htod,
        COUNTED,
        "one copy up a frame"
    );
    assert_eq!(
        last.copies_dtoh - tenth.copies_dtoh,
        COUNTED,
        "one copy down a frame"
    );
    assert_eq!(
        last.launches - tenth.launches,
        COUNTED,
        "one kernel a frame"
    );
    last
}

#[test]
fn after_the_tenth_frame_nothing_is_allocated() {
    let Some(device) = test_device() else { return };
    let info = FrameInfo::new(Format::Nv12, 640, 360);
    let new_harness = || {
        let (mut harness, _bus) = harness("hipupload ! hipconvertscale ! hipdownload");
        harness.set_sink_caps_str("video/x-raw,format=RGBA,width=320,height=180");
        harness.set_src_caps(caps_of(&info));
        harness
    };

    // Ordinary memory: staged.
    let image = random_image(info, 1);
    let mut staged = new_harness();
    check_steady(&device, &mut staged, |_| {
        buffer_of(&image, Storage::Plain, &device)
    });
    drop(staged);

    // Buffers of the pool that upstream is offered.
    let before = device.statistics();
    let mut pooled = new_harness();
    let pool = offered_pool(&pooled, &caps_of(&info));
    let (_, _, buffers, _) = pool.config().params().unwrap();
    assert_eq!(pool.kind(), MemoryKind::Pinned);
    assert_eq!(pool.device().unwrap(), device);
    pool.set_active(true).unwrap();
    let last = check_steady(&device, &mut pooled, |frame| {
        // The buffer may still be on its way up from its last use: its map waits, nothing else.
        let mut buffer = pool.acquire_buffer(None).unwrap();
        buffer
            .get_mut()
            .unwrap()
            .map_writable()
            .unwrap()
            .fill(frame);
        buffer
    });
    let pinned = last.pinned_allocations - before.pinned_allocations;
    assert_eq!(
        pinned,
        2 * u64::from(buffers),
        "the offered pool and the download's: no staging"
    );
    pool.set_active(false).unwrap();
}
