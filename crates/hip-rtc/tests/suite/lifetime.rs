//! A module may be dropped whenever its owner likes.

use std::sync::Arc;

use hip_core::{FenceData, Stream};
use hip_rtc::KernelArgs;

use crate::support::{gate, read_back, upload};
use crate::{device_with_compiler, module};

const FILL: &str =
    "extern \"C\" __global__ void fill(unsigned char *out) { out[threadIdx.x] = 7; }";

#[test]
fn a_module_dropped_with_a_launch_in_flight_is_unloaded_behind_it() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, FILL, &[]);
    let stream = Stream::new(&device).unwrap();
    let buffer = upload(&stream, &[0; 64]);
    stream.synchronize().unwrap();
    let mut args = KernelArgs::new();
    args.add_buffer(&buffer, 0).unwrap();
    let (open, wait) = gate(&device);
    stream.launch_host_func(wait).unwrap();
    // SAFETY: the argument is the kernel's, and the buffer lives until the stream is done.
    unsafe { module.launch("fill", Some(&stream), [1, 1, 1], [64, 1, 1], &args) }.unwrap();
    drop(module);
    // It is the completion worker's now, which waits for the stream.
    assert!(device.statistics().fences_pending >= 1);
    open();
    assert_eq!(read_back(&stream, &buffer), [7; 64]);
}

#[test]
fn a_module_outlives_the_stream_that_it_was_launched_on() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, FILL, &[]);
    let (gone, stream) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let buffer = upload(&stream, &[0; 64]);
    stream.synchronize().unwrap();
    let mut args = KernelArgs::new();
    args.add_buffer(&buffer, 0).unwrap();
    // SAFETY: the argument is the kernel's; the fence below keeps the buffer until the work is done.
    unsafe { module.launch("fill", Some(&gone), [1, 1, 1], [64, 1, 1], &args) }.unwrap();
    let done = gone.record().unwrap();
    let mut fence = FenceData::new();
    fence.push(Arc::clone(&buffer));
    fence.release_after([done.clone()]).unwrap();
    drop(gone);
    drop(module);
    stream.wait(&done).unwrap();
    assert_eq!(read_back(&stream, &buffer), [7; 64]);
}
