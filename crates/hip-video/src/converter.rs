//! Scaling and colour conversion of whole frames, one launch each.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use hip_core::{Device, FenceData, Stream};

use crate::description::FrameDescription;
use crate::error::{Error, Result};
use crate::frame::{FrameView, FrameViewMut, check_planes};
use crate::geometry::{FineRect, Orientation, Rect};
use crate::kernels::Kernels;
use crate::light::LightChange;
use crate::params::{Layout, Method, Plan};
use crate::work::Work;

/// What becomes of alpha where the output has it. An input without alpha is opaque.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AlphaMode {
    /// It stays.
    #[default]
    Copy,
    /// This value, 0..=1, everywhere.
    Set(f32),
    /// It is multiplied by this, 0..=1.
    Multiply(f32),
}

/// Colour of what the picture leaves free: R'G'B'A, 0..=1, straight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Border(pub [f32; 4]);

impl Default for Border {
    /// Opaque black.
    fn default() -> Self {
        Border([0.0, 0.0, 0.0, 1.0])
    }
}

/// What a model wants in place of R'G'B' in 0..=1: `(value - mean)·scale` of each channel. For
/// floating-point outputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Normalisation {
    /// Taken from the value first.
    pub mean: [f32; 3],
    /// What that is multiplied by.
    pub scale: [f32; 3],
}

/// What a [`Converter`] does.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ConverterConfig {
    /// The frames read.
    pub input: FrameDescription,
    /// The frames written.
    pub output: FrameDescription,
    /// How the source is read between its samples.
    pub method: Method,
    /// The part of the input that is shown; `None`: all of it.
    pub src_rect: Option<FineRect>,
    /// Where in the output it is shown; `None`: everywhere. Pixels whose centre lies outside have
    /// the border's colour.
    pub dst_rect: Option<FineRect>,
    /// How the part shown is turned and mirrored.
    pub orientation: Orientation,
    /// What becomes of alpha.
    pub alpha: AlphaMode,
    /// The colour outside `dst_rect`.
    pub border: Border,
    /// Conversion of transfer function and primaries; `None`: R'G'B' is taken as it is.
    pub light: Option<LightChange>,
    /// Whether an ordered pattern hides the steps where samples lose bits.
    pub dither: bool,
    /// For floating-point outputs.
    pub normalisation: Option<Normalisation>,
    /// Whether frames hold two fields, line by line in turn, of which each is converted by itself.
    pub interlaced: bool,
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
            orientation: Orientation::Identity,
            alpha: AlphaMode::Copy,
            border: Border::default(),
            light: None,
            dither: false,
            normalisation: None,
            interlaced: false,
        }
    }

    pub(crate) fn check(&self) -> Result<Conversion> {
        self.input.check_size()?;
        self.output.check_size()?;
        let in_range = |value: f32| (0.0..=1.0).contains(&value);
        let alpha = match self.alpha {
            AlphaMode::Copy => true,
            AlphaMode::Set(value) | AlphaMode::Multiply(value) => in_range(value),
        };
        if !alpha || !self.border.0.into_iter().all(in_range) {
            return Err(Error::InvalidValue("alpha and border colours lie in 0..=1"));
        }
        let floats = self
            .normalisation
            .iter()
            .flat_map(|n| n.mean.into_iter().chain(n.scale));
        if !floats.into_iter().all(f32::is_finite) {
            return Err(Error::InvalidValue("means and scales are finite"));
        }
        if self.normalisation.is_some() && !self.output.format.is_float() {
            return Err(Error::InvalidValue(
                "only floating-point outputs are normalised",
            ));
        }
        if self.interlaced && self.orientation.swaps_axes() {
            return Err(Error::InvalidValue(
                "lines of a field are not turned into columns",
            ));
        }
        let described = |mut frame: FrameDescription| {
            frame.premultiplied &= frame.format.info().alpha;
            frame
        };
        Ok(Conversion {
            input: described(self.input),
            output: described(self.output),
            src_rect: checked_rect("source", self.src_rect, &self.input)?,
            dst_rect: checked_rect("destination", self.dst_rect, &self.output)?,
            method: self.method,
            orientation: self.orientation,
            alpha: self.alpha,
            border: self.border,
            light: self.light,
            dither: self.dither,
            normalisation: self.normalisation,
            interlaced: self.interlaced,
        })
    }
}

