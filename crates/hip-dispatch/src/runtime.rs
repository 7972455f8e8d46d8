use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::amd::AmdRocm;
use crate::fork::ForkOnce;
use crate::loader::driver_name;
use crate::nvidia::NvidiaCuda;
use crate::{
    Attempt, Backend, DeviceInfo, DeviceSelector, ErrorKind, HipError, Host, LoadError,
    LoaderConfig, Vendor,
};

/// No machine has more devices of one vendor.
const MAX_DEVICES: u32 = 1024;

static GLOBAL: OnceLock<Arc<Runtime>> = OnceLock::new();

/// Every vendor's library, each loaded at most once and on first use.
#[derive(Debug)]
pub struct Runtime {
    config: LoaderConfig,
    amd: ForkOnce<Result<Loaded, LoadError>>,
    nvidia: ForkOnce<Result<Loaded, LoadError>>,
    host: OnceLock<Arc<dyn Backend>>,
}

/// A backend, and every file that was tried until it loaded.
#[derive(Debug)]
struct Loaded {
    backend: Arc<dyn Backend>,
    attempts: Vec<Attempt>,
}

impl Runtime {
    /// A runtime of its own; nothing is loaded yet.
    pub fn new(config: LoaderConfig) -> Arc<Runtime> {
        Arc::new(Runtime {
            config,
            amd: ForkOnce::new(),
            nvidia: ForkOnce::new(),
            host: OnceLock::new(),
        })
    }

    /// A runtime whose vendors are these backends, for tests of the choice of a device. A vendor
    /// that is not among them is looked for as `config` says.
    #[doc(hidden)]
    pub fn with_backends(config: LoaderConfig, backends: Vec<Arc<dyn Backend>>) -> Arc<Runtime> {
        let runtime = Runtime::new(config);
        for backend in backends {
            let loaded = |backend| {
                let attempts = Vec::new();
                Ok(Loaded { backend, attempts })
            };
            match backend.vendor() {
                Vendor::Amd => drop(runtime.amd.get_or_init(|| loaded(backend))),
                Vendor::Nvidia => drop(runtime.nvidia.get_or_init(|| loaded(backend))),
                Vendor::Host => drop(runtime.host.set(backend)),
            }
        }
        runtime
    }

