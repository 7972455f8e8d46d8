use gst::glib;
use hip_core::Vendor;

/// Whose device an element uses: the value of the `vendor` property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, glib::Enum)]
#[repr(i32)]
#[enum_type(name = "GstHipRsVendor")]
#[non_exhaustive]
pub enum VendorChoice {
    /// `GST_HIP_DEVICE` if set, else the best there is: a GPU, or the CPU.
    #[default]
    #[enum_value(name = "Automatic: the best device there is", nick = "auto")]
    Auto = 0,
    /// An AMD GPU or nothing.
    #[enum_value(name = "AMD (libamdhip64)", nick = "amd")]
    Amd = 1,
    /// An NVIDIA GPU or nothing.
    #[enum_value(name = "NVIDIA (libcuda)", nick = "nvidia")]
    Nvidia = 2,
    /// The CPU.
    #[enum_value(name = "Host: the CPU", nick = "host")]
    Host = 3,
}

impl VendorChoice {
    /// The vendor, unless any will do.
    pub fn vendor(self) -> Option<Vendor> {
        match self {
            VendorChoice::Auto => None,
            VendorChoice::Amd => Some(Vendor::Amd),
            VendorChoice::Nvidia => Some(Vendor::Nvidia),
            VendorChoice::Host => Some(Vendor::Host),
        }
    }
}
