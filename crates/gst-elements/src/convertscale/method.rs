use gst::glib;
use hip_video::{Cubic, Lobes, Method, ToneMap};

/// How the picture is read between its pixels: the value of the `method` property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstHipRsScaleMethod")]
#[non_exhaustive]
pub enum MethodChoice {
    /// The pixel that is there.
    #[enum_value(name = "Nearest neighbour", nick = "nearest")]
    Nearest = 0,
    /// Between four neighbours.
    #[enum_value(name = "Bilinear interpolation of four neighbours", nick = "bilinear")]
    Bilinear = 1,
    /// The mean of what a pixel covers.
    #[enum_value(
        name = "Average of the area where the picture shrinks, else bilinear",
        nick = "area"
    )]
    Area = 2,
    /// With the B and C of `cubic-b` and `cubic-c`.
    #[enum_value(
        name = "Cubic filter of cubic-b and cubic-c, antialiased",
        nick = "bicubic"
    )]
    Bicubic = 3,
    /// With as many lobes as `lobes` says.
    #[enum_value(
        name = "Windowed sinc of as many lobes as lobes says, antialiased",
        nick = "lanczos"
    )]
    Lanczos = 4,
    /// On each axis `area` where the picture shrinks, else bilinear.
    #[default]
    #[enum_value(
        name = "Automatic: on each axis area where the picture shrinks, else bilinear",
        nick = "auto"
    )]
    Auto = 5,
}

impl MethodChoice {
    /// The method, with the parameters that some take.
    pub(super) fn method(self, [b, c]: [f64; 2], lobes: u32) -> Method {
        match self {
            MethodChoice::Nearest => Method::Nearest,
            MethodChoice::Bilinear => Method::Bilinear,
            MethodChoice::Area => Method::Area,
            MethodChoice::Bicubic => Method::Bicubic(Cubic::new(b, c)),
            // The property's range is that of `Lobes`.
            MethodChoice::Lanczos => {
                let lobes = u8::try_from(lobes).ok().and_then(Lobes::new);
                Method::Lanczos(lobes.unwrap_or(Lobes::THREE))
            }
            MethodChoice::Auto => Method::Auto,
        }
    }
}

/// What is done where samples lose bits: the value of the `dither` property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstHipRsDither")]
#[non_exhaustive]
pub enum DitherChoice {
    /// They are rounded.
    #[default]
    #[enum_value(name = "None: samples are rounded", nick = "none")]
    None = 0,
    /// An ordered pattern hides the steps. The number is that of `GstVideoDitherMethod`.
    #[enum_value(name = "Ordered pattern of 8x8 samples", nick = "bayer")]
    Bayer = 4,
}

/// How light that the output cannot show is brought down: the value of the `tone-mapping` property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstHipRsToneMapping")]
#[non_exhaustive]
pub enum ToneMappingChoice {
    /// It is clipped.
    #[enum_value(name = "Clip what is too bright", nick = "clip")]
    Clip = 0,
    /// ITU-R BT.2390's curve.
    #[default]
    #[enum_value(name = "ITU-R BT.2390", nick = "bt2390")]
    Bt2390 = 1,
    /// Reinhard's curve.
    #[enum_value(name = "Reinhard's extended curve", nick = "reinhard")]
    Reinhard = 2,
}

impl From<ToneMappingChoice> for ToneMap {
    fn from(choice: ToneMappingChoice) -> ToneMap {
        match choice {
            ToneMappingChoice::Clip => ToneMap::Clip,
            ToneMappingChoice::Bt2390 => ToneMap::Bt2390,
            ToneMappingChoice::Reinhard => ToneMap::Reinhard,
        }
    }
}
