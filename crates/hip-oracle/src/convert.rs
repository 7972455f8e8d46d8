//! The conversion, as `docs/conversion.md` states it.

use crate::format::{Component, ComponentInfo, Family};
use crate::geometry::{Axis, Ratio, Rect, box_weights, half, luma_position, sample_index};
use crate::image::{FrameInfo, Image};
use crate::real::{RealComponent, RealImage};

/// How a source is read between its pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Linear interpolation between the four neighbours.
    Bilinear,
    /// The pixel whose area holds the position.
    Nearest,
}

impl Method {
    /// Both methods.
    pub const ALL: [Self; 2] = [Self::Bilinear, Self::Nearest];
}

/// Analogue values `[Y', Cb, Cr, A]` or `[R', G', B', A]`, by [`Component::slot`].
type Analogue = [f64; 4];

/// Black, opaque, as R'G'B'A.
const BLACK: Analogue = [0.0, 0.0, 0.0, 1.0];

/// Converts rectangle `source_rect` of `source` to rectangle `destination_rect` of a frame
/// described by `destination`, which is black around it. The result holds code values of the
/// destination before rounding and clamping.
///
/// # Panics
/// If a rectangle is empty, not inside its frame, or starts at an odd coordinate of a
/// subsampled frame.
pub fn convert(
    source: &Image,
    source_rect: Rect,
    destination: &FrameInfo,
    destination_rect: Rect,
    method: Method,
) -> RealImage {
    source_rect.validate(&source.info, "the source");
    destination_rect.validate(destination, "the destination");
    let conversion = Conversion {
        source,
        source_rect,
        destination,
        destination_rect,
        method,
    };
    let components = destination.format.info().components.iter();
    let components = components
        .map(|location| conversion.component(location))
        .collect();
    RealImage {
        info: *destination,
        components,
    }
}

struct Conversion<'a> {
    source: &'a Image,
    source_rect: Rect,
    destination: &'a FrameInfo,
    destination_rect: Rect,
    method: Method,
}

