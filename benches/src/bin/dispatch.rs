//! What a call costs on its way to the driver: through the plain function pointer, `Arc<dyn Backend>`,
//! `hip_foo_bar(vendor, …)` and `hip-core`; and what `hip-rtc` adds to a launch: at most 100 ns and no
//! heap allocation are wanted.

use std::cell::RefCell;
use std::ffi::c_void;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use hip_benches::{Cost, CountingAllocator, Options, Result, Table, Way, measure};
use hip_core::{Device, DevicePtr, LaunchConfig, Stream, Vendor};
use hip_dispatch::host::{HostKernel, HostLaunch};
use hip_dispatch::{Backend, FunctionHandle, Host, ModuleImage, StreamHandle};
use hip_rtc::{Blob, Function, KernelArg, KernelArgs, KernelModule, Prebuilt};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// What a launch may add, in nanoseconds.
const LAUNCH_LIMIT: f64 = 100.0;

/// Launches through `hip-rtc`, on a thread that has the device's context current.
const BOUND: [&str; 3] = [
    "hip_rtc::Function, arguments at hand",
    "hip_rtc::Function, arguments added",
    "hip_rtc::KernelModule, by name, added",
];
/// The same on a thread that has not.
const UNBOUND: [&str; 3] = [
    "unbound: Function, arguments at hand",
    "unbound: Function, arguments added",
    "unbound: KernelModule, by name, added",
];

const KERNEL: &str = "nothing";
/// A kernel that does nothing with [`Params`], an address and a number.
const PTX: &str = ".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry nothing(\
    .param .align 8 .b8 a[256], .param .u64 b, .param .u32 c)\n{ ret; }\n";
const HOST: &[HostKernel] = &[HostKernel {
    name: KERNEL,
    function: nothing,
    arg_sizes: &[256, 8, 4],
}];
const ONE: LaunchConfig = LaunchConfig {
    grid_dim: [1; 3],
    block_dim: [1; 3],
    shared_mem_bytes: 0,
};

unsafe extern "C" fn nothing(_: *const *const c_void, _: *const HostLaunch, _: u64, _: u64) {}

/// As large as a conversion's parameters.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Params([u8; 256]);

// SAFETY: bytes, aligned as the kernel says.
unsafe impl KernelArg for Params {}

/// `cuStreamQuery`, `hipStreamQuery`.
type QueryFn = unsafe extern "C" fn(*mut c_void) -> i32;
/// `cuLaunchKernel`, `hipModuleLaunchKernel`.
type LaunchFn = unsafe extern "C" fn(
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
type HostQueryFn = unsafe fn(&Host, StreamHandle) -> hip_dispatch::Result<bool>;
type HostLaunchFn = unsafe fn(
    &Host,
    FunctionHandle,
    &LaunchConfig,
    StreamHandle,
    &mut [*mut c_void],
) -> hip_dispatch::Result<()>;

/// The functions that everything ends in.
enum Plain {
    Driver {
        query: QueryFn,
        launch: LaunchFn,
        /// The functions are its.
        _library: libloading::Library,
    },
    Host {
        host: Arc<Host>,
        query: HostQueryFn,
        launch: HostLaunchFn,
    },
}

impl Plain {
    fn of(device: Device) -> Result<(Plain, Device)> {
        if device.vendor() == Vendor::Host {
            return host();
        }
        let (query, launch) = match device.vendor() {
            Vendor::Nvidia => (c"cuStreamQuery", c"cuLaunchKernel"),
            _ => (c"hipStreamQuery", c"hipModuleLaunchKernel"),
        };
        let libraries = device.backend().libraries();
        let path = &libraries.first().ok_or("no library")?.path;
        // SAFETY: the library is loaded already; the signatures are the vendors'.
        let plain = unsafe {
            let library = libloading::Library::new(path)?;
            Plain::Driver {
                query: *library.get::<QueryFn>(query.to_bytes_with_nul())?,
                launch: *library.get::<LaunchFn>(launch.to_bytes_with_nul())?,
                _library: library,
            }
        };
        Ok((plain, device))
    }
}

/// A CPU backend of its own, so that its type is known here, and its device.
fn host() -> Result<(Plain, Device)> {
    let host = Host::new(1);
    let context = host.primary_context_retain(0)?;
    // SAFETY: the context stays retained.
    let device = unsafe { Device::from_foreign_context(host.clone(), 0, context, Box::new(())) }?;
    let plain = Plain::Host {
        host,
        query: <Host as Backend>::stream_query,
        launch: <Host as Backend>::launch_kernel,
    };
    Ok((plain, device))
}

fn main() -> Result<()> {
    let options = Options::from_args("Measures what a call costs on its way to the driver.")?;
    let (plain, device) = Plain::of(options.open()?)?;
    println!();
    queries(&options, &plain, &device)?;
    match module(&device) {
        Some(module) => launches(&options, &plain, &device, &module?),
        None => {
            println!(
                "launches: not measured: there is no kernel for {}",
                device.vendor()
            );
            Ok(())
        }
    }
}

fn queries(options: &Options, plain: &Plain, device: &Device) -> Result<()> {
    let stream = Stream::new(device)?;
    let (backend, raw) = (device.backend(), stream.as_raw());
    let through: Box<dyn FnMut(usize)> = match plain {
        Plain::Driver { query, .. } => Box::new(move |calls| {
            for _ in 0..calls {
                // SAFETY: the stream is alive and its context bound below.
                black_box(unsafe { black_box(*query)(raw.as_raw()) });
            }
        }),
        Plain::Host { host, query, .. } => Box::new(move |calls| {
            for _ in 0..calls {
                // SAFETY: as above.
                let _ = black_box(unsafe { black_box(*query)(host, raw) });
            }
        }),
    };
    let mut ways: Vec<Way<'_>> = vec![
        ("stream query: function pointer", through),
        (
            "Arc<dyn Backend>",
            Box::new(|calls| {
                for _ in 0..calls {
                    // SAFETY: as above.
                    let _ = black_box(unsafe { black_box(backend).stream_query(raw) });
                }
            }),
        ),
        (
            "hip_core::Stream",
            Box::new(|calls| {
                for _ in 0..calls {
                    let _ = black_box(black_box(&stream).is_idle());
                }
            }),
        ),
        (
            "hip_core, bind and unbind alone",
            Box::new(|calls| {
                for _ in 0..calls {
                    drop(black_box(black_box(device).bind()));
                }
            }),
        ),
    ];
    if device.vendor() != Vendor::Host {
        let vendor = device.vendor();
        ways.push((
            "hip_stream_query(vendor, …)",
            Box::new(move |calls| {
                for _ in 0..calls {
                    // SAFETY: the device is of the process's runtime; the rest as above.
                    let answer = unsafe { hip_dispatch::hip_stream_query(black_box(vendor), raw) };
                    let _ = black_box(answer);
                }
            }),
        ));
    }
    let bound = device.bind()?;
    let costs = measure(&mut ways, options.duration, || (), || ());
    drop(bound);
    print(&ways, &costs);
    Ok(())
}

