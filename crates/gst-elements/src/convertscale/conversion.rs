use gst_hip::{DeviceFrame, PlaneRef};
use gst_video::prelude::*;
use gst_video::{VideoBufferFlags, VideoInfo, VideoInterlaceMode};
use hip_core::{Device, Stream};
use hip_video::{
    AlphaMode, Converter, ConverterConfig, Display, FrameDescription, FrameView, FrameViewMut,
    Model, Orientation, PixelFormat, PlaneView, letterbox,
};

use super::fields;
use super::light::{self, Side};
use super::method::DitherChoice;
use super::options::Options;
use super::placement::Placement;
use super::source::Source;
use crate::common::caps::video_info;
use crate::common::error::Error;
use crate::common::planes::Planes;

/// The frames of both sides.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) input: VideoInfo,
    pub(super) output: VideoInfo,
    /// How bright the content of either side is, in cd/m².
    peaks: [Option<u32>; 2],
}

impl Frames {
    /// # Errors
    /// The caps describe no frame.
    pub(super) fn new(incaps: &gst::CapsRef, outcaps: &gst::CapsRef) -> Result<Frames, Error> {
        Ok(Frames {
            input: video_info(incaps)?,
            output: video_info(outcaps)?,
            peaks: [light::peak(incaps), light::peak(outcaps)],
        })
    }

    /// What a buffer holds.
    ///
    /// # Errors
    /// The crop metadata names no part of the frame.
    pub(super) fn source(&self, buffer: &gst::BufferRef) -> Result<Source, Error> {
        Source::of(buffer, &self.input)
    }

    /// Where the picture comes to lie.
    pub(super) fn placement(&self, options: &Options, source: &Source) -> Placement {
        let orientation = options.orientation();
        let output = display(&self.output);
        let whole = hip_video::Rect::of_size(output.width, output.height);
        let picture = if options.add_borders {
            let mut shown = Display {
                width: source.picture.width,
                height: source.picture.height,
                ..display(&self.input)
            };
            if orientation.swaps_axes() {
                let (across, down) = shown.pixel_aspect;
                shown = Display {
                    width: shown.height,
                    height: shown.width,
                    pixel_aspect: (down, across),
                };
            }
            let format = PixelFormat::from_gst(self.output.format());
            letterbox(shown, output, format.is_some_and(|f| f.is_subsampled()))
        } else {
            whole
        };
        Placement {
            source: source.picture,
            picture,
            orientation,
        }
    }

    /// What converts these frames.
    ///
    /// # Errors
    /// Formats or colours are not supported.
    fn config(&self, options: &Options, source: &Source) -> Result<ConverterConfig, Error> {
        // Colours that caps leave open go by the size that they state, also where the frame is larger.
        let input = FrameDescription {
            width: source.frame.0,
            height: source.frame.1,
            ..FrameDescription::from_video_info(&self.input)?
        };
        let output = FrameDescription::from_video_info(&self.output)?;
        let placement = self.placement(options, source);
        let depth = |frame: &FrameDescription| frame.format.info().depth;
        let side = |info, peak| Side { info, peak };
        let mut config = ConverterConfig::new(input, output);
        config.method = options.method();
        config.src_rect = Some(placement.source.into());
        config.dst_rect = Some(placement.picture.into());
        config.orientation = placement.orientation;
        config.border = options.border();
        config.alpha = options.alpha();
        config.dither = options.dither == DitherChoice::Bayer && depth(&output) < depth(&input);
        config.light = light::change(
            options,
            side(&self.input, self.peaks[0]),
            side(&self.output, self.peaks[1]),
        )?;
        Ok(config)
    }

    /// Whether there is nothing to do: same samples, and same meaning of them as far as the options
    /// want it converted.
    ///
    /// # Errors
    /// Formats or colours are not supported, or fields would be made, merged, turned or share a chroma row.
    pub(super) fn need_nothing(&self, options: &Options, source: &Source) -> Result<bool, Error> {
        let config = self.config(options, source)?;
        let (input, output) = (&config.input, &config.output);
        let placement = self.placement(options, source);
        let same = have_same_samples(input, output)
            && placement.is_identity(input.width, input.height)
            && self.input.interlace_mode() == self.output.interlace_mode()
            && config.light.is_none()
            && (config.alpha == AlphaMode::Copy || !output.format.info().alpha);
        if !same {
            self.check_fields(config.orientation)?;
        }
        Ok(same)
    }

