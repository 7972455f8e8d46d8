//! Kernels on GStreamer's memory: arguments, launches, and what is refused.

use gst_hip::{
    Device, DeviceFrame, Error, FrameLayout, HipAllocator, HipKernelArgs, HipKernelModule,
    HipStream, KernelError, KernelMemoryError, LaunchConfig, MemoryKind, Stream, Vendor,
};
use gst_video::{VideoFormat, VideoInfo};

use crate::common::{DEVICE_WAYS, Way, alloc, cpu_read, cpu_write, pattern, test_device, vendor};

/// A block has this many threads.
const BLOCK: u32 = 128;

const SOURCE: &str = r#"
extern "C" __global__ void add(const unsigned char *in, unsigned char *out, unsigned count,
                               unsigned char value) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i] + value;
}
extern "C" __global__ void reverse_blocks(unsigned char *data) {
    extern __shared__ unsigned char block[];
    unsigned char *mine = data + blockIdx.x * blockDim.x;
    block[threadIdx.x] = mine[threadIdx.x];
    __syncthreads();
    mine[threadIdx.x] = block[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void fill_plane(unsigned char *pixels, unsigned stride, unsigned width,
                                      unsigned height, unsigned char value) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < width && y < height) pixels[y * stride + x] = value + x + y;
}
"#;

/// The kernels above; `None`, with a line that says why, where there is no compiler.
pub(crate) fn module(device: &Device) -> Option<HipKernelModule> {
    match HipKernelModule::from_source(device, SOURCE, &[]) {
        Ok(module) => Some(module),
        Err(error @ KernelError::CompilerMissing { .. }) => {
            // Set by whoever has seen the GPU. The CPU is always there, its compiler is not.
            let required = std::env::var_os("HIP_TEST_REQUIRE").is_some();
            assert!(!required || vendor() == Vendor::Host, "{error}");
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// The arguments of `add`.
pub(crate) fn add_args(
    input: &gst::MemoryRef,
    output: &gst::MemoryRef,
    value: u8,
) -> HipKernelArgs {
    let mut args = HipKernelArgs::new();
    args.add_memory_read(input, 0).unwrap();
    args.add_memory(output, 0).unwrap();
    args.add(input.size() as u32);
    args.add(value);
    args
}

/// Enqueues `add` for `count` bytes.
pub(crate) fn launch_add(
    module: &HipKernelModule,
    stream: &Stream,
    count: usize,
    args: &HipKernelArgs,
) -> Result<(), KernelError> {
    let grid = [(count as u32).div_ceil(BLOCK), 1, 1];
    // SAFETY: the arguments are what `add` takes, and it stays within `count` bytes of both.
    unsafe { module.launch("add", Some(stream), grid, [BLOCK, 1, 1], args) }
}

/// The reason why a memory argument was refused at the launch.
pub(crate) fn memory_error(error: &KernelError) -> &KernelMemoryError {
    match error {
        KernelError::Memory(reason) => reason.downcast_ref().expect("this crate's reason"),
        other => panic!("not about memory: {other}"),
    }
}

fn plus(bytes: &[u8], value: u8) -> Vec<u8> {
    bytes.iter().map(|byte| byte.wrapping_add(value)).collect()
}

#[test]
fn a_kernel_reads_and_writes_memory() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let bytes = pattern(1000, 1);
    for way in DEVICE_WAYS {
        let (mut input, output) = (alloc(&device, way, 1000), alloc(&device, way, 1000));
        cpu_write(&mut input, &bytes);
        let args = add_args(&input, &output, 3);
        launch_add(&module, &stream, 1000, &args).unwrap();
        assert!(stream.synchronize());
        assert!(cpu_read(&output) == plus(&bytes, 3), "{way:?}");
        assert!(cpu_read(&input) == bytes, "{way:?}");
    }
}

#[test]
fn arguments_serve_any_number_of_launches_and_streams() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let streams = [(); 3].map(|()| HipStream::new(&device).unwrap());
    let mut memory = alloc(&device, Way::Device, 500);
    cpu_write(&mut memory, &pattern(500, 2));
    // In place: the same memory is two arguments of one launch.
    let args = add_args(&memory, &memory, 7);
    for stream in streams.iter().cycle().take(12) {
        launch_add(&module, stream, 500, &args).unwrap();
    }
    // The default stream.
    let grid = [500_u32.div_ceil(BLOCK), 1, 1];
    // SAFETY: as in `launch_add`.
    unsafe { module.launch("add", None, grid, [BLOCK, 1, 1], &args) }.unwrap();
    assert!(cpu_read(&memory) == plus(&pattern(500, 2), 13 * 7));
}

#[test]
fn offsets_count_from_the_memorys_first_byte() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let bytes = pattern(600, 3);
    for way in DEVICE_WAYS {
        let (mut input, output) = (alloc(&device, way, 600), alloc(&device, way, 600));
        cpu_write(&mut input, &bytes);
        // A window starts somewhere in the allocation.
        let window = input.share(100..500);
        let mut args = HipKernelArgs::new();
        args.add_memory_read(&window, 20).unwrap();
        args.add_memory(&output, 50).unwrap();
        args.add(300_u32);
        args.add(1_u8);
        launch_add(&module, &stream, 300, &args).unwrap();
        assert!(
            cpu_read(&output)[50..350] == plus(&bytes[120..420], 1),
            "{way:?}"
        );
    }
}

