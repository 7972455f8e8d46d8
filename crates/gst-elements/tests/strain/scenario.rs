//! The scenario in which every call fails once: start, ten frames with other caps from the sixth on,
//! stop.

use std::sync::OnceLock;

use gst::prelude::*;
use hip_oracle::{Format, FrameInfo, Image, RealImage};

use crate::common::{caps_of, hip_caps_of, init, launch_line};
use crate::frames::{Arrivals, converted, fill, picture, pipeline, source};

/// Frames sent.
pub(crate) const FRAMES: u64 = 10;
/// The name of the thread that an application would be; of its own, so that faults can name it.
pub(crate) const APPLICATION: &str = "application";
/// What frames become.
const OUTPUT: fn() -> FrameInfo = || FrameInfo::new(Format::Rgba, 40, 30);

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum End {
    /// All frames arrived as they should be.
    Whole,
    /// An error on the bus, and its text.
    Error(String),
    /// What must never be; the text says what it was.
    Wrong(String),
}

/// Pictures and what becomes of them, made once.
fn pictures() -> &'static [(Image, RealImage)] {
    static PICTURES: OnceLock<Vec<(Image, RealImage)>> = OnceLock::new();
    PICTURES.get_or_init(|| {
        let info = |number| match number < FRAMES / 2 {
            true => FrameInfo::new(Format::Nv12, 64, 48),
            false => FrameInfo::new(Format::I420, 80, 50),
        };
        let picture = |number| picture(info(number), number);
        let pair = |image: Image| {
            let expected = converted(&image, OUTPUT());
            (image, expected)
        };
        (0..FRAMES).map(picture).map(pair).collect()
    })
}

fn push(src: &gst_app::AppSrc) {
    for (number, (image, _)) in (0..).zip(pictures()) {
        let caps = caps_of(&image.info);
        let info = gst_video::VideoInfo::from_caps(&caps).expect("video caps");
        let mut buffer = gst::Buffer::with_size(info.size()).expect("ordinary memory");
        fill(buffer.get_mut().expect("a new buffer"), image, number);
        let sample = gst::Sample::builder().buffer(&buffer).caps(&caps).build();
        // Refused once an error has stopped the stream.
        if src.push_sample(&sample).is_err() {
            return;
        }
    }
    let _ = src.end_of_stream();
}

/// Plays the scenario once. All that it made is dropped when it returns.
pub(crate) fn play() -> End {
    init();
    let line = format!(
        "appsrc name=src format=time ! {} ! {} ! {} ! {} ! appsink name=sink sync=false",
        launch_line("hipupload"),
        launch_line("hipconvertscale add-borders=false"),
        hip_caps_of(&OUTPUT()),
        launch_line("hipdownload"),
    );
    let pipeline = pipeline(&line);
    let expected = |number: u64| pictures()[number as usize].1.clone();
    let arrivals = Arrivals::at(&pipeline, "sink", OUTPUT(), None, expected);
    let started = pipeline.set_state(gst::State::Playing);
    let ends = [gst::MessageType::Eos, gst::MessageType::Error];
    let bus = pipeline.bus().expect("a pipeline has a bus");
    let message = match started {
        Ok(_) => {
            push(&source(&pipeline, "src"));
            bus.timed_pop_filtered(gst::ClockTime::from_seconds(20), &ends)
        }
        Err(_) => bus.pop_filtered(&[gst::MessageType::Error]),
    };
    let stopped = pipeline.set_state(gst::State::Null);
    let arrived = arrivals.take();
    if let Some((number, Err(why))) = arrived.iter().find(|(_, compared)| compared.is_err()) {
        return End::Wrong(format!("frame {number}: {why}"));
    }
    if stopped.is_err() {
        return End::Wrong("it cannot be stopped".into());
    }
    let numbers: Vec<u64> = arrived.iter().map(|(number, _)| *number).collect();
    let whole: Vec<u64> = (0..FRAMES).collect();
    match message.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Error(error)) => End::Error(error.error().to_string()),
        Some(_) if numbers == whole => End::Whole,
        Some(_) => End::Wrong(format!("no error, and only frames {numbers:?}")),
        None => End::Wrong(format!("neither an end nor an error; start: {started:?}")),
    }
}
