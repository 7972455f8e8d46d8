//! Frames go from one copy to the other and back, in order.

use std::time::Duration;

use gst::prelude::*;
use gst_hip::{
    Copy2D, Device, DeviceFrame, HipAllocator, HipBufferPool, HipMemoryRef, MemoryKind, Stream,
};
use gst_video::VideoInfo;
use hip_core::MemsetValue;
use hip_oracle::{Format, FrameInfo, Image};

use crate::common::{
    Storage, buffer_of, caps_of, first_difference, hip_caps_of, image_of, message_text,
    random_image,
};
use crate::plugin::{load, scenario};
use crate::{device, harness, hip_memory, own_buffer};

fn no_messages(bus: &gst::Bus) {
    for kind in [gst::MessageType::Warning, gst::MessageType::Error] {
        assert_eq!(message_text(bus, kind), None);
    }
}

fn video_info(info: &FrameInfo) -> VideoInfo {
    VideoInfo::from_caps(&caps_of(info)).unwrap()
}

/// Copies a frame between buffers of any copy's memory, on `stream`.
fn copy(stream: &Stream, from: &gst::BufferRef, to: &mut gst::BufferRef, info: &VideoInfo) {
    let source = DeviceFrame::read_for_copy(from, info, stream).unwrap();
    let target = DeviceFrame::write_for_copy(to, info, stream).unwrap();
    for (from, to) in source.planes().iter().zip(target.planes()) {
        let copy = Copy2D {
            dst: to.end(),
            dst_stride: to.stride,
            src: from.end(),
            src_stride: from.stride,
            width_bytes: from.row_bytes,
            height: from.height as usize,
        };
        // SAFETY: the frames vouch for every row while the work is enqueued, and their ends for
        // the order.
        unsafe { stream.copy_2d_raw(&copy) }.unwrap();
    }
    let event = stream.record().unwrap();
    source.finish(&event).unwrap();
    target.finish(&event).unwrap();
}

/// Puts an image into device memory, through pinned memory of this copy's.
fn to_device(device: &Device, stream: &Stream, image: &Image, mut to: gst::Buffer) -> gst::Buffer {
    let pinned = buffer_of(image, Storage::Pinned, device);
    copy(
        stream,
        &pinned,
        to.get_mut().unwrap(),
        &video_info(&image.info),
    );
    to
}

#[test]
fn the_applications_memory_goes_through_the_plugin() {
    scenario(
        "frames::the_applications_memory_goes_through_the_plugin",
        |file| {
            let Some(device) = device() else { return };
            load(file);
            let (info, other) = (
                FrameInfo::new(Format::Nv12, 98, 34),
                FrameInfo::new(Format::Rgba, 50, 20),
            );
            let stream = Stream::new(&device).unwrap();
            // What the plugin makes of a frame by itself.
            let (mut alone, _) = harness("hipupload ! hipconvertscale ! hipdownload");
            alone.set_sink_caps(caps_of(&other));
            alone.set_src_caps(caps_of(&info));
            let (mut plain, plain_bus) = harness("hipdownload");
            plain.set_sink_caps(caps_of(&info));
            plain.set_src_caps(hip_caps_of(&info));
            let (mut both, both_bus) = harness("hipconvertscale ! hipdownload");
            both.set_sink_caps(caps_of(&other));
            both.set_src_caps(hip_caps_of(&info));

            let pool = HipBufferPool::new(&device, MemoryKind::Device);
            pool.configure(&hip_caps_of(&info), 0, 2, 3).unwrap();
            pool.set_active(true).unwrap();
            for seed in 0..6 {
                let image = random_image(info, seed);
                let mut buffer = pool.acquire_buffer(None).unwrap();
                buffer.get_mut().unwrap().set_pts(gst::ClockTime::ZERO);
                let buffer = to_device(&device, &stream, &image, buffer);
                assert!(hip_memory(&buffer).is_own());
                plain.push(buffer.clone()).unwrap();
                both.push(buffer).unwrap();
                let found = image_of(&plain.pull().unwrap(), info);
                assert_eq!(first_difference(&image, &found), None, "frame {seed}");
                alone
                    .push(buffer_of(&image, Storage::Plain, &device))
                    .unwrap();
                let expected = image_of(&alone.pull().unwrap(), other);
                let found = image_of(&both.pull().unwrap(), other);
                assert_eq!(first_difference(&expected, &found), None, "frame {seed}");
            }
            no_messages(&plain_bus);
            no_messages(&both_bus);
            drop((plain, both));
            pool.set_active(false).unwrap();
        },
    );
}

