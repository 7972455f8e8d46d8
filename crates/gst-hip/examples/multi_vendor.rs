//! The same kernel on every device of the machine at the same time, and whether they agree.
//!
//! `multi-vendor` takes all devices there are; `--device` (more than once) takes these only.

#[path = "common/mod.rs"]
mod common;

use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

use common::{Failure, Options, Result};
use gst_hip::{
    DeviceSelector, Error, HipAllocator, HipDevice, HipKernelArgs, HipKernelModule, HipStream,
};

const COUNT: u32 = 1 << 18;
const BLOCK_SIZE: u32 = 256;
const SEED: u32 = 0x9e37_79b9;

/// Integers only, so that every device has to give the same bits.
const SOURCE: &str = r#"
extern "C" __global__ void scramble(unsigned *values, unsigned count, unsigned seed,
                                    unsigned rounds) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned x = i + seed;
    for (unsigned round = 0; round < rounds; ++round) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x += round;
    }
    values[i] = x;
}
"#;

/// What the kernel computes, by the CPU that runs this program.
fn scramble(i: u32, seed: u32, rounds: u32) -> u32 {
    (0..rounds).fold(i.wrapping_add(seed), |mut x, round| {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x.wrapping_add(round)
    })
}

fn main() -> ExitCode {
    common::finish(run())
}

fn run() -> Result<()> {
    let about = "Runs one kernel on every device at the same time and compares the results.";
    let Some(options) = Options::from_args(about, &["device", "rounds"])? else {
        return Ok(());
    };
    let rounds = options.last("rounds", 100)?;
    gst::init()?;
    let devices = devices(&options)?;

    // Everybody compiles, then everybody launches.
    let barrier = Barrier::new(devices.len());
    let results: Vec<Result<Row>> = std::thread::scope(|scope| {
        let threads: Vec<_> = devices
            .iter()
            .map(|device| scope.spawn(|| work(device, rounds, &barrier)))
            .collect();
        let died = || Err(Failure::Failed("a thread panicked".into()));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| died()))
            .collect()
    });
    report(&devices, results, rounds)
}

/// The devices asked for, else all that there are.
fn devices(options: &Options) -> Result<Vec<HipDevice>> {
    let mut selectors: Vec<DeviceSelector> = options.all("device")?;
    if selectors.is_empty() {
        let runtime = gst_hip::env::runtime().map_err(|e| Failure::Usage(e.to_string()))?;
        for report in runtime.discover().vendors {
            match report.devices {
                Ok(devices) => selectors.extend(
                    devices
                        .iter()
                        .map(|device| DeviceSelector::Ordinal(device.vendor, device.ordinal)),
                ),
                Err(reason) => println!("{}: {reason}", report.vendor),
            }
        }
    }
    let open = |selector: &DeviceSelector| {
        gst_hip::env::open_device(selector)
            .map_err(|error| Failure::NoDevice(format!("no device for {selector}: {error}")))
    };
    selectors.iter().map(open).collect()
}

/// What a device did.
struct Row {
    compile_ms: f64,
    kernel_ms: f64,
    values: Vec<u32>,
}

fn work(device: &HipDevice, rounds: u32, barrier: &Barrier) -> Result<Row> {
    let start = Instant::now();
    let module = HipKernelModule::from_source(device, SOURCE, &[]);
    let compile_ms = start.elapsed().as_secs_f64() * 1e3;
    // Reached whether it compiles or not, or the others would wait for ever.
    barrier.wait();
    let (kernel_ms, values) = launch(device, &module?, rounds)?;
    Ok(Row {
        compile_ms,
        kernel_ms,
        values,
    })
}

fn launch(device: &HipDevice, module: &HipKernelModule, rounds: u32) -> Result<(f64, Vec<u32>)> {
    let stream = HipStream::new(device)?;
    let memory = HipAllocator::alloc_device(device, COUNT as usize * size_of::<u32>())?;
    let mut args = HipKernelArgs::new();
    args.add_memory_overwrite(&memory)?;
    args.add(COUNT);
    args.add(SEED);
    args.add(rounds);
    let timed = || stream.record_timed().map_err(Error::from);
    let before = timed()?;
    let grid = [COUNT.div_ceil(BLOCK_SIZE), 1, 1];
    // SAFETY: the kernel takes an address and three unsigned, and stays within `COUNT` of them.
    unsafe { module.launch("scramble", Some(&stream), grid, [BLOCK_SIZE, 1, 1], &args) }?;
    let after = timed()?;
    let map = memory.map_readable()?;
    after.synchronize().map_err(Error::from)?;
    let kernel_ms = after.elapsed_ms(&before).map_err(Error::from)?;
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    let values = map.chunks_exact(size_of::<u32>()).map(number).collect();
    Ok((f64::from(kernel_ms), values))
}

/// Prints the table. Fails if a device gave a wrong number, or none.
fn report(devices: &[HipDevice], results: Vec<Result<Row>>, rounds: u32) -> Result<()> {
    let expected: Vec<u32> = (0..COUNT).map(|i| scramble(i, SEED, rounds)).collect();
    let mut failure = None;
    println!("{:>10}  {:>10}  result  device", "compile ms", "kernel ms");
    for (device, result) in devices.iter().zip(results) {
        let name = device.info();
        match result {
            Ok(row) => {
                let right = row.values == expected;
                let word = if right { "same" } else { "WRONG" };
                let (compile_ms, kernel_ms) = (row.compile_ms, row.kernel_ms);
                println!("{compile_ms:>10.1}  {kernel_ms:>10.2}  {word:<6}  {name}");
                if !right {
                    failure = Some(Failure::Failed(format!("{name} gives other numbers")));
                }
            }
            Err(error) => {
                println!("{:>10}  {:>10}  {:<6}  {name}: {error}", "-", "-", "none");
                // What is broken counts for more than a compiler that is not installed.
                if !matches!(failure, Some(Failure::Failed(_))) {
                    failure = Some(error);
                }
            }
        }
    }
    failure.map_or(Ok(()), Err)
}
