//! The pipeline, from file to files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use gst::prelude::*;

use crate::options::Options;
use crate::progress::Progress;
use crate::{DemoError, decode, plugin, still};

/// How often the bus loop looks up to report progress.
const TICK: gst::ClockTime = gst::ClockTime::from_mseconds(100);

/// What was done.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// What went into the first element of the plugin, `640x360 I420, 25 frames/s`.
    pub input: String,
    /// Width and height of the result.
    pub size: (i32, i32),
    /// The plugin's elements in order, and the device each worked on.
    pub elements: Vec<(String, String)>,
    /// Frames written.
    pub frames: u64,
    /// From the first decoded frame to the end of the file.
    pub elapsed: Duration,
    /// The files written, with their sizes in bytes.
    pub files: Vec<(PathBuf, u64)>,
}

/// Plays `options.input` through the plugin, calling `progress` now and then.
///
/// # Errors
/// Whatever stops it; unfinished files are removed.
pub fn play(options: &Options, progress: &mut dyn FnMut(&Progress)) -> Result<Report, DemoError> {
    let io_error = |path: &Path| {
        let path = path.to_owned();
        move |source| DemoError::Io { path, source }
    };
    // Opened here for the plainest of errors; the pipeline opens it again.
    fs::File::open(&options.input).map_err(io_error(&options.input))?;
    gst::init().map_err(|error| DemoError::Init(error.to_string()))?;
    plugin::ensure()?;
    fs::create_dir_all(&options.output).map_err(io_error(&options.output))?;
    let (video, picture) = (
        options.output.join("hip-demo.webm"),
        options.output.join("hip-demo.png"),
    );
    for file in [&video, &picture] {
        let input = options
            .input
            .canonicalize()
            .map_err(io_error(&options.input))?;
        if file.canonicalize().is_ok_and(|file| file == input) {
            return Err(DemoError::OverInput(file.clone()));
        }
    }
    let graph = Graph::build(options, &video)?;
    let result = graph.run(options, progress);
    // Whatever became of it, nothing more can be done for the pipeline.
    let _ = graph.pipeline.set_state(gst::State::Null);
    let mut report = result.inspect_err(|_| {
        let _ = fs::remove_file(&video);
    })?;
    let png = std::mem::take(&mut *graph.picture.lock().unwrap_or_else(PoisonError::into_inner));
    fs::write(&picture, png).map_err(io_error(&picture))?;
    for file in [video, picture] {
        let size = fs::metadata(&file).map_err(io_error(&file))?.len();
        report.files.push((file, size));
    }
    Ok(report)
}

/// Makes an element of GStreamer's own.
pub(crate) fn make(factory: &'static str, name: &str) -> Result<gst::Element, DemoError> {
    let package = match factory {
        "vp8enc" | "webmmux" | "pngenc" => "gstreamer1.0-plugins-good",
        "decodebin" | "videoconvert" => "gstreamer1.0-plugins-base",
        _ => "libgstreamer1.0-0",
    };
    gst::ElementFactory::make(factory)
        .name(name)
        .build()
        .map_err(|_| DemoError::MissingElement {
            element: factory,
            package,
        })
}

fn build_error(error: impl std::fmt::Display) -> DemoError {
    DemoError::Build(error.to_string())
}

/// The last PNG that came out.
type Picture = Arc<Mutex<Vec<u8>>>;

/// The elements that are asked about later.
struct Graph {
    pipeline: gst::Pipeline,
    hip: Vec<gst::Element>,
    upload: gst::Element,
    frames: Arc<AtomicU64>,
    started: Arc<Mutex<Option<Instant>>>,
    picture: Picture,
}

impl Graph {
    fn build(options: &Options, video: &Path) -> Result<Self, DemoError> {
        let pipeline = gst::Pipeline::new();
        let device = options.device.as_deref();
        // Formats that the device doesn't take are converted here; others pass.
        let first = make("queue", "decoded")?;
        let convert = make("videoconvert", "cpu-convert")?;
        let upload = plugin::element("hipupload", "upload", device)?;
        let tee = make("tee", "split")?;
        let chain = [&first, &convert, &upload, &tee];
        pipeline.add_many(chain).map_err(build_error)?;
        gst::Element::link_many(chain).map_err(build_error)?;
        decode::add(&pipeline, &options.input, &first)?;

        let mut hip = vec![upload.clone()];
        let [scale, download] =
            branch(&pipeline, &tee, "video", &options.encoder(video)?, options)?;
        let frames = count_frames(&download)?;
        hip.extend([scale, download]);
        let (sink, picture) = picture_sink()?;
        let tail = [make("pngenc", "png")?, sink];
        hip.extend(branch(&pipeline, &tee, "still", &tail, options)?);
        let thinned = pipeline
            .by_name("still-queue")
            .and_then(|queue| queue.static_pad("sink"));
        still::thin_out(&thinned.ok_or_else(|| build_error("the still branch has no queue"))?);
        let started = note_start(&upload)?;
        Ok(Self {
            pipeline,
            hip,
            upload,
            frames,
            started,
            picture,
        })
    }

