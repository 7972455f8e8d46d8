//! Every property has the effect that the oracle says.

use gst::prelude::*;
use hip_oracle::{
    AlphaMode, Conversion, Dither, Format, FrameInfo, LightOptions, Matrix, Method, Orientation,
    Primaries, Range, Rect, ToneMapping, Transfer,
};

use crate::common::{Storage, buffer_of, image_of, message_text, random_image};
use crate::lab::{Chain, check, check_frame};

fn rgba(width: usize, height: usize) -> FrameInfo {
    FrameInfo::new(Format::Rgba, width, height)
}

fn auto(source: FrameInfo, destination: FrameInfo) -> Conversion {
    Conversion {
        method: Method::Auto,
        ..Conversion::new(source, destination)
    }
}

#[test]
fn methods() {
    for (properties, method) in [
        ("", Method::Auto),
        ("method=nearest", Method::Nearest),
        ("method=bilinear", Method::Bilinear),
        ("method=area", Method::Area),
        ("method=bicubic", Method::Bicubic { b: 0.0, c: 0.5 }),
        (
            "method=bicubic cubic-b=0.25 cubic-c=0.125",
            Method::Bicubic { b: 0.25, c: 0.125 },
        ),
        ("method=lanczos", Method::Lanczos { lobes: 3 }),
        ("method=lanczos lobes=2", Method::Lanczos { lobes: 2 }),
    ] {
        for element in ["hipconvertscale", "hipscale"] {
            let conversion = Conversion {
                method,
                ..Conversion::new(rgba(40, 30), rgba(23, 17))
            };
            let line = format!("{element} add-borders=false {properties}");
            check(&line, &conversion);
        }
    }
}

#[test]
fn methods_count_for_chroma_where_nothing_is_scaled() {
    let (source, destination) = (
        FrameInfo::new(Format::Nv12, 24, 18),
        FrameInfo::new(Format::Y444, 24, 18),
    );
    for (nick, method) in [
        ("bilinear", Method::Bilinear),
        ("lanczos", Method::Lanczos { lobes: 3 }),
    ] {
        let conversion = Conversion {
            method,
            ..Conversion::new(source, destination)
        };
        check(&format!("hipconvert method={nick}"), &conversion);
    }
}

#[test]
fn border_colours() {
    let picture = Rect::new(0, 12, 48, 24);
    for (format, color, border) in [
        (Format::Rgba, "0xff000000", [0.0, 0.0, 0.0, 1.0]),
        (
            Format::Rgba,
            "0x40ff8000",
            [1.0, 128.0 / 255.0, 0.0, 64.0 / 255.0],
        ),
        (Format::Nv12, "0xff0000ff", [0.0, 0.0, 1.0, 1.0]),
    ] {
        let conversion = Conversion {
            destination_rect: picture.into(),
            border,
            ..auto(rgba(32, 16), FrameInfo::new(format, 48, 48))
        };
        check(
            &format!("hipconvertscale border-color={color}"),
            &conversion,
        );
    }
}

const DIRECTIONS: [(&str, Orientation); 8] = [
    ("identity", Orientation::Identity),
    ("90r", Orientation::Clockwise),
    ("180", Orientation::Half),
    ("90l", Orientation::Anticlockwise),
    ("horiz", Orientation::Horizontal),
    ("vert", Orientation::Vertical),
    ("ul-lr", Orientation::UpperLeftLowerRight),
    ("ur-ll", Orientation::UpperRightLowerLeft),
];

#[test]
fn directions() {
    for (nick, orientation) in DIRECTIONS {
        for element in ["hipconvertscale", "hipscale"] {
            let turned = orientation.swaps();
            let (width, height) = if turned { (18, 26) } else { (26, 18) };
            let conversion = Conversion {
                orientation,
                ..auto(
                    FrameInfo::new(Format::Nv12, 26, 18),
                    FrameInfo::new(Format::Nv12, width, height),
                )
            };
            check(&format!("{element} video-direction={nick}"), &conversion);
        }
    }
}

#[test]
fn turned_pictures_get_borders_by_their_turned_shape() {
    let conversion = Conversion {
        orientation: Orientation::Clockwise,
        destination_rect: Rect::new(24, 0, 16, 32).into(),
        ..auto(rgba(64, 32), rgba(64, 32))
    };
    check("hipconvertscale video-direction=90r", &conversion);
}

#[test]
fn custom_directions_are_refused_with_a_warning() {
    let Some(mut chain) = Chain::new("hipconvertscale") else {
        return;
    };
    let element = chain.element("hipconvertscale");
    element.set_property_from_str("video-direction", "90r");
    element.set_property_from_str("video-direction", "custom");
    let kept: gst_video::VideoOrientationMethod = element.property("video-direction");
    assert_eq!(kept, gst_video::VideoOrientationMethod::_90r);
    let text = message_text(&chain.bus, gst::MessageType::Warning).expect("a warning");
    assert!(text.contains("custom"), "{text}");
}

