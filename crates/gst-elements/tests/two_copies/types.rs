//! Types are there once, whichever copy is first.

use std::path::Path;

use gst::glib;
use gst::glib::translate::IntoGlib;
use gst::prelude::*;
use gst_hip::{HipBufferPool, HipContext, MemoryKind};
use hip_oracle::{Format, FrameInfo};

use crate::common::{Storage, buffer_of, caps_of, hip_caps_of, message_text, random_image};
use crate::plugin::{load, scenario};
use crate::{device, harness, hip_memory, own_buffer};

const NAMES: [&str; 3] = ["GstHipRsAllocator", "GstHipRsDevice", "GstHipRsBufferPool"];

/// No copy had to take another name for a type.
fn check_types() {
    for name in NAMES {
        assert!(glib::Type::from_name(name).is_some(), "{name}");
        for other in ["-1", "-2", "-abi1", "-abi1-2", "-v2"] {
            let other = format!("{name}{other}");
            assert!(glib::Type::from_name(&other).is_none(), "{other}");
        }
    }
    for parent in [
        gst::Allocator::static_type(),
        gst::BufferPool::static_type(),
    ] {
        let ours = |t: &glib::Type| t.name().starts_with("GstHipRs");
        assert_eq!(parent.children().iter().filter(|t| ours(t)).count(), 1);
    }
}

/// Makes this copy register all its types.
fn use_own(device: &gst_hip::Device) -> gst::Allocator {
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::Rgba, 16, 16).build();
    let buffer = own_buffer(device, &info.unwrap());
    let _ = HipContext::new(device).to_gst();
    let _ = HipBufferPool::new(device, MemoryKind::Device);
    let memory = hip_memory(&buffer);
    assert!(memory.is_own());
    buffer.peek_memory(0).allocator().unwrap().clone()
}

/// Makes the plugin's copy register all its types; gives its allocator.
fn use_plugins(device: &gst_hip::Device) -> gst::Allocator {
    let info = FrameInfo::new(Format::Nv12, 16, 16);
    let (mut harness, bus) = harness("hipupload ! hipconvertscale");
    harness.set_sink_caps(hip_caps_of(&FrameInfo::new(Format::Rgba, 16, 16)));
    harness.set_src_caps(caps_of(&info));
    harness
        .push(buffer_of(&random_image(info, 1), Storage::Plain, device))
        .unwrap();
    let buffer = harness.pull().unwrap();
    let memory = hip_memory(&buffer);
    assert!(!memory.is_own(), "the plugin has a copy of its own");
    assert_eq!(memory.device(), device);
    assert_eq!(message_text(&bus, gst::MessageType::Warning), None);
    buffer.peek_memory(0).allocator().unwrap().clone()
}

fn check_allocators(own: &gst::Allocator, plugins: &gst::Allocator) {
    assert_ne!(own, plugins, "each copy has its own functions");
    assert_eq!(own.type_(), plugins.type_());
    check_types();
}

#[test]
fn a_name_that_a_stranger_took_is_left_alone() {
    scenario("types::a_name_that_a_stranger_took_is_left_alone", |file| {
        let Some(device) = device() else { return };
        load(file);
        // An earlier library that knew of no marks, say.
        let parent = gst::Allocator::static_type();
        let stranger = glib::Type::from_name(NAMES[0]);
        assert_eq!(stranger, None, "nobody needed the type yet");
        // SAFETY: a subclass that adds nothing to its parent.
        unsafe {
            let mut query: glib::gobject_ffi::GTypeQuery = std::mem::zeroed();
            glib::gobject_ffi::g_type_query(parent.into_glib(), &mut query);
            let name = std::ffi::CString::new(NAMES[0]).unwrap();
            glib::gobject_ffi::g_type_register_static_simple(
                parent.into_glib(),
                name.as_ptr(),
                query.class_size,
                None,
                query.instance_size,
                None,
                0,
            );
        }
        let own = use_own(&device);
        let plugins = use_plugins(&device);
        assert_eq!(own.type_(), plugins.type_());
        assert_eq!(own.type_().name(), "GstHipRsAllocator-abi1");
    });
}

#[test]
fn the_application_registers_first() {
    scenario("types::the_application_registers_first", |file| {
        let Some(device) = device() else { return };
        let own = use_own(&device);
        load(file);
        check_allocators(&own, &use_plugins(&device));
    });
}

#[test]
fn the_plugin_registers_first() {
    scenario("types::the_plugin_registers_first", |file: &Path| {
        let Some(device) = device() else { return };
        load(file);
        // The allocator type of this copy is not looked up before the plugin's memory is there.
        let info = FrameInfo::new(Format::Nv12, 16, 16);
        let (mut harness, _bus) = harness("hipupload");
        harness.set_sink_caps(hip_caps_of(&info));
        harness.set_src_caps(caps_of(&info));
        let image = random_image(info, 1);
        harness
            .push(buffer_of(&image, Storage::Plain, &device))
            .unwrap();
        let first = harness.pull().unwrap();
        let plugins = first.peek_memory(0).allocator().unwrap().clone();
        assert!(glib::Type::from_name(NAMES[0]).is_some());
        let own = use_own(&device);
        check_allocators(&own, &plugins);
        // The first buffer's class is the plugin's, and so are its functions.
        assert!(!hip_memory(&first).is_own());
        use_plugins(&device);
        check_types();
    });
}
