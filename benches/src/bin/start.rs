//! How long a program takes to its first frame, and what it compiles and opens on the way.
//!
//! Each start is a fresh process: with a kernel of its own and nothing in the cache, the same again,
//! and with the plugin's prebuilt kernels only. The figures are of one run on one device.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use gst::prelude::*;
use gst_hip::{Device, DeviceSelector, HipKernelArgs, HipKernelModule, HipStream};
use hip_benches::{Options, Result, Table};

const WIDTH: u32 = 1280;
const HEIGHT: u32 = 720;
const CHILD: &str = "HIP_BENCH_START";
/// Starts of each kind; the quickest is shown, since a process start meets other work.
const STARTS: usize = 5;

const SOURCE: &str = r#"
extern "C" __global__ void invert(unsigned char *bytes, unsigned count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) bytes[i] = 255 - bytes[i];
}
"#;

fn main() -> Result<()> {
    let options = Options::from_args("Measures the time to the first frame in fresh processes.")?;
    match std::env::var(CHILD) {
        Ok(kernel) => start(&options.device, &kernel),
        Err(_) => compare(&options.device),
    }
}

/// What a child reports of its start.
#[derive(Debug, Clone, Default)]
struct Start {
    /// From the process's start to the end of the first frame, as the parent sees it.
    total_ms: f64,
    device_ms: f64,
    kernel_ms: f64,
    pipeline_ms: f64,
    compiled: u64,
    hits: u64,
    compilers: String,
}

fn compare(device: &DeviceSelector) -> Result<()> {
    println!("first frame of {WIDTH}x{HEIGHT}, the quickest of {STARTS} starts on {device}\n");
    let headings = [
        "start",
        "total ms",
        "device ms",
        "kernel ms",
        "pipeline ms",
        "compiled",
        "cache hits",
        "compiler opened",
    ];
    let mut table = Table::new(&headings);
    let (mut cold, mut warm, mut prebuilt) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        // Empty for the first start, and what that left for the second.
        let cache = tempfile::tempdir()?;
        cold.push(child(device, "source", cache.path())?);
        warm.push(child(device, "source", cache.path())?);
        prebuilt.push(child(device, "prebuilt", cache.path())?);
    }
    let quickest = |mut starts: Vec<Start>| {
        starts.sort_by(|a, b| a.total_ms.total_cmp(&b.total_ms));
        starts.swap_remove(0)
    };
    let (cold, warm, prebuilt) = (quickest(cold), quickest(warm), quickest(prebuilt));
    for (name, start) in [
        ("kernel from source, cold cache", &cold),
        ("kernel from source, warm cache", &warm),
        ("prebuilt kernels only", &prebuilt),
    ] {
        table.row(row(name, start));
    }
    table.print();
    println!(
        "\nwarm : cold = {:.2}, prebuilt : cold = {:.2}",
        warm.total_ms / cold.total_ms,
        prebuilt.total_ms / cold.total_ms
    );
    let opened = |start: &Start| start.compilers.starts_with("lib");
    match (cold.compiled, warm.compiled, warm.hits, prebuilt.compiled) {
        (1, 0, 1, 0) if !opened(&warm) && !opened(&prebuilt) => Ok(()),
        _ => Err("a start compiled, or opened a compiler, that should not have".into()),
    }
}

fn row(name: &str, start: &Start) -> Vec<String> {
    let ms = |value: f64| format!("{value:.1}");
    vec![
        name.to_owned(),
        ms(start.total_ms),
        ms(start.device_ms),
        ms(start.kernel_ms),
        ms(start.pipeline_ms),
        start.compiled.to_string(),
        start.hits.to_string(),
        start.compilers.clone(),
    ]
}

/// Runs this program anew until it says that its first frame is done.
fn child(device: &DeviceSelector, kernel: &str, cache: &Path) -> Result<Start> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["--device", &device.to_string()])
        .env(CHILD, kernel)
        .env("GST_HIP_KERNEL_CACHE", cache)
        .stdout(Stdio::piped());
    let begin = Instant::now();
    let mut process = command.spawn()?;
    let output = process.stdout.take().ok_or("a child without output")?;
    let mut start = None;
    for line in BufReader::new(output).lines() {
        let line = line?;
        if let Some(figures) = line.strip_prefix("first frame: ") {
            let total_ms = begin.elapsed().as_secs_f64() * 1e3;
            start = Some(Start {
                total_ms,
                ..parse(figures)?
            });
        }
    }
    let status = process.wait()?;
    match start {
        Some(start) if status.success() => Ok(start),
        _ => Err(format!("a start with {kernel} kernels failed: {status}").into()),
    }
}

