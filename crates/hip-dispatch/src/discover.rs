use std::fmt;

use crate::{Attempt, DeviceInfo, LoadedLibrary, Runtime, SelectError, Vendor, Versions};

/// Everything that was looked for and found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Discovery {
    /// One report a vendor, in the order of [`Vendor::ALL`].
    pub vendors: Vec<VendorReport>,
}

/// What was found of one vendor.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct VendorReport {
    /// Whose.
    pub vendor: Vendor,
    /// Every file tried, in order, until one loaded.
    pub attempts: Vec<Attempt>,
    /// What was loaded from where.
    pub libraries: Vec<LoadedLibrary>,
    /// The library's versions, where it tells them.
    pub versions: Option<Versions>,
    /// Optional functions that the library lacks.
    pub missing_symbols: Vec<&'static str>,
    /// The devices, or why there is none.
    pub devices: Result<Vec<DeviceInfo>, String>,
}

/// Looks for every vendor's library and devices through the process's runtime. This initialises
/// the drivers, which can take a second on a cold machine.
pub fn discover() -> Discovery {
    Runtime::global().discover()
}

impl Runtime {
    /// Looks for every vendor's library and devices.
    pub fn discover(&self) -> Discovery {
        Discovery {
            vendors: Vendor::ALL.map(|vendor| self.report(vendor)).into(),
        }
    }

    fn report(&self, vendor: Vendor) -> VendorReport {
        let backend = match self.backend(vendor) {
            Ok(backend) => backend,
            Err(error) => {
                return VendorReport {
                    vendor,
                    devices: Err(error.to_string()),
                    attempts: error.attempts,
                    libraries: Vec::new(),
                    versions: None,
                    missing_symbols: error.missing_symbols,
                };
            }
        };
        let devices = match self.devices(vendor) {
            Ok(devices) if devices.is_empty() => Err(self.no_device(vendor).to_string()),
            Ok(devices) => Ok(devices),
            Err(SelectError::Hip(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        VendorReport {
            vendor,
            attempts: self.attempts(vendor),
            libraries: backend.libraries(),
            versions: backend.versions().ok().filter(|_| vendor != Vendor::Host),
            missing_symbols: backend.missing_symbols(),
            devices,
        }
    }
}

impl fmt::Display for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.vendors.iter().try_for_each(|report| report.fmt(f))
    }
}

impl fmt::Display for VendorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.vendor)?;
        for library in &self.libraries {
            writeln!(f, "  {}: {}", library.role, library.path.display())?;
        }
        for attempt in self
            .attempts
            .iter()
            .filter(|attempt| attempt.error.is_some())
        {
            writeln!(f, "  tried {attempt}")?;
        }
        if let Some(versions) = self.versions {
            writeln!(
                f,
                "  version: driver {}, runtime {}",
                versions.driver, versions.runtime
            )?;
        }
        if !self.missing_symbols.is_empty() {
            writeln!(
                f,
                "  functions it lacks: {}",
                self.missing_symbols.join(", ")
            )?;
        }
        match &self.devices {
            Err(reason) => writeln!(f, "  no device: {reason}"),
            Ok(devices) => devices
                .iter()
                .try_for_each(|device| write_device(f, device)),
        }
    }
}

fn write_device(f: &mut fmt::Formatter<'_>, device: &DeviceInfo) -> fmt::Result {
    let kind = if device.integrated {
        "shares the CPU's memory"
    } else {
        "memory of its own"
    };
    writeln!(f, "  {device}")?;
    writeln!(f, "    {} MiB, {kind}", device.total_memory >> 20)?;
    writeln!(
        f,
        "    {} multiprocessors, {} threads in step",
        device.multiprocessors, device.warp_size
    )?;
    if let Some(address) = device.pci_address {
        writeln!(f, "    PCI {address}")?;
    }
    if let Some(uuid) = device.uuid {
        writeln!(f, "    UUID {uuid}")?;
    }
    if let Some(node) = &device.render_node {
        writeln!(f, "    render node {}", node.display())?;
    }
    Ok(())
}
