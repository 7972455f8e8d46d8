//! One conversion, in the oracle's words and in this crate's.

use std::fmt;

use hip_oracle::{Conversion, FixedRect, FrameInfo, Method};
use hip_video::{
    AlphaMode, Border, ChromaSite, ConverterConfig, Cubic, FineRect, FrameDescription, LightChange,
    LightDescription, Lobes, Matrix, Normalisation, Orientation, PixelFormat, Primaries, Range,
    ToneMap, Transfer,
};

/// One conversion of noise.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) conversion: Conversion,
    /// For content, strides and alignment.
    pub(crate) seed: u64,
}

impl Case {
    /// All of one frame to all of another.
    pub(crate) fn new(
        source: FrameInfo,
        destination: FrameInfo,
        method: Method,
        seed: u64,
    ) -> Case {
        let conversion = Conversion {
            method,
            ..Conversion::new(source, destination)
        };
        Case { conversion, seed }
    }

    pub(crate) fn config(&self) -> ConverterConfig {
        let asked = &self.conversion;
        let (input, output) = (description(&asked.source), description(&asked.destination));
        let mut config = ConverterConfig::new(input, output);
        config.method = method(asked.method);
        config.src_rect = Some(rect(&asked.source_rect));
        config.dst_rect = Some(rect(&asked.destination_rect));
        config.orientation = orientation(asked.orientation);
        config.alpha = match asked.alpha {
            hip_oracle::AlphaMode::Copy => AlphaMode::Copy,
            hip_oracle::AlphaMode::Set(value) => AlphaMode::Set(value as f32),
            hip_oracle::AlphaMode::Multiply(value) => AlphaMode::Multiply(value as f32),
        };
        config.border = Border(asked.border.map(|part| part as f32));
        config.light = light(asked);
        config.dither = asked.dither == hip_oracle::Dither::Bayer;
        config.interlaced = asked.interlaced;
        config.normalisation = asked.normalisation.map(|numbers| Normalisation {
            mean: numbers.mean.map(|value| value as f32),
            scale: numbers.scale.map(|value| value as f32),
        });
        config
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conversion {
            source,
            destination,
            ..
        } = &self.conversion;
        let frame = |info: &FrameInfo| {
            let FrameInfo {
                width,
                height,
                matrix,
                range,
                site,
                ..
            } = info;
            let name = info.format.name();
            format!("{name} {width}x{height} {matrix:?} {range:?} {site:?}")
        };
        let (from, to) = (frame(source), frame(destination));
        write!(
            f,
            "{from} -> {to}, seed {}: {:?}",
            self.seed, self.conversion
        )
    }
}

/// The oracle's description of a frame in this crate's words.
pub(crate) fn description(info: &FrameInfo) -> FrameDescription {
    FrameDescription {
        format: PixelFormat::from_name(info.format.name()).expect("both know the same formats"),
        width: info.width as u32,
        height: info.height as u32,
        matrix: match info.matrix {
            hip_oracle::Matrix::Bt601 => Matrix::Bt601,
            hip_oracle::Matrix::Bt709 => Matrix::Bt709,
            hip_oracle::Matrix::Bt2020 => Matrix::Bt2020,
            hip_oracle::Matrix::Fcc => Matrix::Fcc,
            hip_oracle::Matrix::Smpte240m => Matrix::Smpte240m,
        },
        range: match info.range {
            hip_oracle::Range::Limited => Range::Limited,
            hip_oracle::Range::Full => Range::Full,
        },
        site: match info.site {
            hip_oracle::ChromaSite::Left => ChromaSite::Left,
            hip_oracle::ChromaSite::Centre => ChromaSite::Centre,
            hip_oracle::ChromaSite::TopLeft => ChromaSite::TopLeft,
            hip_oracle::ChromaSite::Top => ChromaSite::Top,
            hip_oracle::ChromaSite::BottomLeft => ChromaSite::BottomLeft,
            hip_oracle::ChromaSite::Bottom => ChromaSite::Bottom,
        },
        premultiplied: info.premultiplied,
    }
}

fn rect(rect: &FixedRect) -> FineRect {
    let pixels = |fixed: i64| fixed as f64 / hip_oracle::geometry::FIXED_ONE as f64;
    FineRect::new(
        pixels(rect.x),
        pixels(rect.y),
        pixels(rect.width),
        pixels(rect.height),
    )
}

