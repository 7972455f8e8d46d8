use std::fmt;
use std::str::FromStr;

/// Who makes the device, and so whose library is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Vendor {
    /// AMD GPUs through ROCm's HIP runtime (`libamdhip64`).
    Amd,
    /// NVIDIA GPUs through the CUDA driver (`libcuda.so.1`, `nvcuda.dll`).
    Nvidia,
    /// The CPU: a full peer, always there.
    Host,
}

impl Vendor {
    /// Every vendor, in the order in which an unspecified device is looked for.
    pub const ALL: [Vendor; 3] = [Vendor::Amd, Vendor::Nvidia, Vendor::Host];

    /// The lower-case name used in selectors and environment variables.
    pub const fn name(self) -> &'static str {
        match self {
            Vendor::Amd => "amd",
            Vendor::Nvidia => "nvidia",
            Vendor::Host => "host",
        }
    }
}

impl fmt::Display for Vendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of a vendor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown vendor {0:?}: expected amd, nvidia or host")]
pub struct ParseVendorError(pub String);

impl FromStr for Vendor {
    type Err = ParseVendorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Vendor::ALL
            .into_iter()
            .find(|vendor| text.eq_ignore_ascii_case(vendor.name()))
            .ok_or_else(|| ParseVendorError(text.to_owned()))
    }
}
