//! Real kernels, from the images that this workspace ships.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, PinnedBuffer, Stream};
use hip_dispatch::{
    Backend, FunctionHandle, Host, ImageKind, LaunchConfig, ModuleHandle, ModuleImage, StreamHandle,
};
use hip_video::prebuilt::CONVERT;
use hip_video::{
    Converter, ConverterConfig, FrameDescription, FrameView, FrameViewMut, PixelFormat, PlaneView,
};

use crate::lab::{ALL, Lab, code, pattern};

const WIDTH: u32 = 322;
const HEIGHT: u32 = 50;
const STRIDE: usize = 1536;
const BYTES: usize = STRIDE * HEIGHT as usize * 2;

/// The device of a backend's context, for the safe layers.
fn device(backend: &Arc<dyn Backend>) -> Device {
    let context = backend.primary_context_retain(0).unwrap();
    // SAFETY: the context stays retained; the tests' libraries are never closed.
    unsafe { Device::from_foreign_context(backend.clone(), 0, context, Box::new(())) }.unwrap()
}

/// Converts a picture of NV12 and gives all bytes of the result.
fn convert(backend: &Arc<dyn Backend>, output: PixelFormat, size: (u32, u32)) -> Vec<u8> {
    let device = device(backend);
    let stream = Stream::new(&device).unwrap();
    let input = FrameDescription::new(PixelFormat::Nv12, WIDTH, HEIGHT);
    let output = FrameDescription::new(output, size.0, size.1);
    let config = ConverterConfig::new(input, output);
    let converter = Converter::new(&device, &config).unwrap();
    let mut up = PinnedBuffer::new(&device, BYTES).unwrap();
    up.write(0, &pattern(BYTES)).unwrap();
    let (up, down) = (
        Arc::new(up),
        Arc::new(PinnedBuffer::new(&device, BYTES).unwrap()),
    );
    let [src, dst] = [0; 2].map(|_| Arc::new(DeviceBuffer::new(&device, BYTES).unwrap()));
    stream.copy_htod(&src, 0, &up, 0, BYTES).unwrap();
    stream.copy_dtod(&dst, 0, &src, 0, BYTES).unwrap();
    let planes = |buffer: &DeviceBuffer, count: usize| -> Vec<PlaneView> {
        let place = |plane: usize| PlaneView {
            ptr: buffer.as_raw().offset(plane * STRIDE * HEIGHT as usize / 2),
            stride: if plane == 0 && count > 1 {
                STRIDE as i32 / 2
            } else {
                STRIDE as i32
            },
        };
        (0..count).map(place).collect()
    };
    let planes_of = |format| if format == PixelFormat::Nv12 { 2 } else { 1 };
    let count = planes_of(output.format);
    // SAFETY: the planes lie in the buffers with all their rows, and nothing else uses those
    // until the stream is synchronised.
    let (from, to) = unsafe {
        (
            FrameView::new(&planes(&src, 2)),
            FrameViewMut::new(&planes(&dst, count)),
        )
    };
    converter.convert(&stream, &from, &to).unwrap();
    stream.copy_dtoh(&down, 0, &dst, 0, BYTES).unwrap();
    stream.synchronize().unwrap();
    // SAFETY: the copy, which wrote every byte, is done.
    unsafe { down.as_slice() }.to_vec()
}

#[test]
fn kernels_give_what_the_host_gives() {
    let host: Arc<dyn Backend> = Host::new(1);
    let cases = [
        (PixelFormat::Rgba, (WIDTH, HEIGHT)),
        (PixelFormat::Rgb, (161, 25)),
        (PixelFormat::Nv12, (200, 40)),
    ];
    for (output, size) in cases {
        let expected = convert(&host, output, size);
        assert_ne!(expected, pattern(BYTES), "something is converted");
        for name in ALL {
            let lab = Lab::new(name);
            assert!(
                convert(&lab.backend, output, size) == expected,
                "{name} {output:?} {size:?}"
            );
            let launch = if name == "nvidia" {
                "cuLaunchKernel"
            } else {
                "hipModuleLaunchKernel"
            };
            assert_eq!((lab.library.calls(launch), lab.library.races()), (1, 0));
        }
    }
}

/// A loaded kernel and a frame for it.
struct Loaded<'a> {
    lab: &'a Lab,
    module: ModuleHandle,
    function: FunctionHandle,
    stream: StreamHandle,
}