fn method(method: Method) -> hip_video::Method {
    match method {
        Method::Bilinear => hip_video::Method::Bilinear,
        Method::Nearest => hip_video::Method::Nearest,
        Method::Area => hip_video::Method::Area,
        Method::Bicubic { b, c } => hip_video::Method::Bicubic(Cubic::new(b, c)),
        Method::Lanczos { lobes } => {
            let lobes = Lobes::new(lobes as u8).expect("2, 3 or 4 lobes");
            hip_video::Method::Lanczos(lobes)
        }
        Method::Auto => hip_video::Method::Auto,
    }
}

fn orientation(orientation: hip_oracle::Orientation) -> Orientation {
    use hip_oracle::Orientation as Theirs;
    match orientation {
        Theirs::Identity => Orientation::Identity,
        Theirs::Clockwise => Orientation::Right90,
        Theirs::Half => Orientation::Turn180,
        Theirs::Anticlockwise => Orientation::Left90,
        Theirs::Horizontal => Orientation::Horizontal,
        Theirs::Vertical => Orientation::Vertical,
        Theirs::UpperLeftLowerRight => Orientation::UpperLeftLowerRight,
        Theirs::UpperRightLowerLeft => Orientation::UpperRightLowerLeft,
    }
}

/// The page's three switches (transfer, primaries, tone mapping) as this crate has them: what each
/// side means, equal where nothing is to change.
fn light(asked: &Conversion) -> Option<LightChange> {
    let options = &asked.light;
    let (from, to) = (&asked.source, &asked.destination);
    let peaks = [
        options.source_peak(from.transfer),
        options.destination_peak(to.transfer),
    ];
    let tone_map = options.tone_mapping.filter(|_| peaks[0] > peaks[1]);
    if !options.transfer && !options.primaries && tone_map.is_none() {
        return None;
    }
    let remapped = options.transfer || tone_map.is_some();
    let end = if remapped { to } else { from };
    let gamut = if options.primaries { to } else { from };
    Some(LightChange {
        source: LightDescription {
            transfer: transfer(from.transfer),
            primaries: primaries(from.primaries),
            peak: Some(peaks[0] as u32),
        },
        destination: LightDescription {
            transfer: transfer(end.transfer),
            primaries: primaries(gamut.primaries),
            peak: Some(peaks[1] as u32),
        },
        tone_map: match tone_map {
            None | Some(hip_oracle::ToneMapping::Clip) => ToneMap::Clip,
            Some(hip_oracle::ToneMapping::Bt2390) => ToneMap::Bt2390,
            Some(hip_oracle::ToneMapping::Reinhard) => ToneMap::Reinhard,
        },
    })
}

fn transfer(transfer: hip_oracle::Transfer) -> Transfer {
    use hip_oracle::Transfer as Theirs;
    match transfer {
        Theirs::Bt709
        | Theirs::Bt601
        | Theirs::Smpte240m
        | Theirs::Bt2020_10
        | Theirs::Bt2020_12 => Transfer::Bt1886,
        Theirs::Srgb => Transfer::Srgb,
        Theirs::Gamma10 => Transfer::Linear,
        Theirs::Gamma18 => Transfer::Gamma18,
        Theirs::Gamma20 => Transfer::Gamma20,
        Theirs::Gamma22 => Transfer::Gamma22,
        Theirs::Gamma28 => Transfer::Gamma28,
        Theirs::AdobeRgb => Transfer::AdobeRgb,
        Theirs::Pq => Transfer::Pq,
        Theirs::Hlg => Transfer::Hlg,
    }
}

fn primaries(primaries: hip_oracle::Primaries) -> Primaries {
    use hip_oracle::Primaries as Theirs;
    match primaries {
        Theirs::Bt709 => Primaries::Bt709,
        Theirs::Bt470m => Primaries::Bt470M,
        Theirs::Bt470bg => Primaries::Bt470Bg,
        Theirs::Smpte170m => Primaries::Smpte170M,
        Theirs::Smpte240m => Primaries::Smpte240M,
        Theirs::Film => Primaries::Film,
        Theirs::Bt2020 => Primaries::Bt2020,
        Theirs::SmpteSt428 => Primaries::SmpteSt428,
        Theirs::SmpteRp431 => Primaries::SmpteRp431,
        Theirs::SmpteEg432 => Primaries::SmpteEg432,
        Theirs::Ebu3213 => Primaries::Ebu3213,
        Theirs::AdobeRgb => Primaries::AdobeRgb,
    }
}
