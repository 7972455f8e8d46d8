//! Transfer functions and primaries of caps, and what is asked to become of them.

use gst_video::{
    VideoColorPrimaries, VideoColorimetry, VideoContentLightLevel, VideoGammaMode, VideoInfo,
    VideoMasteringDisplayInfo, VideoPrimariesMode, VideoTransferFunction,
};
use hip_video::{LightChange, LightDescription, Primaries, Transfer};

use super::options::Options;
use crate::common::error::Error;

/// `max_display_mastering_luminance` counts in these parts of a cd/m².
const LUMINANCE_PARTS: u32 = 10_000;

/// The brightest of the content in cd/m², as far as caps say it: MaxCLL, else the mastering display's
/// maximum.
pub(super) fn peak(caps: &gst::CapsRef) -> Option<u32> {
    let content = VideoContentLightLevel::from_caps(caps)
        .ok()
        .map(|level| u32::from(level.max_content_light_level()));
    let display = || {
        let info = VideoMasteringDisplayInfo::from_caps(caps).ok()?;
        Some(info.max_display_mastering_luminance() / LUMINANCE_PARTS)
    };
    let known = |peak: &u32| *peak > 0;
    content.filter(known).or_else(|| display().filter(known))
}

/// Whether a transfer function is known and cannot be converted.
pub(super) fn is_unsupported(transfer: VideoTransferFunction) -> bool {
    transfer != VideoTransferFunction::Unknown && transfer_of(transfer).is_none()
}

/// Whether a transfer function is one of BT.2100's.
pub(super) fn is_hdr(transfer: VideoTransferFunction) -> bool {
    transfer_of(transfer).is_some_and(Transfer::is_hdr)
}

fn transfer_of(transfer: VideoTransferFunction) -> Option<Transfer> {
    Some(match transfer {
        VideoTransferFunction::Gamma10 => Transfer::Linear,
        VideoTransferFunction::Gamma18 => Transfer::Gamma18,
        VideoTransferFunction::Gamma20 => Transfer::Gamma20,
        VideoTransferFunction::Gamma22 => Transfer::Gamma22,
        VideoTransferFunction::Gamma28 => Transfer::Gamma28,
        VideoTransferFunction::Bt709
        | VideoTransferFunction::Bt601
        | VideoTransferFunction::Smpte240m
        | VideoTransferFunction::Bt202010
        | VideoTransferFunction::Bt202012 => Transfer::Bt1886,
        VideoTransferFunction::Srgb => Transfer::Srgb,
        VideoTransferFunction::Adobergb => Transfer::AdobeRgb,
        VideoTransferFunction::Smpte2084 => Transfer::Pq,
        VideoTransferFunction::AribStdB67 => Transfer::Hlg,
        _ => return None,
    })
}

fn primaries_of(primaries: VideoColorPrimaries) -> Option<Primaries> {
    Some(match primaries {
        VideoColorPrimaries::Bt709 => Primaries::Bt709,
        VideoColorPrimaries::Bt470m => Primaries::Bt470M,
        VideoColorPrimaries::Bt470bg => Primaries::Bt470Bg,
        VideoColorPrimaries::Smpte170m => Primaries::Smpte170M,
        VideoColorPrimaries::Smpte240m => Primaries::Smpte240M,
        VideoColorPrimaries::Film => Primaries::Film,
        VideoColorPrimaries::Bt2020 => Primaries::Bt2020,
        VideoColorPrimaries::Adobergb => Primaries::AdobeRgb,
        VideoColorPrimaries::Smptest428 => Primaries::SmpteSt428,
        VideoColorPrimaries::Smpterp431 => Primaries::SmpteRp431,
        VideoColorPrimaries::Smpteeg432 => Primaries::SmpteEg432,
        VideoColorPrimaries::Ebu3213 => Primaries::Ebu3213,
        _ => return None,
    })
}

/// What one side says of light.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side<'a> {
    /// The frames.
    pub(super) info: &'a VideoInfo,
    /// The brightest, in cd/m².
    pub(super) peak: Option<u32>,
}

