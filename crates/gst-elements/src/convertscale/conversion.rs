use gst_hip::{DeviceFrame, PlaneRef};
use gst_video::VideoInfo;
use hip_core::{Device, Stream};
use hip_video::{
    Converter, ConverterConfig, Display, FrameDescription, FrameView, FrameViewMut, PlaneView,
    letterbox,
};

use super::MethodChoice;
use crate::common::error::Error;
use crate::common::planes::Planes;

/// What the user can change while frames flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) add_borders: bool,
    pub(super) method: MethodChoice,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            add_borders: true,
            method: MethodChoice::default(),
        }
    }
}

/// The frames of both sides.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) input: VideoInfo,
    pub(super) output: VideoInfo,
}

impl Frames {
    /// # Errors
    /// Interlaced frames would have to change.
    pub(super) fn new(input: VideoInfo, output: VideoInfo) -> Result<Frames, Error> {
        let frames = Frames { input, output };
        let interlaced = frames.input.is_interlaced() || frames.output.is_interlaced();
        if interlaced && !frames.are_the_same() {
            return Err(Error::input(
                "interlaced frames can only pass through unchanged",
            ));
        }
        Ok(frames)
    }

    /// Whether there is nothing to do: same pixels, and same meaning of them as far as it is ever
    /// changed.
    pub(super) fn are_the_same(&self) -> bool {
        let (a, b) = (&self.input, &self.output);
        let pixels = a.format() == b.format()
            && (a.width(), a.height()) == (b.width(), b.height())
            && a.par() == b.par()
            && a.interlace_mode() == b.interlace_mode();
        let meaning = (a.colorimetry() == b.colorimetry() && a.chroma_site() == b.chroma_site())
            || matches!(
                (FrameDescription::from_video_info(a), FrameDescription::from_video_info(b)),
                (Ok(a), Ok(b)) if a == b
            );
        pixels && meaning
    }

    /// Loads what converts these frames.
    ///
    /// # Errors
    /// The colours or sizes are not supported, or the device has no kernel.
    pub(super) fn converter(&self, device: &Device, options: Options) -> Result<Converter, Error> {
        let input = FrameDescription::from_video_info(&self.input)?;
        let output = FrameDescription::from_video_info(&self.output)?;
        let mut config = ConverterConfig::new(input, output);
        config.method = options.method.into();
        if options.add_borders {
            let even = output.format.is_subsampled();
            config.dst_rect = Some(letterbox(display(&self.input), display(&self.output), even));
        }
        Ok(Converter::new(device, &config)?)
    }

    /// Enqueues the conversion of a frame. Nothing is waited for.
    ///
    /// # Errors
    /// A buffer is not device memory or too small, or a device call fails.
    pub(super) fn convert(
        &self,
        converter: &Converter,
        stream: &Stream,
        input: &gst::BufferRef,
        output: &mut gst::BufferRef,
    ) -> Result<(), Error> {
        let from = DeviceFrame::read(input, &self.input, stream)?;
        let to = DeviceFrame::overwrite(output, &self.output, stream)?;
        // SAFETY: `DeviceFrame` checked that every row lies inside its memory, keeps the memories
        // alive, and orders other accesses behind the event that `finish` stores.
        let source = unsafe { FrameView::new(&views(from.planes())) };
        // SAFETY: as above; the output is a writable buffer, so it is another than the input.
        let destination = unsafe { FrameViewMut::new(&views(to.planes())) };
        converter.convert(stream, &source, &destination)?;
        let event = stream.record()?;
        from.finish(&event)?;
        to.finish(&event)?;
        Ok(())
    }
}

fn views(planes: &[PlaneRef]) -> Planes<PlaneView> {
    // Strides come from GStreamer, which keeps them in an `i32`.
    let view = |plane: &PlaneRef| PlaneView {
        ptr: plane.ptr,
        stride: plane.stride as i32,
    };
    planes.iter().map(view).collect()
}

fn display(info: &VideoInfo) -> Display {
    let part = |value: i32| u32::try_from(value).unwrap_or(0).max(1);
    let par = info.par();
    Display {
        width: info.width(),
        height: info.height(),
        pixel_aspect: (part(par.numer()), part(par.denom())),
    }
}
