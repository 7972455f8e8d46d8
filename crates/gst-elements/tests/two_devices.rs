//! Two devices in one pipeline: Host shows as many as it is told to.

mod common;

use std::process::Command;

use common::{Storage, buffer_of, caps_of, first_difference, image_of, message_text, random_image};
use gst_hip::DeviceSelector;
use hip_oracle::{Format, FrameInfo};

const CHILD: &str = "GST_HIP_TEST_CHILD";

#[test]
fn frames_of_another_device_are_brought_over() {
    if std::env::var_os(CHILD).is_some() {
        return child();
    }
    // The environment is read once in a process, so the test runs in one of its own.
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "frames_of_another_device_are_brought_over",
        "--nocapture",
    ]);
    child.env(CHILD, "1").env("GST_HIP_HOST_DEVICES", "2");
    let output = child.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn child() {
    common::init();
    let device = gst_hip::env::open_device(&DeviceSelector::Ordinal(gst_hip::Vendor::Host, 1));
    let device = device.expect("a second Host device");
    let info = FrameInfo::new(Format::P010Le, 35, 19);
    let mut harness = gst_check::Harness::new_parse(
        "hipupload device=host:0 ! hipconvertscale device=host:1 ! hipdownload device=host:0",
    );
    let bus = gst::Bus::new();
    gst::prelude::ElementExt::set_bus(&harness.element().unwrap(), Some(&bus));
    harness.set_sink_caps(caps_of(&info));
    harness.set_src_caps(caps_of(&info));
    for (seed, storage) in Storage::ALL.into_iter().enumerate() {
        let image = random_image(info, seed as u64);
        harness.push(buffer_of(&image, storage, &device)).unwrap();
        let found = image_of(&harness.pull().unwrap(), info);
        assert_eq!(first_difference(&image, &found), None, "{storage:?}");
    }
    // Once where the frames leave the first device, once where they come back.
    for _ in 0..2 {
        let warning = message_text(&bus, gst::MessageType::Warning).expect("a warning");
        assert!(warning.contains("copied by the CPU"), "{warning}");
    }
    assert_eq!(message_text(&bus, gst::MessageType::Error), None);
}