    /// Plays to the end of the file or to the first error.
    fn run(
        &self,
        options: &Options,
        progress: &mut dyn FnMut(&Progress),
    ) -> Result<Report, DemoError> {
        let bus = self
            .pipeline
            .bus()
            .ok_or_else(|| build_error("the pipeline has no bus"))?;
        let refused = self.pipeline.set_state(gst::State::Playing).is_err();
        let mut missing = Vec::new();
        loop {
            let Some(message) = bus.timed_pop(TICK) else {
                if refused {
                    return Err(build_error(
                        "the pipeline does not start, and says no reason",
                    ));
                }
                progress(&self.progress());
                continue;
            };
            match message.view() {
                gst::MessageView::Eos(_) => return Ok(self.report(options)),
                gst::MessageView::Error(error) => return Err(explain(error, options, &missing)),
                gst::MessageView::Application(application)
                    if application
                        .structure()
                        .is_some_and(|s| s.name() == decode::NO_VIDEO) =>
                {
                    return Err(no_video(options, &missing));
                }
                gst::MessageView::Element(element) => {
                    let wanted = element
                        .structure()
                        .filter(|structure| structure.name() == "missing-plugin")
                        .and_then(|structure| structure.get::<String>("name").ok());
                    missing.extend(wanted);
                }
                _ => {}
            }
        }
    }

    fn elapsed(&self) -> Duration {
        let started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.map_or(Duration::ZERO, |start| start.elapsed())
    }

    fn progress(&self) -> Progress {
        let pad = self.upload.static_pad("sink");
        let duration = pad
            .as_ref()
            .and_then(|pad| pad.peer_query_duration::<gst::ClockTime>());
        let rate = pad
            .and_then(|pad| pad.current_caps())
            .and_then(|caps| caps.structure(0)?.get::<gst::Fraction>("framerate").ok());
        let total = duration.zip(rate).and_then(|(duration, rate)| {
            let (numerator, denominator) = (
                u64::try_from(rate.numer()).ok()?,
                u64::try_from(rate.denom()).ok()?,
            );
            duration.mul_div_round(numerator, denominator.checked_mul(1_000_000_000)?)
        });
        let total = total
            .map(gst::ClockTime::nseconds)
            .filter(|&total| total > 0);
        Progress::new(self.frames.load(Ordering::Relaxed), total, self.elapsed())
    }

    fn report(&self, options: &Options) -> Report {
        let caps = self
            .upload
            .static_pad("sink")
            .and_then(|pad| pad.current_caps());
        let elements = self
            .hip
            .iter()
            .map(|element| {
                let factory = element.factory().map(|factory| factory.name().to_string());
                (factory.unwrap_or_default(), plugin::device_info(element))
            })
            .collect();
        Report {
            input: caps
                .as_deref()
                .and_then(|caps| caps.structure(0))
                .map_or_else(String::new, words),
            size: options.size,
            elements,
            frames: self.frames.load(Ordering::Relaxed),
            elapsed: self.elapsed(),
            files: Vec::new(),
        }
    }
}

/// `640x360 I420, 25 frames/s` of raw video caps.
fn words(structure: &gst::StructureRef) -> String {
    let number = |field| structure.get::<i32>(field).unwrap_or_default();
    let format = structure.get::<String>("format").unwrap_or_default();
    let size = format!("{}x{} {format}", number("width"), number("height"));
    match structure.get::<gst::Fraction>("framerate") {
        Ok(rate) if rate.numer() > 0 && rate.denom() > 0 => {
            let rate = f64::from(rate.numer()) / f64::from(rate.denom());
            format!("{size}, {} frames/s", (rate * 100.0).round() / 100.0)
        }
        _ => size,
    }
}

/// `tee. ! queue ! hipconvertscale ! caps ! hipdownload ! queue ! tail`; returns the two
/// elements of the plugin.
fn branch(
    pipeline: &gst::Pipeline,
    tee: &gst::Element,
    name: &str,
    tail: &[gst::Element],
    options: &Options,
) -> Result<[gst::Element; 2], DemoError> {
    let device = options.device.as_deref();
    let queue = make("queue", &format!("{name}-queue"))?;
    let scale = plugin::element("hipconvertscale", &format!("{name}-convertscale"), device)?;
    let filter = make("capsfilter", &format!("{name}-caps"))?;
    // VP8 takes one format, and PNG is RGB.
    let format = if name == "video" { "I420" } else { "RGBA" };
    let caps = gst::Caps::builder("video/x-raw")
        .features(["memory:HIPMemory"])
        .field("format", format)
        .field("width", options.size.0)
        .field("height", options.size.1)
        .field("pixel-aspect-ratio", gst::Fraction::new(1, 1))
        .build();
    filter.set_property("caps", caps);
    let download = plugin::element("hipdownload", &format!("{name}-download"), device)?;
    let second = make("queue", &format!("{name}-downloaded"))?;
    let mut chain = vec![&queue, &scale, &filter, &download, &second];
    chain.extend(tail);
    pipeline
        .add_many(chain.iter().copied())
        .map_err(build_error)?;
    gst::Element::link_many(chain.iter().copied()).map_err(build_error)?;
    tee.link(&queue).map_err(build_error)?;
    Ok([scale, download])
}

