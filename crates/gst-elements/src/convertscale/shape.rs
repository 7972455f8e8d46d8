//! Sizes and pixel aspect ratios that keep the shape of the picture.

use gst_video::VideoInfo;

/// A picture's size and the shape of its pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    width: i32,
    height: i32,
    par: gst::Fraction,
}

/// What a frame looks like on the other side but for scaling.
pub(super) fn shown(info: &VideoInfo, turned: bool) -> Shown {
    let (width, height, par) = (info.width() as i32, info.height() as i32, info.par());
    if !turned {
        return Shown { width, height, par };
    }
    Shown {
        width: height,
        height: width,
        par: gst::Fraction::new(par.denom().max(1), par.numer().max(1)),
    }
}

/// A positive fraction that does not overflow for any size and aspect ratio of caps.
#[derive(Debug, Clone, Copy)]
struct Ratio(i128, i128);

impl Ratio {
    fn of(fraction: gst::Fraction) -> Ratio {
        let (numer, denom) = (fraction.numer(), fraction.denom());
        if numer > 0 && denom > 0 {
            Ratio(numer.into(), denom.into())
        } else {
            Ratio(1, 1)
        }
    }

    fn times(self, other: Ratio) -> Ratio {
        Ratio(self.0 * other.0, self.1 * other.1)
    }

    fn over(self, other: Ratio) -> Ratio {
        Ratio(self.0 * other.1, self.1 * other.0)
    }

    /// The nearest whole number of pixels, at least one.
    fn pixels(self) -> i32 {
        let rounded = (2 * self.0 + self.1) / (2 * self.1);
        rounded.clamp(1, i32::MAX.into()) as i32
    }

    /// The nearest fraction that caps can hold.
    fn fraction(self) -> gst::Fraction {
        let (mut a, mut b) = (self.0, self.1);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let (mut numer, mut denom) = (self.0 / a, self.1 / a);
        while numer.max(denom) > i32::MAX.into() {
            (numer, denom) = ((numer + 1) / 2, (denom + 1) / 2);
        }
        gst::Fraction::new(numer as i32, denom as i32)
    }
}

impl From<i32> for Ratio {
    fn from(value: i32) -> Ratio {
        Ratio(value.max(1).into(), 1)
    }
}

/// Sets width, height and pixel aspect ratio so that the picture keeps its display aspect ratio,
/// as far as the structure allows; what it fixes already stays. A height that is open becomes a multiple of `step`.
pub(super) fn fixate_size(
    direction: gst::PadDirection,
    from: &Shown,
    step: i32,
    other: &mut gst::StructureRef,
) {
    const PAR: &str = "pixel-aspect-ratio";
    if !other.has_field(PAR) {
        // Towards downstream a missing ratio means any; towards upstream it means square.
        if direction == gst::PadDirection::Sink {
            let least = gst::Fraction::new(1, i32::MAX);
            let most = gst::Fraction::new(i32::MAX, 1);
            other.set(PAR, gst::FractionRange::new(least, most));
        } else {
            other.set(PAR, gst::Fraction::new(1, 1));
        }
    }
    let height = from.height;
    let shape = Ratio::from(from.width)
        .over(height.into())
        .times(Ratio::of(from.par));
    let fixed = |other: &gst::StructureRef, name| other.get::<i32>(name).ok();
    // The ratio that pixels get unless the sizes force another.
    let mut preferred = other.to_owned();
    preferred.fixate_field_nearest_fraction(PAR, from.par);
    let par = preferred
        .get::<gst::Fraction>(PAR)
        .map_or(Ratio(1, 1), Ratio::of);
    let height_for = |width: i32| Ratio::from(width).times(par).over(shape).pixels();
    let whole = |height: i32| (height.saturating_add(step / 2) / step * step).max(step);
    let width_for = |height: i32| shape.times(height.into()).over(par).pixels();

    let (width, height) = match (fixed(other, "width"), fixed(other, "height")) {
        (Some(width), Some(height)) => (width, height),
        (Some(width), None) => (width, nearest(other, "height", whole(height_for(width)))),
        (None, Some(height)) => (nearest(other, "width", width_for(height)), height),
        (None, None) => {
            let mut height = nearest(other, "height", whole(height));
            let wanted = width_for(height);
            let width = nearest(other, "width", wanted);
            if let Ok(free) = preferred.value("height")
                && width != wanted
            {
                // The width is bounded: the height follows it instead, as far as it can.
                other.set_value("height", free.clone());
                height = nearest(other, "height", whole(height_for(width)));
            }
            (width, height)
        }
    };
    // Rounding to whole pixels is no reason to make them oblong.
    let near = |a: i32, b: i32| (i64::from(a) - i64::from(b)).abs() <= 1;
    let fits = near(height, height_for(width)) || near(width, width_for(height));
    let wanted = match fits {
        true => par.fraction(),
        false => shape
            .over(Ratio::from(width).over(height.into()))
            .fraction(),
    };
    other.fixate_field_nearest_fraction(PAR, wanted);
}

