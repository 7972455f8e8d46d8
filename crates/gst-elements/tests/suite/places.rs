//! Places in the picture: crop metadata, orientation tags, regions of interest, pointers.

use gst::prelude::*;
use gst_video::{VideoCropMeta, VideoRegionOfInterestMeta as Region};
use hip_oracle::{Conversion, Format, FrameInfo, Image, Method, Orientation, Rect};

use crate::common::{
    Storage, buffer_of, caps_of, hip_caps_of, image_of, launch_line, message_text, random_image,
    test_device,
};
use crate::lab::{Chain, check_frame, check_image};

/// A frame on the device with crop metadata, as a decoder makes it: the meta's size is the frame's.
fn cropped(device: &gst_hip::Device, image: &Image, crop: (u32, u32, u32, u32)) -> gst::Buffer {
    let caps = hip_caps_of(&image.info);
    let mut harness = gst_check::Harness::new_parse(&launch_line("hipupload"));
    harness.set_sink_caps(caps);
    harness.set_src_caps(caps_of(&image.info));
    harness
        .push(buffer_of(image, Storage::Plain, device))
        .unwrap();
    let mut buffer = harness.pull().unwrap();
    VideoCropMeta::add(buffer.make_mut(), crop);
    buffer
}

/// `ELEMENT ! hipdownload` for cropped frames whose picture is `width`×`height`.
fn crop_chain(
    element: &str,
    frame: &FrameInfo,
    (width, height): (usize, usize),
    output: &FrameInfo,
) -> gst_check::Harness {
    let mut harness =
        gst_check::Harness::new_parse(&launch_line(&format!("{element} ! hipdownload")));
    harness.set_sink_caps(caps_of(output));
    let picture = FrameInfo {
        width,
        height,
        ..*frame
    };
    harness.set_src_caps(hip_caps_of(&picture));
    harness
}

#[test]
fn crops_are_applied() {
    let Some(device) = test_device() else { return };
    for (format, crop) in [
        (Format::Rgba, Rect::new(9, 5, 20, 12)),
        (Format::Nv12, Rect::new(8, 4, 20, 12)),
        // Where no chroma sample begins.
        (Format::Nv12, Rect::new(7, 3, 20, 12)),
    ] {
        let frame = FrameInfo::new(format, 48, 32);
        let input = random_image(frame, 5);
        let meta = (crop.x as u32, crop.y as u32, 20, 12);
        for (element, output) in [
            ("hipconvertscale", FrameInfo::new(Format::Rgba, 40, 24)),
            ("hipconvertscale", FrameInfo::new(format, 20, 12)),
            ("hipconvert", FrameInfo::new(Format::Bgra, 20, 12)),
            ("hipscale", FrameInfo::new(format, 10, 6)),
        ] {
            let mut harness = crop_chain(element, &frame, (20, 12), &output);
            harness.push(cropped(&device, &input, meta)).unwrap();
            let found = harness.pull().unwrap();
            assert!(found.meta::<VideoCropMeta>().is_none());
            let expected = Conversion {
                source_rect: crop.into(),
                method: Method::Auto,
                ..Conversion::new(frame, output)
            };
            let found = image_of(&found, output);
            check_image(
                &found,
                &expected.convert(&input),
                &format!("{element} {crop:?}"),
            );
        }
    }
}

#[test]
fn crops_change_from_frame_to_frame() {
    let Some(device) = test_device() else { return };
    let frame = FrameInfo::new(Format::Rgba, 48, 32);
    let output = FrameInfo::new(Format::Rgba, 20, 12);
    let input = random_image(frame, 6);
    let mut harness = crop_chain("hipconvertscale", &frame, (20, 12), &output);
    for x in [0, 28, 3, 3] {
        harness
            .push(cropped(&device, &input, (x, 10, 20, 12)))
            .unwrap();
        let expected = Conversion {
            source_rect: Rect::new(x as usize, 10, 20, 12).into(),
            ..Conversion::new(frame, output)
        };
        let found = image_of(&harness.pull().unwrap(), output);
        check_image(&found, &expected.convert(&input), &format!("x = {x}"));
    }
}