#[test]
fn alpha() {
    for (properties, alpha) in [
        ("", AlphaMode::Copy),
        ("alpha-mode=set alpha-value=0.25", AlphaMode::Set(0.25)),
        ("alpha-mode=mult alpha-value=0.5", AlphaMode::Multiply(0.5)),
    ] {
        for (source, destination) in [
            (Format::Rgba, Format::Ayuv),
            // Same caps on both sides.
            (Format::Rgba, Format::Rgba),
            (Format::Rgb, Format::Bgra),
        ] {
            let conversion = Conversion {
                alpha,
                ..auto(
                    FrameInfo::new(source, 20, 10),
                    FrameInfo::new(destination, 20, 10),
                )
            };
            check(&format!("hipconvert {properties}"), &conversion);
        }
    }
}

#[test]
fn dither() {
    for (properties, dither) in [("", Dither::None), ("dither=bayer", Dither::Bayer)] {
        for (source, destination) in [
            (Format::P010Le, Format::Nv12),
            // No bits are lost.
            (Format::Nv12, Format::P010Le),
        ] {
            let conversion = Conversion {
                dither,
                ..auto(
                    FrameInfo::new(source, 20, 10),
                    FrameInfo::new(destination, 20, 10),
                )
            };
            let Some(mut chain) = Chain::new(&format!("hipconvert {properties}")) else {
                return;
            };
            chain.set(&conversion.source, &conversion.destination);
            let input = random_image(conversion.source, 4);
            let found = chain.convert(&input, conversion.destination);
            // The pattern is at most half a code value: only an exact comparison sees it.
            let expected = conversion.convert(&input).to_image();
            let differing = |a: &[u8], b: &[u8]| a.iter().zip(b).filter(|(a, b)| a != b).count();
            for (a, b) in found.planes.iter().zip(&expected.planes) {
                let (wrong, all) = (differing(&a.data, &b.data), a.data.len());
                // Ties may go either way.
                assert!(wrong * 50 <= all, "{properties}: {wrong} of {all}");
            }
        }
    }
}

fn sdr() -> FrameInfo {
    FrameInfo::new(Format::Nv12, 20, 12)
}

fn hdr(transfer: Transfer) -> FrameInfo {
    FrameInfo::new(Format::P010Le, 20, 12)
        .with_colour(Matrix::Bt2020, Range::Limited)
        .with_light(transfer, Primaries::Bt2020)
}

fn light(transfer: bool, primaries: bool) -> LightOptions {
    LightOptions {
        transfer,
        primaries,
        tone_mapping: transfer.then_some(ToneMapping::Bt2390),
        ..LightOptions::default()
    }
}

#[test]
fn gamma_and_primaries() {
    let from = rgba(16, 8).with_light(Transfer::Gamma28, Primaries::Bt2020);
    let to = rgba(16, 8).with_light(Transfer::Srgb, Primaries::Bt709);
    for (properties, light) in [
        ("", light(false, false)),
        ("gamma-mode=remap", light(true, false)),
        ("primaries-mode=merge-only", light(false, false)),
        ("primaries-mode=fast", light(false, true)),
        (
            "gamma-mode=remap primaries-mode=merge-only",
            light(true, true),
        ),
        ("gamma-mode=remap primaries-mode=fast", light(true, true)),
    ] {
        let conversion = Conversion {
            light,
            ..auto(from, to)
        };
        check(&format!("hipconvert {properties}"), &conversion);
    }
}

#[test]
fn tone_mapping() {
    for (nick, tone_mapping) in [
        ("clip", ToneMapping::Clip),
        ("bt2390", ToneMapping::Bt2390),
        ("reinhard", ToneMapping::Reinhard),
    ] {
        for transfer in [Transfer::Pq, Transfer::Hlg] {
            let conversion = Conversion {
                light: LightOptions {
                    tone_mapping: Some(tone_mapping),
                    ..light(true, true)
                },
                ..auto(hdr(transfer), sdr())
            };
            let line = "hipconvertscale gamma-mode=remap primaries-mode=fast";
            check(&format!("{line} tone-mapping={nick}"), &conversion);
        }
    }
}