    /// The process's runtime, made with the default configuration if none was given before.
    pub fn global() -> &'static Arc<Runtime> {
        GLOBAL.get_or_init(|| Runtime::new(LoaderConfig::default()))
    }

    /// The process's runtime, made with `config` if this is its first use. A later configuration
    /// changes nothing: libraries stay loaded. Gives the runtime and whether `config` is its.
    pub fn global_with(config: LoaderConfig) -> (&'static Arc<Runtime>, bool) {
        let runtime = GLOBAL.get_or_init(|| Runtime::new(config.clone()));
        (runtime, runtime.config == config)
    }

    /// How libraries are looked for.
    pub fn config(&self) -> &LoaderConfig {
        &self.config
    }

    /// The vendor's backend, or what was tried in vain. Loads the library on first use.
    ///
    /// # Errors
    /// No file loads, the library lacks functions, or this is the child of a process that was
    /// forked while it loaded the library. (A backend that the parent had loaded is given, and
    /// refuses every call.)
    pub fn backend(&self, vendor: Vendor) -> Result<&Arc<dyn Backend>, LoadError> {
        match self.loaded(vendor) {
            Some(Ok(loaded)) => Ok(&loaded.backend),
            Some(Err(error)) => Err(error),
            None => Ok(self
                .host
                .get_or_init(|| Host::new(self.config.host_devices.max(1)))),
        }
    }

    /// What loading gave; `None` for Host, which is not loaded.
    fn loaded(&self, vendor: Vendor) -> Option<Result<&Loaded, LoadError>> {
        let slot = match vendor {
            Vendor::Amd => self.amd.get_or_init(|| {
                let driver = AmdRocm::load(&self.config)?;
                let attempts = driver.attempts().to_vec();
                Ok(Loaded {
                    backend: Arc::new(driver),
                    attempts,
                })
            }),
            Vendor::Nvidia => self.nvidia.get_or_init(|| {
                let driver = NvidiaCuda::load(&self.config)?;
                let attempts = driver.attempts().to_vec();
                Ok(Loaded {
                    backend: Arc::new(driver),
                    attempts,
                })
            }),
            Vendor::Host => return None,
        };
        Some(match slot {
            Some(result) => result.as_ref().map_err(Clone::clone),
            None => Err(LoadError::forked(vendor, driver_name(vendor))),
        })
    }

    /// Every file tried for a vendor's library, in order.
    pub(crate) fn attempts(&self, vendor: Vendor) -> Vec<Attempt> {
        match self.loaded(vendor) {
            Some(Ok(loaded)) => loaded.attempts.clone(),
            Some(Err(error)) => error.attempts,
            None => Vec::new(),
        }
    }

    /// The devices of a vendor; an empty list where the library says that there is none. A device
    /// that cannot be asked what it is is left out, and its failure logged, as long as another can.
    ///
    /// # Errors
    /// The library does not load, or none of its devices can be asked.
    pub fn devices(&self, vendor: Vendor) -> Result<Vec<DeviceInfo>, SelectError> {
        let backend = self.backend(vendor)?;
        let count = match backend.device_count() {
            Ok(count) => count,
            Err(error) if error.is_no_device() => 0,
            Err(error) => return Err(error.into()),
        };
        let mut devices = Vec::new();
        let mut failure = None;
        // A library that counts wildly must not hold the process up.
        for ordinal in 0..count.min(MAX_DEVICES) {
            match backend.device_info(ordinal) {
                Ok(info) => devices.push(info),
                Err(error) => {
                    tracing::warn!(%error, %vendor, ordinal, "device left out");
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(error) if devices.is_empty() => Err(error.into()),
            _ => Ok(devices),
        }
    }

    /// Chooses a device.
    ///
    /// [`DeviceSelector::Auto`] takes a discrete GPU, else an integrated one, else Host, and then
    /// says in [`Selected::fallback`] what was there and could not serve. Anything asked for by
    /// name never falls back.
    ///
    /// # Errors
    /// What was asked for is not there; the text says what was looked for and where.
    pub fn select(&self, selector: &DeviceSelector) -> Result<Selected, SelectError> {
        match selector {
            DeviceSelector::Auto => self.select_auto(),
            DeviceSelector::Vendor(vendor) => {
                let devices = self.devices(*vendor)?;
                let best = best_of(devices).ok_or_else(|| self.no_device(*vendor))?;
                self.selected(best)
            }
            DeviceSelector::Ordinal(vendor, ordinal) => self.select_ordinal(*vendor, *ordinal),
            _ => self.select_among_all(selector),
        }
    }

    fn select_ordinal(&self, vendor: Vendor, ordinal: u32) -> Result<Selected, SelectError> {
        let backend = self.backend(vendor)?;
        match backend.device_count() {
            // The one asked for, whatever ails the others.
            Ok(count) if ordinal < count => self.selected(backend.device_info(ordinal)?),
            Ok(1..) => {
                let devices = self.devices(vendor)?;
                let names: Vec<_> = devices.iter().map(DeviceInfo::to_string).collect();
                let selector = DeviceSelector::Ordinal(vendor, ordinal);
                Err(SelectError::NotFound {
                    selector,
                    have: names.join("; "),
                })
            }
            Err(error) if !error.is_no_device() => Err(error.into()),
            _ => Err(self.no_device(vendor)),
        }
    }

    fn select_auto(&self) -> Result<Selected, SelectError> {
        let mut integrated = None;
        let mut reasons = Vec::new();
        for vendor in [Vendor::Amd, Vendor::Nvidia] {
            match self.devices(vendor) {
                Ok(devices) if devices.is_empty() => {
                    reasons.push(self.no_device(vendor).to_string());
                }
                Ok(devices) => match best_of(devices) {
                    Some(device) if !device.integrated => return self.selected(device),
                    other => integrated = integrated.or(other),
                },
                // A library that is simply not installed is no news.
                Err(SelectError::Load(error)) if error.not_found() => {}
                Err(error) => reasons.push(error.to_string()),
            }
        }
        if let Some(device) = integrated {
            return self.selected(device);
        }
        let host = best_of(self.devices(Vendor::Host)?).ok_or(self.no_device(Vendor::Host))?;
        let mut selected = self.selected(host)?;
        selected.fallback = (!reasons.is_empty()).then(|| reasons.join("; "));
        Ok(selected)
    }

    /// Looks through the devices of every vendor, GPUs first.
    fn select_among_all(&self, selector: &DeviceSelector) -> Result<Selected, SelectError> {
        let mut seen = Vec::new();
        let mut notes = Vec::new();
        for vendor in Vendor::ALL {
            if vendor == Vendor::Host && !seen.is_empty() {
                break;
            }
            match self.devices(vendor) {
                Ok(devices) => seen.extend(devices),
                Err(error) => notes.push(error.to_string()),
            }
        }
        let position = seen
            .iter()
            .enumerate()
            .position(|(index, info)| match selector {
                DeviceSelector::Index(wanted) => index == *wanted as usize,
                DeviceSelector::Pci(address) => info.pci_address == Some(*address),
                DeviceSelector::Uuid(uuid) => info.uuid == Some(*uuid),
                DeviceSelector::RenderNode(path) => info.render_node.as_ref() == Some(path),
                _ => false,
            });
        if let Some(position) = position {
            return self.selected(seen.swap_remove(position));
        }
        notes.extend(seen.iter().map(|info| {
            let pci = info
                .pci_address
                .map_or("no PCI address".to_owned(), |a| a.to_string());
            format!("{info} at {pci}")
        }));
        Err(SelectError::NotFound {
            selector: selector.clone(),
            have: notes.join("; "),
        })
    }

    fn selected(&self, info: DeviceInfo) -> Result<Selected, SelectError> {
        let backend = self.backend(info.vendor)?.clone();
        Ok(Selected {
            backend,
            info,
            fallback: None,
        })
    }

    pub(crate) fn no_device(&self, vendor: Vendor) -> SelectError {
        let (libraries, reason) = match self.backend(vendor) {
            Ok(backend) => (backend.libraries(), backend.device_count().err()),
            Err(error) => return error.into(),
        };
        let from: Vec<_> = libraries
            .iter()
            .map(|l| l.path.display().to_string())
            .collect();
        SelectError::NoDevice {
            vendor,
            libraries: from.join(", "),
            reason,
        }
    }
}

/// The first discrete device, else the first.
fn best_of(devices: Vec<DeviceInfo>) -> Option<DeviceInfo> {
    let discrete = devices
        .iter()
        .position(|info| !info.integrated)
        .unwrap_or(0);
    devices.into_iter().nth(discrete)
}

/// A device that was chosen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Selected {
    /// Whose library serves it.
    pub backend: Arc<dyn Backend>,
    /// What it is.
    pub info: DeviceInfo,
    /// Why no GPU was chosen, where a vendor's library was there and could not serve.
    pub fallback: Option<String>,
}