#[test]
fn crops_of_other_peoples_memory_are_applied() {
    let Some(device) = test_device() else { return };
    let frame = FrameInfo::new(Format::Nv12, 48, 32);
    let output = FrameInfo::new(Format::Rgba, 20, 12);
    let input = random_image(frame, 9);
    let mut harness = crop_chain("hipconvertscale", &frame, (20, 12), &output);
    // Without crop metadata the frame is as large as the caps say.
    for crop in [
        Some(Rect::new(26, 18, 20, 12)),
        None,
        Some(Rect::new(1, 1, 20, 12)),
    ] {
        let mut buffer = buffer_of(&input, Storage::Padded, &device);
        if let Some(crop) = crop {
            VideoCropMeta::add(
                buffer.get_mut().unwrap(),
                (crop.x as u32, crop.y as u32, 20, 12),
            );
        }
        harness.push(buffer).unwrap();
        let expected = Conversion {
            source_rect: crop.unwrap_or(Rect::new(0, 0, 20, 12)).into(),
            ..Conversion::new(frame, output)
        };
        let found = image_of(&harness.pull().unwrap(), output);
        check_image(&found, &expected.convert(&input), &format!("{crop:?}"));
    }
}

#[test]
fn crops_outside_the_frame_are_an_error() {
    let Some(device) = test_device() else { return };
    let frame = FrameInfo::new(Format::Rgba, 48, 32);
    let output = FrameInfo::new(Format::Nv12, 20, 12);
    let mut harness = crop_chain("hipconvertscale", &frame, (20, 12), &output);
    let bus = gst::Bus::new();
    harness.element().unwrap().set_bus(Some(&bus));
    let buffer = cropped(&device, &random_image(frame, 7), (40, 0, 20, 12));
    assert_eq!(harness.push(buffer), Err(gst::FlowError::Error));
    let text = message_text(&bus, gst::MessageType::Error).expect("an error");
    assert!(text.contains("crop metadata"), "{text}");
}

#[test]
fn upstream_is_offered_to_leave_the_crop_to_us() {
    if test_device().is_none() {
        return;
    }
    let frame = FrameInfo::new(Format::Rgba, 48, 32);
    let output = FrameInfo::new(Format::Nv12, 20, 12);
    let harness = crop_chain("hipconvertscale", &frame, (48, 32), &output);
    let mut query = gst::query::Allocation::new(Some(&hip_caps_of(&frame)), true);
    let pad = harness.srcpad().unwrap();
    assert!(pad.peer_query(query.query_mut()));
    assert!(query.find_allocation_meta::<VideoCropMeta>().is_some());
    assert!(
        query
            .find_allocation_meta::<gst_video::VideoMeta>()
            .is_some()
    );
}

fn tags(orientation: &str) -> gst::Event {
    let mut tags = gst::TagList::new();
    tags.get_mut()
        .unwrap()
        .add::<gst::tags::ImageOrientation>(&orientation, gst::TagMergeMode::Replace);
    gst::event::Tag::new(tags)
}

/// The orientation that tags downstream speak of.
fn orientation_downstream(chain: &mut Chain) -> Option<String> {
    let mut found = None;
    while let Some(event) = chain.harness.try_pull_event() {
        if let gst::EventView::Tag(tag) = event.view() {
            let value = tag.tag().get::<gst::tags::ImageOrientation>();
            found = value.map(|value| value.get().to_owned());
        }
    }
    found
}

#[test]
fn auto_goes_by_the_tag() {
    let frame = FrameInfo::new(Format::Rgba, 16, 16);
    for (direction, tag, orientation, told) in [
        ("auto", "rotate-90", Orientation::Clockwise, "rotate-0"),
        ("auto", "flip-rotate-0", Orientation::Horizontal, "rotate-0"),
        ("auto", "rotate-0", Orientation::Identity, "rotate-0"),
        ("identity", "rotate-90", Orientation::Identity, "rotate-90"),
        ("180", "rotate-90", Orientation::Half, "rotate-90"),
    ] {
        let line = format!("hipconvertscale video-direction={direction}");
        let Some(mut chain) = Chain::new(&line) else {
            return;
        };
        chain.set(&frame, &frame);
        let expected = |orientation| Conversion {
            orientation,
            ..Conversion::new(frame, frame)
        };
        if direction == "auto" {
            check_frame(&mut chain, &expected(Orientation::Identity), "no tag yet");
        }
        assert!(chain.harness.push_event(tags(tag)));
        check_frame(
            &mut chain,
            &expected(orientation),
            &format!("{direction} {tag}"),
        );
        assert_eq!(orientation_downstream(&mut chain).as_deref(), Some(told));
        // Another stream starts anew.
        if direction == "auto" {
            assert!(
                chain
                    .harness
                    .push_event(gst::event::StreamStart::new("another"))
            );
            chain.set(&frame, &frame);
            let segment = gst::FormattedSegment::<gst::ClockTime>::new();
            assert!(chain.harness.push_event(gst::event::Segment::new(&segment)));
            check_frame(
                &mut chain,
                &expected(Orientation::Identity),
                "another stream",
            );
        }
    }
}