impl Conversion<'_> {
    /// All samples of one destination component, borders included.
    fn component(&self, location: &ComponentInfo) -> RealComponent {
        let plane = self.destination.format.info().planes[location.plane];
        let rect = &self.destination_rect;
        let (width, height) = self.destination.plane_size(location.plane);
        let mut values = Vec::with_capacity(width * height);
        for y in 0..height {
            for x in 0..width {
                let analogue = if rect.contains(x * plane.sub_x, y * plane.sub_y) {
                    let i = x - rect.x / plane.sub_x;
                    let j = y - rect.y / plane.sub_y;
                    self.picture_sample(location, i, j)
                } else {
                    from_rgb(self.destination, BLACK)
                };
                let value = analogue[location.component.slot()];
                values.push(self.destination.encode(location.component, value));
            }
        }
        let (component, plane) = (location.component, location.plane);
        RealComponent {
            component,
            plane,
            width,
            height,
            values,
        }
    }

    /// The destination's analogue values at sample (`i`, `j`) of a component, counted from the
    /// destination rectangle. Only the component's own slot is meant to be used.
    fn picture_sample(&self, location: &ComponentInfo, i: usize, j: usize) -> Analogue {
        let plane = &self.destination.format.info().planes[location.plane];
        if (plane.sub_x, plane.sub_y) == (1, 1) {
            self.to_destination(self.pixel(i as i64, j as i64))
        } else if self.source.info.format.is_subsampled() {
            self.to_destination(self.resampled_chroma(location, i as i64, j as i64))
        } else {
            self.to_destination(self.box_average(location, i as i64, j as i64))
        }
    }

    /// The source's analogue values at pixel (`dx`, `dy`) of the destination rectangle: the
    /// destination's 4:4:4 pixel before any change of colours.
    fn pixel(&self, dx: i64, dy: i64) -> Analogue {
        let (across, down) = self.axes();
        let (px, py) = match self.method {
            Method::Bilinear => (across.map(Ratio::from(dx)), down.map(Ratio::from(dy))),
            Method::Nearest => (
                Ratio::from(across.nearest(dx as usize)),
                Ratio::from(down.nearest(dy as usize)),
            ),
        };
        let mut analogue = BLACK;
        for location in self.source.info.format.info().components {
            let (x, y) = self.source_index(location, px, py);
            analogue[location.component.slot()] = self.interpolate(location, x, y);
        }
        analogue
    }

    /// The mean of the 4:4:4 pixels under the chroma box of sample (`i`, `j`), pixels outside
    /// the destination rectangle replaced by the nearest inside.
    fn box_average(&self, location: &ComponentInfo, i: i64, j: i64) -> Analogue {
        let plane = &self.destination.format.info().planes[location.plane];
        let (h, v) = self.destination.halves(location);
        let last_x = self.destination_rect.width as i64 - 1;
        let last_y = self.destination_rect.height as i64 - 1;
        let mut mean = [0.0; 4];
        for &(y, weight_y) in &box_weights(j, plane.sub_y, v) {
            for &(x, weight_x) in &box_weights(i, plane.sub_x, h) {
                let pixel = self.pixel(x.clamp(0, last_x), y.clamp(0, last_y));
                for (sum, value) in mean.iter_mut().zip(pixel) {
                    *sum += weight_x * weight_y * value;
                }
            }
        }
        mean
    }

    /// The source's chroma at chroma sample (`i`, `j`) of the destination, read straight from
    /// the source's chroma planes, with the luma that goes with it.
    fn resampled_chroma(&self, location: &ComponentInfo, i: i64, j: i64) -> Analogue {
        let plane = &self.destination.format.info().planes[location.plane];
        let (h, v) = self.destination.halves(location);
        let (across, down) = self.axes();
        let px = across.map(luma_position(i, plane.sub_x, h));
        let py = down.map(luma_position(j, plane.sub_y, v));
        // With equal matrices luma has no part in chroma, and need not be found.
        let mut analogue = if self.source.info.matrix == self.destination.matrix {
            BLACK
        } else {
            self.box_average(location, i, j)
        };
        for component in [Component::Cb, Component::Cr] {
            let location = self.source.info.format.component(component);
            let location = location.expect("a subsampled format has chroma");
            let (x, y) = self.source_index(location, px, py);
            analogue[component.slot()] = match self.method {
                Method::Bilinear => self.interpolate(location, x, y),
                Method::Nearest => {
                    self.sample(location, (x + half()).floor(), (y + half()).floor())
                }
            };
        }
        analogue
    }

    /// The axes of the conversion, `(across, down)`.
    const fn axes(&self) -> (Axis, Axis) {
        let (source, destination) = (&self.source_rect, &self.destination_rect);
        (
            Axis {
                source: source.width,
                destination: destination.width,
            },
            Axis {
                source: source.height,
                destination: destination.height,
            },
        )
    }

    /// What a source component holds at a position in luma pixels of the source rectangle, as a
    /// column and row of that component counted from the rectangle.
    fn source_index(&self, location: &ComponentInfo, px: Ratio, py: Ratio) -> (Ratio, Ratio) {
        let plane = &self.source.info.format.info().planes[location.plane];
        let (h, v) = self.source.info.halves(location);
        (
            sample_index(px, plane.sub_x, h),
            sample_index(py, plane.sub_y, v),
        )
    }

    /// Linear interpolation of a source component.
    fn interpolate(&self, location: &ComponentInfo, x: Ratio, y: Ratio) -> f64 {
        let (column, row) = (x.floor(), y.floor());
        let along = |row| {
            let (left, right) = (
                self.sample(location, column, row),
                self.sample(location, column + 1, row),
            );
            left * (1.0 - x.fraction()) + right * x.fraction()
        };
        along(row) * (1.0 - y.fraction()) + along(row + 1) * y.fraction()
    }

    /// The analogue value of a source sample counted from the source rectangle; outside it, of
    /// the nearest sample inside.
    fn sample(&self, location: &ComponentInfo, column: i64, row: i64) -> f64 {
        let plane = &self.source.info.format.info().planes[location.plane];
        let rect = &self.source_rect;
        let inside = |index: i64, start: usize, length: usize, sub: usize| {
            let (first, end) = (start / sub, (start + length).div_ceil(sub));
            first + index.clamp(0, (end - first) as i64 - 1) as usize
        };
        let x = inside(column, rect.x, rect.width, plane.sub_x);
        let y = inside(row, rect.y, rect.height, plane.sub_y);
        let code = self.source.code(location.component, x, y);
        self.source.info.decode(location.component, f64::from(code))
    }

    /// Source colours to destination colours, by way of R'G'B'.
    fn to_destination(&self, analogue: Analogue) -> Analogue {
        from_rgb(self.destination, to_rgb(&self.source.info, analogue))
    }
}

/// A frame's analogue values as R'G'B'A.
fn to_rgb(info: &FrameInfo, [first, second, third, alpha]: Analogue) -> Analogue {
    let colour = [first, second, third];
    let [r, g, b] = match info.format.family() {
        Family::Yuv => info.matrix.rgb_from_ycbcr(colour),
        Family::Rgb => colour,
    };
    [r, g, b, alpha]
}

/// R'G'B'A as a frame's analogue values.
fn from_rgb(info: &FrameInfo, [r, g, b, alpha]: Analogue) -> Analogue {
    let [first, second, third] = match info.format.family() {
        Family::Yuv => info.matrix.ycbcr_from_rgb([r, g, b]),
        Family::Rgb => [r, g, b],
    };
    [first, second, third, alpha]
}
