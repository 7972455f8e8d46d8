//! The excerpt of GStreamer's announcement of its bindings ("Extending GstHip for Inference and Custom
//! GPU Processing") compiles and runs against this crate, line for line; rulers mark what is added.

use gst_hip::{DeviceSelector, HipAllocator, HipDevice, HipStream, KernelError};

const COUNT: u32 = 1000;
const BLOCK_SIZE: u32 = 256;

/// What the excerpt has a comment for.
const SOURCE: &str = r#"
extern "C" __global__ void transform(const float *input, float *output, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) output[i] = 2.0f * input[i];
}
"#;

fn device() -> Option<HipDevice> {
    gst::init().unwrap();
    let name = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".into());
    let selector: DeviceSelector = name.parse().expect("HIP_TEST_VENDOR names a vendor");
    match gst_hip::env::open_device(&selector) {
        Ok(device) => Some(device),
        Err(error) => {
            // Set by whoever has seen the device: then its absence is a failure.
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
            println!("skipped: no device for HIP_TEST_VENDOR={name}: {error}");
            None
        }
    }
}

#[test]
#[rustfmt::skip]
fn the_excerpt_runs() {
    let Some(device) = device() else { return };
    if let Err(error @ KernelError::CompilerMissing { .. }) =
        gst_hip::HipKernelModule::from_source(&device, SOURCE, &[])
    {
        println!("skipped: {error}");
        return;
    }
    let stream = HipStream::new(&device).unwrap();
    let bytes = COUNT as usize * size_of::<f32>();
    let values: Vec<u8> = (0..COUNT).flat_map(|i| (i as f32).to_ne_bytes()).collect();

    // ---------------------------------------------------------------------------------------------
let module = gst_hip::HipKernelModule::from_source(
    &device,
    /* Write your kernel code here */ SOURCE,
    &[],
)
.unwrap();

// ... allocate and prepare input/output HIP memory ...
    // ---------------------------------------------------------------------------------------------
    let mut input = HipAllocator::alloc_device(&device, bytes).unwrap();
    let output = HipAllocator::alloc_device(&device, bytes).unwrap();
    input.get_mut().unwrap().map_writable().unwrap().copy_from_slice(&values);
    // ---------------------------------------------------------------------------------------------

// Build the kernel arguments and launch the kernel.
let mut args = gst_hip::HipKernelArgs::new();
// SAFETY: `transform` takes two addresses and a count, and stays within the count.
let launch_result = unsafe {
    args.add_memory(&input, 0).unwrap();
    args.add_memory(&output, 0).unwrap();
    args.add(COUNT);
    module.launch(
        "transform",
        Some(&stream),
        [COUNT.div_ceil(BLOCK_SIZE), 1, 1],
        [BLOCK_SIZE, 1, 1],
        &args,
    )
};
assert!(stream.synchronize());
launch_result.unwrap();
    // ---------------------------------------------------------------------------------------------

    let map = output.map_readable().unwrap();
    for (i, value) in map.chunks_exact(size_of::<f32>()).enumerate() {
        assert_eq!(f32::from_ne_bytes(value.try_into().unwrap()), 2.0 * i as f32);
    }
}
