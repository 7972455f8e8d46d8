//! Launches: shapes, shared memory, what is known of a kernel, memory that keeps its own order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hip_core::{Device, DeviceBuffer, DevicePtr, Event, Stream};
use hip_rtc::{Error, KernelArgs, KernelMemory, LaunchConfig, Result};

use crate::support::{pattern, read_back, upload};
use crate::{device_with_compiler, module};

const COPY: &str = r#"
extern "C" __global__ void copy(unsigned char *out, const unsigned char *in, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = in[i];
}
"#;

/// Memory in the way that gst-hip has it: an event after the last access, nothing held.
struct Ordered {
    buffer: Arc<DeviceBuffer>,
    last: Mutex<Option<Event>>,
    open: AtomicUsize,
    refuse: bool,
}

impl Ordered {
    fn new(buffer: Arc<DeviceBuffer>) -> Arc<Ordered> {
        Arc::new(Ordered {
            buffer,
            last: Mutex::new(None),
            open: AtomicUsize::new(0),
            refuse: false,
        })
    }
}

/// An access that is closed on every way out.
struct Open<'a>(&'a Ordered);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl KernelMemory for Ordered {
    fn device(&self) -> &Device {
        self.buffer.device()
    }

    fn access(
        &self,
        stream: &Stream,
        enqueue: &mut dyn FnMut(DevicePtr) -> Result<Event>,
    ) -> Result<Event> {
        if self.refuse {
            return Err(Error::memory(std::io::Error::other("it is mapped")));
        }
        self.open.fetch_add(1, Ordering::SeqCst);
        let _open = Open(self);
        if let Some(event) = &*self.last.lock().unwrap() {
            stream.wait(event)?;
        }
        let event = enqueue(self.buffer.as_raw())?;
        *self.last.lock().unwrap() = Some(event.clone());
        Ok(event)
    }
}

#[test]
fn memory_is_open_only_while_the_launch_is_enqueued() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, COPY, &[]);
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let bytes = pattern(4096);
    let [a, b, c] = [&bytes[..], &[0; 4096], &[0; 4096]].map(|data| upload(&first, data));
    first.synchronize().unwrap();
    let [a, b, c] = [a, b, c].map(Ordered::new);
    // b = a on one stream, c = b on the other, which waits on the device.
    for (stream, from, to) in [(&first, &a, &b), (&second, &b, &c)] {
        let mut args = KernelArgs::new();
        args.add_memory(to.clone());
        args.add_memory(from.clone());
        args.add(4096_u32);
        // SAFETY: the arguments are the kernel's; the buffers live until the streams are done.
        unsafe { module.launch("copy", Some(stream), [16, 1, 1], [256, 1, 1], &args) }.unwrap();
        assert_eq!(from.open.load(Ordering::SeqCst), 0);
        assert_eq!(to.open.load(Ordering::SeqCst), 0);
        assert!(to.last.lock().unwrap().is_some());
    }
    assert_eq!(read_back(&second, &c.buffer), bytes);
}

#[test]
fn a_launch_that_fails_closes_what_it_opened() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, COPY, &[]);
    let stream = Stream::new(&device).unwrap();
    let buffer = upload(&stream, &[0; 16]);
    let good = Ordered::new(buffer.clone());
    let bad = Arc::new(Ordered {
        buffer,
        last: Mutex::new(None),
        open: AtomicUsize::new(0),
        refuse: true,
    });
    let mut args = KernelArgs::new();
    args.add_memory(good.clone());
    args.add_memory(bad);
    args.add(16_u32);
    let before = device.statistics().launches;
    // SAFETY: the arguments are the kernel's; nothing is launched.
    let result = unsafe { module.launch("copy", Some(&stream), [1, 1, 1], [16, 1, 1], &args) };
    let error = result.unwrap_err();
    assert!(matches!(error, Error::Memory(_)), "{error}");
    assert!(error.to_string().contains("it is mapped"), "{error}");
    assert_eq!(good.open.load(Ordering::SeqCst), 0);
    assert!(good.last.lock().unwrap().is_none());
    assert_eq!(device.statistics().launches, before);
}

#[test]
fn arguments_serve_many_launches_and_the_default_stream() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let text = "extern \"C\" __global__ void count(unsigned *out) { *out += 1; }";
    let module = module(&device, text, &[]);
    let stream = Stream::new(&device).unwrap();
    let counter = upload(&stream, &[0; 4]);
    stream.synchronize().unwrap();
    let mut args = KernelArgs::new();
    args.add_memory(Ordered::new(counter.clone()));
    for _ in 0..100 {
        // SAFETY: the argument is the kernel's, and the buffer outlives the work.
        unsafe { module.launch("count", None, [1, 1, 1], [1, 1, 1], &args) }.unwrap();
    }
    device.synchronize().unwrap();
    assert_eq!(read_back(&stream, &counter), 100_u32.to_le_bytes());
}

#[test]
fn dynamic_shared_memory_is_as_large_as_asked_for() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let text = r#"
extern "C" __global__ void reverse(unsigned *data) {
    extern __shared__ unsigned room[];
    room[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
"#;
    let module = module(&device, text, &[]);
    let stream = Stream::new(&device).unwrap();
    let values: Vec<u8> = (0..256_u32).flat_map(u32::to_le_bytes).collect();
    let buffer = upload(&stream, &values);
    let mut args = KernelArgs::new();
    args.add_buffer(&buffer, 0).unwrap();
    let function = module.function("reverse").unwrap();
    let limits = &device.info().limits;
    // As asked for by the kernel, and all that a device gives to those that ask for leave.
    for bytes in [1024, limits.max_shared_memory_per_block_optin] {
        let config = LaunchConfig::new([1, 1, 1], [256, 1, 1]).with_shared_mem_bytes(bytes);
        // SAFETY: the argument is the kernel's, and the buffer lives until the stream is done.
        unsafe { function.launch(Some(&stream), &config, &args) }.unwrap();
    }
    // Twice reversed.
    assert_eq!(read_back(&stream, &buffer), values);
    let too_much = limits.max_shared_memory_per_block_optin + 1;
    let config = LaunchConfig::new([1, 1, 1], [256, 1, 1]).with_shared_mem_bytes(too_much);
    // SAFETY: as above; nothing is launched.
    let error = unsafe { function.launch(Some(&stream), &config, &args) }.unwrap_err();
    assert!(matches!(error, Error::InvalidLaunch { .. }), "{error}");
}

#[test]
fn a_kernel_says_what_it_is() {
    let Some(device) = device_with_compiler() else {
        return;
    };
    let module = module(&device, COPY, &[]);
    let function = module.function("copy").unwrap();
    assert_eq!(function.name(), "copy");
    assert_eq!(function.params().unwrap().len(), 3);
    let attributes = match function.attributes() {
        Ok(attributes) => attributes,
        Err(error) if error.kind() == hip_core::ErrorKind::Unsupported => {
            return println!("skipped: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    assert!(attributes.max_threads_per_block >= 64, "{attributes:?}");
    assert_eq!(attributes.shared_bytes, 0);
    assert!(function.occupancy(64, 0).unwrap() >= 1);
    let suggested = function.suggested_block_size(0).unwrap();
    let most = device.info().limits.max_threads_per_block;
    assert!(
        (1..=most).contains(&suggested.block_threads),
        "{suggested:?}"
    );
}
