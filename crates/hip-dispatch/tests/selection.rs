//! Which device is chosen among those of several vendors.

#[macro_use]
#[path = "support/delegate.rs"]
mod delegate;

use std::ffi::{CStr, c_void};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::Arc;

use hip_dispatch::*;

/// A vendor whose devices are described by the test and served by the CPU.
#[derive(Debug)]
struct Fake {
    vendor: Vendor,
    host: Arc<Host>,
    devices: std::result::Result<Vec<DeviceInfo>, i32>,
}

impl Fake {
    fn before(&self, _call: &'static str) -> Result<()> {
        Ok(())
    }

    fn inner(&self) -> &dyn Backend {
        &*self.host
    }
}

impl Backend for Fake {
    fn vendor(&self) -> Vendor {
        self.vendor
    }

    fn device_count(&self) -> Result<u32> {
        match &self.devices {
            Ok(devices) => Ok(devices.len() as u32),
            Err(code) => Err(HipError::new(self.vendor, "count", *code, "no luck")),
        }
    }

    fn device_info(&self, ordinal: u32) -> Result<DeviceInfo> {
        let devices = self.devices.as_ref().ok();
        let found = devices.and_then(|devices| devices.get(ordinal as usize));
        found
            .cloned()
            .ok_or_else(|| HipError::new(self.vendor, "info", 101, "no such device"))
    }

    delegate_identity!();
    delegate_memory_and_modules!();
    delegate_queues!();
}

fn info(vendor: Vendor, ordinal: u32, integrated: bool) -> DeviceInfo {
    let mut info = Host::new(1).device_info(0).unwrap();
    let bus = (vendor as u8 + 1) * 16 + ordinal as u8;
    info.vendor = vendor;
    info.ordinal = ordinal;
    info.integrated = integrated;
    info.pci_address = Some(format!("0000:{bus:02x}:00.0").parse().unwrap());
    info.uuid = Some(Uuid([bus; 16]));
    info.render_node = Some(PathBuf::from(format!("/dev/dri/renderD{bus}")));
    info
}

/// Devices of a vendor; `true` is an integrated one.
fn fake(vendor: Vendor, integrated: &[bool]) -> Arc<dyn Backend> {
    let devices = integrated.iter().zip(0..);
    let devices = devices.map(|(integrated, ordinal)| info(vendor, ordinal, *integrated));
    Arc::new(Fake {
        vendor,
        host: Host::new(integrated.len() as u32),
        devices: Ok(devices.collect()),
    })
}

fn broken(vendor: Vendor, code: i32) -> Arc<dyn Backend> {
    Arc::new(Fake {
        vendor,
        host: Host::new(1),
        devices: Err(code),
    })
}

/// A runtime of these vendors and Host; others have no library.
fn runtime(backends: Vec<Arc<dyn Backend>>) -> Arc<Runtime> {
    let mut config = LoaderConfig::default();
    config.amd_runtime = Some(PathBuf::from("libno-amd-here.so.7"));
    config.cuda_driver = Some(PathBuf::from("libno-cuda-here.so.1"));
    config.host_devices = 2;
    Runtime::with_backends(config, backends)
}

fn chosen(runtime: &Runtime, selector: &str) -> (Vendor, u32) {
    let selected = runtime.select(&selector.parse().unwrap()).unwrap();
    assert_eq!(selected.backend.vendor(), selected.info.vendor);
    (selected.info.vendor, selected.info.ordinal)
}

#[test]
fn a_discrete_device_comes_before_an_integrated_one() {
    use Vendor::{Amd, Nvidia};
    for (amd, nvidia, expected) in [
        (&[false][..], &[false][..], (Amd, 0)),
        (&[true], &[false], (Nvidia, 0)),
        (&[true, false], &[false], (Amd, 1)),
        (&[true, true], &[true], (Amd, 0)),
        (&[], &[true, false], (Nvidia, 1)),
        (&[true], &[], (Amd, 0)),
    ] {
        let runtime = runtime(vec![fake(Amd, amd), fake(Nvidia, nvidia)]);
        assert_eq!(chosen(&runtime, "auto"), expected, "{amd:?} {nvidia:?}");
        let auto = runtime.select(&DeviceSelector::Auto).unwrap();
        assert_eq!(auto.fallback, None);
    }
}

#[test]
fn a_vendor_without_a_device_is_passed_over() {
    use Vendor::{Amd, Host, Nvidia};
    // 100, 101 as ROCm 5.2 says it, no devices at all, and a driver that fails.
    for amd in [
        broken(Amd, 100),
        broken(Amd, 101),
        fake(Amd, &[]),
        broken(Amd, 999),
    ] {
        let both = runtime(vec![amd.clone(), fake(Nvidia, &[false])]);
        assert_eq!(chosen(&both, "auto"), (Nvidia, 0));
        let alone = runtime(vec![amd, broken(Nvidia, 100)]);
        let selected = alone.select(&DeviceSelector::Auto).unwrap();
        assert_eq!(selected.info.vendor, Host);
        let why = selected.fallback.unwrap();
        assert!(why.contains("amd") && why.contains("nvidia"), "{why}");
        for vendor in ["amd", "amd:0", "nvidia"] {
            let error = alone.select(&vendor.parse().unwrap()).unwrap_err();
            assert!(!error.to_string().contains("host"), "{error}");
        }
    }
    assert_eq!(chosen(&runtime(vec![]), "auto"), (Host, 0));
}

#[test]
fn a_device_is_found_by_every_name_it_has() {
    use Vendor::{Amd, Nvidia};
    let runtime = runtime(vec![
        fake(Amd, &[true, false]),
        fake(Nvidia, &[false, false]),
    ]);
    for (index, (vendor, ordinal)) in [(Amd, 0), (Amd, 1), (Nvidia, 0), (Nvidia, 1)]
        .into_iter()
        .enumerate()
    {
        let info = info(vendor, ordinal, false);
        for selector in [
            format!("{index}"),
            format!("{vendor}:{ordinal}"),
            info.pci_address.unwrap().to_string(),
            info.uuid.unwrap().to_string(),
            info.render_node.unwrap().display().to_string(),
        ] {
            assert_eq!(chosen(&runtime, &selector), (vendor, ordinal), "{selector}");
        }
    }
    // Host is numbered only where there is nothing else.
    assert!(runtime.select(&DeviceSelector::Index(4)).is_err());
    assert_eq!(chosen(&runtime, "host:1"), (Vendor::Host, 1));
    assert_eq!(chosen(&runtime, "amd"), (Amd, 1));
}