fn parse(figures: &str) -> Result<Start> {
    let words: Vec<&str> = figures.split(' ').collect();
    let [device, kernel, pipeline, compiled, hits, compilers] = words[..] else {
        return Err(format!("a child said {figures:?}").into());
    };
    Ok(Start {
        total_ms: 0.0,
        device_ms: device.parse()?,
        kernel_ms: kernel.parse()?,
        pipeline_ms: pipeline.parse()?,
        compiled: compiled.parse()?,
        hits: hits.parse()?,
        compilers: compilers.to_owned(),
    })
}

/// What is measured: a program that shows one frame.
fn start(device: &DeviceSelector, kernel: &str) -> Result<()> {
    gst::init()?;
    gst_elements::plugin_register_static()?;
    let mut mark = Instant::now();
    let mut lap = || {
        let now = Instant::now();
        (now - std::mem::replace(&mut mark, now)).as_secs_f64() * 1e3
    };
    let device = gst_hip::env::open_device(device)?;
    let device_ms = lap();
    let module = match kernel {
        "source" => Some(HipKernelModule::from_source(&device, SOURCE, &[])?),
        _ => None,
    };
    let kernel_ms = lap();
    show(&device, module)?;
    let pipeline_ms = lap();
    let cache = hip_rtc::cache::global().statistics();
    println!(
        "first frame: {device_ms} {kernel_ms} {pipeline_ms} {} {} {}",
        cache.misses,
        cache.hits,
        compilers()?
    );
    Ok(())
}

/// Runs one frame through `hipconvertscale`, or through the kernel.
fn show(device: &Device, module: Option<HipKernelModule>) -> Result<()> {
    let middle = match &module {
        Some(_) => "identity name=own",
        None => "hipconvertscale ! video/x-raw(memory:HIPMemory),format=NV12",
    };
    let line = format!(
        "videotestsrc num-buffers=1 ! video/x-raw,format=RGBA,width={WIDTH},height={HEIGHT} \
         ! hipupload ! {middle} ! hipdownload ! fakesink sync=false"
    );
    let pipeline = gst::parse::launch(&line)?;
    let pipeline = pipeline
        .downcast::<gst::Pipeline>()
        .map_err(|_| "no pipeline")?;
    pipeline.set_context(&gst_hip::HipContext::new(device).to_gst());
    let failure = Arc::new(Mutex::new(None));
    if let (Some(module), Some(element)) = (module, pipeline.by_name("own")) {
        let (stream, failure) = (HipStream::new(device)?, failure.clone());
        let pad = element.static_pad("sink").ok_or("identity has a pad")?;
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            if let Some(buffer) = info.buffer()
                && let Err(error) = invert(&module, &stream, buffer)
            {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
            gst::PadProbeReturn::Ok
        });
    }
    pipeline.set_state(gst::State::Playing)?;
    let bus = pipeline.bus().ok_or("a pipeline has a bus")?;
    let kinds = [gst::MessageType::Eos, gst::MessageType::Error];
    let end = bus.timed_pop_filtered(gst::ClockTime::NONE, &kinds);
    pipeline.set_state(gst::State::Null)?;
    let failure = failure
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take();
    match (end.as_deref().map(gst::MessageRef::view), failure) {
        (Some(gst::MessageView::Error(error)), _) => Err(error.error().to_string().into()),
        (_, Some(failure)) => Err(failure.into()),
        _ => Ok(()),
    }
}

fn invert(module: &HipKernelModule, stream: &HipStream, frame: &gst::BufferRef) -> Result<()> {
    let memory = frame.peek_memory(0);
    let count = u32::try_from(memory.size())?;
    let mut args = HipKernelArgs::new();
    args.add_memory(memory, 0)?;
    args.add(count);
    let grid = [count.div_ceil(256), 1, 1];
    // SAFETY: the kernel takes an address and a count, and stays within the count.
    unsafe { module.launch("invert", Some(stream), grid, [256, 1, 1], &args) }?;
    Ok(())
}

/// The compiler libraries that this process has opened. (Host's compiler is a program.)
fn compilers() -> Result<String> {
    if !cfg!(target_os = "linux") {
        return Ok("unknown".to_owned());
    }
    let mapped = std::fs::read_to_string("/proc/self/maps")?;
    let names = ["libnvrtc.so", "libhiprtc.so", "libamd_comgr.so"];
    let opened: Vec<&str> = names
        .into_iter()
        .filter(|name| mapped.contains(name))
        .collect();
    Ok(match opened.is_empty() {
        true => "none".to_owned(),
        false => opened.join("+"),
    })
}
