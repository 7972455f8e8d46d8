//! Kernel time a frame, against what moves as many bytes: a kernel that reads and writes as much in
//! 16-byte accesses and computes nothing, and the driver's own copy.
//!
//! GPU time comes from events round a batch; wall time is the same batch from the first call to the
//! end of the device's work. Buffers rotate, so that a frame is not still in a cache.

use std::sync::Arc;
use std::time::Instant;

use gst_hip::FrameLayout;
use gst_video::{VideoFormat, VideoInfo};
use hip_benches::{Options, ROTATION, Result, Table};
use hip_core::{Device, DeviceBuffer, MemsetValue, Stream};
use hip_rtc::{Function, KernelArgs, KernelModule, LaunchConfig};
use hip_video::{
    Converter, ConverterConfig, FrameDescription, FrameView, FrameViewMut, Method, Normalisation,
    PixelFormat, PlaneView,
};

/// Source and destination: format, and a divisor of the size asked for.
type Case = (&'static str, u32, &'static str, u32, Method);

const CASES: [Case; 15] = [
    ("NV12", 1, "RGBA", 1, Method::Bilinear),
    ("I420", 1, "RGBP", 1, Method::Bilinear),
    ("I420", 1, "BGRx", 1, Method::Bilinear),
    ("NV12", 1, "RGBP", 1, Method::Bilinear),
    ("RGBA", 1, "NV12", 1, Method::Bilinear),
    ("NV12", 1, "I420", 1, Method::Bilinear),
    ("RGBA", 1, "BGRA", 1, Method::Bilinear),
    ("P010_10LE", 1, "NV12", 1, Method::Bilinear),
    ("P010_10LE", 1, "RGBA", 1, Method::Bilinear),
    ("NV12", 1, "NV12", 2, Method::Bilinear),
    ("NV12", 1, "RGBA", 2, Method::Bilinear),
    ("NV12", 1, "RGBA", 2, Method::Area),
    ("NV12", 1, "Y444", 1, Method::Bilinear),
    ("NV12", 2, "NV12", 1, Method::Bilinear),
    ("NV12", 2, "RGBA", 1, Method::Nearest),
];

/// Seconds a repetition took on the device, and from the CPU's side.
struct Time {
    gpu: f64,
    wall: f64,
}

/// Reads `reads` and writes `writes` words of 16 bytes.
const STREAMING: &str = r#"
extern "C" __global__ void __launch_bounds__(256)
streaming(const uint4* from, uint4* to, unsigned reads, unsigned writes) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 word = make_uint4(i, i, i, i);
    if (i < reads) {
        const uint4 read = from[i];
        word.x ^= read.x; word.y ^= read.y; word.z ^= read.z; word.w ^= read.w;
    }
    // Never true, but the compiler cannot know: where less is written, reads are not left out.
    if (i < writes || word.x == 0x12345u) to[i < writes ? i : 0] = word;
}
"#;

/// What everything is measured on.
struct Bench {
    options: Options,
    device: Device,
    stream: Stream,
    /// `None`, with the reason printed, where nothing can be compiled.
    streaming: Option<Function>,
}

fn main() -> Result<()> {
    let options = Options::from_args("Measures conversions against the traffic they make.")?;
    let device = options.open()?;
    let streaming = KernelModule::from_source(&device, STREAMING, &[])
        .and_then(|module| module.function("streaming"))
        .inspect_err(|error| println!("no streaming kernel to compare with: {error}"))
        .ok();
    let stream = Stream::new(&device)?;
    let bench = Bench {
        options,
        device,
        stream,
        streaming,
    };
    let mut table = Table::new(&[
        "conversion",
        "GPU us",
        "wall us",
        "GB/s",
        "streaming us",
        "of streaming",
        "of a copy",
    ]);
    for case in CASES {
        table.row(bench.measure(case)?);
    }
    table.row(bench.measure_model()?);
    println!();
    table.print();
    Ok(())
}

impl Bench {
    fn measure(&self, case: Case) -> Result<Vec<String>> {
        let (from, from_divisor, to, to_divisor, method) = case;
        let source = Frames::new(self, from, from_divisor)?;
        let destination = Frames::new(self, to, to_divisor)?;
        let mut config = ConverterConfig::new(
            FrameDescription::from_video_info(source.layout.video_info())?,
            FrameDescription::from_video_info(destination.layout.video_info())?,
        );
        config.method = method;
        let name = format!("{} to {} {method:?}", source.name(), destination.name());
        let planes = |index: usize| (source.planes(index), destination.planes(index));
        self.row(name, &config, planes, [source.bytes(), destination.bytes()])
    }

