use super::{RtcError, RtcLibrary};
use crate::{DeviceInfo, Vendor};

/// What a compiler makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RtcProduct {
    /// PTX text: for the architecture named and all newer ones, by drivers of the compiler's version
    /// and newer.
    Ptx,
    /// A CUBIN: for one architecture, by any driver that knows it.
    Cubin,
    /// AMD's ELF code object: for one architecture.
    CodeObject,
}

/// An architecture that a compiler is known to take, and what it makes for it. Only
/// [`RtcLibrary::target_for`] and [`RtcLibrary::target_named`] make one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtcTarget {
    vendor: Vendor,
    /// Up to which version of HIPRTC an unknown architecture is fatal decides who may use it.
    compiler: (u32, u32),
    option: String,
    product: RtcProduct,
}

impl RtcTarget {
    /// What is made.
    pub fn product(&self) -> RtcProduct {
        self.product
    }

    /// The architecture as the compiler calls it: `sm_90`, `compute_80`, `gfx90a:sramecc+:xnack-`.
    pub fn architecture(&self) -> &str {
        self.option.split_once('=').map_or("", |(_, name)| name)
    }

    pub(super) fn option(&self) -> &str {
        &self.option
    }
}

/// Architectures that each version of HIPRTC was seen to compile for. Up to 6.x any other name ends
/// the process, so this is a list of what was tried and not of what ought to work.
const HIPRTC_ARCHITECTURES: [((u32, u32), &[&str]); 3] = [
    ((5, 2), &["gfx906", "gfx90a", "gfx1030"]),
    ((5, 7), &["gfx1100", "gfx942"]),
    ((6, 4), &["gfx950", "gfx1151", "gfx1201"]),
];

/// The features an architecture has; naming one that it lacks ends the process as well.
fn features(architecture: &str) -> &'static [&'static str] {
    match architecture {
        "gfx906" | "gfx90a" | "gfx942" | "gfx950" => &["sramecc+", "sramecc-", "xnack+", "xnack-"],
        _ => &[],
    }
}

/// From 7.0 on HIPRTC answers an unknown architecture with an error.
const FIRST_HIPRTC_WITH_AN_ERROR: u32 = 7;

impl RtcLibrary {
    /// The target for a device: for NVIDIA a CUBIN where the compiler knows the architecture, else
    /// PTX for the newest that it knows and the device runs; for AMD the device's own name.
    ///
    /// # Errors
    /// The device is another vendor's, or older than all that the compiler knows; or the compiler is
    /// of another version than AMD's runtime, and was not seen to take the device's name.
    pub fn target_for(&self, device: &DeviceInfo) -> Result<RtcTarget, RtcError> {
        if device.vendor != self.vendor {
            return Err(self.no_target(&device.architecture));
        }
        let architecture = &device.architecture;
        if self.vendor == Vendor::Amd {
            // A compiler of the version of the runtime that shows the device knows its name.
            return match self.of_runtime || self.hiprtc_takes(architecture) {
                true => Ok(self.target(architecture, RtcProduct::CodeObject)),
                false => Err(self.no_target(architecture)),
            };
        }
        if self.makes_binary(architecture) {
            return Ok(self.target(architecture, RtcProduct::Cubin));
        }
        match self.newest_up_to(architecture) {
            Some(number) => Ok(self.target(&format!("compute_{number}"), RtcProduct::Ptx)),
            None => Err(self.no_target(architecture)),
        }
    }

    /// The target of that name (`sm_90`, `compute_80`, `gfx1030`), for tools: no device is needed.
    ///
    /// # Errors
    /// The compiler is not known to take it.
    pub fn target_named(&self, architecture: &str) -> Result<RtcTarget, RtcError> {
        let known = |name: &str| match (number(name), &self.architectures) {
            (Some(number), Some(list)) => list.contains(&number),
            (number, None) => number.is_some(),
            _ => false,
        };
        let product = match self.vendor {
            Vendor::Amd if self.hiprtc_takes(architecture) => RtcProduct::CodeObject,
            Vendor::Nvidia
                if architecture.starts_with("sm_") && self.makes_binary(architecture) =>
            {
                RtcProduct::Cubin
            }
            Vendor::Nvidia if architecture.starts_with("compute_") && known(architecture) => {
                RtcProduct::Ptx
            }
            _ => return Err(self.no_target(architecture)),
        };
        Ok(self.target(architecture, product))
    }

    /// The architectures that [`RtcLibrary::target_named`] takes, as `sm_90` or `gfx1030`; empty where
    /// the compiler does not tell and nobody tried.
    pub fn architectures(&self) -> Vec<String> {
        match &self.architectures {
            Some(list) => list.iter().map(|number| format!("sm_{number}")).collect(),
            None if self.vendor == Vendor::Amd => HIPRTC_ARCHITECTURES
                .iter()
                .filter(|(since, _)| self.version >= *since)
                .flat_map(|(_, names)| names.iter().map(|name| (*name).to_owned()))
                .collect(),
            None => Vec::new(),
        }
    }

