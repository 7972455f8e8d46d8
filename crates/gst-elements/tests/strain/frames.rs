//! Frames that can be told apart, and pipelines that are checked frame by frame.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use gst::prelude::*;
use gst_hip::{Device, HipBufferPool, MemoryKind};
use gst_video::prelude::*;
use hip_oracle::{FrameInfo, Image, Method, RealImage, Rect};

use crate::common::{caps_of, image_of, random_image};
use crate::sim::Sim;

/// From one frame's time stamp to the next one's; a frame's time stamp is its number.
pub(crate) const STEP: gst::ClockTime = gst::ClockTime::from_mseconds(40);
/// What a test waits for anything.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The picture of frame `number`: random bytes, others for every frame.
pub(crate) fn picture(info: FrameInfo, number: u64) -> Image {
    random_image(info, 1 + number)
}

/// What a frame becomes, stretched to `output`.
pub(crate) fn converted(image: &Image, output: FrameInfo) -> RealImage {
    let (all, whole) = (Rect::full(&image.info), Rect::full(&output));
    hip_oracle::convert(image, all, &output, whole, Method::Auto)
}

/// Writes a picture into a buffer through a CPU map, and makes it frame `number`.
pub(crate) fn fill(buffer: &mut gst::BufferRef, image: &Image, number: u64) {
    stamp(buffer, number);
    let info = gst_video::VideoInfo::from_caps(&caps_of(&image.info)).expect("video caps");
    let mut frame = gst_video::VideoFrameRef::from_buffer_ref_writable(buffer, &info)
        .expect("the CPU can write the frame");
    for (index, plane) in image.planes.iter().enumerate() {
        let stride = frame.plane_stride()[index] as usize;
        let data = frame
            .plane_data_mut(index as u32)
            .expect("the plane is there");
        for row in 0..plane.rows {
            let from = plane.offset + row * plane.stride;
            data[row * stride..row * stride + plane.row_bytes]
                .copy_from_slice(&plane.data[from..from + plane.row_bytes]);
        }
    }
}

/// Makes a buffer frame `number`.
pub(crate) fn stamp(buffer: &mut gst::BufferRef, number: u64) {
    buffer.set_pts(STEP * number);
    buffer.set_duration(STEP);
}

/// Which frame a buffer is.
pub(crate) fn number_of(buffer: &gst::BufferRef) -> u64 {
    buffer.pts().expect("a time stamp") / STEP
}

/// An active pool of exactly two buffers.
pub(crate) fn pool_of_two(device: &Device, kind: MemoryKind, caps: &gst::Caps) -> HipBufferPool {
    let pool = HipBufferPool::new(device, kind);
    pool.configure(caps, 0, 2, 2)
        .expect("a valid configuration");
    pool.set_active(true).expect("room for two frames");
    pool
}

/// A pipeline from a launch line.
pub(crate) fn pipeline(line: &str) -> gst::Pipeline {
    let bin = gst::parse::launch(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    bin.downcast().expect("several elements are a pipeline")
}

/// The `appsrc` of that name.
pub(crate) fn source(pipeline: &gst::Pipeline, name: &str) -> gst_app::AppSrc {
    pipeline
        .by_name(name)
        .expect("the source")
        .downcast()
        .expect("an appsrc")
}

/// A frame at a sink: its number, and what is wrong with it.
pub(crate) type Arrival = (u64, Result<(), String>);

/// What arrived at a sink, whose frames are compared as a whole.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<(Mutex<Vec<Arrival>>, Condvar)>);

impl Arrivals {
    /// Compares what comes to the `appsink` of that name with what `expected` makes of the number.
    pub(crate) fn at(
        pipeline: &gst::Pipeline,
        name: &str,
        output: FrameInfo,
        sim: Option<Arc<Sim>>,
        expected: impl Fn(u64) -> RealImage + Send + 'static,
    ) -> Arrivals {
        let arrivals = Arrivals::default();
        let target = arrivals.clone();
        let sink = pipeline.by_name(name).expect("the sink");
        let sink: gst_app::AppSink = sink.downcast().expect("an appsink");
        let take = move |sample: Result<gst::Sample, _>| {
            let sample = sample.map_err(|_| gst::FlowError::Eos)?;
            let buffer = sample.buffer().ok_or(gst::FlowError::Error)?;
            let number = number_of(buffer);
            // What cannot be mapped is an error of the stream, as it would be in any element.
            drop(buffer.map_readable().map_err(|_| gst::FlowError::Error)?);
            let image = image_of(buffer, output);
            if let Some(sim) = &sim {
                sim.check_read(&buffer.map_readable().map_err(|_| gst::FlowError::Error)?);
            }
            let report = hip_oracle::compare(&expected(number), &image);
            target.push((number, report.check(1.0)));
            Ok(gst::FlowSuccess::Ok)
        };
        let callbacks =
            gst_app::AppSinkCallbacks::builder().new_sample(move |sink| take(sink.pull_sample()));
        sink.set_callbacks(callbacks.build());
        arrivals
    }

    /// Notes one more.
    pub(crate) fn push(&self, arrival: Arrival) {
        self.lock().push(arrival);
        self.0.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arrival>> {
        self.0
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// How many arrived so far.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// Waits until so many have arrived.
    pub(crate) fn wait_for(&self, count: usize) {
        let end = Instant::now() + PATIENCE;
        let mut arrived = self.lock();
        while arrived.len() < count {
            let left = end.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "{} of {count} frames arrived",
                arrived.len()
            );
            arrived = self
                .0
                .1
                .wait_timeout(arrived, left)
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .0;
        }
    }

    /// Takes what arrived so far.
    pub(crate) fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.lock())
    }

    /// As [`Arrivals::take`]; fails if a frame was not what it should be.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let number = |(number, compared): Arrival| {
            compared.unwrap_or_else(|why| panic!("frame {number}: {why}"));
            number
        };
        self.take().into_iter().map(number).collect()
    }
}

/// Waits for the end of the stream; fails on an error.
pub(crate) fn wait_for_end(pipeline: &gst::Pipeline) {
    let bus = pipeline.bus().expect("a pipeline has a bus");
    let ends = [gst::MessageType::Eos, gst::MessageType::Error];
    let patience = gst::ClockTime::from_seconds(PATIENCE.as_secs());
    let message = bus
        .timed_pop_filtered(patience, &ends)
        .expect("the stream ends");
    if let gst::MessageView::Error(error) = message.view() {
        panic!("{} ({:?})", error.error(), error.debug());
    }
}