/// A checked [`ConverterConfig`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conversion {
    pub(crate) input: FrameDescription,
    pub(crate) output: FrameDescription,
    pub(crate) src_rect: FineRect,
    pub(crate) dst_rect: FineRect,
    pub(crate) method: Method,
    pub(crate) orientation: Orientation,
    pub(crate) alpha: AlphaMode,
    pub(crate) border: Border,
    pub(crate) light: Option<LightChange>,
    pub(crate) dither: bool,
    pub(crate) normalisation: Option<Normalisation>,
    pub(crate) interlaced: bool,
}

impl Conversion {
    /// Whether it changes format, size, matrix and range only.
    fn is_plain(&self) -> bool {
        self.orientation == Orientation::Identity
            && self.alpha == AlphaMode::Copy
            && self.border == Border::default()
            && self.light.is_none_or(|change| change.is_identity())
            && !self.dither
            && !self.interlaced
            && self.input.premultiplied == self.output.premultiplied
    }

    /// Whether it is plain, and every pixel of the output shows the pixel of the input at its place.
    pub(crate) fn is_in_place(&self) -> bool {
        let whole = |rect: FineRect, frame: &FrameDescription| {
            rect == Rect::of_size(frame.width, frame.height).into()
        };
        let simple = match self.method {
            Method::Nearest | Method::Bilinear | Method::Area | Method::Auto => true,
            // These make more of chroma than its two neighbours do.
            Method::Bicubic(_) | Method::Lanczos(_) => false,
        };
        let (input, output) = (&self.input, &self.output);
        simple
            && self.is_plain()
            && (input.width, input.height) == (output.width, output.height)
            && whole(self.src_rect, input)
            && whole(self.dst_rect, output)
    }

    /// The same as one of `convert.cu`'s, which know few formats, two methods and whole rectangles,
    /// and are the faster for it.
    pub(crate) fn plan(&self) -> Option<Plan> {
        let (src_rect, dst_rect) = (self.src_rect.whole()?, self.dst_rect.whole()?);
        let shrinks = src_rect.width > dst_rect.width || src_rect.height > dst_rect.height;
        let resized = (src_rect.width, src_rect.height) != (dst_rect.width, dst_rect.height);
        // Chroma made of R'G'B' has half the samples: an area of them is averaged even if luma grows
        // by less than two.
        let halves = self.output.format.is_subsampled() && !self.input.format.is_subsampled();
        let method = match self.method {
            Method::Auto if !shrinks => Method::Bilinear,
            Method::Area if !(shrinks || halves && resized) => Method::Bilinear,
            method @ (Method::Nearest | Method::Bilinear) => method,
            _ => return None,
        };
        let even = |frame: &FrameDescription, rect: Rect| {
            !frame.format.is_subsampled() || (rect.x | rect.y) & 1 == 0
        };
        if !self.is_plain() || !even(&self.input, src_rect) || !even(&self.output, dst_rect) {
            return None;
        }
        Some(Plan {
            input: self.input,
            output: self.output,
            src_rect,
            dst_rect,
            method,
            layouts: [
                Layout::of(self.input.format)?,
                Layout::of(self.output.format)?,
            ],
        })
    }
}

fn checked_rect(
    side: &'static str,
    rect: Option<FineRect>,
    frame: &FrameDescription,
) -> Result<FineRect> {
    let (width, height) = (frame.width, frame.height);
    let rect = rect.unwrap_or_else(|| Rect::of_size(width, height).into());
    match rect.fits(width, height) {
        true => Ok(rect),
        false => Err(Error::InvalidRect {
            side,
            rect,
            width,
            height,
            why: "it is empty or leaves the frame",
        }),
    }
}

