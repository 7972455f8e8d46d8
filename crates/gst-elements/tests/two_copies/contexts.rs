//! Devices and pools are shared both ways.

use gst::prelude::*;
use gst_hip::{CONTEXT_TYPE, Device, DeviceFrame, HipBufferPool, HipContext, MemoryKind, Stream};
use gst_video::VideoInfo;
use hip_oracle::{Format, FrameInfo};

use crate::common::{
    Storage, buffer_of, caps_of, first_difference, hip_caps_of, image_of, message_text,
    offered_pool, random_image,
};
use crate::plugin::{load, scenario};
use crate::{device, harness, hip_memory};

#[test]
fn contexts_go_both_ways() {
    scenario("contexts::contexts_go_both_ways", |file| {
        let Some(device) = device() else { return };
        load(file);
        let element = gst::ElementFactory::make("hipupload").build().unwrap();
        element.set_property_from_str("vendor", &crate::common::vendor());
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        element.set_context(&HipContext::new(&device).to_gst());
        element.set_state(gst::State::Paused).unwrap();
        // It took what it was given: it had no need to ask, nor anything to announce.
        let kinds = [gst::MessageType::NeedContext, gst::MessageType::HaveContext];
        assert!(bus.pop_filtered(&kinds).is_none());
        let info: Option<String> = element.property("device-info");
        assert_eq!(info, Some(device.info().to_string()));

        // And gives it to who asks.
        let mut query = gst::query::Context::new(CONTEXT_TYPE);
        let pad = element.static_pad("src").unwrap();
        assert!(pad.query(query.query_mut()));
        let context = query.context_owned().expect("a context");
        let found = HipContext::from_gst(&context).expect("the plugin's context");
        assert_eq!(*found.device(), device);
        element.set_state(gst::State::Null).unwrap();

        // An element that was given nothing announces its own.
        let element = gst::ElementFactory::make("hipdownload").build().unwrap();
        element.set_property_from_str("vendor", &crate::common::vendor());
        element.set_bus(Some(&bus));
        element.set_state(gst::State::Paused).unwrap();
        let message = bus
            .pop_filtered(&[gst::MessageType::HaveContext])
            .expect("an announcement");
        let gst::MessageView::HaveContext(have) = message.view() else {
            panic!("another message: {message:?}");
        };
        let found = HipContext::from_gst(&have.context()).expect("the plugin's context");
        assert_eq!(*found.device(), device);
        element.set_state(gst::State::Null).unwrap();
    });
}

#[test]
fn the_plugins_pool_serves_the_application() {
    scenario(
        "contexts::the_plugins_pool_serves_the_application",
        |file| {
            let Some(device) = device() else { return };
            load(file);
            let info = FrameInfo::new(Format::Nv12, 66, 18);
            let video = VideoInfo::from_caps(&caps_of(&info)).unwrap();
            let (mut harness, bus) = harness("hipdownload");
            harness.set_sink_caps(caps_of(&info));
            harness.set_src_caps(hip_caps_of(&info));
            harness.play();
            let pool = offered_pool(&harness, &hip_caps_of(&info));
            assert_eq!(pool.device().unwrap(), device);
            assert_eq!(pool.kind(), MemoryKind::Device);
            assert!(pool.layout().is_none(), "the plugin's business");
            pool.set_active(true).unwrap();
            let stream = Stream::new(&device).unwrap();
            for seed in 0..5 {
                let mut buffer = pool.acquire_buffer(None).unwrap();
                assert!(!hip_memory(&buffer).is_own());
                let image = random_image(info, seed);
                let pinned = buffer_of(&image, Storage::Pinned, &device);
                let from = DeviceFrame::read_for_copy(&pinned, &video, &stream).unwrap();
                let writable = buffer.get_mut().unwrap();
                let to = DeviceFrame::write_for_copy(writable, &video, &stream).unwrap();
                for (from, to) in from.planes().iter().zip(to.planes()) {
                    let copy = gst_hip::Copy2D {
                        dst: to.end(),
                        dst_stride: to.stride,
                        src: from.end(),
                        src_stride: from.stride,
                        width_bytes: from.row_bytes,
                        height: from.height as usize,
                    };
                    // SAFETY: the frames vouch for every row while the work is enqueued.
                    unsafe { stream.copy_2d_raw(&copy) }.unwrap();
                }
                drop((from, to));
                harness.push(buffer).unwrap();
                let found = image_of(&harness.pull().unwrap(), info);
                assert_eq!(first_difference(&image, &found), None);
            }
            assert_eq!(message_text(&bus, gst::MessageType::Warning), None);
            pool.set_active(false).unwrap();
        },
    );
}

