use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::Vendor;

/// Address on the PCI bus, `domain:bus:device.function`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PciAddress {
    /// Segment.
    pub domain: u32,
    /// Bus.
    pub bus: u8,
    /// Device.
    pub device: u8,
    /// Function.
    pub function: u8,
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:04x}:{:02x}:{:02x}.{:x}",
            self.domain, self.bus, self.device, self.function
        )
    }
}

impl FromStr for PciAddress {
    type Err = ParseSelectorError;

    /// Takes `0000:01:00.0`, `01:00.0` and, as `hipDeviceGetPCIBusId` may print it, `0000:01:00`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseSelectorError(text.to_owned());
        let (address, function) = text.rsplit_once('.').unwrap_or((text, "0"));
        let parts: Vec<&str> = address.split(':').collect();
        let (domain, bus, device) = match parts[..] {
            [domain, bus, device] => (domain, bus, device),
            [bus, device] => ("0", bus, device),
            _ => return Err(error()),
        };
        Ok(PciAddress {
            domain: u32::from_str_radix(domain, 16).map_err(|_| error())?,
            bus: u8::from_str_radix(bus, 16).map_err(|_| error())?,
            device: u8::from_str_radix(device, 16).map_err(|_| error())?,
            function: u8::from_str_radix(function, 16).map_err(|_| error())?,
        })
    }
}

/// A device's UUID; shown as the vendors show it, `GPU-` and the RFC 4122 groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU-")?;
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || ParseSelectorError(text.to_owned());
        let digits = text
            .strip_prefix("GPU-")
            .or_else(|| text.strip_prefix("gpu-"));
        let digits: String = digits
            .unwrap_or(text)
            .chars()
            .filter(|c| *c != '-')
            .collect();
        if digits.len() != 32 || !digits.is_ascii() {
            return Err(error());
        }
        let mut bytes = [0; 16];
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte =
                u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).map_err(|_| error())?;
        }
        Ok(Uuid(bytes))
    }
}

/// What a device can take.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Row strides in device memory are a multiple of this many bytes.
    pub pitch_alignment: usize,
    /// Threads in one block.
    pub max_threads_per_block: u32,
    /// Shared memory of one block, in bytes.
    pub max_shared_memory_per_block: u32,
    /// Shared memory of one block of a kernel that asked for leave
    /// ([`crate::Backend::allow_dynamic_shared_memory`]), in bytes; no less than the above.
    pub max_shared_memory_per_block_optin: u32,
    /// Blocks of a launch in x, y, z.
    pub max_grid_dim: [u32; 3],
    /// Whether device memory is the CPU's own memory, so that a CPU map copies nothing.
    pub host_addressable: bool,
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// Whose.
    pub vendor: Vendor,
    /// Its number among the vendor's devices in this process; changes with `*_VISIBLE_DEVICES`.
    pub ordinal: u32,
    /// The vendor's name for it.
    pub name: String,
    /// Where it is on the bus.
    pub pci_address: Option<PciAddress>,
    /// Its UUID.
    pub uuid: Option<Uuid>,
    /// Its DRM render node (`/dev/dri/renderD128`), found through its PCI address.
    pub render_node: Option<PathBuf>,
    /// Device memory in bytes.
    pub total_memory: u64,
    /// `sm_90`, `gfx942:sramecc+:xnack-` (the full `gcnArchName`), `x86-64-v3`.
    pub architecture: String,
    /// Whether it shares the CPU's memory.
    pub integrated: bool,
    /// Multiprocessors / compute units / CPU threads.
    pub multiprocessors: u32,
    /// Threads that run in step: 32, 64, or 1 on Host.
    pub warp_size: u32,
    /// What it can take.
    pub limits: Limits,
}

impl fmt::Display for DeviceInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{} {} [{}]",
            self.vendor, self.ordinal, self.name, self.architecture
        )
    }
}

