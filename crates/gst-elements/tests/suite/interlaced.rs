//! Interlaced frames, field by field.

use gst_video::VideoBufferFlags;
use gst_video::prelude::*;
use hip_oracle::{Conversion, Format, FrameInfo, Method, Orientation, Rect};

use crate::common::{Storage, buffer_of, caps_of, image_of, random_image};
use crate::lab::{Chain, check_image, with};
use crate::negotiation::chosen;

fn frames(source: Format, destination: Format) -> (FrameInfo, FrameInfo) {
    (
        FrameInfo::new(source, 24, 16),
        FrameInfo::new(destination, 30, 28),
    )
}

fn fields(source: FrameInfo, destination: FrameInfo) -> Conversion {
    Conversion {
        method: Method::Auto,
        interlaced: true,
        ..Conversion::new(source, destination)
    }
}

/// A chain for frames of that mode on both sides.
fn chain(element: &str, conversion: &Conversion, mode: &str) -> Option<Chain> {
    let mut chain = Chain::new(element)?;
    let fields = format!(",pixel-aspect-ratio=1/1,interlace-mode={mode}");
    let (input, output) = (&conversion.source, &conversion.destination);
    chain.harness.set_sink_caps(with(caps_of(output), &fields));
    chain.harness.set_src_caps(with(caps_of(input), &fields));
    Some(chain)
}

fn check(element: &str, conversion: &Conversion) {
    let Some(mut chain) = chain(element, conversion, "interleaved") else {
        return;
    };
    let input = random_image(conversion.source, 5);
    let found = chain.convert(&input, conversion.destination);
    let case = format!("{element}: {conversion:?}");
    check_image(&found, &conversion.convert(&input), &case);
    // Lines of one field show nothing of the other: as one picture it would look otherwise.
    let whole = Conversion {
        interlaced: false,
        ..*conversion
    };
    let report = hip_oracle::compare(&whole.convert(&input), &found);
    assert!(report.check(8.0).is_err(), "{case}: as if progressive");
}

#[test]
fn each_field_is_converted_by_itself() {
    for (from, to) in [
        (Format::Nv12, Format::Rgba),
        (Format::Rgba, Format::I420),
        (Format::P010Le, Format::Nv12),
        (Format::V210, Format::Y444),
    ] {
        let (source, destination) = frames(from, to);
        check(
            "hipconvertscale add-borders=false",
            &fields(source, destination),
        );
    }
    let (source, destination) = frames(Format::Nv12, Format::Nv12);
    check("hipscale add-borders=false", &fields(source, destination));
    // Chroma of 4:2:0 lies elsewhere in fields, so these differ though no size does.
    let (_, destination) = frames(Format::Nv12, Format::Y444);
    let source = FrameInfo::new(Format::Nv12, 30, 28);
    check("hipconvert", &fields(source, destination));
}

#[test]
fn fields_are_mirrored_and_get_borders() {
    let (source, destination) = frames(Format::Rgba, Format::Rgba);
    for (nick, orientation) in [
        ("vert", Orientation::Vertical),
        ("horiz", Orientation::Horizontal),
        ("180", Orientation::Half),
    ] {
        let conversion = Conversion {
            orientation,
            // 30×28 of a 24×16 picture: 20 rows, four below the top.
            destination_rect: Rect::new(0, 4, 30, 20).into(),
            ..fields(source, destination)
        };
        check(
            &format!("hipconvertscale video-direction={nick}"),
            &conversion,
        );
    }
}

#[test]
fn mixed_frames_go_by_their_flags() {
    let (source, destination) = frames(Format::Nv12, Format::Rgba);
    let interlaced = fields(source, destination);
    let element = "hipconvertscale add-borders=false";
    let Some(mut chain) = chain(element, &interlaced, "mixed") else {
        return;
    };
    let flag = VideoBufferFlags::INTERLACED | VideoBufferFlags::TFF;
    // As telecined film has it.
    for (seed, has_fields) in [false, true, true, false, false].into_iter().enumerate() {
        let input = random_image(source, seed as u64);
        let mut buffer = buffer_of(&input, Storage::Plain, &chain.device);
        if has_fields {
            let writable = buffer.get_mut().expect("a new buffer");
            writable.set_video_flags(flag);
        }
        let found = chain.send(buffer);
        assert_eq!(
            found.video_flags().contains(flag),
            has_fields,
            "frame {seed}"
        );
        let expected = Conversion {
            interlaced: has_fields,
            ..interlaced
        };
        let found = image_of(&found, destination);
        check_image(&found, &expected.convert(&input), &format!("frame {seed}"));
    }
}

#[test]
fn what_fields_cannot_do_is_refused() {
    let check = |element: &str, (mode, height): (&str, u32), output: &str, possible: bool| {
        let input = format!("format=RGBA,width=24,height={height},interlace-mode={mode}");
        let Some(caps) = chosen(element, &input, output) else {
            return;
        };
        let case = format!("{element}: {input} to {output}: {caps}");
        assert_eq!(!caps.is_empty(), possible, "{case}");
    };
    for mode in ["interleaved", "mixed"] {
        let turned = "hipconvertscale video-direction=90r";
        check(turned, (mode, 16), "format=RGBA", false);
        check("hipconvert", (mode, 16), "format=NV12", true);
        // 18 rows have nine of chroma: five of one field, four of the other.
        check("hipconvert", (mode, 18), "format=NV12", false);
        check("hipconvert", (mode, 18), "format=BGRA", true);
        let both = "format={NV12,BGRA}";
        check("hipconvert", (mode, 18), both, true);
        let fixed = "format=NV12,height=18";
        check("hipconvertscale", (mode, 16), fixed, false);
        // The height is open, and is chosen to be 20.
        check("hipconvertscale", (mode, 18), "format=NV12", true);
        let progressive = "format=BGRA,interlace-mode=progressive";
        check("hipconvert", (mode, 16), progressive, false);
    }
    check("hipconvert", ("fields", 16), "format=BGRA", false);
    let made = "format=BGRA,interlace-mode=interleaved";
    check("hipconvert", ("progressive", 16), made, false);
}
