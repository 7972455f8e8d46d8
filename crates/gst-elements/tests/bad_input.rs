//! What is wrong with the input is said on the bus, and nothing is kept.

mod common;

use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{
    Storage, buffer_of, caps_of, first_difference, harness, hip_caps_of, image_of, message_text,
    random_image, test_device,
};
use gst_hip::Device;
use hip_oracle::{Format, FrameInfo};

/// The tests count what the process holds, so they run one after the other.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory and streams that are held now.
fn held(device: &Device) -> [u64; 5] {
    device.synchronize().unwrap();
    let now = device.statistics();
    [
        now.device_live,
        now.device_bytes,
        now.pinned_live,
        now.pinned_bytes,
        now.streams_live,
    ]
}

/// Whether the device soon holds no more than `before`. What is released when work is done goes
/// through a worker thread, so it gets time to.
fn is_released(device: &Device, before: [u64; 5]) -> bool {
    let released = || {
        held(device)
            .iter()
            .zip(&before)
            .all(|(now, before)| now <= before)
    };
    (0..300).any(|_| {
        let released = released();
        if !released {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        released
    })
}

/// Runs `test` with a device, and checks that it leaves nothing behind.
fn with_device(test: impl Fn(&Device)) {
    let _alone = alone();
    let Some(device) = test_device() else { return };
    let fresh = held(&device);
    test(&device);
    if is_released(&device, fresh) {
        return;
    }
    // Something is kept for next time, then: a second run must not add to it.
    let before = held(&device);
    test(&device);
    let now = held(&device);
    assert!(
        is_released(&device, before),
        "held before: {before:?}, after: {now:?}"
    );
}

/// Pushes a buffer that must be refused; gives the error on the bus.
fn refused(line: &str, caps: &str, buffer: gst::Buffer) -> (String, gst::FlowError) {
    let (mut harness, bus) = harness(line);
    harness.set_src_caps(caps.parse().unwrap());
    let flow = harness.push(buffer).expect_err("the buffer is refused");
    (
        message_text(&bus, gst::MessageType::Error).expect("an error on the bus"),
        flow,
    )
}

#[test]
fn caps_without_a_size() {
    with_device(|_| {
        let system = "video/x-raw,format=NV12,framerate=30/1";
        let hip = "video/x-raw(memory:HIPMemory),format=NV12,framerate=30/1";
        for (line, caps) in [
            ("hipupload", system),
            ("hipdownload", hip),
            ("hipconvertscale", hip),
        ] {
            for (missing, fields) in [("width", ",height=8"), ("height", ",width=8")] {
                let caps = format!("{caps}{fields}");
                let (text, flow) = refused(line, &caps, gst::Buffer::with_size(96).unwrap());
                assert!(text.contains(&format!("no {missing}")), "{text}");
                assert_eq!(flow, gst::FlowError::NotNegotiated);
            }
        }
    });
}

#[test]
fn buffers_without_memory() {
    with_device(|_| {
        let info = FrameInfo::new(Format::Nv12, 16, 16);
        for (line, caps) in [
            ("hipupload", caps_of(&info)),
            ("hipdownload", hip_caps_of(&info)),
            (
                "hipconvertscale ! capsfilter caps=video/x-raw(memory:HIPMemory),format=RGB",
                hip_caps_of(&info),
            ),
        ] {
            let mut nothing = gst::Buffer::new();
            let memory = gst::Memory::from_slice([0_u8; 0]);
            nothing.get_mut().unwrap().append_memory(memory);
            for buffer in [gst::Buffer::new(), nothing] {
                let (text, flow) = refused(line, &caps.to_string(), buffer);
                assert!(text.contains("0 bytes"), "{text}");
                assert_eq!(flow, gst::FlowError::Error);
            }
        }
    });
}

#[test]
fn buffers_that_are_too_small() {
    with_device(|device| {
        let info = FrameInfo::new(Format::I420, 64, 48);
        let caps = caps_of(&info).to_string();
        let short = gst::Buffer::with_size(64 * 48 * 3 / 2 - 1).unwrap();
        let (text, flow) = refused("hipupload", &caps, short);
        assert!(text.contains("too few"), "{text}");
        assert_eq!(flow, gst::FlowError::Error);
        // The same in pinned memory, whose copy the CPU does not see.
        let memory = gst_hip::HipAllocator::alloc_pinned(device, 64 * 48 * 3 / 2 - 1).unwrap();
        let mut pinned = gst::Buffer::new();
        pinned.get_mut().unwrap().append_memory(memory);
        let (text, _) = refused("hipupload", &caps, pinned);
        assert!(text.contains("too few"), "{text}");
        // And on the device.
        let memory = gst_hip::HipAllocator::alloc_device(device, 64 * 48 * 3 / 2 - 1).unwrap();
        let mut on_device = gst::Buffer::new();
        on_device.get_mut().unwrap().append_memory(memory);
        let caps = hip_caps_of(&info).to_string();
        let (text, flow) = refused("hipdownload", &caps, on_device);
        assert!(text.contains("plane 2"), "{text}");
        assert_eq!(flow, gst::FlowError::Error);
    });
}

#[test]
fn metas_that_lie() {
    with_device(|device| {
        let info = FrameInfo::new(Format::Rgba, 16, 8);
        for storage in [Storage::Plain, Storage::Pinned] {
            for (format, offset, stride, part) in [
                (gst_video::VideoFormat::Rgba, 0, 65_536, "too few"),
                (gst_video::VideoFormat::Rgba, 1 << 40, 64, "too few"),
                (gst_video::VideoFormat::Rgba, 0, 8, "stride of 8"),
                (gst_video::VideoFormat::Bgra, 0, 64, "video meta says"),
            ] {
                let mut buffer = buffer_of(&random_image(info, 1), storage, device);
                let writable = buffer.get_mut().unwrap();
                if let Some(meta) = writable.meta_mut::<gst_video::VideoMeta>() {
                    meta.remove().unwrap();
                }
                gst_video::VideoMeta::add_full(
                    writable,
                    gst_video::VideoFrameFlags::empty(),
                    format,
                    16,
                    8,
                    &[offset],
                    &[stride],
                )
                .unwrap();
                let (text, _) = refused("hipupload", &caps_of(&info).to_string(), buffer);
                assert!(text.contains(part), "{text}");
            }
        }
    });
}

#[test]
fn foreign_memory_under_our_caps_is_copied_with_a_warning() {
    with_device(|device| {
        let info = FrameInfo::new(Format::Nv12, 33, 17);
        for (line, storage) in [
            ("hipdownload", Storage::Plain),
            ("hipdownload", Storage::Padded),
            ("hipupload ! hipdownload", Storage::MemoryPerPlane),
            ("hipconvertscale ! hipdownload", Storage::Pinned),
        ] {
            let (mut harness, bus) = harness(line);
            harness.set_sink_caps(caps_of(&info));
            harness.set_src_caps(hip_caps_of(&info));
            for seed in 0..3 {
                let image = random_image(info, seed);
                harness.push(buffer_of(&image, storage, device)).unwrap();
                let found = image_of(&harness.pull().unwrap(), info);
                assert_eq!(first_difference(&image, &found), None, "{line} {storage:?}");
            }
            let warning = message_text(&bus, gst::MessageType::Warning).expect("a warning");
            assert!(warning.contains("copied by the CPU"), "{warning}");
            let more = message_text(&bus, gst::MessageType::Warning);
            assert_eq!(more, None, "{line}: one warning is enough");
        }
    });
}

#[test]
fn foreign_memory_that_is_too_small() {
    with_device(|_| {
        let caps = hip_caps_of(&FrameInfo::new(Format::Nv12, 64, 48)).to_string();
        for line in ["hipdownload", "hipconvertscale", "hipupload"] {
            let (text, flow) = refused(line, &caps, gst::Buffer::with_size(100).unwrap());
            assert!(text.contains("too few"), "{text}");
            assert_eq!(flow, gst::FlowError::Error);
        }
    });
}

#[test]
fn a_pipeline_that_comes_and_goes() {
    with_device(|device| {
        for format in [Format::Nv12, Format::Rgb] {
            let info = FrameInfo::new(format, 320, 240);
            let (mut harness, _bus) = harness("hipupload ! hipconvertscale ! hipdownload");
            harness.set_sink_caps_str("video/x-raw,format=RGBA,width=100,height=80");
            harness.set_src_caps(caps_of(&info));
            for seed in 0..5 {
                // Frames are let go of while the device may still be writing them.
                harness
                    .push(buffer_of(&random_image(info, seed), Storage::Plain, device))
                    .unwrap();
            }
        }
    });
}
