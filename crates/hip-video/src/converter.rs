//! Scaling and colour conversion of whole frames, one launch each.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use hip_core::{Device, FenceData, LaunchConfig, Stream};
use hip_rtc::{Function, KernelArgs};

use crate::description::FrameDescription;
use crate::error::{Error, Result};
use crate::format::Layout;
use crate::frame::{FrameView, FrameViewMut, check_planes};
use crate::geometry::Rect;
use crate::kernels::Kernels;
use crate::params::{ConvertParams, Method, Plan, tile};

/// What a [`Converter`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConverterConfig {
    /// The frames read.
    pub input: FrameDescription,
    /// The frames written.
    pub output: FrameDescription,
    /// How the source is read between its samples.
    pub method: Method,
    /// The part of the input that is shown, in luma pixels; `None`: all of it. Its origin is even
    /// for subsampled inputs.
    pub src_rect: Option<Rect>,
    /// Where in the output it is shown; `None`: everywhere. Its origin is even for subsampled
    /// outputs. What lies outside is black.
    pub dst_rect: Option<Rect>,
}

impl ConverterConfig {
    /// From all of the input to all of the output, bilinear.
    pub fn new(input: FrameDescription, output: FrameDescription) -> ConverterConfig {
        ConverterConfig {
            input,
            output,
            method: Method::Bilinear,
            src_rect: None,
            dst_rect: None,
        }
    }

    fn plan(&self) -> Result<Plan> {
        self.input.check_size()?;
        self.output.check_size()?;
        Ok(Plan {
            input: self.input,
            output: self.output,
            src_rect: checked_rect("source", self.src_rect, &self.input)?,
            dst_rect: checked_rect("destination", self.dst_rect, &self.output)?,
            method: self.method,
        })
    }
}

fn checked_rect(side: &'static str, rect: Option<Rect>, frame: &FrameDescription) -> Result<Rect> {
    let (width, height) = (frame.width, frame.height);
    let rect = rect.unwrap_or(Rect::of_size(width, height));
    let refuse = |why| {
        Err(Error::InvalidRect {
            side,
            rect,
            width,
            height,
            why,
        })
    };
    if !rect.fits(width, height) {
        return refuse("it is empty or leaves the frame");
    }
    if frame.format.is_subsampled() && ((rect.x | rect.y) & 1) != 0 {
        return refuse("its origin is odd and chroma is subsampled");
    }
    Ok(rect)
}

/// A conversion, ready on a device. Conversions may be enqueued from several threads, each on a
/// stream of its own.
pub struct Converter {
    plan: Plan,
    params: ConvertParams,
    kernels: Arc<Kernels>,
    function: Function,
    launch: LaunchConfig,
    /// The stream of the last conversion: the module stays loaded until its work is done.
    last: Mutex<Option<Stream>>,
}

impl Converter {
    /// Loads the kernel for a conversion. Nothing is compiled but what NVIDIA's driver makes of
    /// PTX, which it caches.
    ///
    /// # Errors
    /// A size or rectangle is not possible, or the device has no kernel (AMD architectures without a
    /// prebuilt code object).
    pub fn new(device: &Device, config: &ConverterConfig) -> Result<Converter> {
        let plan = config.plan()?;
        let (number, launch) = choose_kernel(&plan);
        let kernels = Kernels::of(device);
        let function = kernels.get(number)?;
        tracing::debug!(?function, ?config, "converter");
        let (params, last) = (plan.params(), Mutex::new(None));
        Ok(Converter {
            plan,
            params,
            kernels,
            function,
            launch,
            last,
        })
    }

    /// The device it was made for.
    pub fn device(&self) -> &Device {
        self.kernels.device()
    }

    /// Enqueues the conversion of one frame: one launch, which writes every sample of the
    /// destination, borders included, and no byte beside them. Nothing is waited for; order with
    /// other streams is the caller's.
    ///
    /// # Errors
    /// A plane is missing, its stride is shorter than a row, 16-bit samples lie at odd addresses, the
    /// stream belongs to another device, or the launch is refused.
    pub fn convert(
        &self,
        stream: &Stream,
        source: &FrameView,
        destination: &FrameViewMut,
    ) -> Result<()> {
        let (input, output) = (&self.plan.input, &self.plan.output);
        check_planes("source", source.planes(), input.format, input.width)?;
        check_planes(
            "destination",
            destination.planes(),
            output.format,
            output.width,
        )?;
        self.check_device(stream)?;
        // Held until the launch is enqueued: another thread's change of the stream records an
        // event on this one, which has to come after the launch.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(stream)
            && let Some(previous) = last.replace(stream.clone())
        {
            self.keep_module(&previous)?;
        }
        let mut params = self.params;
        params.set_source(input.format, self.plan.src_rect, source.planes());
        params.set_destination(destination.planes());
        let mut args = KernelArgs::new();
        args.add(params);
        // SAFETY: the kernel takes one `ConvertParams`; whoever made the views vouched for the
        // planes, and rectangles and strides were checked against the sizes vouched for.
        Ok(unsafe { self.function.launch(Some(stream), &self.launch, &args) }?)
    }