#[test]
fn the_applications_pool_serves_the_plugin() {
    scenario(
        "contexts::the_applications_pool_serves_the_plugin",
        |file| {
            let Some(device) = device() else { return };
            load(file);
            let info = FrameInfo::new(Format::Nv12, 66, 18);
            let caps = hip_caps_of(&info);
            let pool = HipBufferPool::new(&device, MemoryKind::Device);
            pool.configure(&caps, 0, 4, 0).unwrap();
            let (sender, received) = std::sync::mpsc::channel();
            let offered = pool.clone();
            let sink = gst::Pad::builder(gst::PadDirection::Sink)
                .name("sink")
                .query_function(move |pad, parent, query| {
                    if let gst::QueryViewMut::Allocation(query) = query.view_mut() {
                        query.add_allocation_pool(Some(&offered), 1, 4, 0);
                        query.add_allocation_meta::<gst_video::VideoMeta>(None);
                        return true;
                    }
                    gst::Pad::query_default(pad, parent, query)
                })
                .chain_function(move |_, _, buffer| {
                    let _ = sender.send(buffer);
                    Ok(gst::FlowSuccess::Ok)
                })
                .build();
            let upload = gst::ElementFactory::make("hipupload").build().unwrap();
            upload.set_property_from_str("vendor", &crate::common::vendor());
            upload.static_pad("src").unwrap().link(&sink).unwrap();
            sink.set_active(true).unwrap();
            upload.set_state(gst::State::Playing).unwrap();
            let entry = upload.static_pad("sink").unwrap();
            entry.send_event(gst::event::StreamStart::new("test"));
            entry.send_event(gst::event::Caps::new(&caps_of(&info)));
            entry.send_event(gst::event::Segment::new(&gst::FormattedSegment::<
                gst::ClockTime,
            >::new()));
            let image = random_image(info, 3);
            entry
                .chain(buffer_of(&image, Storage::Plain, &device))
                .unwrap();
            let buffer = received.try_recv().expect("a buffer");
            assert!(hip_memory(&buffer).is_own(), "from the application's pool");
            assert_eq!(first_difference(&image, &image_of(&buffer, info)), None);
            upload.set_state(gst::State::Null).unwrap();
        },
    );
}

/// Tells when it is dropped.
struct Kept(
    std::sync::Arc<std::sync::atomic::AtomicBool>,
    #[allow(dead_code)] Device,
);

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.store(true, std::sync::atomic::Ordering::SeqCst);
    }
}

#[test]
fn an_adopted_context_lives_as_long_as_it_is_used() {
    scenario(
        "contexts::an_adopted_context_lives_as_long_as_it_is_used",
        |file| {
            let Some(primary) = device() else { return };
            load(file);
            let dropped = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
            let is_dropped = || dropped.load(std::sync::atomic::Ordering::SeqCst);
            let kept = Box::new(Kept(dropped.clone(), primary.clone()));
            let (ordinal, context) = (primary.info().ordinal, primary.as_raw_context());
            // SAFETY: the context is the primary one, which the kept device holds.
            let device = unsafe {
                Device::from_foreign_context(primary.backend().clone(), ordinal, context, kept)
            };
            let device = device.unwrap();
            let info = FrameInfo::new(Format::Nv12, 32, 16);
            let (mut upload, bus) = harness("hipupload");
            let element = upload.element().unwrap();
            // The first context that is offered is taken; the harness has started the element.
            element.set_state(gst::State::Null).unwrap();
            element.set_context(&HipContext::new(&device).to_gst());
            element.set_state(gst::State::Playing).unwrap();
            drop(device);
            // On a GPU the plugin holds the context itself, on Host its own device of the number.
            let host = primary.vendor() == gst_hip::Vendor::Host;
            if !host {
                assert!(!is_dropped(), "the element holds it");
            }
            upload.set_sink_caps(hip_caps_of(&info));
            upload.set_src_caps(caps_of(&info));
            let image = random_image(info, 4);
            upload
                .push(buffer_of(&image, Storage::Plain, &primary))
                .unwrap();
            let buffer = upload.pull().unwrap();
            assert_eq!(*hip_memory(&buffer).device(), primary);
            assert_eq!(first_difference(&image, &image_of(&buffer, info)), None);
            element.set_state(gst::State::Null).unwrap();
            // Messages on the bus hold the element, which holds the bus.
            element.set_bus(None::<&gst::Bus>);
            drop((upload, bus));
            if !host {
                assert!(!is_dropped(), "the buffer holds it");
            }
            drop((element, buffer));
            for _ in 0..3000 {
                if is_dropped() {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            panic!("the context is held by nobody and never let go");
        },
    );
}
