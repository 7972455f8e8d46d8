//! What is agreed on with neighbours, and what is refused.

use gst::prelude::*;
use hip_oracle::{Format, FrameInfo};

use crate::common::{hip_caps_of, init, launch_line, test_device};
use crate::lab::formats;

/// What of an element's output caps a neighbour chooses when frames of `input` come in.
pub(crate) fn chosen(element: &str, input: &str, output: &str) -> Option<gst::Caps> {
    test_device()?;
    let mut harness = gst_check::Harness::new_parse(&launch_line(element));
    let hip = |fields: &str| format!("video/x-raw(memory:HIPMemory),{fields}");
    harness.set_sink_caps_str(&hip(output));
    harness.set_src_caps_str(&hip(&format!("{input},framerate=30/1")));
    // Caps travel with the next serialised event.
    let segment = gst::FormattedSegment::<gst::ClockTime>::new();
    if !harness.push_event(gst::event::Segment::new(&segment)) {
        return Some(gst::Caps::new_empty());
    }
    let caps = harness.sinkpad()?.current_caps();
    Some(caps.unwrap_or_else(gst::Caps::new_empty))
}

fn check(element: &str, input: &str, output: &str, expected: &str) {
    let Some(caps) = chosen(element, input, output) else {
        return;
    };
    let expected: gst::Caps = format!("video/x-raw(memory:HIPMemory),{expected}")
        .parse()
        .unwrap();
    let case = format!("{element}: {input} to {output}: {caps}");
    assert!(!caps.is_empty() && caps.is_subset(&expected), "{case}");
}

#[test]
fn templates_have_every_format_of_the_running_gstreamer() {
    init();
    for element in [
        "hipconvertscale",
        "hipconvert",
        "hipscale",
        "hipupload",
        "hipdownload",
    ] {
        let factory = gst::ElementFactory::find(element).expect("it is registered");
        for template in factory.static_pad_templates() {
            let caps = template.caps();
            for format in formats() {
                let frame = hip_caps_of(&FrameInfo::new(format, 64, 32));
                let way = template.direction();
                assert!(caps.can_intersect(&frame), "{element} {way:?} {format:?}");
            }
        }
    }
}

#[test]
fn formats_that_lose_least() {
    let hd = "width=64,height=32";
    for (from, to, expected) in [
        ("NV12", "{GRAY8,RGBA,I420,Y444}", "I420"),
        ("P010_10LE", "{NV12,I420_10LE,RGBA}", "I420_10LE"),
        ("v210", "{Y42B,I422_10LE,NV12}", "I422_10LE"),
        ("RGBA", "{NV12,RGB,AYUV}", "AYUV"),
        ("ARGB64_LE", "{BGRA,GBRA_12LE,RGB}", "GBRA_12LE"),
        ("GRAY16_LE", "{GRAY8,Y444_16LE}", "Y444_16LE"),
        ("YUY2", "{NV12,NV16,RGBA}", "NV16"),
    ] {
        for element in ["hipconvertscale", "hipconvert"] {
            let input = format!("format={from},{hd}");
            check(
                element,
                &input,
                &format!("format={to}"),
                &format!("format={expected}"),
            );
        }
    }
}

#[test]
fn halves_leave_the_rest_alone() {
    let input = "format=NV12,width=64,height=32";
    check(
        "hipconvert",
        input,
        "format=RGBA",
        "format=RGBA,width=64,height=32",
    );
    check(
        "hipscale",
        input,
        "width=128",
        "format=NV12,width=128,height=64",
    );
    for (element, output) in [("hipconvert", "width=128"), ("hipscale", "format=RGBA")] {
        let Some(caps) = chosen(element, input, output) else {
            return;
        };
        assert!(caps.is_empty(), "{element}: {caps}");
    }
}

#[test]
fn colours_stay_when_sizes_change() {
    let input = "format=NV12,width=1920,height=1080";
    check(
        "hipscale",
        input,
        "width=640",
        "height=360,colorimetry=bt709",
    );
    check(
        "hipconvertscale",
        input,
        "width=640",
        "height=360,colorimetry=bt709",
    );
}

#[test]
fn shape_is_kept_through_turns() {
    let pal = "format=NV12,width=720,height=576,pixel-aspect-ratio=16/15";
    for (direction, output, expected) in [
        ("identity", "pixel-aspect-ratio=1/1", "width=768,height=576"),
        (
            "90r",
            "format=NV12",
            "width=576,height=720,pixel-aspect-ratio=15/16",
        ),
        ("ul-lr", "pixel-aspect-ratio=1/1", "width=540,height=720"),
        (
            "vert",
            "format=RGBA",
            "width=720,height=576,pixel-aspect-ratio=16/15",
        ),
    ] {
        let element = format!("hipconvertscale video-direction={direction}");
        check(&element, pal, output, expected);
    }
}