#[test]
fn dynamic_shared_memory_is_the_launchs() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let (bytes, block) = (pattern(1024, 4), 64);
    let mut memory = alloc(&device, Way::Device, 1024);
    cpu_write(&mut memory, &bytes);
    let mut args = HipKernelArgs::new();
    args.add_memory(&memory, 0).unwrap();
    let config = LaunchConfig {
        grid_dim: [1024 / block, 1, 1],
        block_dim: [block, 1, 1],
        shared_mem_bytes: block,
    };
    // SAFETY: the argument is what the kernel takes; it stays within its block, and has a byte of
    // shared memory a thread.
    unsafe { module.launch_config("reverse_blocks", Some(&stream), &config, &args) }.unwrap();
    let expected: Vec<u8> = bytes
        .chunks(block as usize)
        .flat_map(|block| block.iter().rev().copied())
        .collect();
    assert!(cpu_read(&memory) == expected);
}

#[test]
fn planes_are_four_arguments_each() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let info = VideoInfo::builder(VideoFormat::I420, 70, 34)
        .build()
        .unwrap();
    let layout = FrameLayout::new(&info, device.info().limits.pitch_alignment).unwrap();
    let memory = HipAllocator::alloc_video(&device, MemoryKind::Device, &layout).unwrap();
    let mut buffer = gst::Buffer::new();
    let writable = buffer.get_mut().unwrap();
    writable.append_memory(memory);
    layout.add_video_meta(writable).unwrap();
    let frame = DeviceFrame::overwrite(writable, &info, &stream).unwrap();
    for plane in frame.planes() {
        let mut args = HipKernelArgs::new();
        args.add_plane(plane).unwrap();
        args.add(plane.width as u8);
        let grid = [plane.width.div_ceil(BLOCK), plane.height, 1];
        // SAFETY: the arguments are what the kernel takes; it stays within the plane.
        unsafe { module.launch("fill_plane", Some(&stream), grid, [BLOCK, 1, 1], &args) }.unwrap();
    }
    frame.finish(&stream.record().unwrap()).unwrap();
    let map = buffer.map_readable().unwrap();
    for (plane, (width, height)) in [(70, 34), (35, 17), (35, 17)].into_iter().enumerate() {
        let (start, stride) = (layout.offsets()[plane], layout.strides()[plane] as usize);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let expected = (width + x + y) as u8;
            assert_eq!(
                map[start + y * stride + x],
                expected,
                "plane {plane} at {x},{y}"
            );
        }
    }
}