    /// What a model wants: planes of 32-bit floats, normalised, from the average of each pixel's area.
    fn measure_model(&self) -> Result<Vec<String>> {
        const SIZE: u32 = 640;
        let source = Frames::new(self, "NV12", 1)?;
        let plane = (SIZE * SIZE * 4) as usize;
        let outputs = self.buffers(3 * plane)?;
        let input = FrameDescription::from_video_info(source.layout.video_info())?;
        let output = FrameDescription::new(PixelFormat::RgbpF32, SIZE, SIZE);
        let mut config = ConverterConfig::new(input, output);
        config.method = Method::Area;
        config.normalisation = Some(Normalisation {
            mean: [0.485, 0.456, 0.406],
            scale: [1.0 / 0.229, 1.0 / 0.224, 1.0 / 0.225],
        });
        let planes = |index: usize| {
            let base = outputs[index % ROTATION].as_raw();
            let view = |number: usize| PlaneView {
                ptr: base.offset(number * plane),
                stride: (SIZE * 4) as i32,
            };
            (source.planes(index), (0..3).map(view).collect())
        };
        let name = format!("{} to RgbpF32 {SIZE}x{SIZE} Area", source.name());
        self.row(name, &config, planes, [source.bytes(), 3 * plane])
    }

    /// One conversion and its yardsticks; `bytes` are read and written.
    fn row(
        &self,
        name: String,
        config: &ConverterConfig,
        planes: impl Fn(usize) -> (Vec<PlaneView>, Vec<PlaneView>),
        bytes: [usize; 2],
    ) -> Result<Vec<String>> {
        let converter = Converter::new(&self.device, config)?;
        let converted = self.time(|index| {
            let (source, destination) = planes(index);
            // SAFETY: the planes lie inside buffers that live until `time` has waited for the
            // device; nothing else is on the device.
            let (source, destination) =
                unsafe { (FrameView::new(&source), FrameViewMut::new(&destination)) };
            Ok(converter.convert(&self.stream, &source, &destination)?)
        })?;
        let streamed = self.stream_bytes(bytes)?;
        let copied = self.copy_bytes(bytes.iter().sum())?;
        let rate = bytes.iter().sum::<usize>() as f64 / converted.gpu / 1e9;
        let part = |other: f64| format!("{:.1} %", 100.0 * other / converted.gpu);
        Ok(vec![
            name,
            format!("{:.1}", converted.gpu * 1e6),
            format!("{:.1}", converted.wall * 1e6),
            format!("{rate:.1}"),
            streamed.map_or("-".into(), |seconds| format!("{:.1}", seconds * 1e6)),
            streamed.map_or("-".into(), part),
            part(copied),
        ])
    }

    /// Seconds of the streaming kernel.
    fn stream_bytes(&self, bytes: [usize; 2]) -> Result<Option<f64>> {
        let Some(streaming) = &self.streaming else {
            return Ok(None);
        };
        let [reads, writes] = bytes.map(|bytes| bytes.div_ceil(16));
        let [from, to] = [self.buffers(16 * reads)?, self.buffers(16 * writes)?];
        let launch = LaunchConfig::for_num_elems(reads.max(writes) as u32);
        let time = self.time(|index| {
            let mut args = KernelArgs::new();
            args.add(from[index % ROTATION].as_raw());
            args.add(to[index % ROTATION].as_raw());
            args.add(reads as u32);
            args.add(writes as u32);
            // SAFETY: the buffers have so many words, and live until `time` has waited.
            Ok(unsafe { streaming.launch(Some(&self.stream), &launch, &args) }?)
        })?;
        Ok(Some(time.gpu))
    }

    /// Seconds of a copy that makes as much traffic: it reads and writes half of the bytes.
    fn copy_bytes(&self, bytes: usize) -> Result<f64> {
        let half = (bytes / 2).next_multiple_of(256);
        let [reads, writes] = [self.buffers(half)?, self.buffers(half)?];
        let time = self.time(|index| {
            let (to, from) = (&writes[index % ROTATION], &reads[index % ROTATION]);
            Ok(self.stream.copy_dtod(to, 0, from, 0, half)?)
        })?;
        Ok(time.gpu)
    }

    /// Repeats work in batches for as long as asked for; the batch in the middle of the order counts.
    fn time(&self, mut work: impl FnMut(usize) -> Result<()>) -> Result<Time> {
        let (device, stream) = (&self.device, &self.stream);
        const BATCH: usize = 8 * ROTATION;
        for index in 0..ROTATION {
            work(index)?;
        }
        device.synchronize()?;
        let (begin, mut batches) = (Instant::now(), Vec::new());
        while begin.elapsed() < self.options.duration || batches.len() < 3 {
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

    fn buffers(&self, size: usize) -> Result<Vec<Arc<DeviceBuffer>>> {
        let size = size.next_multiple_of(4);
        let make = |_| {
            let buffer = Arc::new(DeviceBuffer::new(&self.device, size)?);
            self.stream
                .fill(&buffer, 0, size, MemsetValue::U32(0x5aa5_8040))?;
            Ok(buffer)
        };
        (0..ROTATION).map(make).collect()
    }
}

/// A rotation of frames.
struct Frames {
    layout: FrameLayout,
    buffers: Vec<Arc<DeviceBuffer>>,
}

impl Frames {
    fn new(bench: &Bench, format: &str, divisor: u32) -> Result<Frames> {
        let format: VideoFormat = format.parse()?;
        let (width, height) = (
            bench.options.width / divisor,
            bench.options.height / divisor,
        );
        let info = VideoInfo::builder(format, width, height).build()?;
        let layout = FrameLayout::new(&info, bench.device.info().limits.pitch_alignment)?;
        let buffers = bench.buffers(layout.size())?;
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
