//! The conversion, as `docs/conversion.md` states it.

use crate::axis::{Lattice, Orientation};
use crate::dither::Dither;
use crate::filter::Method;
use crate::format::{Component, ComponentInfo, Family};
use crate::geometry::{FixedRect, Rect};
use crate::image::Image;
use crate::info::FrameInfo;
use crate::light::LightOptions;
use crate::pixel::{AlphaMode, Analogue, PixelChange, from_rgb};
use crate::real::{RealComponent, RealImage};
use crate::resample::{Grid, Taps, Tie};

/// What floating-point destinations are stored as: `(value - mean)·scale` of R', G' and B'.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalisation {
    /// What is subtracted.
    pub mean: [f64; 3],
    /// What the difference is multiplied by.
    pub scale: [f64; 3],
}

/// A conversion from one kind of frame to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conversion {
    /// What is read.
    pub source: FrameInfo,
    /// What is written.
    pub destination: FrameInfo,
    /// The part of the source that is the picture.
    pub source_rect: FixedRect,
    /// Where the picture comes to lie.
    pub destination_rect: FixedRect,
    /// How the source is read between its samples.
    pub method: Method,
    /// How the picture is turned and mirrored.
    pub orientation: Orientation,
    /// What becomes of alpha.
    pub alpha: AlphaMode,
    /// The colour round the picture: R'G'B'A in 0..1, straight.
    pub border: [f64; 4],
    /// What is done to light.
    pub light: LightOptions,
    /// What is added before rounding.
    pub dither: Dither,
    /// Whether the frames hold two fields, line by line in turn.
    pub interlaced: bool,
    /// How floating-point results are stored; the analogue values themselves without.
    pub normalisation: Option<Normalisation>,
}

impl Conversion {
    /// All of one frame to all of another, bilinear, with nothing else asked for.
    pub fn new(source: FrameInfo, destination: FrameInfo) -> Self {
        Self {
            source,
            destination,
            source_rect: Rect::full(&source).into(),
            destination_rect: Rect::full(&destination).into(),
            method: Method::Bilinear,
            orientation: Orientation::Identity,
            alpha: AlphaMode::Copy,
            border: [0.0, 0.0, 0.0, 1.0],
            light: LightOptions::default(),
            dither: Dither::None,
            interlaced: false,
            normalisation: None,
        }
    }

    /// The code values of the destination, before rounding and clamping.
    ///
    /// # Panics
    /// If `source` is not the kind of frame that the conversion reads, a rectangle is empty or not
    /// inside its frame, an interlaced picture is to be turned, or integers are to be normalised.
    pub fn convert(&self, source: &Image) -> RealImage {
        assert_eq!(self.source, source.info, "another kind of frame");
        self.source_rect.validate(&self.source, "the source");
        self.destination_rect
            .validate(&self.destination, "the destination");
        assert!(
            !(self.interlaced && self.orientation.swaps()),
            "the lines of a field become columns under {:?}",
            self.orientation
        );
        assert!(
            self.normalisation.is_none() || self.destination.format.is_float(),
            "only floating point is normalised"
        );
        let components = Plan::new(self, source).components();
        RealImage {
            info: self.destination,
            components,
        }
    }
}

/// Converts rectangle `source_rect` of `source` to rectangle `destination_rect` of a frame
/// described by `destination`, which is black around it. The result holds code values of the
/// destination before rounding and clamping.
///
/// # Panics
/// If a rectangle is empty or not inside its frame.
pub fn convert(
    source: &Image,
    source_rect: Rect,
    destination: &FrameInfo,
    destination_rect: Rect,
    method: Method,
) -> RealImage {
    let conversion = Conversion {
        source_rect: source_rect.into(),
        destination_rect: destination_rect.into(),
        method,
        ..Conversion::new(source.info, *destination)
    };
    conversion.convert(source)
}

/// A conversion of one frame, with the source decoded.
struct Plan<'a> {
    conversion: &'a Conversion,
    across: Tie,
    down: Tie,
    change: PixelChange,
    /// The source's components by slot, rows and columns exchanged if the picture is turned, with
    /// their lattices across and down.
    source: [Option<(Grid, Lattice, Lattice)>; 4],
}

impl<'a> Plan<'a> {
    fn new(conversion: &'a Conversion, source: &Image) -> Self {
        let (x, y) = conversion
            .orientation
            .axes(&conversion.source_rect, &conversion.destination_rect);
        let to = conversion.destination;
        let fields = if conversion.interlaced { 2 } else { 1 };
        let mut grids = [None, None, None, None];
        for location in &conversion.source.format.info().components {
            let grid = decoded(source, location);
            let (columns, rows) = lattices(&conversion.source, location);
            grids[location.component.slot()] = Some(if conversion.orientation.swaps() {
                (grid.transposed(), rows, columns)
            } else {
                (grid, columns, rows)
            });
        }
        Self {
            conversion,
            across: Tie::new(x, conversion.method, 1, to.width),
            down: Tie::new(y, conversion.method, fields, to.height),
            change: PixelChange::new(conversion.source, to, conversion.alpha, &conversion.light),
            source: grids,
        }
    }

