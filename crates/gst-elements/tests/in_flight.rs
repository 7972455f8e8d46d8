//! The streaming thread enqueues and goes on: frames pile up behind a device that is held back.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use common::{Storage, buffer_of, caps_of, harness, image_of, random_image, test_device};
use gst_hip::{Device, HipMemoryRef, Stream};
use hip_oracle::{Format, FrameInfo, Method, Rect};

/// Holds back whatever waits for a stream's work.
struct Gate {
    stream: Stream,
    open: mpsc::Sender<()>,
    /// Nobody opened the gate in time: it opened itself, so that a test ends.
    gave_up: Arc<AtomicBool>,
}

impl Gate {
    fn new(device: &Device) -> Gate {
        let stream = Stream::new(device).unwrap();
        let (open, opened) = mpsc::channel();
        let gave_up = Arc::new(AtomicBool::new(false));
        let flag = gave_up.clone();
        let wait = move || {
            if opened.recv_timeout(Duration::from_secs(30)).is_err() {
                flag.store(true, Ordering::SeqCst);
            }
        };
        stream.launch_host_func(wait).unwrap();
        Gate {
            stream,
            open,
            gave_up,
        }
    }

    /// The buffer's contents come, as far as others can tell, from work behind the gate.
    fn hold(&self, buffer: &gst::BufferRef) {
        let memory = HipMemoryRef::from_memory(buffer.peek_memory(0)).expect("memory of ours");
        let access = memory.begin_write(&self.stream).unwrap();
        access.finish(&self.stream.record().unwrap()).unwrap();
    }
}

#[test]
fn frames_pile_up_behind_a_device_that_is_busy() {
    let Some(device) = test_device() else { return };
    let (input, output) = (
        FrameInfo::new(Format::Nv12, 64, 48),
        FrameInfo::new(Format::Rgba, 64, 48),
    );
    let (mut harness, _bus) = harness("hipupload ! hipconvertscale ! hipdownload");
    harness.set_sink_caps(caps_of(&output));
    harness.set_src_caps(caps_of(&input));
    let images: Vec<_> = (1..=3).map(|seed| random_image(input, seed)).collect();
    let pinned = |image| buffer_of(image, Storage::Pinned, &device);
    let inputs: Vec<_> = images.iter().map(pinned).collect();
    // What happens once is over: a module's loading, and the pools' allocations, for which a GPU
    // driver waits for the device's work.
    let mut first = Vec::new();
    for image in &images {
        harness.push(pinned(image)).unwrap();
        first.push(harness.pull().unwrap());
    }
    drop(first);
    device.synchronize().unwrap();
    while device.statistics().fences_pending > 0 {
        std::thread::yield_now();
    }

    let gate = Gate::new(&device);
    let mut buffers = Vec::new();
    for buffer in inputs {
        gate.hold(&buffer);
        harness.push(buffer).unwrap();
        buffers.push(harness.pull().unwrap());
    }
    assert!(!gate.stream.is_idle().unwrap(), "the gate is still closed");
    assert!(
        !gate.gave_up.load(Ordering::SeqCst),
        "the streaming thread waited for the device"
    );
    gate.open.send(()).unwrap();
    for (image, buffer) in images.iter().zip(&buffers) {
        let (all, whole) = (Rect::full(&input), Rect::full(&output));
        let expected = hip_oracle::convert(image, all, &output, whole, Method::Auto);
        hip_oracle::compare(&expected, &image_of(buffer, output))
            .check(1.0)
            .unwrap();
    }
}