/// The kernel on the device; `None` where there is none for the vendor.
fn module(device: &Device) -> Option<Result<KernelModule>> {
    if device.vendor() == Vendor::Amd {
        return None;
    }
    let deflated = miniz_oxide::deflate::compress_to_vec(PTX.as_bytes(), 6);
    let prebuilt = Prebuilt {
        name: "bench",
        ptx: Blob(deflated.leak()),
        code_objects: &[],
        host: || HOST,
    };
    Some(KernelModule::from_prebuilt(device, &prebuilt).map_err(Into::into))
}

/// The kernel as the driver knows it. (The module stays loaded until the process ends.)
fn raw_function(device: &Device) -> Result<FunctionHandle> {
    let text = std::ffi::CString::new(PTX)?;
    let image = match device.vendor() {
        Vendor::Host => ModuleImage::HostTable(HOST),
        _ => ModuleImage::Ptx(&text),
    };
    let _bound = device.bind()?;
    // SAFETY: the image is of the device's kind, and complete.
    let module = unsafe { device.backend().module_load(image) }?;
    // SAFETY: the module was just loaded in the bound context.
    Ok(unsafe { device.backend().module_get_function(module, c"nothing") }?)
}

/// In place, as a caller has them: a function that gives them back would copy 800 bytes.
fn add_arguments(args: &mut KernelArgs, buffer: u64) {
    args.add(black_box(Params([1; 256])));
    args.add(DevicePtr(buffer));
    args.add(7_u32);
}

fn launches(
    options: &Options,
    plain: &Plain,
    device: &Device,
    module: &KernelModule,
) -> Result<()> {
    let stream = Stream::new(device)?;
    let function = module.function(KERNEL)?;
    let raw = raw_function(device)?;
    let (params, buffer, number) = (Params([1; 256]), 4096_u64, 7_u32);
    let prepared: [*mut c_void; 3] = [
        (&raw const params).cast_mut().cast(),
        (&raw const buffer).cast_mut().cast(),
        (&raw const number).cast_mut().cast(),
    ];
    let mut args = KernelArgs::new();
    add_arguments(&mut args, buffer);
    let bound = RefCell::new(Some(device.bind()?));
    let mut ways = bare_ways(plain, device, raw, stream.as_raw(), prepared);
    ways.extend(rtc_ways(BOUND, module, &function, &stream, &args));
    for (name, mut calls) in rtc_ways(UNBOUND, module, &function, &stream, &args) {
        let bound = &bound;
        // Once for 256 calls, which adds 0.3 ns to the figure of one.
        let unbound = move |count| {
            drop(bound.take());
            calls(count);
            bound.replace(Some(device.bind().expect("it was bound before")));
        };
        ways.push((name, Box::new(unbound)));
    }
    // The CPU's worker would take work off the queue that is measured: it waits meanwhile.
    let gate = RefCell::new(None::<Sender<()>>);
    let shut = || {
        if device.vendor() == Vendor::Host {
            let (open, gate_opens) = channel::<()>();
            let wait = move || gate_opens.recv().unwrap_or(());
            stream.launch_host_func(wait).expect("the gate");
            gate.replace(Some(open));
        }
    };
    let finish = || {
        drop(gate.take());
        stream.synchronize().expect("nothing goes wrong");
    };
    let costs = measure(&mut ways, options.duration, shut, finish);
    print(&ways, &costs);
    judge(&ways, &costs);
    Ok(())
}

