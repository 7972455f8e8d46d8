//! Which of the possible outputs is taken.

use gst::prelude::*;
use gst_video::{
    VideoColorMatrix, VideoColorPrimaries, VideoColorRange, VideoColorimetry, VideoInfo,
    VideoTransferFunction,
};
use hip_video::{Model, PixelFormat};

use super::caps::formats;
use super::fields;
use super::light;
use super::loss::loss;
use super::shape::{fixate_size, shown};

/// One frame out of `others`, the frames that are possible on the other side of `caps`: the
/// format that loses least, the size that keeps the shape of the picture, the same colours. Where `turned`
/// says so, rows of one side are columns of the other.
pub(super) fn fixate(
    direction: gst::PadDirection,
    caps: &gst::CapsRef,
    turned: bool,
    mut others: gst::Caps,
) -> gst::Caps {
    let described = VideoInfo::from_caps(caps).ok();
    let described = described.and_then(|info| Some((PixelFormat::from_gst(info.format())?, info)));
    let Some((from, info)) = described else {
        others.fixate();
        return others;
    };
    let Some((index, format)) = best_format(from, &others) else {
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
    other.set("format", format.name());
    let step = fields::step_of(&other, format);
    fixate_size(direction, &shown(&info, turned), step, &mut other);
    fixate_colour(caps, (&info, from), format, &mut other);
    keep_content_light(caps, &info, &mut other);
    let mut fixed = gst::Caps::new_empty();
    fixed.make_mut().append_structure_full(other, features);
    fixed.fixate();
    fixed
}

/// The structure of `others` and the format in it that lose least of `from`; the first of equals.
fn best_format(from: PixelFormat, others: &gst::CapsRef) -> Option<(usize, PixelFormat)> {
    let mut best: Option<(u32, usize, PixelFormat)> = None;
    for (index, structure) in others.iter().enumerate() {
        let formats = formats(structure).unwrap_or_default();
        for format in formats
            .into_iter()
            .filter(|format| fields::fits(structure, *format))
        {
            let loss = loss(from, format);
            if best.is_none_or(|(least, ..)| loss < least) {
                best = Some((loss, index, format));
            }
        }
    }
    best.map(|(_, index, format)| (index, format))
}

/// Keeps colorimetry and chroma site where the kind of format stays: left out, they would mean
/// the defaults of the new size, and another matrix at the old values.
fn fixate_colour(
    caps: &gst::CapsRef,
    (info, from): (&VideoInfo, PixelFormat),
    to: PixelFormat,
    other: &mut gst::StructureRef,
) {
    if to.info().model != from.info().model {
        if let Some(colorimetry) = same_light(info, from, to, other) {
            keep(other, "colorimetry", &colorimetry.to_string());
        }
        return;
    }
    let field = |name| caps.structure(0).and_then(|s| s.get::<String>(name).ok());
    let colorimetry = field("colorimetry").unwrap_or_else(|| info.colorimetry().to_string());
    keep(other, "colorimetry", &colorimetry);
    if to.is_subsampled() && from.is_subsampled() {
        let site = field("chroma-site").or_else(|| {
            let site = info.chroma_site();
            (!site.is_empty()).then(|| site.to_str().to_string())
        });
        if let Some(site) = site {
            keep(other, "chroma-site", &site);
        }
    }
}

/// The colorimetry of another model, Y'CbCr, R'G'B' or Y': unless asked to, primaries and transfer
/// function are not converted, so they stay, and left out they would become the format's defaults. `None`
/// where they are unknown.
fn same_light(
    info: &VideoInfo,
    from: PixelFormat,
    to: PixelFormat,
    other: &gst::StructureRef,
) -> Option<VideoColorimetry> {
    let colorimetry = info.colorimetry();
    let (transfer, primaries) = (colorimetry.transfer(), colorimetry.primaries());
    if transfer == VideoTransferFunction::Unknown || primaries == VideoColorPrimaries::Unknown {
        return None;
    }
    let range = match to.info().model {
        Model::Yuv => VideoColorRange::Range16_235,
        // Who reads grey without a look at the colorimetry takes it for this.
        Model::Rgb | Model::Gray => VideoColorRange::Range0_255,
    };
    let matrix = match (to.info().model, primaries, other.get::<i32>("height")) {
        (Model::Rgb, ..) => VideoColorMatrix::Rgb,
        _ if from.is_yuv() => colorimetry.matrix(),
        (_, VideoColorPrimaries::Bt2020, _) => VideoColorMatrix::Bt2020,
        (_, _, Ok(577..)) => VideoColorMatrix::Bt709,
        _ => VideoColorMatrix::Bt601,
    };
    Some(VideoColorimetry::new(range, matrix, transfer, primaries))
}

/// Keeps what is known of HDR content's light where the output is HDR too. What describes other light, that of
/// SDR or one that was tone mapped to it, would be false.
fn keep_content_light(caps: &gst::CapsRef, info: &VideoInfo, other: &mut gst::StructureRef) {
    let is_hdr = |colorimetry: &VideoColorimetry| light::is_hdr(colorimetry.transfer());
    let output = other.get::<&str>("colorimetry").ok();
    let output = output.and_then(|text| text.parse::<VideoColorimetry>().ok());
    if !is_hdr(&info.colorimetry()) || !output.as_ref().is_some_and(is_hdr) {
        return;
    }
    for name in ["mastering-display-info", "content-light-level"] {
        let given = caps.structure(0).and_then(|s| s.get::<String>(name).ok());
        if let Some(text) = given {
            keep(other, name, &text);
        }
    }
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
pub(super) mod tests {
    use super::*;

    const SINK: gst::PadDirection = gst::PadDirection::Sink;

    /// Fixes `others` for frames of `caps`; gives the result's fields as text, in `names`'s order.
    pub(in crate::convertscale) fn check(
        caps: &str,
        others: &str,
        names: &[&str],
        expected: &[&str],
    ) {
        gst::init().unwrap();
        let hip = |text: &str| -> gst::Caps {
            format!("video/x-raw(memory:HIPMemory),{text}")
                .parse()
                .unwrap()
        };
        let fixed = fixate(SINK, &hip(caps), false, hip(others));
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

    pub(in crate::convertscale) const ANY: &str = "width=[1,2147483647],height=[1,2147483647]";

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
        let fixed = fixate(SINK, &hd, false, rgb);
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
    fn grey_is_full_range_and_comes_back() {
        let hd = "format=NV12,width=1920,height=1080";
        check(
            hd,
            "format=GRAY8,width=64,height=32",
            &["colorimetry"],
            &["1:3:5:1"],
        );
        let grey = "format=GRAY8,width=64,height=32,colorimetry=(string)1:3:5:1";
        check(
            grey,
            "format=NV12,width=64,height=32",
            &["colorimetry"],
            &["bt709"],
        );
    }

    #[test]
    fn light_of_content_is_kept_with_hdr_alone() {
        let (display, level) = (
            "35400:14600:8500:39850:6550:2300:15635:16450:10000000:1",
            "1000:400",
        );
        let pq = format!(
            "format=P010_10LE,width=64,height=32,colorimetry=bt2100-pq,\
             mastering-display-info=(string){display},content-light-level=(string){level}"
        );
        let names = ["content-light-level"];
        check(&pq, "format=Y444_10LE,width=64,height=32", &names, &[level]);
        gst::init().unwrap();
        let hip = |text: &str| {
            format!("video/x-raw(memory:HIPMemory),{text}")
                .parse()
                .unwrap()
        };
        let (pq, sdr): (gst::Caps, gst::Caps) = (
            hip(&pq),
            hip("format=NV12,width=64,height=32,colorimetry=bt709"),
        );
        let fixed = fixate(SINK, &pq, false, sdr);
        assert!(!fixed.structure(0).unwrap().has_field(names[0]), "{fixed}");
    }
}
