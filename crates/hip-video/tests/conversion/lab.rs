//! The device under test, and one conversion on it.

use std::fmt;
use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, DeviceSelector, PinnedBuffer, Stream};
use hip_oracle::{FrameInfo, Image, Layout, Method, Rect, Report, Rng};
use hip_video::{
    ChromaSite, Converter, ConverterConfig, FrameDescription, FrameView, FrameViewMut, Kernels,
    Matrix, PixelFormat, PlaneView, Range,
};

/// Largest error that passes, in code values of the depth. Rounding the exact value gives up to
/// 0.5; the rest is room for single precision and for positions in fixed point.
pub(crate) const TOLERANCE: f64 = 0.55;

/// Room for the largest frame of the tests with its guards.
const BYTES: usize = 1 << 20;

/// One conversion.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) source: FrameInfo,
    pub(crate) source_rect: Rect,
    pub(crate) destination: FrameInfo,
    pub(crate) destination_rect: Rect,
    pub(crate) method: Method,
    /// For content, strides and alignment.
    pub(crate) seed: u64,
}

impl Case {
    /// All of one frame to all of another.
    pub(crate) fn new(
        source: FrameInfo,
        destination: FrameInfo,
        method: Method,
        seed: u64,
    ) -> Case {
        let (source_rect, destination_rect) = (Rect::full(&source), Rect::full(&destination));
        Case {
            source,
            source_rect,
            destination,
            destination_rect,
            method,
            seed,
        }
    }

    pub(crate) fn config(&self) -> ConverterConfig {
        let (input, output) = (description(&self.source), description(&self.destination));
        let mut config = ConverterConfig::new(input, output);
        config.method = match self.method {
            Method::Bilinear => hip_video::Method::Bilinear,
            Method::Nearest => hip_video::Method::Nearest,
        };
        config.src_rect = Some(rect(self.source_rect));
        config.dst_rect = Some(rect(self.destination_rect));
        config
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let frame = |info: &FrameInfo, rect: &Rect| {
            format!(
                "{} {}x{} {:?} {:?} {:?}, {}x{} at ({}, {})",
                info.format.name(),
                info.width,
                info.height,
                info.matrix,
                info.range,
                info.site,
                rect.width,
                rect.height,
                rect.x,
                rect.y
            )
        };
        let source = frame(&self.source, &self.source_rect);
        let destination = frame(&self.destination, &self.destination_rect);
        write!(
            f,
            "{source} -> {destination}, {:?}, seed {}",
            self.method, self.seed
        )
    }
}

fn rect(rect: Rect) -> hip_video::Rect {
    hip_video::Rect {
        x: rect.x as u32,
        y: rect.y as u32,
        width: rect.width as u32,
        height: rect.height as u32,
    }
}

/// The oracle's description of a frame in this crate's words.
pub(crate) fn description(info: &FrameInfo) -> FrameDescription {
    FrameDescription {
        format: PixelFormat::from_name(info.format.name()).expect("both know the same formats"),
        width: info.width as u32,
        height: info.height as u32,
        matrix: match info.matrix {
            hip_oracle::Matrix::Bt601 => Matrix::Bt601,
            hip_oracle::Matrix::Bt709 => Matrix::Bt709,
            hip_oracle::Matrix::Bt2020 => Matrix::Bt2020,
        },
        range: match info.range {
            hip_oracle::Range::Limited => Range::Limited,
            hip_oracle::Range::Full => Range::Full,
        },
        site: match info.site {
            hip_oracle::ChromaSite::Left => ChromaSite::Left,
            hip_oracle::ChromaSite::Centre => ChromaSite::Centre,
            hip_oracle::ChromaSite::TopLeft => ChromaSite::TopLeft,
            hip_oracle::ChromaSite::Top => ChromaSite::Top,
            hip_oracle::ChromaSite::BottomLeft => ChromaSite::BottomLeft,
            hip_oracle::ChromaSite::Bottom => ChromaSite::Bottom,
        },
    }
}

/// Memory on both sides for one frame, used again for every conversion.
struct Store {
    device: DeviceBuffer,
    pinned: PinnedBuffer,
}

impl Store {
    fn new(device: &Device) -> Store {
        Store {
            device: DeviceBuffer::new(device, BYTES).expect("device memory"),
            pinned: PinnedBuffer::new(device, BYTES).expect("pinned memory"),
        }
    }