#[test]
fn regions_follow_the_picture() {
    let source = FrameInfo::new(Format::Nv12, 64, 32);
    for (element, output, expected) in [
        ("hipconvertscale", (128, 64), Some((16, 24, 32, 8))),
        // Borders of 16 rows.
        ("hipconvertscale", (64, 64), Some((8, 28, 16, 4))),
        (
            "hipconvertscale add-borders=false",
            (64, 64),
            Some((8, 24, 16, 8)),
        ),
        (
            "hipconvertscale video-direction=180",
            (64, 32),
            Some((40, 16, 16, 4)),
        ),
        (
            "hipconvertscale video-direction=90r",
            (32, 64),
            Some((16, 8, 4, 16)),
        ),
        (
            "hipscale video-direction=horiz",
            (32, 16),
            Some((20, 6, 8, 2)),
        ),
    ] {
        let Some(mut chain) = Chain::new(element) else {
            return;
        };
        let output = FrameInfo::new(Format::Nv12, output.0, output.1);
        chain.set(&source, &output);
        let mut buffer = buffer_of(&random_image(source, 1), Storage::Plain, &chain.device);
        let mut region = Region::add(buffer.get_mut().unwrap(), "face", (8, 12, 16, 4));
        region.set_id(7);
        region.set_parent_id(3);
        region.add_param(gst::Structure::builder("found").field("by", "me").build());
        let found = chain.send(buffer);
        let regions: Vec<_> = found.iter_meta::<Region>().collect();
        assert_eq!(regions.len(), 1, "{element}");
        assert_eq!(Some(regions[0].rect()), expected, "{element}");
        assert_eq!((regions[0].id(), regions[0].parent_id()), (7, 3));
        assert!(regions[0].param("found").is_some());
    }
}

#[test]
fn regions_that_are_cropped_away_are_left_out() {
    let Some(device) = test_device() else { return };
    let frame = FrameInfo::new(Format::Rgba, 48, 32);
    let output = FrameInfo::new(Format::Rgba, 40, 24);
    let mut harness = crop_chain("hipconvertscale", &frame, (20, 12), &output);
    let mut buffer = cropped(&device, &random_image(frame, 8), (10, 10, 20, 12));
    for rect in [(0, 0, 10, 10), (0, 0, 15, 16), (12, 12, 4, 4)] {
        Region::add(buffer.make_mut(), "face", rect);
    }
    harness.push(buffer).unwrap();
    let found = harness.pull().unwrap();
    let regions: Vec<_> = found.iter_meta::<Region>().map(|r| r.rect()).collect();
    assert_eq!(regions, [(0, 0, 10, 12), (4, 4, 8, 8)]);
}

#[test]
fn pointers_are_told_where_they_are_in_the_input() {
    let source = FrameInfo::new(Format::Rgba, 64, 32);
    for (element, output, at, expected) in [
        ("hipconvertscale", (64, 32), (5.0, 7.0), (5.0, 7.0)),
        ("hipconvertscale", (128, 64), (10.5, 20.5), (5.0, 10.0)),
        // Borders of 16 rows; a pointer in one is at the edge.
        ("hipconvertscale", (64, 64), (5.0, 26.0), (5.0, 10.0)),
        ("hipconvertscale", (64, 64), (5.0, 3.0), (5.0, 0.0)),
        (
            "hipconvertscale video-direction=90r",
            (32, 64),
            (4.0, 10.0),
            (10.0, 27.0),
        ),
        (
            "hipscale video-direction=horiz",
            (64, 32),
            (0.0, 5.0),
            (63.0, 5.0),
        ),
    ] {
        let Some(mut chain) = Chain::new(element) else {
            return;
        };
        let output = FrameInfo::new(Format::Rgba, output.0, output.1);
        chain.set(&source, &output);
        chain.convert(&random_image(source, 1), output);
        while chain.harness.try_pull_upstream_event().is_some() {}
        let structure = gst::Structure::builder("application/x-gst-navigation")
            .field("event", "mouse-move")
            .field("pointer_x", at.0)
            .field("pointer_y", at.1)
            .build();
        chain
            .harness
            .push_upstream_event(gst::event::Navigation::new(structure));
        let event = chain.harness.pull_upstream_event().expect("it goes on");
        let structure = event.structure().expect("a navigation event");
        let found = ["pointer_x", "pointer_y"].map(|name| structure.get::<f64>(name).unwrap());
        assert_eq!((found[0], found[1]), expected, "{element} {at:?}");
        assert_eq!(structure.get("event"), Ok("mouse-move"));
    }
}
