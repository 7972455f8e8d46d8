//! Two copies of gst-hip in one process: this program links one, the plugin `libgsthip.so` that
//! GStreamer loads holds another. Each scenario runs in a process of its own for each plugin there
//! is: the one built like this program and, where Cargo is there to build it, an optimised one.

#[path = "../common/mod.rs"]
mod common;
mod contexts;
mod frames;
mod plugin;
mod types;
mod version;

use gst_hip::{Device, DeviceSelector, HipAllocator, HipMemoryRef, MemoryKind};

/// This program's device of the vendor under test, `None`, and a line that says why, if there is
/// none.
fn device() -> Option<Device> {
    let name = common::vendor();
    let selector: DeviceSelector = name.parse().expect("HIP_TEST_VENDOR names a vendor");
    match gst_hip::env::open_device(&selector) {
        Ok(device) => Some(device),
        Err(error) => {
            // Set by whoever has seen the device: then its absence is a failure.
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
            println!("skipped: no device for HIP_TEST_VENDOR={name}: {error}");
            None
        }
    }
}

/// The first memory of a buffer as HIP memory, whoever made it.
fn hip_memory(buffer: &gst::BufferRef) -> HipMemoryRef<'_> {
    HipMemoryRef::from_memory(buffer.peek_memory(0)).expect("HIP memory")
}

/// A harness round elements of the plugin's, with the vendor under test, and their bus.
fn harness(line: &str) -> (gst_check::Harness, gst::Bus) {
    common::harness(line)
}

/// A buffer of this copy's device memory, and its layout.
fn own_buffer(device: &Device, info: &gst_video::VideoInfo) -> gst::Buffer {
    let pitch = device.info().limits.pitch_alignment;
    let layout = gst_hip::FrameLayout::new(info, pitch).unwrap();
    let memory = HipAllocator::alloc_video(device, MemoryKind::Device, &layout).unwrap();
    let mut buffer = gst::Buffer::new();
    let writable = buffer.get_mut().unwrap();
    writable.append_memory(memory);
    layout.add_video_meta(writable).unwrap();
    writable.set_pts(gst::ClockTime::ZERO);
    buffer
}
