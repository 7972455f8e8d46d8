//! Frames of a GStreamer pipeline through a kernel of one's own.
//!
//! The element is in `filter/`, to be copied. It needs the plugin's `hipupload` and `hipdownload`:
//! here they are linked in; an application finds them by `GST_PLUGIN_PATH`.

#[path = "../common/mod.rs"]
mod common;
mod filter;

use std::process::ExitCode;

use common::{Failure, Options, Result};
use gst::prelude::*;

const WIDTH: usize = 320;
const HEIGHT: usize = 240;
const CHANNELS: usize = 4;

fn main() -> ExitCode {
    common::finish(run())
}

fn run() -> Result<()> {
    let about = "Embosses video by a kernel of its own, in HIP device memory.";
    let Some(options) = Options::from_args(about, &["device", "frames"])? else {
        return Ok(());
    };
    let frames: u32 = options.last("frames", 30)?;
    gst::init()?;
    gst_elements::plugin_register_static()?;
    filter::register()?;
    let device = common::open_device(&options)?;
    // So that a missing compiler is told before the pipeline starts.
    filter::compile(&device)?;

    // What the pattern draws depends on the frame's number only: so the same frames come twice.
    let source = format!(
        "videotestsrc pattern=ball num-buffers={frames} \
         ! video/x-raw,format=RGBA,width={WIDTH},height={HEIGHT},framerate=30/1"
    );
    let originals = collect(&format!("{source} ! appsink name=sink"), &device)?;
    let filtered = collect(
        &format!("{source} ! hipupload ! hipemboss ! hipdownload ! appsink name=sink"),
        &device,
    )?;
    if filtered.len() != frames as usize || originals.len() != filtered.len() {
        let (had, got) = (originals.len(), filtered.len());
        return Err(Failure::Failed(format!("{got} frames of {had} arrived")));
    }
    for (number, (original, filtered)) in originals.iter().zip(&filtered).enumerate() {
        check(number, original, filtered)?;
    }
    println!("{frames} frames of {WIDTH}x{HEIGHT}: every pixel is right");
    Ok(())
}

/// Runs a pipeline with an appsink named `sink` on `device` and gives its frames' bytes.
fn collect(line: &str, device: &gst_hip::HipDevice) -> Result<Vec<Vec<u8>>> {
    let pipeline = gst::parse::launch(line)?;
    let pipeline = pipeline
        .downcast::<gst::Pipeline>()
        .map_err(|_| Failure::Failed("the line is one element only".into()))?;
    // The application's device, for all elements.
    pipeline.set_context(&gst_hip::HipContext::new(device).to_gst());
    let sink = pipeline
        .by_name("sink")
        .and_then(|sink| sink.downcast::<gst_app::AppSink>().ok());
    let sink = sink.ok_or_else(|| Failure::Failed("no appsink named sink".into()))?;
    sink.set_sync(false);
    let played = play(&pipeline, &sink);
    pipeline.set_state(gst::State::Null)?;
    played
}

fn play(pipeline: &gst::Pipeline, sink: &gst_app::AppSink) -> Result<Vec<Vec<u8>>> {
    let failed = |text: &str| Failure::Failed(text.to_owned());
    // Why an element does not start is on the bus.
    let started = pipeline.set_state(gst::State::Playing);
    let mut frames = Vec::new();
    while started.is_ok()
        && let Ok(sample) = sink.pull_sample()
    {
        let buffer = sample
            .buffer()
            .ok_or_else(|| failed("a sample without a buffer"))?;
        let map = buffer.map_readable()?;
        frames.push(map.to_vec());
    }
    let bus = pipeline
        .bus()
        .ok_or_else(|| failed("a pipeline has a bus"))?;
    match bus
        .pop_filtered(&[gst::MessageType::Error])
        .as_deref()
        .map(gst::MessageRef::view)
    {
        Some(gst::MessageView::Error(error)) => Err(Failure::Failed(format!(
            "{} ({})",
            error.error(),
            error.debug().unwrap_or_default()
        ))),
        _ if started.is_err() => Err(failed("the pipeline does not start")),
        _ => Ok(frames),
    }
}

/// Compares a filtered frame with what the CPU makes of the original.
fn check(number: usize, original: &[u8], filtered: &[u8]) -> Result<()> {
    let pixel = |x: usize, y: usize| (y * WIDTH + x) * CHANNELS;
    for (x, y) in (0..HEIGHT).flat_map(|y| (0..WIDTH).map(move |x| (x, y))) {
        let before = pixel(x.saturating_sub(1), y.saturating_sub(1));
        let after = pixel((x + 1).min(WIDTH - 1), (y + 1).min(HEIGHT - 1));
        for channel in 0..CHANNELS {
            let at = pixel(x, y) + channel;
            let slope =
                i32::from(original[after + channel]) - i32::from(original[before + channel]);
            let expected = match channel {
                3 => original[at],
                _ => (128 + slope).clamp(0, 255) as u8,
            };
            if filtered[at] != expected {
                let (x, got) = (x, filtered[at]);
                return Err(Failure::Failed(format!(
                    "frame {number}, pixel {x},{y}, channel {channel}: {got}, not {expected}"
                )));
            }
        }
    }
    Ok(())
}