    /// # Errors
    /// The frames have fields that cannot be converted one by one.
    fn check_fields(&self, orientation: Orientation) -> Result<(), Error> {
        let sides = [&self.input, &self.output];
        let mode = self.input.interlace_mode();
        if mode != self.output.interlace_mode() {
            return Err(Error::input(
                "fields are neither made of frames nor merged into frames",
            ));
        }
        if mode == VideoInterlaceMode::Progressive {
            return Ok(());
        }
        if orientation.swaps_axes() {
            return Err(Error::input("lines of a field are not turned into columns"));
        }
        for info in sides {
            let format = PixelFormat::from_gst(info.format());
            let step = format.map_or(1, fields::height_step);
            if !info.height().is_multiple_of(step) {
                return Err(Error::input(format!(
                    "interlaced {} has a multiple of {step} rows, not {}",
                    info.format(),
                    info.height()
                )));
            }
        }
        Ok(())
    }

    /// Loads what converts frames of this source.
    ///
    /// # Errors
    /// The colours or sizes are not supported, or the device has no kernel.
    pub(super) fn conversion(
        &self,
        device: &Device,
        options: &Options,
        source: &Source,
    ) -> Result<Conversion, Error> {
        let mut config = self.config(options, source)?;
        let whole = match self.input.interlace_mode() {
            VideoInterlaceMode::Interleaved => None,
            _ => Some(Converter::new(device, &config)?),
        };
        let fields = match self.input.interlace_mode() {
            VideoInterlaceMode::Progressive => None,
            _ => {
                config.interlaced = true;
                Some(Converter::new(device, &config)?)
            }
        };
        Ok(Conversion {
            whole,
            fields,
            input: source.info(&self.input)?,
            output: self.output.clone(),
        })
    }
}

/// What converts frames, loaded on a device. A `mixed` stream may have a frame of the other kind next, as
/// telecined film has two in five: it keeps both converters.
#[derive(Debug)]
pub(super) struct Conversion {
    /// For progressive frames.
    whole: Option<Converter>,
    /// For frames of two fields.
    fields: Option<Converter>,
    input: VideoInfo,
    output: VideoInfo,
}

impl Conversion {
    /// Enqueues the conversion of a frame. Nothing is waited for.
    ///
    /// # Errors
    /// A buffer is not device memory or too small, or a device call fails.
    pub(super) fn convert(
        &self,
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
        self.converter(input)?
            .convert(stream, &source, &destination)?;
        let event = stream.record()?;
        from.finish(&event)?;
        to.finish(&event)?;
        Ok(())
    }
}

impl Conversion {
    /// The one for what the buffer holds, which in `mixed` streams its flags say.
    fn converter(&self, buffer: &gst::BufferRef) -> Result<&Converter, Error> {
        let flags = buffer.video_flags();
        let found = match (&self.whole, &self.fields) {
            (Some(_), Some(fields)) if flags.contains(VideoBufferFlags::INTERLACED) => Some(fields),
            (whole, fields) => whole.as_ref().or(fields.as_ref()),
        };
        found.ok_or_else(|| Error::gst("frames of this interlace mode have no converter"))
    }
}

/// Whether equal samples of both mean the same, light apart.
fn have_same_samples(a: &FrameDescription, b: &FrameDescription) -> bool {
    let same = (a.format, a.width, a.height, a.range, a.premultiplied)
        == (b.format, b.width, b.height, b.range, b.premultiplied);
    // Grey has no colour for a matrix to mix.
    let matrix = a.format.info().model != Model::Yuv || a.matrix == b.matrix;
    same && matrix && (!a.format.is_subsampled() || a.site == b.site)
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