/// Fixes a size to what is allowed nearest to `target`.
fn nearest(structure: &mut gst::StructureRef, name: &str, target: i32) -> i32 {
    if structure.has_field(name) {
        structure.fixate_field_nearest_int(name, target);
    } else {
        structure.set(name, target);
    }
    structure.get(name).unwrap_or(target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convertscale::fixate::fixate;
    use crate::convertscale::fixate::tests::{ANY, check};

    const SINK: gst::PadDirection = gst::PadDirection::Sink;

    const SHAPE: [&str; 3] = ["width", "height", "pixel-aspect-ratio"];

    #[test]
    fn shape_is_kept() {
        for (to, expected) in [
            (ANY, ["1920", "1080", "1/1"]),
            ("width=640,height=[1,9999]", ["640", "360", "1/1"]),
            ("width=[1,9999],height=720", ["1280", "720", "1/1"]),
            ("width=[1,1280],height=[1,9999]", ["1280", "720", "1/1"]),
            ("width=[1,9999],height=[1,720]", ["1280", "720", "1/1"]),
            ("width=640,height=640", ["640", "640", "16/9"]),
            (
                "width=640,height=640,pixel-aspect-ratio=1/1",
                ["640", "640", "1/1"],
            ),
        ] {
            let from = "format=NV12,width=1920,height=1080";
            check(from, &format!("format=NV12,{to}"), &SHAPE, &expected);
        }
    }

    #[test]
    fn oblong_pixels_and_odd_sizes() {
        let pal = "720,height=576,pixel-aspect-ratio=16/15";
        let square = format!("{ANY},pixel-aspect-ratio=1/1");
        for (from, to, expected) in [
            (pal, ANY, ["720", "576", "16/15"]),
            (pal, &square, ["768", "576", "1/1"]),
            ("1,height=1", "width=[1,9],height=3", ["3", "3", "1/1"]),
            (
                "1921,height=1081",
                "width=101,height=[1,9999]",
                ["101", "57", "1/1"],
            ),
        ] {
            let from = format!("format=NV12,width={from}");
            check(&from, &format!("format=NV12,{to}"), &SHAPE, &expected);
        }
    }

    #[test]
    fn upstream_pixels_are_square_unless_said_otherwise() {
        gst::init().unwrap();
        let out: gst::Caps = "video/x-raw,format=NV12,width=640,height=480,pixel-aspect-ratio=4/3"
            .parse()
            .unwrap();
        let other: gst::Caps = "video/x-raw,format=NV12,width=[1,9999],height=480"
            .parse()
            .unwrap();
        let fixed = fixate(gst::PadDirection::Src, &out, false, other);
        let structure = fixed.structure(0).unwrap();
        assert_eq!(structure.get("width"), Ok(853));
        assert_eq!(
            structure.get("pixel-aspect-ratio"),
            Ok(gst::Fraction::new(1, 1))
        );
    }

    #[test]
    fn shape_is_kept_through_a_quarter_turn() {
        gst::init().unwrap();
        for (to, expected) in [
            (ANY, (576, 720, (15, 16))),
            (
                "width=[1,2147483647],height=[1,2147483647],pixel-aspect-ratio=1/1",
                (540, 720, (1, 1)),
            ),
            (
                "width=[1,2147483647],height=768,pixel-aspect-ratio=1/1",
                (576, 768, (1, 1)),
            ),
        ] {
            let caps = |text: &str| -> gst::Caps { format!("video/x-raw,{text}").parse().unwrap() };
            let pal = caps("format=NV12,width=720,height=576,pixel-aspect-ratio=16/15");
            let fixed = fixate(SINK, &pal, true, caps(&format!("format=NV12,{to}")));
            let info = VideoInfo::from_caps(&fixed).unwrap();
            let par = (info.par().numer(), info.par().denom());
            assert_eq!((info.width(), info.height(), par), expected, "{fixed}");
        }
    }
}
