//! A kernel of one's own on memory of GStreamer's: compile, allocate, upload, launch, read back.
//!
//! Runs on AMD, NVIDIA and the CPU: `transform --device nvidia`, `--device amd:1`, `--device host`.

#[path = "common/mod.rs"]
mod common;

use std::process::ExitCode;

use common::{Failure, Options, Result};
use gst_hip::{HipAllocator, HipDevice, HipKernelArgs, HipStream};

/// Numbers that are worked on.
const COUNT: u32 = 1_000_000;
const BLOCK_SIZE: u32 = 256;

/// CUDA and HIP C++ alike. `extern "C"` keeps the name as it is, so that the launch finds it.
const SOURCE: &str = r#"
extern "C" __global__ void transform(const float *input, float *output, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) output[i] = 2.0f * input[i] + 1.0f;
}
"#;

fn main() -> ExitCode {
    common::finish(run())
}

fn run() -> Result<()> {
    let about = "Doubles numbers and adds one, by a kernel that is compiled now.";
    let Some(options) = Options::from_args(about, &["device"])? else {
        return Ok(());
    };
    gst::init()?;
    let device = common::open_device(&options)?;
    let output = transform(&device, &|i| i as f32)?;

    println!("first values: {:?}", &output[..5]);
    // Exact in a float: both numbers are below 2^24.
    let wrong = (0..)
        .zip(&output)
        .find(|(i, value)| **value != 2.0 * *i as f32 + 1.0);
    match wrong {
        None => println!("all {} values are right", output.len()),
        Some((i, value)) => return Err(Failure::Failed(format!("value {i} is {value}"))),
    }
    Ok(())
}

/// Works on `COUNT` numbers on the device and gives what comes out.
fn transform(device: &HipDevice, number: &dyn Fn(u32) -> f32) -> Result<Vec<f32>> {
    let module = common::compile(device, SOURCE)?;
    let stream = HipStream::new(device)?;

    // Memory of GStreamer's on the device. A CPU map uploads and downloads where the device has
    // memory of its own.
    let bytes = COUNT as usize * size_of::<f32>();
    let mut input = HipAllocator::alloc_device(device, bytes)?;
    let output = HipAllocator::alloc_device(device, bytes)?;
    let writable = input
        .get_mut()
        .ok_or_else(|| Failure::Failed("the memory is shared".into()))?;
    let mut map = writable.map_writable()?;
    for (i, value) in (0..).zip(map.chunks_exact_mut(size_of::<f32>())) {
        value.copy_from_slice(&number(i).to_ne_bytes());
    }
    drop(map);

    let mut args = HipKernelArgs::new();
    args.add_memory_read(&input, 0)?;
    args.add_memory(&output, 0)?;
    args.add(COUNT);
    // SAFETY: the kernel takes two addresses and an unsigned, and stays within `COUNT` floats of
    // each memory.
    let launched = unsafe {
        module.launch(
            "transform",
            Some(&stream),
            [COUNT.div_ceil(BLOCK_SIZE), 1, 1],
            [BLOCK_SIZE, 1, 1],
            &args,
        )
    };
    launched?;
    // A map waits for the kernel anyway; this tells whether it failed.
    stream.try_synchronize()?;

    let map = output.map_readable()?;
    let float = |bytes: &[u8]| bytes.try_into().map_or(f32::NAN, f32::from_ne_bytes);
    Ok(map.chunks_exact(size_of::<f32>()).map(float).collect())
}