#[test]
fn what_cannot_be_done_is_refused_in_caps() {
    let interlaced = "format=RGBA,width=64,height=32,interlace-mode=interleaved";
    // 9 and 10 are log100 and log316.
    let log = "format=NV12,width=64,height=32,colorimetry=(string)2:3:9:1";
    for (element, input, output) in [
        ("hipscale video-direction=90l", interlaced, "format=RGBA"),
        ("hipconvert gamma-mode=remap", log, "colorimetry=bt709"),
        (
            "hipconvert primaries-mode=fast",
            log,
            "format=RGBA,colorimetry=sRGB",
        ),
        (
            "hipconvertscale",
            "format=NV12,width=16385,height=2",
            "format=RGBA",
        ),
    ] {
        let Some(caps) = chosen(element, input, output) else {
            return;
        };
        assert!(caps.is_empty(), "{element}: {input} to {output}: {caps}");
    }
    // Without the modes the transfer function is only a name, and fields stay fields.
    check("hipconvert", log, "colorimetry=bt709", "colorimetry=bt709");
    for (element, output) in [
        ("hipconvertscale", "format=RGBA"),
        ("hipconvert", "format=NV12"),
        ("hipscale video-direction=vert", "width=32"),
        ("hipconvert alpha-mode=set alpha-value=0.5", "format=RGBA"),
    ] {
        check(element, interlaced, output, "interlace-mode=interleaved");
    }
    check(
        "hipconvert gamma-mode=remap",
        log,
        "format=I420",
        "colorimetry=(string)2:3:9:1",
    );
}

#[test]
fn passthrough_needs_equal_light_only_where_it_is_converted() {
    use gst_base::prelude::BaseTransformExt;
    let hd = "format=NV12,width=64,height=32,colorimetry";
    for (element, from, to, passes) in [
        ("hipconvertscale", "bt709", "bt709", true),
        // Primaries differ.
        (
            "hipconvertscale",
            "(string)2:3:5:1",
            "(string)2:3:5:7",
            true,
        ),
        (
            "hipconvertscale gamma-mode=remap",
            "(string)2:3:5:1",
            "(string)2:3:5:7",
            true,
        ),
        (
            "hipconvertscale primaries-mode=fast",
            "(string)2:3:5:1",
            "(string)2:3:5:7",
            false,
        ),
        // Transfer functions differ.
        (
            "hipconvertscale",
            "(string)2:3:5:1",
            "(string)2:3:8:1",
            true,
        ),
        (
            "hipconvertscale gamma-mode=remap",
            "(string)2:3:5:1",
            "(string)2:3:8:1",
            false,
        ),
        // These are shown alike.
        (
            "hipconvertscale gamma-mode=remap",
            "(string)2:3:5:1",
            "(string)2:3:11:1",
            true,
        ),
        // Matrix and range differ.
        (
            "hipconvertscale",
            "(string)2:3:5:1",
            "(string)2:4:5:1",
            false,
        ),
        (
            "hipconvertscale",
            "(string)2:3:5:1",
            "(string)1:3:5:1",
            false,
        ),
    ] {
        if test_device().is_none() {
            return;
        }
        let mut harness = gst_check::Harness::new_parse(&launch_line(element));
        let hip = |fields: &str| format!("video/x-raw(memory:HIPMemory),{hd}={fields}");
        harness.set_sink_caps_str(&hip(to));
        harness.set_src_caps_str(&hip(from));
        let segment = gst::FormattedSegment::<gst::ClockTime>::new();
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
        let transform = harness.find_element("hipconvertscale").unwrap();
        let transform = transform.downcast::<gst_base::BaseTransform>().unwrap();
        assert_eq!(
            transform.is_passthrough(),
            passes,
            "{element}: {from} to {to}"
        );
    }
}

#[test]
fn v210_rows_may_be_as_short_as_their_samples() {
    use crate::common::{Storage, random_image};
    use crate::lab::Chain;
    // 7 pixels: two groups of 16 bytes, which GStreamer itself pads to 128.
    let frame = FrameInfo::new(Format::V210, 7, 3);
    let output = FrameInfo::new(Format::Y444_10Le, 7, 3);
    let input = random_image(frame, 3);
    for storage in Storage::ALL {
        let Some(mut chain) = Chain::new("hipconvertscale") else {
            return;
        };
        chain.set(&frame, &output);
        let buffer = crate::common::buffer_of(&input, storage, &chain.device);
        let found = chain.send(buffer);
        let found = crate::common::image_of(&found, output);
        let expected = hip_oracle::Conversion::new(frame, output).convert(&input);
        crate::lab::check_image(&found, &expected, &format!("{storage:?}"));
    }
}
