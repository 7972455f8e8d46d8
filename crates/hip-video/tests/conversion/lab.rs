//! The device under test, and one conversion on it.

use std::sync::Arc;

use hip_core::{Device, DeviceBuffer, DeviceSelector, PinnedBuffer, Stream, Vendor};
use hip_oracle::{Component, FrameInfo, Image, Layout, Rng};
use hip_video::{Converter, FrameView, FrameViewMut, Kernels, PlaneView};

use crate::case::Case;
use crate::outcome::Outcome;

/// Room for the largest frame of the tests with its guards.
const BYTES: usize = 1 << 20;

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
            let length = plane.data.len();
            assert!(start + length <= used, "the frame fits");
            // SAFETY: inside the buffer, whose first `used` bytes the copy that is done has written.
            let bytes =
                unsafe { std::slice::from_raw_parts(self.pinned.as_ptr().add(start), length) };
            plane.data.copy_from_slice(bytes);
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

    /// Whether to run all there is rather than a sample: on the host, where a conversion costs little,
    /// or if `HIP_TEST_EVERY` is set.
    pub(crate) fn runs_everything(&self) -> bool {
        self.device.vendor() == Vendor::Host || std::env::var_os("HIP_TEST_EVERY").is_some()
    }

    /// Converts `source` on the device into a frame of canaries, which it checks.
    pub(crate) fn convert(&mut self, case: &Case, source: &Image, layout: Layout) -> Image {
        let destination = Image::with_layout(case.conversion.destination, layout);
        self.convert_into(case, source, destination)
    }

    fn convert_into(&mut self, case: &Case, source: &Image, mut destination: Image) -> Image {
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
    pub(crate) fn check(&mut self, case: &Case) -> Outcome {
        let mut rng = Rng::new(case.seed);
        let mut source = empty(case.conversion.source, &mut rng);
        source.fill_canaries(!case.seed);
        source.fill_random(&mut rng);
        if case.conversion.source.is_premultiplied() {
            premultiply(&mut source);
        }
        let destination = empty(case.conversion.destination, &mut rng);
        let found = self.convert_into(case, &source, destination);
        let expected = case.conversion.convert(&source);
        match Outcome::of(&expected, &found, &case.conversion) {
            Ok(outcome) => outcome,
            Err(reason) => panic!("{case}: {reason}"),
        }
    }
}

/// A frame with rows anywhere or, half of the time, where GPUs like them: some kernels are for
/// those alone.
fn empty(info: FrameInfo, rng: &mut Rng) -> Image {
    if rng.below(2) == 0 {
        return Image::with_layout(info, Layout::random(rng));
    }
    let planes = 0..info.format.info().planes.len();
    let strides: Vec<usize> = planes
        .map(|plane| info.row_bytes(plane).next_multiple_of(64))
        .collect();
    Image::with_strides(info, &strides, 1, 64)
}

/// Makes noise in R'G'B' of what can be premultiplied: no colour exceeds alpha by much. Noise in
/// Y'CbCr stays, which division by alpha then clamps.
fn premultiply(image: &mut Image) {
    for location in &image.info.format.info().components[..3] {
        if !matches!(
            location.component,
            Component::R | Component::G | Component::B
        ) {
            continue;
        }
        let (width, height) = image.info.samples(location);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            let alpha = image
                .info
                .decode(Component::A, image.value(Component::A, x, y));
            let colour = image.value(location.component, x, y);
            image.set_value(location.component, x, y, colour * alpha);
        }
    }
}
