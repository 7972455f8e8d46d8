use gst::glib;
use hip_video::Method;

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
    #[default]
    #[enum_value(name = "Bilinear interpolation", nick = "bilinear")]
    Bilinear = 1,
}

impl From<MethodChoice> for Method {
    fn from(choice: MethodChoice) -> Method {
        match choice {
            MethodChoice::Nearest => Method::Nearest,
            MethodChoice::Bilinear => Method::Bilinear,
        }
    }
}
