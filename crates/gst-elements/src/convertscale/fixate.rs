//! Which of the possible outputs is taken.

use gst::prelude::*;
use gst_video::{
    VideoColorMatrix, VideoColorPrimaries, VideoColorRange, VideoColorimetry, VideoFormat,
    VideoFormatInfo, VideoInfo, VideoTransferFunction,
};

/// One frame out of `others`, the frames that are possible on the other side of `caps`: the
/// format that loses least, the size that keeps the shape of the picture, the same colours.
pub(super) fn fixate(
    direction: gst::PadDirection,
    caps: &gst::CapsRef,
    mut others: gst::Caps,
) -> gst::Caps {
    let Ok(info) = VideoInfo::from_caps(caps) else {
        others.fixate();
        return others;
    };
    let Some((index, format)) = best_format(&info, &others) else {
        others.fixate();
        return others;
    };
    let features = others.features(index).map(|features| features.to_owned());
    let Some(mut other) = others
        .structure(index)
        .map(|structure| structure.to_owned())
    else {
        return others;
    };
    other.set("format", format.to_str());
    fixate_size(direction, &info, &mut other);
    fixate_colour(caps, &info, format, &mut other);
    let mut fixed = gst::Caps::new_empty();
    fixed.make_mut().append_structure_full(other, features);
    fixed.fixate();
    fixed
}

/// The structure of `others` and the format in it that lose least of `info`'s; the first of
/// equals.
fn best_format(info: &VideoInfo, others: &gst::CapsRef) -> Option<(usize, VideoFormat)> {
    let mut best: Option<(u32, usize, VideoFormat)> = None;
    for (index, structure) in others.iter().enumerate() {
        for format in formats(structure) {
            let loss = loss(info.format(), format);
            if best.is_none_or(|(least, ..)| loss < least) {
                best = Some((loss, index, format));
            }
        }
    }
    best.map(|(_, index, format)| (index, format))
}

fn formats(structure: &gst::StructureRef) -> Vec<VideoFormat> {
    let known = |name: &str| name.parse().ok().filter(|f| *f != VideoFormat::Unknown);
    if let Ok(name) = structure.get::<&str>("format") {
        return known(name).into_iter().collect();
    }
    let Ok(list) = structure.get::<gst::ListRef>("format") else {
        return Vec::new();
    };
    list.iter()
        .filter_map(|value| known(value.get::<&str>().ok()?))
        .collect()
}