impl<'a> Loaded<'a> {
    fn new(lab: &'a Lab) -> Loaded<'a> {
        let prebuilt = &CONVERT[4];
        let text = CString::new(prebuilt.ptx.inflate().unwrap()).unwrap();
        let object = prebuilt
            .code_object("gfx90a")
            .unwrap()
            .image
            .inflate()
            .unwrap();
        let image = match lab.backend.image_kind() {
            ImageKind::Cuda => ModuleImage::Ptx(&text),
            _ => ModuleImage::Binary(&object),
        };
        let name = CString::new(prebuilt.name).unwrap();
        // SAFETY: the images are whole.
        let (module, function) = unsafe {
            let module = lab.backend.module_load(image).unwrap();
            (
                module,
                lab.backend.module_get_function(module, &name).unwrap(),
            )
        };
        Loaded {
            lab,
            module,
            function,
            stream: lab.stream(),
        }
    }

    /// Launches with a struct of zeros but for the words given, by their place in it.
    fn launch(
        &self,
        grid_dim: [u32; 3],
        block_dim: [u32; 3],
        shared_mem_bytes: u32,
        words: &[(usize, u64)],
    ) -> Result<(), hip_dispatch::HipError> {
        let mut params = [0_u64; 46];
        words
            .iter()
            .for_each(|(index, word)| params[*index] = *word);
        let config = LaunchConfig {
            grid_dim,
            block_dim,
            shared_mem_bytes,
        };
        let mut args = [params.as_mut_ptr().cast::<c_void>()];
        // SAFETY: the kernel takes one struct of this size, and writes no pixel of a picture of no
        // size.
        unsafe {
            self.lab
                .backend
                .launch_kernel(self.function, &config, self.stream, &mut args)
        }
    }
}

#[test]
fn launches_beyond_the_limits_are_refused() {
    for name in ALL {
        let lab = Lab::new(name);
        let kernel = Loaded::new(&lab);
        kernel.launch([1; 3], [32, 8, 1], 0, &[]).unwrap();
        let most = if name == "nvidia" { 49152 } else { 65536 };
        kernel.launch([1, 65535, 1], [1; 3], most, &[]).unwrap();
        for (grid, block, shared) in [
            ([0, 1, 1], [1; 3], 0),
            ([1; 3], [1, 0, 1], 0),
            ([1, 65536, 1], [1; 3], 0),
            ([1; 3], [1025, 1, 1], 0),
            ([1; 3], [1, 1, 65], 0),
            ([1; 3], [1; 3], most + 1),
        ] {
            let refused = kernel.launch(grid, block, shared, &[]);
            assert_eq!(code(refused), 1, "{name} {grid:?} {block:?} {shared}");
        }
        // The kernel was compiled for at most 256 threads.
        let refused = kernel.launch([1; 3], [257, 1, 1], 0, &[]);
        assert_eq!(
            code(refused),
            if name == "nvidia" { 1 } else { 719 },
            "{name}"
        );
    }
}

#[test]
fn functions_say_what_they_are_like() {
    for name in ALL {
        let lab = Lab::new(name);
        let kernel = Loaded::new(&lab);
        let (backend, function) = (&lab.backend, kernel.function);
        // SAFETY: the function's module is loaded until the lab is gone.
        let (attributes, blocks, none, suggested) = unsafe {
            (
                backend.function_attributes(function).unwrap(),
                backend.occupancy(function, 256, 16384).unwrap(),
                backend.occupancy(function, 257, 0).unwrap(),
                backend.suggested_block_size(function, 0).unwrap(),
            )
        };
        // It was compiled for at most 256 threads.
        assert_eq!(attributes.max_threads_per_block, 256, "{name}");
        // By memory 4 of AMD's 64 KiB, by threads 8 of 2048 on NVIDIA.
        let expected = if name == "nvidia" { 8 } else { 4 };
        assert_eq!((blocks, none), (expected, 0), "{name}");
        assert_eq!(suggested.block_threads, 256, "{name}: {suggested:?}");
    }
}

/// NVIDIA's blocks have more shared memory than 48 KiB for a kernel that asks for it.
#[test]
fn more_shared_memory_is_there_for_the_asking() {
    let lab = Lab::new("nvidia");
    let kernel = Loaded::new(&lab);
    const MOST: u32 = 232_448;
    let launch = |shared| kernel.launch([1; 3], [1; 3], shared, &[]);
    // SAFETY: the function's module is loaded until the lab is gone.
    let allow = |bytes| unsafe {
        lab.backend
            .allow_dynamic_shared_memory(kernel.function, bytes)
    };
    assert_eq!(code(launch(MOST)), 1);
    assert_eq!(code(allow(MOST + 1)), 1);
    allow(MOST).unwrap();
    launch(MOST).unwrap();
    assert_eq!(code(launch(MOST + 1)), 1);
}

#[test]
fn arguments_are_those_of_the_image() {
    for name in ALL {
        let lab = Lab::new(name);
        let kernel = Loaded::new(&lab);
        let backend = &lab.backend;
        let config = LaunchConfig {
            grid_dim: [1; 3],
            block_dim: [1; 3],
            shared_mem_bytes: 0,
        };
        // SAFETY: what is launched here is refused.
        let (null, gone) = unsafe {
            let mut args = [std::ptr::null_mut()];
            let null = backend.launch_kernel(kernel.function, &config, kernel.stream, &mut args);
            backend.module_unload(kernel.module).unwrap();
            let gone = backend.launch_kernel(kernel.function, &config, kernel.stream, &mut args);
            (code(null), code(gone))
        };
        assert_eq!((null, gone), (1, 400), "{name}");
    }
}

#[test]
fn arguments_can_come_in_one_buffer() {
    type Launch = unsafe extern "C" fn(
        *mut c_void,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        u32,
        *mut c_void,
        *mut *mut c_void,
        *mut *mut c_void,
    ) -> i32;
    for (name, symbol, end) in [
        ("nvidia", "cuLaunchKernel", 0),
        ("amd6", "hipModuleLaunchKernel", 3),
    ] {
        let lab = Lab::new(name);
        let kernel = Loaded::new(&lab);
        let mut params = [0_u64; 46];
        let launch = |mut size: usize, params: &mut [u64; 46]| {
            let word = std::ptr::without_provenance_mut::<c_void>;
            let mut extra = [
                word(1),
                params.as_mut_ptr().cast(),
                word(2),
                (&raw mut size).cast(),
                word(end),
            ];
            let (function, stream) = (kernel.function.as_raw(), kernel.stream.as_raw());
            let none = std::ptr::null_mut();
            // SAFETY: the documented signature and list; the struct has the size told.
            unsafe {
                let launch = lab.library.function::<Launch>(symbol);
                launch(
                    function,
                    1,
                    1,
                    1,
                    1,
                    1,
                    1,
                    0,
                    stream,
                    none,
                    extra.as_mut_ptr(),
                )
            }
        };
        assert_eq!(
            [launch(368, &mut params), launch(367, &mut params)],
            [0, 1],
            "{name}"
        );
    }
}

/// A kernel's planes are found in its arguments: what it reads must be there, and what it writes
/// must not be in use.
#[test]
fn kernels_are_ordered_like_copies() {
    for name in ALL {
        let lab = Lab::new(name);
        let kernel = Loaded::new(&lab);
        let backend = &lab.backend;
        let [source, destination] = [0; 2].map(|_| backend.mem_alloc(4096).unwrap());
        let planes = [(0, source.0), (4, destination.0)];
        let other = lab.stream();
        let event = backend
            .event_create(hip_dispatch::EventFlags::empty())
            .unwrap();
        let launch = || kernel.launch([1; 3], [1; 3], 0, &planes).unwrap();
        // SAFETY: everything is alive.
        unsafe {
            let fill = |block| {
                let value = hip_dispatch::MemsetValue::U8(1);
                backend.memset(block, value, 4096, Some(other)).unwrap();
            };
            fill(source);
            launch();
            assert_eq!(lab.library.races(), 1, "{name}: read without a wait");
            let text = lab.library.last_finding();
            assert!(
                text.contains("race: kernel convert_packed_8_scaled on stream"),
                "{text}"
            );
            assert!(text.contains(&format!(" reads {:#x}", source.0)), "{text}");
            backend.event_record(event, other).unwrap();
            backend.stream_wait_event(kernel.stream, event).unwrap();
            launch();
            assert_eq!(lab.library.races(), 1, "{name}: with the wait");
            fill(destination);
            assert_eq!(lab.library.races(), 2, "{name}: overwritten without a wait");
            backend.event_record(event, kernel.stream).unwrap();
            backend.stream_wait_event(other, event).unwrap();
            fill(source);
            assert_eq!(lab.library.races(), 2, "{name}: with the wait");
        }
    }
}

/// A kernel that is given memory that is not there spoils its context, and is not run.
#[test]
fn a_stray_pointer_spoils_the_context() {
    for name in ALL {
        let lab = Lab::new(name);
        let kernel = Loaded::new(&lab);
        let block = lab.backend.mem_alloc(16).unwrap();
        // SAFETY: allocated above.
        unsafe { lab.backend.mem_free(block) }.unwrap();
        // The first plane of the destination.
        kernel.launch([1; 3], [1; 3], 0, &[(4, block.0)]).unwrap();
        // SAFETY: the stream is alive.
        let synchronised = unsafe { lab.backend.stream_synchronize(kernel.stream) };
        assert_eq!(code(synchronised), 700, "{name}");
        assert_eq!(code(lab.backend.mem_alloc(16)), 700, "{name}: and stays so");
    }
}