    /// Every component of the destination, borders included.
    fn components(&self) -> Vec<RealComponent> {
        let to = &self.conversion.destination;
        let pixels = self.pixels();
        let component = |location: &ComponentInfo| {
            let slot = location.component.slot();
            let (width, height) = to.samples(location);
            let analogue: Vec<f64> = if !location.component.is_chroma() {
                pixels
                    .iter()
                    .map(|&rgba| from_rgb(to, rgba)[slot])
                    .collect()
            } else if self.change.is_linear() {
                self.resampled_chroma(location)
            } else {
                self.averaged_chroma(location, &pixels)
            };
            RealComponent {
                component: location.component,
                plane: location.plane,
                width,
                height,
                values: self.encoded(location, analogue),
            }
        };
        to.format.info().components.iter().map(component).collect()
    }

    /// R'G'B'A of every pixel of the destination frame; meaningless outside the picture.
    fn pixels(&self) -> Vec<Analogue> {
        let to = &self.conversion.destination;
        let mut analogue = vec![[0.0, 0.0, 0.0, 1.0]; to.width * to.height];
        for (slot, component) in self.source.iter().enumerate() {
            let Some((grid, columns, rows)) = component else {
                continue;
            };
            let (across, down) = (self.across.pixels(*columns), self.down.pixels(*rows));
            let values = grid.resampled(&across, &down).values;
            for (pixel, value) in analogue.iter_mut().zip(values) {
                pixel[slot] = value;
            }
        }
        analogue
            .into_iter()
            .map(|pixel| self.change.rgba(pixel))
            .collect()
    }

    /// A chroma component, resampled from the source's chroma, or from its R', G' and B'. Luma
    /// plays no part: grey has no chroma under any matrix.
    fn resampled_chroma(&self, location: &ComponentInfo) -> Vec<f64> {
        let to = &self.conversion.destination;
        let (columns, rows) = lattices(to, location);
        let (width, height) = to.samples(location);
        let mut analogue = vec![[0.0, 0.0, 0.0, 1.0]; width * height];
        let read = match self.conversion.source.format.family() {
            Family::Yuv => 1..3,
            Family::Rgb => 0..3,
        };
        for slot in read {
            let Some((grid, from_columns, from_rows)) = &self.source[slot] else {
                continue;
            };
            let across = self.across.chroma(*from_columns, columns);
            let down = self.down.chroma(*from_rows, rows);
            let values = grid.resampled(&across, &down).values;
            for (pixel, value) in analogue.iter_mut().zip(values) {
                pixel[slot] = value;
            }
        }
        let slot = location.component.slot();
        let chroma = |pixel| from_rgb(to, self.change.rgba(pixel))[slot];
        analogue.into_iter().map(chroma).collect()
    }

    /// A chroma component, of the mean R'G'B' of the pixels under each sample's box.
    fn averaged_chroma(&self, location: &ComponentInfo, pixels: &[Analogue]) -> Vec<f64> {
        let to = &self.conversion.destination;
        let (columns, rows) = lattices(to, location);
        let (across, down): (Vec<Taps>, Vec<Taps>) =
            (self.across.boxes(columns), self.down.boxes(rows));
        let means = [0, 1, 2].map(|channel| {
            let grid = Grid {
                width: to.width,
                height: to.height,
                values: pixels.iter().map(|pixel| pixel[channel]).collect(),
            };
            grid.resampled(&across, &down).values
        });
        let slot = location.component.slot();
        let chroma = |i: usize| from_rgb(to, [means[0][i], means[1][i], means[2][i], 1.0])[slot];
        (0..means[0].len()).map(chroma).collect()
    }

    /// Analogue values as code values of the destination, with dither in the picture and the
    /// border colour round it.
    fn encoded(&self, location: &ComponentInfo, analogue: Vec<f64>) -> Vec<f64> {
        let to = &self.conversion.destination;
        let (component, slot) = (location.component, location.component.slot());
        let (columns, rows) = lattices(to, location);
        let (in_x, in_y) = (self.across.belongs(columns), self.down.belongs(rows));
        let border = self.change.border(self.conversion.border);
        let border = self.stored(component, from_rgb(to, border)[slot]);
        let dither = if component == Component::A {
            Dither::None
        } else {
            self.conversion.dither
        };
        let (from, into) = (self.conversion.source.format.number(), location.number);
        let values = analogue.into_iter().enumerate();
        let code = |(index, value): (usize, f64)| {
            let (x, y) = (index % in_x.len(), index / in_x.len());
            if in_x[x] && in_y[y] {
                self.stored(component, value) + dither.offset(from, into, x, y)
            } else {
                border
            }
        };
        values.map(code).collect()
    }

    /// The number that stands for an analogue value in the destination.
    fn stored(&self, component: Component, analogue: f64) -> f64 {
        let slot = component.slot();
        match &self.conversion.normalisation {
            Some(Normalisation { mean, scale }) => (analogue - mean[slot]) * scale[slot],
            None => self.conversion.destination.encode(component, analogue),
        }
    }
}

/// The analogue values of a component of a frame.
fn decoded(image: &Image, location: &ComponentInfo) -> Grid {
    let (width, height) = image.info.samples(location);
    let samples = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let analogue = |(x, y)| {
        let code = image.value_at(location, x, y);
        image.info.decode(location.component, code)
    };
    Grid {
        width,
        height,
        values: samples.map(analogue).collect(),
    }
}

/// Where the samples of a component of a frame lie, `(across, down)`.
fn lattices(info: &FrameInfo, location: &ComponentInfo) -> (Lattice, Lattice) {
    let (h, v) = info.halves(location);
    let lattice = |step: usize, halves| Lattice {
        step: step as i64,
        halves,
    };
    (lattice(location.sub_x, h), lattice(location.sub_y, v))
}