impl Options {
    /// `vp8enc ! webmmux ! filesink`, set for speed rather than size.
    fn encoder(&self, video: &Path) -> Result<[gst::Element; 3], DemoError> {
        let encoder = make("vp8enc", "vp8")?;
        // libvpx's threads spin while they wait: on two cores, two of them took three times
        // as long as one.
        let threads = std::thread::available_parallelism().map_or(1, |n| (n.get() / 4).clamp(1, 4));
        let pixels = i64::from(self.size.0) * i64::from(self.size.1);
        // 4 bits a pixel and second: 3.7 Mbit/s at 1280x720, clean at the fastest setting.
        let bitrate = i32::try_from(4 * pixels).unwrap_or(i32::MAX).max(200_000);
        encoder.set_property("deadline", 1_i64);
        // Below zero, the speed is fixed; above, it is what real time leaves room for.
        encoder.set_property("cpu-used", -12_i32);
        encoder.set_property("threads", i32::try_from(threads).unwrap_or(1));
        encoder.set_property("target-bitrate", bitrate);
        encoder.set_property("keyframe-max-dist", 100_i32);
        let sink = make("filesink", "file")?;
        sink.set_property("location", video);
        sink.set_property("sync", false);
        sink.set_property("async", false);
        Ok([encoder, make("webmmux", "webm")?, sink])
    }
}

/// A sink that keeps the last picture it gets.
fn picture_sink() -> Result<(gst::Element, Picture), DemoError> {
    let sink = make("appsink", "picture")?;
    sink.set_property("sync", false);
    sink.set_property("async", false);
    let app = sink
        .clone()
        .downcast::<gst_app::AppSink>()
        .map_err(|_| build_error("no appsink"))?;
    let picture = Arc::new(Mutex::new(Vec::new()));
    let kept = picture.clone();
    app.set_callbacks(
        gst_app::AppSinkCallbacks::builder()
            .new_sample(move |app| {
                let sample = app.pull_sample().map_err(|_| gst::FlowError::Eos)?;
                let buffer = sample.buffer().ok_or(gst::FlowError::Error)?;
                let map = buffer.map_readable().map_err(|_| gst::FlowError::Error)?;
                *kept.lock().unwrap_or_else(PoisonError::into_inner) = map.to_vec();
                Ok(gst::FlowSuccess::Ok)
            })
            .build(),
    );
    Ok((sink, picture))
}

/// Counts what leaves `element`.
fn count_frames(element: &gst::Element) -> Result<Arc<AtomicU64>, DemoError> {
    let pad = element
        .static_pad("src")
        .ok_or_else(|| build_error("no src pad"))?;
    let frames = Arc::new(AtomicU64::new(0));
    let counter = frames.clone();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        counter.fetch_add(1, Ordering::Relaxed);
        gst::PadProbeReturn::Ok
    });
    Ok(frames)
}

/// Notes when the first frame reaches `element`.
fn note_start(element: &gst::Element) -> Result<Arc<Mutex<Option<Instant>>>, DemoError> {
    let pad = element
        .static_pad("sink")
        .ok_or_else(|| build_error("no sink pad"))?;
    let started = Arc::new(Mutex::new(None));
    let note = started.clone();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, _| {
        *note.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        gst::PadProbeReturn::Remove
    });
    Ok(started)
}

/// No stream came out as video: there is none, or nothing decodes it.
fn no_video(options: &Options, missing: &[String]) -> DemoError {
    if missing.is_empty() {
        DemoError::NoVideo(options.input.clone())
    } else {
        missing_decoder(options, missing)
    }
}

fn missing_decoder(options: &Options, missing: &[String]) -> DemoError {
    let missing = if missing.is_empty() {
        "unknown".to_owned()
    } else {
        missing.join(", ")
    };
    DemoError::MissingDecoder {
        input: options.input.clone(),
        missing,
    }
}

/// An error message in the words of the person who started this.
fn explain(error: &gst::message::Error, options: &Options, missing: &[String]) -> DemoError {
    let cause = error.error();
    if cause.matches(gst::CoreError::MissingPlugin)
        || cause.matches(gst::StreamError::CodecNotFound)
    {
        return missing_decoder(options, missing);
    }
    // The debug text's first line says where in GStreamer's sources; the rest is for people.
    let debug = error.debug().unwrap_or_default();
    let detail = debug
        .split_once('\n')
        .map_or("", |(_, detail)| detail)
        .trim();
    let mut message = cause.message().to_owned();
    if !detail.is_empty() && !message.contains(detail) {
        message = format!("{message}\n{detail}");
    }
    if cause.is::<gst::StreamError>() {
        return DemoError::Undecodable {
            input: options.input.clone(),
            message,
        };
    }
    let element = error
        .src()
        .map_or_else(|| "pipeline".into(), |source| source.name().to_string());
    DemoError::Pipeline { element, message }
}