    /// Whether `sm_N` can be compiled to a CUBIN; a compiler that does not tell is tried.
    pub(super) fn makes_binary(&self, architecture: &str) -> bool {
        let Some(number) = number(architecture) else {
            return false;
        };
        let knows = |list: &Vec<u32>| list.contains(&number);
        self.table.cubin.is_some() && self.architectures.as_ref().is_none_or(knows)
    }

    /// Whether there is PTX that `sm_N` runs.
    pub(super) fn makes_ptx(&self, architecture: &str) -> bool {
        self.newest_up_to(architecture).is_some()
    }

    /// The newest architecture known that is no newer than the one given.
    fn newest_up_to(&self, architecture: &str) -> Option<u32> {
        let number = number(architecture)?;
        match &self.architectures {
            Some(list) => list.iter().copied().filter(|known| *known <= number).max(),
            None => Some(number),
        }
    }

    fn hiprtc_takes(&self, architecture: &str) -> bool {
        let mut parts = architecture.split(':');
        let name = parts.next().unwrap_or_default();
        if self.version.0 >= FIRST_HIPRTC_WITH_AN_ERROR {
            return name.starts_with("gfx");
        }
        self.architectures().iter().any(|known| known == name)
            && parts.all(|feature| features(name).contains(&feature))
    }

    fn target(&self, architecture: &str, product: RtcProduct) -> RtcTarget {
        // HIPRTC does not know `-arch`, and NVRTC does not know `--offload-arch`.
        let option = match self.vendor {
            Vendor::Amd => "--offload-arch",
            _ => "--gpu-architecture",
        };
        RtcTarget {
            vendor: self.vendor,
            compiler: self.version,
            option: format!("{option}={architecture}"),
            product,
        }
    }

    /// Fails for a target that another compiler, or another version, made.
    pub(super) fn accepts(&self, target: &RtcTarget) -> Result<(), RtcError> {
        match (target.vendor, target.compiler) == (self.vendor, self.version) {
            true => Ok(()),
            false => Err(self.no_target(target.architecture())),
        }
    }

    fn no_target(&self, architecture: &str) -> RtcError {
        RtcError::Architecture {
            compiler: self.to_string(),
            architecture: architecture.to_owned(),
            known: self.architectures().join(", "),
        }
    }
}

/// The number in `sm_90` or `compute_90`.
fn number(architecture: &str) -> Option<u32> {
    let digits = architecture
        .strip_prefix("sm_")
        .or_else(|| architecture.strip_prefix("compute_"))?;
    digits.parse().ok()
}

/// Whether a compiler's option sets the architecture, in any of the spellings that NVRTC, HIPRTC's
/// clang and C++ compilers have, or reads further options from a file.
pub fn sets_architecture(option: &str) -> bool {
    const NAMES: [&str; 15] = [
        "--offload-arch",
        "--no-offload-arch",
        "--gpu-architecture",
        "--gpu-code",
        "--generate-code",
        "--cuda-gpu-arch",
        "--amdgpu-target",
        "--target",
        "-arch",
        "-code",
        "-gencode",
        "-target",
        "-march",
        "-mcpu",
        // clang reads options from that file.
        "--config",
    ];
    let option = option.trim();
    // clang takes most of its long options with one dash too.
    let same = |name: &str| {
        let rest = option
            .strip_prefix(name)
            .or_else(|| option.strip_prefix(name.strip_prefix('-')?));
        // `-offload-arch=x`, `-offload-arch`, `--offload-arch x` in one option.
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with('=') || rest.starts_with(char::is_whitespace)
        })
    };
    option.starts_with('@')
        || (option.starts_with('-') && NAMES.iter().any(|name| same(name)))
        || option == "-target-cpu"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_architecture_is_known() {
        for option in [
            "--offload-arch=gfx1030",
            "--offload-arch",
            "-offload-arch=gfx1030",
            "--offload-arch gfx1030",
            "--gpu-architecture=sm_90",
            "-arch=sm_90",
            "-arch",
            "-march=native",
            "-mcpu=gfx1030",
            "-gencode",
            "--target=amdgcn",
            "-target-cpu",
            " -arch=sm_90",
            "@options",
            "--config=options",
        ] {
            assert!(sets_architecture(option), "{option}");
        }
    }

    #[test]
    fn other_options_are_not_taken_for_one() {
        for option in [
            "-DARCH=-arch",
            "--std=c++17",
            "-architect",
            "-mcode-object-version=4",
            "-I/arch",
            "--use_fast_math",
            "gfx1030",
            "-default-device",
        ] {
            assert!(!sets_architecture(option), "{option}");
        }
    }

    #[test]
    fn numbers_are_read_of_both_kinds() {
        assert_eq!(number("sm_90"), Some(90));
        assert_eq!(number("compute_120"), Some(120));
        assert_eq!(number("sm_90a"), None);
        assert_eq!(number("gfx90a"), None);
    }
}