#[test]
fn the_plugins_memory_is_the_applications_too() {
    scenario(
        "frames::the_plugins_memory_is_the_applications_too",
        |file| {
            let Some(device) = device() else { return };
            load(file);
            let info = FrameInfo::new(Format::I420, 70, 26);
            let video = video_info(&info);
            let stream = Stream::new(&device).unwrap();
            let (mut upload, bus) = harness("hipupload");
            upload.set_sink_caps(hip_caps_of(&info));
            upload.set_src_caps(caps_of(&info));
            let image = random_image(info, 1);
            upload
                .push(buffer_of(&image, Storage::Plain, &device))
                .unwrap();
            let mut theirs = upload.pull().unwrap();
            let memory = hip_memory(&theirs);
            assert!(!memory.is_own());
            assert_eq!(
                (memory.device(), memory.kind()),
                (&device, MemoryKind::Device)
            );
            match memory.map_stream() {
                Ok(stream) => assert!(stream.is_foreign() && *stream.device() == device),
                // Another copy's worker threads.
                Err(error) => assert_eq!(device.vendor(), gst_hip::Vendor::Host, "{error}"),
            }
            let whole = theirs.copy();
            assert!(memory.shares_allocation(&hip_memory(&whole)));
            drop(whole);

            // Read by this copy, on its stream.
            let mut ours = own_buffer(&device, &video);
            copy(&stream, &theirs, ours.get_mut().unwrap(), &video);
            assert_eq!(first_difference(&image, &image_of(&ours, info)), None);
            assert!(!hip_memory(&ours).shares_allocation(&hip_memory(&theirs)));

            // Written by this copy; the owner's CPU map waits for it.
            let second = random_image(info, 2);
            theirs = to_device(&device, &stream, &second, theirs);
            assert_eq!(first_difference(&second, &image_of(&theirs, info)), None);

            // Back into the plugin, which made it.
            let (mut download, bus_down) = harness("hipdownload");
            download.set_sink_caps(caps_of(&info));
            download.set_src_caps(hip_caps_of(&info));
            download.push(theirs).unwrap();
            let found = image_of(&download.pull().unwrap(), info);
            assert_eq!(first_difference(&second, &found), None);
            no_messages(&bus);
            no_messages(&bus_down);
        },
    );
}

/// Enqueues a fill of a whole memory of any copy's.
fn fill(memory: &HipMemoryRef<'_>, stream: &Stream, value: u8) {
    let access = memory.begin_overwrite(stream).unwrap();
    let device = stream.device();
    let bound = device.bind().unwrap();
    // SAFETY: the access vouches for the range while the work is enqueued; the context is bound.
    unsafe {
        device.backend().memset(
            access.device_ptr(),
            MemsetValue::U8(value),
            access.len(),
            Some(stream.as_raw()),
        )
    }
    .unwrap();
    drop(bound);
    access.finish(&stream.record().unwrap()).unwrap();
}