#[test]
fn memory_that_no_kernel_can_take_is_refused_when_it_is_added() {
    let Some(device) = test_device() else { return };
    let mut args = HipKernelArgs::new();
    let system = gst::Memory::with_size(64);
    assert!(matches!(
        args.add_memory(&system, 0),
        Err(KernelMemoryError::NotHipMemory)
    ));
    let pinned = alloc(&device, Way::Pinned, 64);
    assert!(matches!(
        args.add_memory(&pinned, 0),
        Err(KernelMemoryError::NotOnDevice)
    ));
    let memory = alloc(&device, Way::Device, 64);
    for offset in [64, 65, usize::MAX] {
        let refused = args.add_memory_read(&memory, offset);
        assert!(
            matches!(refused, Err(KernelMemoryError::OutOfRange { size: 64, offset: o }) if o == offset)
        );
    }
    assert!(args.is_empty(), "what was refused is no argument");
    args.add_memory(&memory, 63).unwrap();
    assert_eq!(args.len(), 1);
}

#[test]
fn a_launch_that_cannot_be_leaves_the_memory_free() {
    let Some(device) = test_device() else { return };
    let Some(other) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let mut memory = alloc(&device, Way::Device, 256);
    let args = add_args(&memory, &memory, 1);

    let mut foreign = HipKernelArgs::new();
    let elsewhere = alloc(&other, Way::Device, 256);
    foreign.add_memory_read(&memory, 0).unwrap();
    foreign.add_memory(&elsewhere, 0).unwrap();
    foreign.add(256_u32);
    foreign.add(1_u8);
    let refused = launch_add(&module, &stream, 256, &foreign);
    assert!(
        matches!(refused, Err(KernelError::WrongDevice { .. })),
        "{refused:?}"
    );

    let refused = launch_add(&module, &stream, 0, &args);
    assert!(
        matches!(refused, Err(KernelError::InvalidLaunch { .. })),
        "{refused:?}"
    );

    // SAFETY: nothing is launched.
    let refused = unsafe { module.launch("subtract", Some(&stream), [1; 3], [1; 3], &args) };
    assert!(
        matches!(refused, Err(KernelError::FunctionNotFound { .. })),
        "{refused:?}"
    );

    cpu_write(&mut memory, &[0; 256]);
    launch_add(&module, &stream, 256, &args).unwrap();
    assert!(cpu_read(&memory) == [1; 256]);
}

#[test]
fn memory_that_the_cpu_holds_is_busy() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let mut memory = alloc(&device, Way::Device, 256);
    let args = add_args(&memory, &memory, 1);
    let map = memory.get_mut().unwrap().map_writable().unwrap();
    let error = launch_add(&module, &stream, 256, &args).unwrap_err();
    let reason = memory_error(&error);
    assert!(
        matches!(reason, KernelMemoryError::Access(Error::Busy(_))),
        "{reason}"
    );
    drop(map);
    launch_add(&module, &stream, 256, &args).unwrap();
}

#[test]
fn memory_that_was_freed_or_cut_is_refused_at_the_launch() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let (memory, mut output) = (
        alloc(&device, Way::Device, 256),
        alloc(&device, Way::Device, 256),
    );
    let mut args = HipKernelArgs::new();
    args.add_memory_read(&memory, 0).unwrap();
    args.add_memory(&output, 128).unwrap();
    args.add(128_u32);
    args.add(1_u8);
    output.get_mut().unwrap().resize(0..100);
    let error = launch_add(&module, &stream, 128, &args).unwrap_err();
    let reason = memory_error(&error);
    assert!(
        matches!(
            reason,
            KernelMemoryError::OutOfRange {
                offset: 128,
                size: 100
            }
        ),
        "{reason}"
    );
    let output = alloc(&device, Way::Device, 256);
    let args = add_args(&memory, &output, 1);
    launch_add(&module, &stream, 256, &args).unwrap();
    drop(memory);
    let error = launch_add(&module, &stream, 256, &args).unwrap_err();
    let reason = memory_error(&error);
    assert!(matches!(reason, KernelMemoryError::Freed), "{reason}");
}

#[test]
fn a_stream_is_a_stream() {
    let Some(device) = test_device() else { return };
    let own = HipStream::new(&device).unwrap();
    let plain: Stream = own.clone().into();
    assert_eq!(HipStream::from(plain.clone()), own);
    assert_eq!(own.as_ref(), &plain);
    own.try_synchronize().unwrap();
    assert!(own.synchronize() && own.is_idle().unwrap());
}