/// What going from one format to another costs: 0 for the same, most for what the eye sees first.
/// The ranking, not the figure, is what counts.
fn loss(from: VideoFormat, to: VideoFormat) -> u32 {
    if from == to {
        return 0;
    }
    let (from, to) = (
        VideoFormatInfo::from_format(from),
        VideoFormatInfo::from_format(to),
    );
    let depth = |info: &VideoFormatInfo| info.depth().iter().copied().max().unwrap_or(0);
    // Luma pixels to a chroma sample, as powers of two.
    let subsampling = |info: &VideoFormatInfo| match info.is_yuv() {
        true => info.w_sub()[1] + info.h_sub()[1],
        false => 0,
    };
    let costs = [
        (64, from.has_alpha() && !to.has_alpha()),
        (32, depth(&to) < depth(&from)),
        (16, subsampling(&to) > subsampling(&from)),
        (8, from.is_yuv() != to.is_yuv()),
        (4, depth(&to) > depth(&from)),
        (2, subsampling(&to) < subsampling(&from)),
        (1, true),
    ];
    costs
        .iter()
        .filter(|(_, applies)| *applies)
        .map(|(cost, _)| cost)
        .sum()
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
/// as far as the structure allows; what it fixes already stays.
fn fixate_size(direction: gst::PadDirection, info: &VideoInfo, other: &mut gst::StructureRef) {
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
    let (width, height) = (info.width() as i32, info.height() as i32);
    let shape = Ratio::from(width)
        .over(height.into())
        .times(Ratio::of(info.par()));
    let fixed = |other: &gst::StructureRef, name| other.get::<i32>(name).ok();
    // The ratio that pixels get unless the sizes force another.
    let mut preferred = other.to_owned();
    preferred.fixate_field_nearest_fraction(PAR, info.par());
    let par = preferred
        .get::<gst::Fraction>(PAR)
        .map_or(Ratio(1, 1), Ratio::of);
    let height_for = |width: i32| Ratio::from(width).times(par).over(shape).pixels();
    let width_for = |height: i32| shape.times(height.into()).over(par).pixels();

    let (width, height) = match (fixed(other, "width"), fixed(other, "height")) {
        (Some(width), Some(height)) => (width, height),
        (Some(width), None) => (width, nearest(other, "height", height_for(width))),
        (None, Some(height)) => (nearest(other, "width", width_for(height)), height),
        (None, None) => {
            let mut height = nearest(other, "height", height);
            let wanted = width_for(height);
            let width = nearest(other, "width", wanted);
            if let Ok(free) = preferred.value("height")
                && width != wanted
            {
                // The width is bounded: the height follows it instead, as far as it can.
                other.set_value("height", free.clone());
                height = nearest(other, "height", height_for(width));
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

/// Keeps colorimetry and chroma site where the kind of format stays: left out, they would mean
/// the defaults of the new size, and another matrix at the old values.
fn fixate_colour(
    caps: &gst::CapsRef,
    info: &VideoInfo,
    format: VideoFormat,
    other: &mut gst::StructureRef,
) {
    let to = VideoFormatInfo::from_format(format);
    if to.is_yuv() != info.is_yuv() {
        if let Some(colorimetry) = same_light(info, &to, other) {
            keep(other, "colorimetry", &colorimetry.to_string());
        }
        return;
    }
    let given = caps
        .structure(0)
        .and_then(|s| s.get::<String>("colorimetry").ok());
    let colorimetry = given.unwrap_or_else(|| info.colorimetry().to_string());
    keep(other, "colorimetry", &colorimetry);
    let subsampled = |format: &VideoFormatInfo| format.w_sub()[1] > 0 || format.h_sub()[1] > 0;
    if to.is_yuv() && subsampled(&to) && subsampled(&info.format_info()) {
        let site = caps
            .structure(0)
            .and_then(|s| s.get::<String>("chroma-site").ok());
        let site = site.or_else(|| {
            let site = info.chroma_site();
            (!site.is_empty()).then(|| site.to_str().to_string())
        });
        if let Some(site) = site {
            keep(other, "chroma-site", &site);
        }
    }
}

/// The colorimetry between Y'CbCr and R'G'B': primaries and transfer function are not converted, so
/// they stay, and left out they would become the format's defaults. `None` where they are unknown.
fn same_light(
    info: &VideoInfo,
    to: &VideoFormatInfo,
    other: &gst::StructureRef,
) -> Option<VideoColorimetry> {
    let (transfer, primaries) = (
        info.colorimetry().transfer(),
        info.colorimetry().primaries(),
    );
    if transfer == VideoTransferFunction::Unknown || primaries == VideoColorPrimaries::Unknown {
        return None;
    }
    let (range, matrix) = match (to.is_yuv(), primaries, other.get::<i32>("height")) {
        (false, ..) => (VideoColorRange::Range0_255, VideoColorMatrix::Rgb),
        (true, VideoColorPrimaries::Bt2020, _) => {
            (VideoColorRange::Range16_235, VideoColorMatrix::Bt2020)
        }
        (true, _, Ok(577..)) => (VideoColorRange::Range16_235, VideoColorMatrix::Bt709),
        (true, ..) => (VideoColorRange::Range16_235, VideoColorMatrix::Bt601),
    };
    Some(VideoColorimetry::new(range, matrix, transfer, primaries))
}

/// Sets a field to `text` if it is free or has `text` among its values.
fn keep(structure: &mut gst::StructureRef, name: &str, text: &str) {
    let value = text.to_value();
    let allowed = structure
        .value(name)
        .map_or(true, |present| present.intersect(&value).is_some());
    if allowed {
        structure.set(name, text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINK: gst::PadDirection = gst::PadDirection::Sink;

    /// Fixes `others` for frames of `caps`; gives the result's fields as text, in `names`'s order.
    fn check(caps: &str, others: &str, names: &[&str], expected: &[&str]) {
        gst::init().unwrap();
        let hip = |text: &str| -> gst::Caps {
            format!("video/x-raw(memory:HIPMemory),{text}")
                .parse()
                .unwrap()
        };
        let fixed = fixate(SINK, &hip(caps), hip(others));
        assert!(fixed.is_fixed(), "{fixed}");
        assert!(
            fixed.is_subset(&hip(others)),
            "{fixed} is not one of {others}"
        );
        let structure = fixed.structure(0).unwrap();
        let text = |name: &&str| {
            let value = structure.value(*name).unwrap();
            value.serialize().unwrap().to_string()
        };
        assert_eq!(
            names.iter().map(text).collect::<Vec<_>>(),
            expected,
            "{caps} to {others}"
        );
    }

    const ANY: &str = "width=[1,2147483647],height=[1,2147483647]";

    #[test]
    fn format_that_loses_least() {
        for (from, to, expected) in [
            ("NV12", "{RGBA,I420,P010_10LE}", "I420"),
            ("NV12", "{RGBA,NV12}", "NV12"),
            ("NV12", "{RGB,P010_10LE}", "P010_10LE"),
            ("P010_10LE", "{RGBA,NV12}", "NV12"),
            ("RGBA", "{NV12,RGB,BGRA}", "BGRA"),
            ("RGBA", "{NV12,RGBP}", "RGBP"),
            ("RGB", "{NV12,RGBA}", "RGBA"),
            ("RGB", "{I420,P010_10LE}", "I420"),
        ] {
            let caps = format!("format={from},width=64,height=32");
            check(
                &caps,
                &format!("format={to},{ANY}"),
                &["format"],
                &[expected],
            );
        }
    }

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
    fn colours_stay_where_the_kind_of_format_does() {
        let names = ["colorimetry", "chroma-site"];
        let hd = "format=NV12,width=1920,height=1080";
        // Without the field, 360 rows would mean BT.601.
        let small = "format=I420,width=640,height=360";
        check(hd, small, &names, &["bt709", "mpeg2"]);
        let given = "format=NV12,width=1920,height=1080,colorimetry=bt2020,chroma-site=jpeg";
        check(given, small, &names, &["bt2020", "jpeg"]);
        let fixed = format!("{small},colorimetry=bt601,chroma-site=jpeg");
        check(hd, &fixed, &names, &["bt601", "jpeg"]);
        let listed = format!("{small},colorimetry=(string){{bt601,bt709}}");
        check(hd, &listed, &names, &["bt709", "mpeg2"]);
    }

    #[test]
    fn rgb_gets_the_light_of_yuv_and_no_matrix() {
        gst::init().unwrap();
        let hd: gst::Caps = "video/x-raw,format=NV12,width=1920,height=1080"
            .parse()
            .unwrap();
        let rgb: gst::Caps = "video/x-raw,format=RGBA,width=640,height=360"
            .parse()
            .unwrap();
        let fixed = fixate(SINK, &hd, rgb);
        assert_eq!(
            fixed.structure(0).unwrap().get("colorimetry"),
            Ok("1:1:5:1")
        );
    }

    #[test]
    fn light_survives_a_way_through_rgb() {
        let pq = "format=P010_10LE,width=1920,height=1080,colorimetry=bt2100-pq";
        let rgb = "format=RGBA,width=640,height=360";
        check(pq, rgb, &["colorimetry"], &["1:1:14:7"]);
        let rgb = format!("{rgb},colorimetry=(string)1:1:14:7");
        let back = "format=P010_10LE,width=640,height=360";
        check(&rgb, back, &["colorimetry"], &["bt2100-pq"]);
        let listed = format!("{back},colorimetry=(string){{bt601,bt709}}");
        check(&rgb, &listed, &["colorimetry"], &["bt601"]);
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
        let fixed = fixate(gst::PadDirection::Src, &out, other);
        let structure = fixed.structure(0).unwrap();
        assert_eq!(structure.get("width"), Ok(853));
        assert_eq!(
            structure.get("pixel-aspect-ratio"),
            Ok(gst::Fraction::new(1, 1))
        );
    }
}