#[test]
fn order_is_kept_across() {
    scenario("frames::order_is_kept_across", |file| {
        let Some(device) = device() else { return };
        load(file);
        let info = FrameInfo::new(Format::Rgba, 64, 32);
        let caps = "video/x-raw,format=RGBA,width=64,height=32,framerate=30/1";
        let hip = "video/x-raw(memory:HIPMemory),format=RGBA,width=64,height=32,framerate=30/1";
        let (mut download, bus) = harness("hipdownload");
        download.set_sink_caps_str(caps);
        download.set_src_caps_str(hip);
        let stream = Stream::new(&device).unwrap();
        let buffer = own_buffer(&device, &video_info(&info));
        let all = |buffer: &gst::BufferRef, value: u8| {
            buffer
                .map_readable()
                .unwrap()
                .iter()
                .all(|byte| *byte == value)
        };
        for round in 0..20_u8 {
            // The write is held up; the plugin's read comes after it all the same.
            let (open, opened) = std::sync::mpsc::channel::<()>();
            stream
                .launch_host_func(move || {
                    let _ = opened.recv_timeout(Duration::from_secs(20));
                })
                .unwrap();
            fill(&hip_memory(&buffer), &stream, 2 * round);
            let opener = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(10));
                drop(open);
            });
            download.push(buffer.clone()).unwrap();
            // And the next write comes after the plugin's read.
            fill(&hip_memory(&buffer), &stream, 2 * round + 1);
            let found = download.pull().unwrap();
            assert!(all(&found, 2 * round), "round {round}");
            assert!(all(&buffer, 2 * round + 1), "round {round}");
            opener.join().unwrap();
        }
        no_messages(&bus);
    });
}

#[test]
fn what_would_race_is_refused_across() {
    scenario("frames::what_would_race_is_refused_across", |file| {
        let Some(device) = device() else { return };
        load(file);
        let info = FrameInfo::new(Format::Rgba, 16, 16);
        let (mut upload, _bus) = harness("hipupload");
        upload.set_sink_caps(hip_caps_of(&info));
        upload.set_src_caps(caps_of(&info));
        upload
            .push(buffer_of(&random_image(info, 1), Storage::Plain, &device))
            .unwrap();
        let theirs = upload.pull().unwrap();
        let memory = hip_memory(&theirs);
        let (one, two) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let first = memory.begin_read(&one).unwrap();
        let second = memory.begin_read(&two).unwrap();
        assert_eq!(first.device_ptr(), second.device_ptr());
        let busy = memory.begin_write(&two).unwrap_err();
        assert!(matches!(busy, gst_hip::Error::Busy(_)), "{busy}");
        drop(first);
        // A stream's own accesses are in order anyway.
        let write = memory.begin_write(&two).unwrap();
        assert!(theirs.map_readable().is_err(), "a write is being enqueued");
        drop((second, write));
        let map = theirs.map_readable().unwrap();
        memory.begin_write(&one).unwrap_err();
        drop(map);
        drop(memory.begin_write(&one).unwrap());

        // Another device's stream is no stream for it. Every machine has this one.
        let mut config = hip_core::LoaderConfig::default();
        config.host_devices = 2;
        let runtime = hip_core::Runtime::new(config);
        let selector = gst_hip::DeviceSelector::Ordinal(gst_hip::Vendor::Host, 1);
        let other = hip_core::open_device(&runtime, &selector).unwrap();
        let wrong = memory
            .begin_read(&Stream::new(&other).unwrap())
            .unwrap_err();
        assert!(
            matches!(wrong, gst_hip::Error::WrongDevice { .. }),
            "{wrong}"
        );
    });
}

#[test]
fn more_streams_than_are_remembered() {
    scenario("frames::more_streams_than_are_remembered", |file| {
        let Some(device) = device() else { return };
        load(file);
        let info = FrameInfo::new(Format::Rgba, 16, 16);
        let (mut upload, _bus) = harness("hipupload");
        upload.set_sink_caps(hip_caps_of(&info));
        upload.set_src_caps(caps_of(&info));
        upload
            .push(buffer_of(&random_image(info, 1), Storage::Plain, &device))
            .unwrap();
        let theirs = upload.pull().unwrap();
        let memory = hip_memory(&theirs);
        let copy = HipAllocator::alloc_device(&device, memory.len()).unwrap();
        for round in 0..40_u8 {
            let stream = Stream::new(&device).unwrap();
            fill(&memory, &stream, round);
            let first = theirs.map_readable().unwrap()[0];
            assert_eq!(first, round);
        }
        assert_eq!(
            HipMemoryRef::from_memory(&copy).unwrap().len(),
            memory.len()
        );
        // What the owner was lent is its own again: streams of this copy's are all gone but the
        // elements' and the memory's own.
        let before = device.statistics().streams_live;
        drop(theirs);
        assert!(device.statistics().streams_live <= before);
    });
}
