//! The CPU described as a device, and what belongs to one device.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use super::stream::Stream;
use super::{lock, pool, system_memory};
use crate::{DeviceInfo, Limits, StreamFlags, Vendor};

/// Bytes that row strides are a multiple of: a cache line, and the widest vector register.
pub(super) const PITCH_ALIGNMENT: usize = 64;
/// Threads of one block.
pub(super) const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// Shared memory of one block in bytes: the most that a GPU gives to those who ask (an H200), so that
/// what runs there runs here.
pub(super) const MAX_SHARED_MEMORY: u32 = 227 * 1024;
/// Blocks in x, y, z, as on GPUs.
pub(super) const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// One device: its primary context is itself.
pub(super) struct Device {
    pub(super) ordinal: u32,
    retained: AtomicU32,
    /// Every stream whose worker runs, destroyed ones that still drain among them.
    streams: Mutex<Vec<Arc<Stream>>>,
    default_stream: Mutex<Option<Arc<Stream>>>,
}

impl Device {
    pub(super) fn new(ordinal: u32) -> Self {
        Device {
            ordinal,
            retained: AtomicU32::new(0),
            streams: Mutex::default(),
            default_stream: Mutex::default(),
        }
    }

    pub(super) fn retain(&self) {
        self.retained.fetch_add(1, Ordering::Relaxed);
    }

    /// Undoes one [`Device::retain`]; `false` if there is none left.
    pub(super) fn release(&self) -> bool {
        let less = |count: u32| count.checked_sub(1);
        self.retained
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    /// How often the context is retained.
    pub(super) fn retained(&self) -> u32 {
        self.retained.load(Ordering::Relaxed)
    }

    /// The device's one default stream, started when it is first used.
    pub(super) fn default_stream(self: &Arc<Self>) -> io::Result<Arc<Stream>> {
        let mut slot = lock(&self.default_stream);
        if let Some(stream) = &*slot {
            return Ok(stream.clone());
        }
        let stream = Stream::spawn(self, StreamFlags::NON_BLOCKING, 0)?;
        Ok(slot.insert(stream).clone())
    }

    pub(super) fn add_stream(&self, stream: Arc<Stream>) {
        lock(&self.streams).push(stream);
    }

    pub(super) fn forget_stream(&self, stream: &Arc<Stream>) {
        lock(&self.streams).retain(|other| !Arc::ptr_eq(other, stream));
    }

    fn streams(&self) -> Vec<Arc<Stream>> {
        lock(&self.streams).clone()
    }

    /// Waits for all work enqueued so far on the device; `false` if a stream of it has failed.
    pub(super) fn synchronize(&self) -> bool {
        wait_for(&self.streams())
    }

    /// Waits for what the default stream waits for: work enqueued so far on streams that were
    /// not created with [`StreamFlags::NON_BLOCKING`]; `false` if one of them has failed.
    pub(super) fn synchronize_blocking_streams(&self) -> bool {
        let mut streams = self.streams();
        streams.retain(|stream| !stream.flags.contains(StreamFlags::NON_BLOCKING));
        wait_for(&streams)
    }

    /// Whether the default stream, and those it waits for, are idle.
    pub(super) fn default_stream_idle(&self) -> bool {
        let default = lock(&self.default_stream).clone();
        default.is_none_or(|stream| stream.idle())
            && self
                .streams()
                .iter()
                .all(|stream| stream.flags.contains(StreamFlags::NON_BLOCKING) || stream.idle())
    }

    /// Lets every worker finish what is queued and end.
    pub(super) fn close(&self) {
        self.streams().iter().for_each(|stream| stream.close());
    }
}

fn wait_for(streams: &[Arc<Stream>]) -> bool {
    // All marks first: work that is enqueued while this waits is not waited for.
    let marks: Vec<u64> = streams.iter().map(|stream| stream.mark()).collect();
    let mut good = true;
    for (stream, mark) in streams.iter().zip(marks) {
        stream.wait(mark);
        good &= !stream.failed();
    }
    good
}

/// The device's description; every virtual device is the same CPU.
pub(super) fn info(ordinal: u32) -> DeviceInfo {
    DeviceInfo {
        vendor: Vendor::Host,
        ordinal,
        name: cpu_name().to_owned(),
        pci_address: None,
        uuid: None,
        render_node: None,
        total_memory: system_memory::total(),
        architecture: architecture().to_owned(),
        integrated: true,
        multiprocessors: pool::parallelism().try_into().unwrap_or(u32::MAX),
        warp_size: 1,
        limits: Limits {
            pitch_alignment: PITCH_ALIGNMENT,
            max_threads_per_block: MAX_THREADS_PER_BLOCK,
            max_shared_memory_per_block: MAX_SHARED_MEMORY,
            max_shared_memory_per_block_optin: MAX_SHARED_MEMORY,
            max_grid_dim: MAX_GRID,
            host_addressable: true,
        },
    }
}

/// The CPU's name as Linux gives it, the architecture's elsewhere.
fn cpu_name() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        if cfg!(miri) {
            return std::env::consts::ARCH.to_owned();
        }
        let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        model_name(&text)
            .unwrap_or(std::env::consts::ARCH)
            .to_owned()
    })
}

/// The first `model name` of a `/proc/cpuinfo`.
fn model_name(cpuinfo: &str) -> Option<&str> {
    let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let mut names = fields.filter(|(key, _)| key.trim() == "model name");
    names
        .next()
        .map(|(_, name)| name.trim())
        .filter(|name| !name.is_empty())
}

/// The instruction set: on x86-64 the level of the psABI that the CPU reaches, as compilers take
/// it for `-march=`.
#[cfg(target_arch = "x86_64")]
fn architecture() -> &'static str {
    macro_rules! all {
        ($($feature:tt)*) => { $(std::arch::is_x86_feature_detected!($feature))&&* };
    }
    let v2 = all!("cmpxchg16b" "popcnt" "sse3" "sse4.1" "sse4.2" "ssse3");
    let v3 = v2 && all!("avx" "avx2" "bmi1" "bmi2" "f16c" "fma" "lzcnt" "movbe");
    let v4 = v3 && all!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl");
    match (v2, v3, v4) {
        (_, _, true) => "x86-64-v4",
        (_, true, _) => "x86-64-v3",
        (true, ..) => "x86-64-v2",
        _ => "x86-64",
    }
}

/// The instruction set.
#[cfg(not(target_arch = "x86_64"))]
fn architecture() -> &'static str {
    std::env::consts::ARCH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_names_are_found() {
        let text =
            "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: b";
        assert_eq!(model_name(text), Some("Some CPU @ 2.0GHz"));
        assert_eq!(model_name("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
        assert_eq!(model_name("model name\t: \n"), None);
    }
}
