//! What the loader finds and says.

use hip_dispatch::{DeviceSelector, Vendor};
use hip_sim::install::Install;

use crate::lab::{ALL, Folder, Library};

fn report(library: &Library) -> String {
    let discovery = library.runtime.discover();
    let report = discovery
        .vendors
        .iter()
        .find(|report| report.vendor == library.vendor);
    report.unwrap().to_string()
}

#[test]
fn devices_are_what_they_pretend_to_be() {
    for name in ALL {
        let library = Library::load(name, &[("HIP_SIM_DEVICES", "2")]);
        let devices = library.runtime.devices(library.vendor).unwrap();
        assert_eq!(devices.len(), 2, "{name}");
        let (arch, warp, units) = match library.vendor {
            Vendor::Nvidia => ("sm_90", 32, 132),
            _ => ("gfx90a:sramecc+:xnack-", 64, 104),
        };
        let info = &devices[1];
        assert_eq!(
            (&*info.architecture, info.warp_size, info.multiprocessors),
            (arch, warp, units)
        );
        assert!(
            !info.integrated && info.total_memory >= 64 << 30,
            "{info:?}"
        );
        assert_eq!(info.limits.max_grid_dim, [i32::MAX as u32, 65535, 65535]);
        assert!(devices[0].uuid.is_some() && devices[0].uuid != info.uuid);
        let found = library
            .runtime
            .select(&DeviceSelector::Pci(info.pci_address.unwrap()));
        assert_eq!(found.unwrap().info.ordinal, 1);
    }
}

#[test]
fn the_report_names_file_version_and_device() {
    let versions = ["50221153", "60443484", "70253211", "13000"];
    for (name, version) in ALL.into_iter().zip(versions) {
        let library = Library::load(name, &[]);
        let text = report(&library);
        let file = library.folder.path().display().to_string();
        assert!(text.contains(&file), "{text}");
        assert!(
            text.contains(&format!("version: driver {version}, runtime {version}")),
            "{text}"
        );
        assert!(text.contains("(stand-in)"), "{text}");
        // 5.2 has no host functions, and is served by callbacks.
        assert_eq!(
            text.contains("functions it lacks: hipLaunchHostFunc"),
            name == "amd5",
            "{text}"
        );
    }
}

#[test]
fn an_rdna_device_has_narrow_waves() {
    let library = Library::load("amd7", &[("HIP_SIM_ARCH", "gfx1030")]);
    let devices = library.runtime.devices(Vendor::Amd).unwrap();
    assert_eq!(
        (&*devices[0].architecture, devices[0].warp_size),
        ("gfx1030", 32)
    );
}

#[test]
fn without_a_device_each_version_says_so_in_its_way() {
    for (name, init) in [("amd5", 101), ("amd6", 100), ("amd7", 100), ("nvidia", 100)] {
        let library = Library::load(name, &[("HIP_SIM_DEVICES", "0")]);
        assert!(library.runtime.devices(library.vendor).unwrap().is_empty());
        let text = report(&library);
        assert!(text.contains(&format!("(code {init})")), "{name}: {text}");
        let prefix = if library.vendor == Vendor::Amd {
            "hip"
        } else {
            "cu"
        };
        type GetInt = unsafe extern "C" fn(*mut i32) -> i32;
        let mut value = 77;
        // SAFETY: the documented signature, and a writable place.
        let (version, current) = unsafe {
            let version = library.function::<GetInt>(&format!("{prefix}DriverGetVersion"));
            let other = if prefix == "hip" {
                "hipGetDevice"
            } else {
                "cuCtxGetDevice"
            };
            let version = version(&mut value);
            value = 77;
            (version, library.function::<GetInt>(other)(&mut value))
        };
        let expected = match name {
            "amd5" => 101,
            "nvidia" => 3,
            _ => 100,
        };
        assert_eq!(
            (version, current, value),
            (0, expected, 77),
            "{name}: outputs are untouched"
        );
    }
}

#[test]
fn hip_counts_no_devices_and_remembers_the_error() {
    let library = Library::load("amd5", &[("HIP_SIM_DEVICES", "0")]);
    let mut count = 77;
    // SAFETY: the documented signatures, and a writable place.
    let (code, errors) = unsafe {
        let last = library.function::<extern "C" fn() -> i32>("hipGetLastError");
        let peek = library.function::<extern "C" fn() -> i32>("hipPeekAtLastError");
        let get = library.function::<unsafe extern "C" fn(*mut i32) -> i32>("hipGetDeviceCount");
        (get(&mut count), [peek(), last(), last()])
    };
    assert_eq!((code, count, errors), (100, 0, [100, 100, 0]));
}

#[test]
fn versions_have_the_symbols_they_have() {
    let [five, six, seven, cuda] = ALL.map(|name| Library::load(name, &[]));
    for symbol in [
        "hipGetDevicePropertiesR0600",
        "hipLaunchHostFunc",
        "hipDrvGetErrorName",
    ] {
        let has = [&five, &six, &seven, &cuda].map(|library| library.has(symbol));
        assert_eq!(has, [false, true, true, false], "{symbol}");
    }
    assert!(cuda.has("cuMemAlloc_v2") && !cuda.has("hipMalloc"));
    assert!(five.has("hipStreamAddCallback") && !seven.has("hiprtcVersion"));
}

#[test]
fn the_two_structs_of_properties_differ() {
    type Fill = unsafe extern "C" fn(*mut u8, i32) -> i32;
    let library = Library::load("amd6", &[]);
    library.backend();
    let read = |symbol, size, arch, warp| {
        let mut room = vec![0xee_u8; 2000];
        // SAFETY: the documented signature; the room is larger than the struct.
        let code = unsafe { library.function::<Fill>(symbol)(room.as_mut_ptr(), 0) };
        assert_eq!(code, 0);
        assert!(
            room[size..].iter().all(|byte| *byte == 0xee),
            "{symbol} writes {size} bytes"
        );
        assert_ne!(room[size - 1], 0xee);
        assert_eq!(
            &room[arch..arch + 23],
            b"gfx90a:sramecc+:xnack-\0",
            "{symbol}"
        );
        assert_eq!(room[warp..warp + 4], 64_i32.to_ne_bytes(), "{symbol}");
    };
    read("hipGetDeviceProperties", 792, 396, 276);
    read("hipGetDevicePropertiesR0000", 792, 396, 276);
    read("hipGetDevicePropertiesR0600", 1472, 1160, 308);
}

#[test]
fn a_symbol_can_be_left_out() {
    let optional = Install::library("nvidia").without("cuLaunchHostFunc");
    let library = Library::install(&optional);
    assert_eq!(library.backend().missing_symbols(), ["cuLaunchHostFunc"]);
    let required = Install::library("amd7")
        .without("hipMalloc")
        .without("hipFree");
    let library = Library::install(&required);
    let error = library.runtime.backend(Vendor::Amd).unwrap_err();
    assert_eq!(error.missing_symbols, ["hipMalloc", "hipFree"]);
    let folder = Folder::new();
    let wrong = Install::library("amd5").without("hipLaunchHostFunc");
    assert!(
        wrong
            .install_into(folder.path())
            .unwrap_err()
            .contains("hipLaunchHostFunc")
    );
    let unknown = Install::library("intel").install_into(folder.path());
    assert!(unknown.unwrap_err().contains("amd5, amd6, amd7, nvidia"));
}