/// The change of light that the modes ask for between these frames; `None` if nothing changes.
///
/// What is unknown on one side is taken as the other's, so that it does not change. Where primaries
/// alone are converted, light is that of the input's transfer function.
///
/// # Errors
/// Light would have to change from or to a transfer function that is not supported.
pub(super) fn change(
    options: &Options,
    input: Side<'_>,
    output: Side<'_>,
) -> Result<Option<LightChange>, Error> {
    let remap = options.gamma_mode == VideoGammaMode::Remap;
    let convert_primaries = match options.primaries_mode {
        VideoPrimariesMode::Fast => true,
        // Light is at hand only where the gamma is remapped.
        VideoPrimariesMode::MergeOnly => remap,
        _ => false,
    };
    if !remap && !convert_primaries {
        return Ok(None);
    }
    let colours: [VideoColorimetry; 2] = [input.info.colorimetry(), output.info.colorimetry()];
    let [from, to] = [colours[0].transfer(), colours[1].transfer()];
    let to = if remap { to } else { from };
    let unknown = VideoTransferFunction::Unknown;
    let (from, to) = match (from == unknown, to == unknown) {
        (true, true) => (VideoTransferFunction::Bt709, VideoTransferFunction::Bt709),
        (true, false) => (to, to),
        (false, true) => (from, from),
        (false, false) => (from, to),
    };
    let [source, destination] = colours.map(|colour| primaries_of(colour.primaries()));
    let (source, destination) = match (source, destination) {
        (Some(source), Some(destination)) if convert_primaries => (source, destination),
        (Some(one), _) | (None, Some(one)) => (one, one),
        (None, None) => (Primaries::Bt709, Primaries::Bt709),
    };
    if from == to && source == destination && is_unsupported(from) {
        return Ok(None);
    }
    let supported = |transfer: VideoTransferFunction| {
        transfer_of(transfer).ok_or_else(|| {
            Error::input(format!(
                "the transfer function {transfer:?} cannot be converted"
            ))
        })
    };
    let change = LightChange {
        source: LightDescription {
            transfer: supported(from)?,
            primaries: source,
            peak: input.peak.filter(|_| remap),
        },
        destination: LightDescription {
            transfer: supported(to)?,
            primaries: destination,
            peak: output.peak.filter(|_| remap),
        },
        tone_map: options.tone_mapping.into(),
    };
    Ok(Some(change).filter(|change| !change.is_identity()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_logarithmic_transfer_functions_cannot_be_converted() {
        use VideoTransferFunction as T;
        let known = [
            T::Gamma10,
            T::Gamma18,
            T::Gamma20,
            T::Gamma22,
            T::Bt709,
            T::Smpte240m,
            T::Srgb,
            T::Gamma28,
            T::Bt202012,
            T::Adobergb,
            T::Bt202010,
            T::Smpte2084,
            T::AribStdB67,
            T::Bt601,
        ];
        assert!(!known.into_iter().any(is_unsupported));
        assert!(is_unsupported(T::Log100) && is_unsupported(T::Log316));
        assert!(!is_unsupported(T::Unknown));
        let hdr: Vec<_> = known.into_iter().filter(|t| is_hdr(*t)).collect();
        assert_eq!(hdr, [T::Smpte2084, T::AribStdB67]);
    }

    fn change_of(options: &Options, from: &str, to: &str) -> Option<LightChange> {
        gst::init().unwrap();
        let info = |colorimetry: &str| {
            let colorimetry: VideoColorimetry = colorimetry.parse().unwrap();
            VideoInfo::builder(gst_video::VideoFormat::Rgba, 8, 8)
                .colorimetry(&colorimetry)
                .build()
                .unwrap()
        };
        let (input, output) = (info(from), info(to));
        let side = |info| Side { info, peak: None };
        change(options, side(&input), side(&output)).unwrap()
    }

    #[test]
    fn what_is_unknown_does_not_change() {
        let all = Options {
            gamma_mode: VideoGammaMode::Remap,
            primaries_mode: VideoPrimariesMode::Fast,
            ..Options::default()
        };
        for (from, to) in [
            ("1:1:0:0", "1:1:7:7"),
            ("1:1:7:7", "1:1:0:0"),
            ("1:1:0:0", "1:1:0:0"),
        ] {
            assert_eq!(change_of(&all, from, to), None, "{from} {to}");
        }
        let known = change_of(&all, "1:1:7:7", "1:1:14:1").unwrap();
        assert_eq!(known.source.primaries, Primaries::Bt2020);
        assert_eq!(known.destination.transfer, Transfer::Pq);
    }
}