/// Finds the DRM render node of the device at a PCI address (Linux: through sysfs).
pub(crate) fn render_node(address: PciAddress) -> Option<PathBuf> {
    let folder = format!("/sys/bus/pci/devices/{address}/drm");
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name();
        name.to_str()?
            .starts_with("renderD")
            .then(|| PathBuf::from("/dev/dri").join(&name))
    })
}

/// How a device is asked for.
///
/// Text forms: `auto`, `nvidia`, `amd:1`, `0000:3b:00.0`, `GPU-…` (a UUID), `/dev/dri/renderD128`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DeviceSelector {
    /// The best there is: a discrete GPU, an integrated one, Host.
    #[default]
    Auto,
    /// The best device of a vendor; no other vendor will do.
    Vendor(Vendor),
    /// A vendor's device by ordinal.
    Ordinal(Vendor, u32),
    /// The n-th device whoever made it, in the order of vendors, Host not counted unless it is
    /// the only one.
    Index(u32),
    /// By PCI address.
    Pci(PciAddress),
    /// By UUID.
    Uuid(Uuid),
    /// By DRM render node.
    RenderNode(PathBuf),
}

/// The text names no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} names no device: expected auto, VENDOR, VENDOR:ORDINAL (vendors: amd, nvidia, host), a number, \
     a PCI address (0000:3b:00.0), a UUID (GPU-…) or a render node (/dev/dri/renderD128)"
)]
pub struct ParseSelectorError(pub String);

impl FromStr for DeviceSelector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let error = || ParseSelectorError(text.to_owned());
        if text.is_empty() || text.eq_ignore_ascii_case("auto") {
            return Ok(DeviceSelector::Auto);
        }
        if text.starts_with('/') {
            return Ok(DeviceSelector::RenderNode(PathBuf::from(text)));
        }
        if let Ok(index) = text.parse() {
            return Ok(DeviceSelector::Index(index));
        }
        let (head, tail) = text.split_once(':').unwrap_or((text, ""));
        if let Ok(vendor) = head.parse::<Vendor>() {
            return match tail {
                "" if !text.contains(':') => Ok(DeviceSelector::Vendor(vendor)),
                number => {
                    let ordinal = number.parse().map_err(|_| error())?;
                    Ok(DeviceSelector::Ordinal(vendor, ordinal))
                }
            };
        }
        if let Ok(uuid) = text.parse() {
            return Ok(DeviceSelector::Uuid(uuid));
        }
        text.parse().map(DeviceSelector::Pci).map_err(|_| error())
    }
}

impl fmt::Display for DeviceSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceSelector::Auto => f.write_str("auto"),
            DeviceSelector::Vendor(vendor) => write!(f, "{vendor}"),
            DeviceSelector::Ordinal(vendor, ordinal) => write!(f, "{vendor}:{ordinal}"),
            DeviceSelector::Index(index) => write!(f, "{index}"),
            DeviceSelector::Pci(address) => write!(f, "{address}"),
            DeviceSelector::Uuid(uuid) => write!(f, "{uuid}"),
            DeviceSelector::RenderNode(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_round_trip() {
        for text in [
            "auto",
            "nvidia",
            "amd:1",
            "host:0",
            "3",
            "0000:3b:00.0",
            "GPU-00112233-4455-6677-8899-aabbccddeeff",
            "/dev/dri/renderD128",
        ] {
            assert_eq!(text.parse::<DeviceSelector>().unwrap().to_string(), text);
        }
        assert_eq!("".parse(), Ok(DeviceSelector::Auto));
        assert_eq!("NVIDIA".parse(), Ok(DeviceSelector::Vendor(Vendor::Nvidia)));
        assert_eq!(
            "01:00.0".parse::<DeviceSelector>().unwrap().to_string(),
            "0000:01:00.0"
        );
    }

    #[test]
    fn wrong_selectors_are_refused() {
        for text in [
            "intel",
            "amd:",
            "amd:x",
            "nvidia:-1",
            "GPU-12",
            "1:2:3:4",
            "zz:00.0",
        ] {
            assert!(text.parse::<DeviceSelector>().is_err(), "{text}");
        }
    }
}