#[test]
fn brightness_of_the_content_counts() {
    const DISPLAY: &str = "35400:14600:8500:39850:6550:2300:15635:16450:40000000:50";
    for (fields, max_cll, mastering_peak) in [
        ("content-light-level=(string)600:100", Some(600.0), None),
        (
            &*format!("mastering-display-info=(string){DISPLAY}"),
            None,
            Some(4000.0),
        ),
        (
            &*format!(
                "mastering-display-info=(string){DISPLAY},content-light-level=(string)600:100"
            ),
            Some(600.0),
            Some(4000.0),
        ),
    ] {
        let line = "hipconvertscale gamma-mode=remap primaries-mode=fast";
        let Some(mut chain) = Chain::new(line) else {
            return;
        };
        let conversion = Conversion {
            light: LightOptions {
                max_cll,
                mastering_peak,
                ..light(true, true)
            },
            ..auto(hdr(Transfer::Pq), sdr())
        };
        let caps = crate::common::caps_of(&conversion.source);
        chain
            .harness
            .set_sink_caps(crate::common::caps_of(&conversion.destination));
        chain
            .harness
            .set_src_caps(crate::lab::with(caps, &format!(",{fields}")));
        check_frame(&mut chain, &conversion, fields);
    }
}

#[test]
fn all_of_them_change_while_frames_flow() {
    let Some(mut chain) = Chain::new("hipconvertscale") else {
        return;
    };
    let element = chain.element("hipconvertscale");
    let (source, destination) = (rgba(32, 16), rgba(48, 48));
    let mut expected = Conversion {
        destination_rect: Rect::new(0, 12, 48, 24).into(),
        ..auto(source, destination)
    };
    chain.set(&source, &destination);
    check_frame(&mut chain, &expected, "as it was");
    let set = |name: &str, value: &str| element.set_property_from_str(name, value);
    set("border-color", "0xffff0000");
    expected.border = [1.0, 0.0, 0.0, 1.0];
    check_frame(&mut chain, &expected, "border-color");
    set("method", "lanczos");
    expected.method = Method::Lanczos { lobes: 3 };
    check_frame(&mut chain, &expected, "method");
    set("lobes", "4");
    expected.method = Method::Lanczos { lobes: 4 };
    check_frame(&mut chain, &expected, "lobes");
    set("alpha-mode", "set");
    set("alpha-value", "0.5");
    expected.alpha = AlphaMode::Set(0.5);
    check_frame(&mut chain, &expected, "alpha-mode");
    set("video-direction", "180");
    expected.orientation = Orientation::Half;
    check_frame(&mut chain, &expected, "video-direction");
    set("video-direction", "90l");
    expected.orientation = Orientation::Anticlockwise;
    expected.destination_rect = Rect::new(12, 0, 24, 48).into();
    check_frame(&mut chain, &expected, "video-direction, another shape");
    set("add-borders", "false");
    expected.destination_rect = Rect::full(&destination).into();
    check_frame(&mut chain, &expected, "add-borders");
}

#[test]
fn sizes_follow_a_turn_while_frames_flow() {
    let Some(mut chain) = Chain::new("hipconvertscale") else {
        return;
    };
    let element = chain.element("hipconvertscale");
    chain.harness.set_sink_caps_str("video/x-raw");
    let source = rgba(26, 18);
    chain.harness.set_src_caps(crate::common::caps_of(&source));
    let input = random_image(source, 2);
    for (nick, orientation) in DIRECTIONS.into_iter().chain([DIRECTIONS[0]]) {
        element.set_property_from_str("video-direction", nick);
        let (width, height) = if orientation.swaps() {
            (18, 26)
        } else {
            (26, 18)
        };
        let expected = Conversion {
            orientation,
            ..auto(source, rgba(width, height))
        };
        let buffer = buffer_of(&input, Storage::Plain, &chain.device);
        let found = chain.send(buffer);
        let pad = chain.harness.sinkpad().expect("the harness pulls");
        let caps = pad.current_caps().expect("negotiated");
        let info = gst_video::VideoInfo::from_caps(&caps).unwrap();
        let size = (info.width() as usize, info.height() as usize);
        assert_eq!(size, (width, height), "{nick}");
        let found = image_of(&found, expected.destination);
        crate::lab::check_image(&found, &expected.convert(&input), nick);
    }
}

#[test]
fn passing_through_ends_and_begins_while_frames_flow() {
    let Some(mut chain) = Chain::new("hipconvert") else {
        return;
    };
    let element = chain.element("hipconvert");
    let frame = rgba(32, 16);
    chain.set(&frame, &frame);
    let transform = element
        .downcast_ref::<gst_base::BaseTransform>()
        .expect("a transform")
        .clone();
    for (mode, alpha, passes) in [
        ("copy", AlphaMode::Copy, true),
        ("set", AlphaMode::Set(0.5), false),
        ("mult", AlphaMode::Multiply(0.5), false),
        ("copy", AlphaMode::Copy, true),
    ] {
        element.set_property_from_str("alpha-mode", mode);
        element.set_property("alpha-value", 0.5);
        let expected = Conversion {
            alpha,
            ..auto(frame, frame)
        };
        check_frame(&mut chain, &expected, mode);
        use gst_base::prelude::BaseTransformExt;
        assert_eq!(transform.is_passthrough(), passes, "{mode}");
    }
}
