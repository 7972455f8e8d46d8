//! The steady state allocates nothing and waits for no stream. One test to the process, since
//! the device counts for all.

mod common;

use common::{Storage, buffer_of, caps_of, harness, offered_pool, random_image, test_device};
use gst::prelude::*;
use gst_hip::{MemoryKind, Statistics};
use hip_oracle::{Format, FrameInfo};

const INPUT: &str = "hipupload ! hipconvertscale ! hipdownload";

/// What a steady state leaves alone. Threads wait for events only where the CPU touches a frame.
fn steady(statistics: &Statistics) -> [u64; 3] {
    [
        statistics.device_allocations,
        statistics.pinned_allocations,
        statistics.stream_waits,
    ]
}

#[test]
fn after_the_tenth_frame_nothing_is_allocated() {
    let Some(device) = test_device() else { return };
    let info = FrameInfo::new(Format::Nv12, 640, 360);
    let image = random_image(info, 1);

    // Ordinary memory: staged.
    let (mut staged, _bus) = harness(INPUT);
    staged.set_sink_caps_str("video/x-raw,format=RGBA,width=320,height=180");
    staged.set_src_caps(caps_of(&info));
    let mut tenth = device.statistics();
    for frame in 1..=60 {
        staged
            .push(buffer_of(&image, Storage::Plain, &device))
            .unwrap();
        drop(staged.pull().unwrap());
        if frame == 10 {
            tenth = device.statistics();
        }
    }
    let last = device.statistics();
    assert_eq!(steady(&last), steady(&tenth));
    assert_eq!(
        last.copies_htod - tenth.copies_htod,
        50,
        "one copy up a frame"
    );
    assert_eq!(
        last.copies_dtoh - tenth.copies_dtoh,
        50,
        "one copy down a frame"
    );
    assert_eq!(last.launches - tenth.launches, 50, "one kernel a frame");
    drop(staged);

    // Buffers of the pool that upstream is offered.
    let before = device.statistics();
    let (mut pooled, _bus) = harness(INPUT);
    pooled.set_sink_caps_str("video/x-raw,format=RGBA,width=320,height=180");
    pooled.set_src_caps(caps_of(&info));
    let pool = offered_pool(&pooled, &caps_of(&info));
    let (_, _, buffers, _) = pool.config().params().unwrap();
    assert_eq!((pool.kind(), pool.device()), (MemoryKind::Pinned, &device));
    pool.set_active(true).unwrap();
    for frame in 1..=60 {
        // The buffer may still be on its way up from its last use: its map waits, nothing else.
        let mut buffer = pool.acquire_buffer(None).unwrap();
        buffer
            .get_mut()
            .unwrap()
            .map_writable()
            .unwrap()
            .fill(frame);
        pooled.push(buffer).unwrap();
        drop(pooled.pull().unwrap());
        if frame == 10 {
            tenth = device.statistics();
        }
    }
    let last = device.statistics();
    assert_eq!(steady(&last), steady(&tenth));
    assert_eq!(
        last.copies_htod - tenth.copies_htod,
        50,
        "one DMA a frame, and no staging"
    );
    assert_eq!(last.copies_dtoh - tenth.copies_dtoh, 50);
    let pinned = last.pinned_allocations - before.pinned_allocations;
    assert_eq!(
        pinned,
        2 * u64::from(buffers),
        "the offered pool and the download's: no staging"
    );
    pool.set_active(false).unwrap();
}