    /// Copies a frame's planes to the device, one behind the other, and returns where they begin.
    fn upload(&mut self, stream: &Stream, image: &Image) -> Vec<PlaneView> {
        let mut views = Vec::new();
        let mut used = 0;
        for plane in &image.planes {
            self.pinned
                .write(used, &plane.data)
                .expect("the frame fits");
            let ptr = self.device.as_raw().offset(used + plane.offset);
            views.push(PlaneView {
                ptr,
                stride: plane.stride as i32,
            });
            used += plane.data.len().next_multiple_of(256);
        }
        // SAFETY: both buffers have BYTES bytes, `used` is at most that because the writes
        // succeeded, and every use of the lab ends with the stream synchronised.
        let copied = unsafe {
            stream.copy_htod_raw(self.device.as_raw(), self.pinned.as_ptr(), used.min(BYTES))
        };
        copied.expect("a copy");
        views
    }

    /// Copies the planes back into the frame, behind everything on the stream.
    fn download(&self, stream: &Stream, image: &mut Image) {
        let ends = image
            .planes
            .iter()
            .map(|plane| plane.data.len().next_multiple_of(256));
        let used = ends.sum::<usize>().min(BYTES);
        // SAFETY: as for the upload; the CPU reads behind the synchronisation below.
        let copied =
            unsafe { stream.copy_dtoh_raw(self.pinned.as_ptr(), self.device.as_raw(), used) };
        copied.expect("a copy");
        stream.synchronize().expect("the conversion runs");
        let mut start = 0;
        for plane in &mut image.planes {
            for (index, byte) in plane.data.iter_mut().enumerate() {
                // SAFETY: inside the buffer, whose bytes the copy that is done has written.
                *byte = unsafe { self.pinned.as_ptr().add(start + index).read() };
            }
            start += plane.data.len().next_multiple_of(256);
        }
    }
}

/// A device, a stream and memory.
pub(crate) struct Lab {
    pub(crate) device: Device,
    stream: Stream,
    source: Store,
    destination: Store,
    /// Kept so that kernels stay loaded from one conversion to the next.
    _kernels: Arc<Kernels>,
}

impl Lab {
    /// The device that `HIP_TEST_VENDOR` names (default `host`); `None`, with the reason printed, if
    /// it is not there. With `HIP_TEST_REQUIRE` set that is a failure.
    pub(crate) fn open() -> Option<Lab> {
        let wanted = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".to_owned());
        let selector: DeviceSelector = wanted.parse().expect("HIP_TEST_VENDOR names a device");
        match Device::open(&selector) {
            Ok(device) => Some(Lab {
                stream: Stream::new(&device).expect("a stream"),
                source: Store::new(&device),
                destination: Store::new(&device),
                _kernels: Kernels::of(&device),
                device,
            }),
            Err(error) => {
                assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
                println!("skipped: {error}");
                None
            }
        }
    }

    /// Converts `source` on the device into a frame of canaries, which it checks.
    pub(crate) fn convert(&mut self, case: &Case, source: &Image, layout: Layout) -> Image {
        let mut destination = Image::with_layout(case.destination, layout);
        destination.fill_bytes(0xa5);
        destination.fill_canaries(case.seed);
        let converter = Converter::new(&self.device, &case.config())
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let from = self.source.upload(&self.stream, source);
        let to = self.destination.upload(&self.stream, &destination);
        // SAFETY: the planes lie in the lab's buffers with all their rows, and nothing else uses
        // those before the download has synchronised the stream.
        let (from, to) = unsafe { (FrameView::new(&from), FrameViewMut::new(&to)) };
        converter
            .convert(&self.stream, &from, &to)
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        self.destination.download(&self.stream, &mut destination);
        if let Err(fault) = destination.check_canaries(case.seed) {
            panic!("{case}: {fault:?}");
        }
        destination
    }

    /// Converts noise and compares with the oracle.
    pub(crate) fn check(&mut self, case: &Case) -> Report {
        let mut rng = Rng::new(case.seed);
        let mut source = Image::with_layout(case.source, Layout::random(&mut rng));
        source.fill_canaries(!case.seed);
        source.fill_random(&mut rng);
        let found = self.convert(case, &source, Layout::random(&mut rng));
        let expected = hip_oracle::convert(
            &source,
            case.source_rect,
            &case.destination,
            case.destination_rect,
            case.method,
        );
        let report = hip_oracle::compare(&expected, &found);
        if let Err(reason) = report.check(TOLERANCE) {
            panic!("{case}: {reason}");
        }
        report
    }
}
