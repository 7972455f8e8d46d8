//! Kernels compiled, loaded and launched on the device that `HIP_TEST_VENDOR` names (default `host`).

mod compile;
#[cfg(unix)]
mod decimal_comma;
mod elsewhere;
mod errors;
mod launch;
mod lifetime;
#[cfg(unix)]
#[path = "../../../hip-dispatch/tests/support/locale.rs"]
mod locale;
#[path = "../../../hip-core/tests/support/mod.rs"]
mod support;

use hip_core::Device;
use hip_rtc::cache::{Cache, CacheConfig, CacheFolder};
use hip_rtc::{Error, KernelModule, KernelSource};

/// A cache of the test's own, in a folder that goes with it.
struct TestCache {
    cache: Cache,
    _folder: tempfile::TempDir,
}

impl TestCache {
    fn new() -> TestCache {
        let folder = tempfile::tempdir().unwrap();
        let config = CacheConfig {
            // Below a temporary folder, which others may write to, it is this user's alone.
            folder: CacheFolder::At(folder.path().join("kernels")),
            ..CacheConfig::default()
        };
        TestCache {
            cache: Cache::new(config),
            _folder: folder,
        }
    }
}

/// A device and a compiler for it; `None`, with the reason printed, if either is not there. Where
/// `HIP_TEST_REQUIRE` is set the device must be there, and Host's compiler too: it can be installed.
fn device_with_compiler() -> Option<Device> {
    let device = support::device()?;
    let probe = KernelSource::new("extern \"C\" __global__ void probe() {}");
    match hip_rtc::compile(&device, &probe, &[]) {
        Err(error @ Error::CompilerMissing { .. }) => {
            let required = std::env::var_os("HIP_TEST_REQUIRE").is_some();
            assert!(
                !required || device.vendor() != hip_core::Vendor::Host,
                "{error}"
            );
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
        Ok(_) => Some(device),
    }
}

fn module(device: &Device, text: &str, options: &[&str]) -> KernelModule {
    let cache = TestCache::new();
    KernelModule::from_source_in(&cache.cache, device, text, options)
        .unwrap_or_else(|error| panic!("{error}"))
}
