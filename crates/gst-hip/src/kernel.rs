//! Kernels of one's own on GStreamer's memory, on every vendor.
//!
//! ```no_run
//! # fn run(device: gst_hip::HipDevice, frame: gst::Memory) -> Result<(), Box<dyn std::error::Error>> {
//! let module = gst_hip::HipKernelModule::from_source(
//!     &device,
//!     r#"extern "C" __global__ void invert(unsigned char *data, unsigned count) {
//!         unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!         if (i < count) data[i] = 255 - data[i];
//!     }"#,
//!     &[],
//! )?;
//! let stream = gst_hip::HipStream::new(&device)?;
//! let count = frame.size() as u32;
//! let mut args = gst_hip::HipKernelArgs::new();
//! args.add_memory(&frame, 0)?;
//! args.add(count);
//! // SAFETY: the arguments are what `invert` takes, and it stays within `count` bytes.
//! unsafe { module.launch("invert", Some(&stream), [count.div_ceil(256), 1, 1], [256, 1, 1], &args)? };
//! # Ok(())
//! # }
//! ```
//!
//! A launch waits for nothing: the stream waits, on the device, for whoever used the memory before,
//! and whoever uses it later (another stream, an element, a CPU map) waits for the launch.
//!
//! For the planes of a video frame see [`HipKernelArgs::add_plane`]; `examples/frame_filter` is an
//! element made that way.

mod args;
mod memory;
mod module;
mod stream;

pub use args::HipKernelArgs;
pub use hip_rtc::{
    Error as KernelError, Function as HipKernelFunction, KernelArg, KernelSource, LaunchConfig,
};
pub use memory::KernelMemoryError;
pub use module::HipKernelModule;
pub use stream::HipStream;
