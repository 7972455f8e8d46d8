//! Kernel time a frame, against a copy within the device that moves as many bytes.
//!
//! GPU time comes from events round a batch; wall time is the same batch from the first call to the
//! end of the device's work. Buffers rotate, so that a frame is not still in a cache.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gst_hip::FrameLayout;
use gst_video::{VideoFormat, VideoInfo};
use hip_benches::{Options, ROTATION, Result, Table};
use hip_core::{Device, DeviceBuffer, MemsetValue, Stream};
use hip_video::{
    Converter, ConverterConfig, FrameDescription, FrameView, FrameViewMut, Method, PlaneView,
};

/// Source and destination: format, and a divisor of the size asked for.
type Case = (&'static str, u32, &'static str, u32, Method);

const CASES: [Case; 11] = [
    ("NV12", 1, "RGBA", 1, Method::Bilinear),
    ("NV12", 1, "RGBP", 1, Method::Bilinear),
    ("RGBA", 1, "NV12", 1, Method::Bilinear),
    ("NV12", 1, "I420", 1, Method::Bilinear),
    ("RGBA", 1, "BGRA", 1, Method::Bilinear),
    ("P010_10LE", 1, "NV12", 1, Method::Bilinear),
    ("P010_10LE", 1, "RGBA", 1, Method::Bilinear),
    ("NV12", 1, "NV12", 2, Method::Bilinear),
    ("NV12", 1, "RGBA", 2, Method::Bilinear),
    ("NV12", 2, "NV12", 1, Method::Bilinear),
    ("NV12", 2, "RGBA", 1, Method::Nearest),
];

/// Seconds a repetition took on the device, and from the CPU's side.
struct Time {
    gpu: f64,
    wall: f64,
}

fn main() -> Result<()> {
    let options = Options::from_args("Measures conversions against copies of as many bytes.")?;
    let device = options.open()?;
    let stream = Stream::new(&device)?;
    let mut table = Table::new(&[
        "conversion",
        "GPU us",
        "wall us",
        "GB/s",
        "copy GB/s",
        "of a copy",
    ]);
    for case in CASES {
        table.row(measure(&options, &device, &stream, case)?);
    }
    println!();
    table.print();
    Ok(())
}

fn measure(options: &Options, device: &Device, stream: &Stream, case: Case) -> Result<Vec<String>> {
    let (from, from_divisor, to, to_divisor, method) = case;
    let source = Frames::new(options, device, stream, from, from_divisor)?;
    let destination = Frames::new(options, device, stream, to, to_divisor)?;
    let mut config = ConverterConfig::new(
        FrameDescription::from_video_info(source.layout.video_info())?,
        FrameDescription::from_video_info(destination.layout.video_info())?,
    );
    config.method = method;
    let converter = Converter::new(device, &config)?;
    let convert = |index: usize| {
        // SAFETY: the layouts describe frames inside these buffers, which live until `time` has
        // waited for the device; nothing else is on the device.
        let (source, destination) = unsafe {
            let (source, destination) = (source.planes(index), destination.planes(index));
            (FrameView::new(&source), FrameViewMut::new(&destination))
        };
        Ok(converter.convert(stream, &source, &destination)?)
    };
    let converted = time(device, stream, options.duration, convert)?;

    // A copy reads and writes: half of the conversion's bytes make as much traffic.
    let bytes = source.bytes() + destination.bytes();
    let half = (bytes / 2).next_multiple_of(256);
    let (reads, writes) = (
        buffers(device, stream, half)?,
        buffers(device, stream, half)?,
    );
    let copy = |index: usize| {
        let (to, from) = (&writes[index % ROTATION], &reads[index % ROTATION]);
        Ok(stream.copy_dtod(to, 0, from, 0, half)?)
    };
    let copied = time(device, stream, options.duration, copy)?;
    let rate = |seconds: f64| bytes as f64 / seconds / 1e9;
    Ok(vec![
        format!("{} to {} {method:?}", source.name(), destination.name()),
        format!("{:.1}", converted.gpu * 1e6),
        format!("{:.1}", converted.wall * 1e6),
        format!("{:.1}", rate(converted.gpu)),
        format!("{:.1}", rate(copied.gpu)),
        format!("{:.1} %", 100.0 * copied.gpu / converted.gpu),
    ])
}

/// Repeats work in batches for at least `duration`; the batch in the middle of the order counts.
fn time(
    device: &Device,
    stream: &Stream,
    duration: Duration,
    mut work: impl FnMut(usize) -> Result<()>,
) -> Result<Time> {
    const BATCH: usize = 8 * ROTATION;
    for index in 0..ROTATION {
        work(index)?;
    }
    device.synchronize()?;
    let (begin, mut batches) = (Instant::now(), Vec::new());
    while begin.elapsed() < duration || batches.len() < 3 {
        let (start, first) = (Instant::now(), stream.record_timed()?);
        for index in 0..BATCH {
            work(index)?;
        }
        let last = stream.record_timed()?;
        device.synchronize()?;
        let wall = start.elapsed().as_secs_f64() / BATCH as f64;
        let gpu = f64::from(last.elapsed_ms(&first)?) / 1e3 / BATCH as f64;
        batches.push(Time { gpu, wall });
    }
    batches.sort_by(|a, b| a.gpu.total_cmp(&b.gpu));
    let middle = batches.len() / 2;
    Ok(batches.swap_remove(middle))
}

/// A rotation of frames.
struct Frames {
    layout: FrameLayout,
    buffers: Vec<Arc<DeviceBuffer>>,
}

impl Frames {
    fn new(
        options: &Options,
        device: &Device,
        stream: &Stream,
        format: &str,
        divisor: u32,
    ) -> Result<Frames> {
        let format: VideoFormat = format.parse()?;
        let (width, height) = (options.width / divisor, options.height / divisor);
        let info = VideoInfo::builder(format, width, height).build()?;
        let layout = FrameLayout::new(&info, device.info().limits.pitch_alignment)?;
        let buffers = buffers(device, stream, layout.size())?;
        Ok(Frames { layout, buffers })
    }

    fn planes(&self, index: usize) -> Vec<PlaneView> {
        let base = self.buffers[index % ROTATION].as_raw();
        let planes = self.layout.offsets().iter().zip(self.layout.strides());
        planes
            .map(|(&offset, &stride)| PlaneView {
                ptr: base.offset(offset),
                stride,
            })
            .collect()
    }

    /// Bytes of samples, without padding.
    fn bytes(&self) -> usize {
        let info = self.layout.video_info();
        let rows = |component: u8| {
            let pixel = info.comp_depth(component).div_ceil(8) as usize;
            info.comp_width(component) as usize * info.comp_height(component) as usize * pixel
        };
        (0..info.n_components() as u8).map(rows).sum()
    }

    fn name(&self) -> String {
        let info = self.layout.video_info();
        format!("{} {}x{}", info.format(), info.width(), info.height())
    }
}

fn buffers(device: &Device, stream: &Stream, size: usize) -> Result<Vec<Arc<DeviceBuffer>>> {
    let size = size.next_multiple_of(4);
    let make = |_| {
        let buffer = Arc::new(DeviceBuffer::new(device, size)?);
        stream.fill(&buffer, 0, size, MemsetValue::U32(0x5aa5_8040))?;
        Ok(buffer)
    };
    (0..ROTATION).map(make).collect()
}