/// Why no device was chosen.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SelectError {
    /// The vendor's library does not load.
    Load(LoadError),
    /// The library is there and has no device.
    NoDevice {
        /// Whose.
        vendor: Vendor,
        /// The files in use.
        libraries: String,
        /// The vendor's own reason, where it gave one.
        reason: Option<HipError>,
    },
    /// There are devices, but not that one.
    NotFound {
        /// What was asked for.
        selector: DeviceSelector,
        /// What there is.
        have: String,
    },
    /// The library failed.
    Hip(HipError),
}

impl SelectError {
    /// The error's kind, as for a vendor call.
    pub fn kind(&self) -> ErrorKind {
        match self {
            SelectError::Load(_) | SelectError::NoDevice { .. } => ErrorKind::NoDevice,
            SelectError::NotFound { .. } => ErrorKind::InvalidDevice,
            SelectError::Hip(error) => error.kind,
        }
    }
}

impl fmt::Display for SelectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SelectError::Load(error) => error.fmt(f),
            SelectError::NoDevice {
                vendor,
                libraries,
                reason,
            } => {
                write!(f, "{libraries} is loaded but has no {vendor} device")?;
                match reason {
                    Some(reason) => write!(f, ": {reason}"),
                    None => Ok(()),
                }
            }
            SelectError::NotFound { selector, have } => {
                write!(f, "there is no device {selector}; there is: {have}")
            }
            SelectError::Hip(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SelectError {}

impl From<LoadError> for SelectError {
    fn from(error: LoadError) -> Self {
        SelectError::Load(error)
    }
}

impl From<HipError> for SelectError {
    fn from(error: HipError) -> Self {
        SelectError::Hip(error)
    }
}