    fn check_device(&self, stream: &Stream) -> Result<()> {
        if stream.device() == self.device() {
            return Ok(());
        }
        let (found, expected) = (
            stream.device().info().to_string(),
            self.device().info().to_string(),
        );
        Err(Error::DeviceMismatch { found, expected })
    }

    /// The module stays loaded until the stream's work is done.
    fn keep_module(&self, stream: &Stream) -> Result<()> {
        let mut fence = FenceData::new();
        fence.push(self.function.clone());
        Ok(stream.keep_alive(fence)?)
    }
}

impl Drop for Converter {
    fn drop(&mut self) {
        let last = self
            .last
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(stream) = last
            && let Err(error) = self.keep_module(&stream)
        {
            tracing::warn!(%error, "kernel module not kept for work in flight");
        }
    }
}

impl fmt::Debug for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Converter")
            .field("plan", &self.plan)
            .field("function", &self.function)
            .finish()
    }
}

/// Threads of a block.
const BLOCK: u32 = 256;
/// Pixels of a row that a block covers in every kernel.
const BLOCK_WIDTH: u32 = 128;

/// The number of a conversion's entry point in [`crate::prebuilt::CONVERT`], and the shape of its
/// launch.
pub(crate) fn choose_kernel(plan: &Plan) -> (usize, LaunchConfig) {
    let unscaled = plan.is_unscaled();
    let info = plan.output.format.info();
    let family = match info.layout {
        Layout::Yuv420Pairs | Layout::Yuv420Planes if info.depth == 8 => 0,
        Layout::Yuv420Pairs | Layout::Yuv420Planes => 1,
        Layout::Packed { .. } => 2,
        Layout::Planar => 3,
    };
    let yuv = plan.output.format.is_yuv();
    let rows = if yuv {
        tile::ROWS_YUV420
    } else {
        tile::ROWS_RGB
    };
    let columns = match (unscaled, yuv) {
        (true, _) => tile::UNSCALED,
        (false, true) => tile::SCALED_YUV420,
        (false, false) => tile::SCALED_RGB,
    };
    let across = BLOCK_WIDTH / columns;
    let down = BLOCK / across;
    let blocks_down = plan.output.height.div_ceil(down * rows);
    let launch = LaunchConfig {
        grid_dim: [plan.output.width.div_ceil(BLOCK_WIDTH), blocks_down, 1],
        block_dim: [across, down, 1],
        shared_mem_bytes: 0,
    };
    (2 * family + usize::from(unscaled), launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::PixelFormat;
    use crate::prebuilt::CONVERT;

    #[test]
    fn numbers_name_the_right_entry_points() {
        let names = |input: PixelFormat, output, height| {
            let config = ConverterConfig::new(
                FrameDescription::new(input, 300, 200),
                FrameDescription::new(output, 300, height),
            );
            let (number, launch) = choose_kernel(&config.plan().expect("a possible conversion"));
            assert_eq!(launch.block_dim[0] * launch.block_dim[1], BLOCK);
            CONVERT[number].name
        };
        for input in PixelFormat::ALL {
            assert_eq!(
                names(input, PixelFormat::I420, 200),
                "convert_yuv420_8_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::Nv12, 100),
                "convert_yuv420_8_scaled"
            );
            assert_eq!(
                names(input, PixelFormat::P010Le, 200),
                "convert_yuv420_16_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::P010Le, 201),
                "convert_yuv420_16_scaled"
            );
            assert_eq!(
                names(input, PixelFormat::Rgb, 200),
                "convert_packed_8_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::Bgra, 199),
                "convert_packed_8_scaled"
            );
            assert_eq!(
                names(input, PixelFormat::Rgbp, 200),
                "convert_planar_8_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::Rgbp, 1),
                "convert_planar_8_scaled"
            );
        }
    }
}