/// A launch with the addresses of the arguments at hand.
fn bare_ways<'a>(
    plain: &'a Plain,
    device: &'a Device,
    function: FunctionHandle,
    stream: StreamHandle,
    mut prepared: [*mut c_void; 3],
) -> Vec<Way<'a>> {
    let mut again = prepared;
    let through: Box<dyn FnMut(usize)> = match plain {
        Plain::Driver { launch, .. } => Box::new(move |calls| {
            let none = std::ptr::null_mut();
            let (function, stream) = (function.as_raw(), stream.as_raw());
            for _ in 0..calls {
                let addresses = prepared.as_mut_ptr();
                // SAFETY: function and stream are alive and of the bound context; the arguments
                // are the kernel's and outlive the call.
                let code = unsafe {
                    black_box(*launch)(function, 1, 1, 1, 1, 1, 1, 0, stream, addresses, none)
                };
                assert_eq!(code, 0, "a launch failed");
            }
        }),
        Plain::Host { host, launch, .. } => Box::new(move |calls| {
            for _ in 0..calls {
                // SAFETY: as above.
                unsafe { black_box(*launch)(host, function, &ONE, stream, &mut prepared) }
                    .expect("a launch");
            }
        }),
    };
    vec![
        ("launch: function pointer, prepared", through),
        (
            "Arc<dyn Backend>, prepared",
            Box::new(move |calls| {
                let backend = device.backend();
                for _ in 0..calls {
                    // SAFETY: as above.
                    unsafe { black_box(backend).launch_kernel(function, &ONE, stream, &mut again) }
                        .expect("a launch");
                }
            }),
        ),
    ]
}

/// A launch through `hip-rtc`.
fn rtc_ways<'a>(
    names: [&'static str; 3],
    module: &'a KernelModule,
    function: &'a Function,
    stream: &'a Stream,
    args: &'a KernelArgs,
) -> Vec<Way<'a>> {
    vec![
        (
            names[0],
            Box::new(move |calls| {
                for _ in 0..calls {
                    // SAFETY: the arguments are the kernel's, which uses none of them.
                    unsafe { black_box(function).launch(Some(stream), &ONE, args) }
                        .expect("a launch");
                }
            }),
        ),
        (
            names[1],
            Box::new(move |calls| {
                for _ in 0..calls {
                    let mut args = KernelArgs::new();
                    add_arguments(&mut args, 4096);
                    // SAFETY: as above.
                    unsafe { black_box(function).launch(Some(stream), &ONE, &args) }
                        .expect("a launch");
                }
            }),
        ),
        (
            names[2],
            Box::new(move |calls| {
                for _ in 0..calls {
                    let mut args = KernelArgs::new();
                    add_arguments(&mut args, 4096);
                    // SAFETY: as above.
                    unsafe { module.launch(KERNEL, Some(stream), [1; 3], [1; 3], &args) }
                        .expect("a launch");
                }
            }),
        ),
    ]
}

fn print(ways: &[Way<'_>], costs: &[Cost]) {
    let mut table = Table::new(&["what", "ns", "adds", "ratio", "allocations"]);
    let least = costs[0].nanoseconds;
    for ((name, _), cost) in ways.iter().zip(costs) {
        table.row(vec![
            (*name).to_owned(),
            format!("{:.1}", cost.nanoseconds),
            format!("{:+.1}", cost.nanoseconds - least),
            format!("{:.2}", cost.nanoseconds / least),
            format!("{:.2}", cost.allocations),
        ]);
    }
    table.print();
    println!();
}

/// Says whether launches whose arguments are added each time keep to the limit.
fn judge(ways: &[Way<'_>], costs: &[Cost]) {
    println!(
        "At most {LAUNCH_LIMIT:.0} ns and no allocation are wanted of `KernelArgs` and a launch:"
    );
    let bare = costs[0];
    let judged = |name: &str| name.ends_with("added");
    for ((name, _), cost) in ways.iter().zip(costs).filter(|((name, _), _)| judged(name)) {
        let adds = cost.nanoseconds - bare.nanoseconds;
        let allocates = cost.allocations - bare.allocations;
        let met = adds <= LAUNCH_LIMIT && allocates <= 0.0;
        println!(
            "  {name}: {adds:+.0} ns, {allocates:+.2} allocations: {}",
            if met { "met" } else { "NOT met" }
        );
    }
}