/// A conversion, ready on a device. Conversions may be enqueued from several threads, each on a
/// stream of its own.
pub struct Converter {
    conversion: Conversion,
    work: Work,
    kernels: Arc<Kernels>,
    /// The stream of the last conversion: kernels and tables stay until its work is done.
    last: Mutex<Option<Stream>>,
}

impl Converter {
    /// Loads the kernel for a conversion. Nothing is compiled but what NVIDIA's driver makes of
    /// PTX, which it caches.
    ///
    /// # Errors
    /// A size, rectangle or number is not possible, or the device has no kernel (AMD architectures
    /// without a prebuilt code object).
    pub fn new(device: &Device, config: &ConverterConfig) -> Result<Converter> {
        let conversion = config.check()?;
        let kernels = Kernels::of(device);
        let work = Work::new(&kernels, &conversion)?;
        tracing::debug!(?config, "converter");
        Ok(Converter {
            conversion,
            work,
            kernels,
            last: Mutex::new(None),
        })
    }

    /// The device it was made for.
    pub fn device(&self) -> &Device {
        self.kernels.device()
    }

    /// Enqueues the conversion of one frame: one launch, or one a field, which write every sample of
    /// the destination, borders included, and no byte beside them. Nothing is waited for; order with
    /// other streams is the caller's.
    ///
    /// # Errors
    /// A plane is missing, its stride is shorter than a row, samples do not lie at multiples of their
    /// size, the stream belongs to another device, or the launch is refused.
    pub fn convert(
        &self,
        stream: &Stream,
        source: &FrameView,
        destination: &FrameViewMut,
    ) -> Result<()> {
        let Conversion {
            input,
            output,
            interlaced,
            ..
        } = &self.conversion;
        check_planes("source", source.planes(), input, *interlaced)?;
        check_planes("destination", destination.planes(), output, *interlaced)?;
        self.check_device(stream)?;
        // Held until the launch is enqueued: another thread's change of the stream records an
        // event on this one, which has to come after the launch.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref() != Some(stream)
            && let Some(previous) = last.replace(stream.clone())
        {
            self.keep(&previous)?;
        }
        self.work.enqueue(
            &self.kernels,
            &self.conversion,
            source.planes(),
            destination.planes(),
            &mut |function, config, args| {
                // SAFETY: the arguments are the function's; whoever made the views vouched for the
                // planes, and rectangles and strides were checked against the sizes vouched for.
                // Tables live as long as `self`, and `keep` has them outlive the stream's work.
                Ok(unsafe { function.launch(Some(stream), config, args) }?)
            },
        )
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

    /// Kernels and tables stay where they are until the stream's work is done.
    fn keep(&self, stream: &Stream) -> Result<()> {
        let mut fence = FenceData::new();
        fence.push(self.kernels.clone());
        fence.push(self.work.tables());
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
            && let Err(error) = self.keep(&stream)
        {
            tracing::warn!(%error, "kernels not kept for work in flight");
        }
    }
}

impl fmt::Debug for Converter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Converter")
            .field("conversion", &self.conversion)
            .field("device", self.device())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::PixelFormat;

    #[test]
    fn areas_of_chroma_are_left_to_the_general_kernel() {
        let fast = |input, output, height| {
            let mut config = ConverterConfig::new(
                FrameDescription::new(input, 16, 8),
                FrameDescription::new(output, 16, height),
            );
            config.method = Method::Area;
            config.check().expect("possible").plan().is_some()
        };
        // Twelve rows of eight: chroma then covers 4/3 of a source pixel.
        assert!(!fast(PixelFormat::Rgba, PixelFormat::Nv12, 12));
        assert!(!fast(PixelFormat::Rgba, PixelFormat::Nv12, 6));
        assert!(fast(PixelFormat::Rgba, PixelFormat::Nv12, 8));
        assert!(fast(PixelFormat::I420, PixelFormat::Nv12, 12));
        assert!(fast(PixelFormat::Nv12, PixelFormat::Rgba, 12));
    }
}
