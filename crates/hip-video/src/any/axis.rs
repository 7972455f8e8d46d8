//! Which source samples a destination sample reads along an axis, of a frame or of a field
//! (docs/conversion.md, "Geometry", "Resampling" and "Interlaced"). Positions are computed in `f64`,
//! and what `nearest` chooses in integers.

use super::filter::{Table, Weights, linear, weights};
use crate::geometry::FINE;
use crate::params::Method;

/// Samples of one kind along an axis: sample i lies at luma position `step·i + halves/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lattice {
    pub(crate) step: i64,
    /// The site in half luma pixels; 0 where the step is 1.
    pub(crate) halves: i64,
}

impl Lattice {
    /// Y, R, G, B, A.
    pub(crate) const LUMA: Lattice = Lattice { step: 1, halves: 0 };

    pub(crate) fn chroma(step: usize, halves: i64) -> Lattice {
        match step {
            1 => Lattice::LUMA,
            _ => Lattice { step: 2, halves },
        }
    }

    /// The samples of one field, counted by themselves.
    fn of_field(self, field: Field) -> Lattice {
        Lattice {
            step: self.step * field.count,
            halves: self.halves + 2 * self.step * field.index,
        }
    }
}

/// Every `count`th line from line `index` on: a picture of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) index: i64,
    pub(crate) count: i64,
}

impl Field {
    /// Every line.
    pub(crate) const WHOLE: Field = Field { index: 0, count: 1 };
    /// The top field and the bottom field of an interlaced frame.
    pub(crate) const BOTH: [Field; 2] =
        [Field { index: 0, count: 2 }, Field { index: 1, count: 2 }];

    /// How many of `lines` belong to it; also which of its lines is the first at or behind line
    /// `lines` of the frame.
    pub(crate) fn lines(self, lines: i64) -> i64 {
        -(self.index - lines).div_euclid(self.count)
    }
}

/// Source samples of a field along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The sample of the frame that sample 0 is.
    pub(crate) base: i64,
    /// The first and last that may be read.
    low: i64,
    high: i64,
}

/// A span of an axis in luma pixels, 16.16 fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: i64,
    pub(crate) length: i64,
}

impl Span {
    /// The first pixel whose centre lies inside, and the first behind.
    pub(crate) fn pixels(self) -> (i64, i64) {
        let first = |edge: i64| -(FINE / 2 - edge).div_euclid(FINE);
        (first(self.start), first(self.start + self.length))
    }
}

/// One destination axis and the source axis that it shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) source: Span,
    pub(crate) destination: Span,
    /// The source is read backwards.
    pub(crate) mirrored: bool,
    pub(crate) method: Method,
    /// The field of source and destination; across there is one only.
    pub(crate) field: Field,
}

impl Axis {
    /// `map(X)` for the position X in half luma pixels.
    fn map(&self, halves: i64) -> f64 {
        let fine = FINE as f64;
        let scale = self.source.length as f64 / self.destination.length as f64;
        let from_start = (halves as f64 + 1.0) / 2.0 - self.destination.start as f64 / fine;
        let position = from_start * scale + self.source.start as f64 / fine - 0.5;
        match self.mirrored {
            false => position,
            true => (2 * self.source.start + self.source.length) as f64 / fine - 1.0 - position,
        }
    }

    /// `map(X) + 1/2` as a fraction, before mirroring.
    fn exact(&self, halves: i64) -> (i128, i128) {
        let [x0, sw, start, dw] = [
            self.source.start,
            self.source.length,
            self.destination.start,
            self.destination.length,
        ]
        .map(i128::from);
        let fine = i128::from(FINE);
        let from_start = (i128::from(halves) + 1) * fine - 2 * start;
        (from_start * sw + 2 * dw * x0, 2 * fine * dw)
    }

    /// `map(X) + 1/2` less the sum of the source's ends, which mirroring is about.
    fn exact_from_ends(&self, halves: i64) -> (i128, i128) {
        let (numerator, denominator) = self.exact(halves);
        let (fine, ends) = (
            i128::from(FINE),
            i128::from(2 * self.source.start + self.source.length),
        );
        (numerator * fine - ends * denominator, denominator * fine)
    }

    /// The source sample that `nearest` chooses for a position in half luma pixels: `floor(q + 1/2)`,
    /// and mirrored `ceil(q - 1/2)`.
    fn nearest(&self, halves: i64, source: Lattice) -> i64 {
        let (step, site) = (i128::from(source.step), i128::from(source.halves));
        if !self.mirrored {
            let (numerator, denominator) = self.exact(halves);
            let shifted = 2 * numerator + (step - 1 - site) * denominator;
            return shifted.div_euclid(2 * step * denominator) as i64;
        }
        let (numerator, denominator) = self.exact_from_ends(halves);
        let shifted = 2 * numerator + (step + 1 + site) * denominator;
        -shifted.div_euclid(2 * step * denominator) as i64
    }

    /// The source samples that the rectangle holds.
    pub(crate) fn ends(&self, source: Lattice) -> Ends {
        let unit = FINE * source.step;
        let end = self.source.start + self.source.length;
        let (first, behind) = (self.source.start.div_euclid(unit), -(-end).div_euclid(unit));
        let (low, high) = (self.field.lines(first), self.field.lines(behind) - 1);
        if low > high {
            // The only line there is belongs to the other field.
            return Ends {
                base: first,
                low: 0,
                high: 0,
            };
        }
        Ends {
            base: self.field.index,
            low,
            high,
        }
    }

    /// The destination pixels of the field whose centre lies inside: the first, and the first behind.
    pub(crate) fn pixels(&self) -> (i64, i64) {
        let (low, high) = self.destination.pixels();
        (self.field.lines(low), self.field.lines(high))
    }

    /// The method of this axis, for `auto`.
    fn method(&self) -> Method {
        match self.method {
            Method::Auto if self.source.length > self.destination.length => Method::Area,
            Method::Auto => Method::Bilinear,
            method => method,
        }
    }

    /// Samples of `source` at destination pixel `pixel`, before they are clamped.
    fn at_pixel(&self, pixel: i64, source: Lattice) -> Weights {
        let lines = Lattice::LUMA.of_field(self.field);
        let halves = 2 * lines.step * pixel + lines.halves;
        match (self.method(), source.step) {
            (Method::Nearest, 1) => Weights::from([(self.nearest(halves, lines), 1.0)]),
            (Method::Nearest, _) => {
                let nearest = lines.step * self.nearest(halves, lines);
                let position = nearest as f64 + lines.halves as f64 / 2.0;
                let source = source.of_field(self.field);
                linear((position - source.halves as f64 / 2.0) / source.step as f64)
            }
            _ => self.filtered(halves, Lattice::LUMA, source),
        }
    }

    fn filtered(&self, halves: i64, destination: Lattice, source: Lattice) -> Weights {
        let lines = source.of_field(self.field);
        let position = (self.map(halves) - lines.halves as f64 / 2.0) / lines.step as f64;
        let scale = self.source.length as f64 / self.destination.length as f64;
        let ratio = scale * destination.step as f64 / source.step as f64;
        weights(self.method(), position, ratio)
    }

    /// Samples of `source` at chroma sample `index` of the destination, before they are clamped.
    fn at_chroma(&self, index: i64, destination: Lattice, source: Lattice) -> Weights {
        let simple = matches!(self.method(), Method::Nearest | Method::Bilinear);
        if simple && destination.step == 2 && source.step == 1 {
            let (low, high) = self.pixels();
            let mut sum = Weights::new();
            let weights = box_weights(destination, self.field);
            for (pixel, weight) in (2 * index - 1..).zip(weights).filter(|(_, w)| *w != 0.0) {
                for (sample, part) in self.at_pixel(pixel.clamp(low, high - 1), source) {
                    *sum.entry(sample).or_default() += weight * part;
                }
            }
            return sum;
        }
        let lines = destination.of_field(self.field);
        let halves = 2 * lines.step * index + lines.halves;
        match self.method() {
            Method::Nearest => {
                let sample = self.nearest(halves, source.of_field(self.field));
                Weights::from([(sample, 1.0)])
            }
            _ => self.filtered(halves, destination, source),
        }
    }

    /// The table of all samples of a destination lattice within the rectangle; gives the index of
    /// the first too.
    pub(crate) fn table(
        &self,
        destination: Lattice,
        is_chroma: bool,
        source: Lattice,
    ) -> (i64, Table) {
        let (low, high) = self.pixels();
        let step = destination.step;
        let first = -(-low).div_euclid(step);
        let behind = (high - 1).div_euclid(step) + 1;
        let samples = (first..behind.max(first)).map(|index| {
            let weights = match is_chroma {
                true => self.at_chroma(index, destination, source),
                false => self.at_pixel(index, source),
            };
            clamped(weights, self.ends(source))
        });
        (first, Table::of(samples.collect(), self.ends(source).high))
    }
}

/// Weights of the pixels 2i-1 .. 2i+2 of the field in chroma sample i: what a box two pixels wide
/// around it covers of them.
pub(crate) fn box_weights(destination: Lattice, field: Field) -> [f64; 4] {
    // From the field's pixel 2i, in its pixels.
    let place = (destination.halves as f64 / 2.0 + field.index as f64) / field.count as f64;
    [-1.0, 0.0, 1.0, 2.0].map(|pixel: f64| {
        let covered = (pixel + 0.5).min(place + 1.0) - (pixel - 0.5).max(place - 1.0);
        covered.max(0.0) / 2.0
    })
}

/// What falls outside goes to the nearest inside.
fn clamped(weights: Weights, ends: Ends) -> Weights {
    let mut inside = Weights::new();
    for (index, weight) in weights {
        *inside.entry(index.clamp(ends.low, ends.high)).or_default() += weight;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Cubic, Lobes};

    fn whole(length: u32) -> Span {
        Span {
            start: 0,
            length: i64::from(length) * FINE,
        }
    }

    fn axis(source: u32, destination: u32, method: Method) -> Axis {
        Axis {
            source: whole(source),
            destination: whole(destination),
            mirrored: false,
            method,
            field: Field::WHOLE,
        }
    }

    fn methods() -> [Method; 7] {
        [
            Method::Nearest,
            Method::Bilinear,
            Method::Area,
            Method::Auto,
            Method::Bicubic(Cubic::CATMULL_ROM),
            Method::Bicubic(Cubic::MITCHELL),
            Method::Lanczos(Lobes::THREE),
        ]
    }

    #[test]
    fn weights_sum_to_one_and_stay_inside() {
        for method in methods() {
            for (source, destination) in [(1, 1), (7, 7), (64, 5), (5, 64), (1, 9), (33, 32)] {
                let lattices = [0, 1, 2].map(|halves| Lattice::chroma(2, halves));
                for from in lattices.into_iter().chain([Lattice::LUMA]) {
                    for (to, chroma) in [(Lattice::LUMA, false), (lattices[1], true)] {
                        let axis = axis(source, destination, method);
                        let (first, table) = axis.table(to, chroma, from);
                        assert_eq!(first, 0);
                        let samples =
                            |pixels: u32, step: i64| (i64::from(pixels) + step - 1) / step;
                        assert_eq!(table.starts.len() as i64, samples(destination, to.step));
                        let last = samples(source, from.step) - 1;
                        for (start, weights) in
                            table.starts.iter().zip(table.weights.chunks(table.taps))
                        {
                            let sum: f32 = weights.iter().sum();
                            assert!((sum - 1.0).abs() < 1e-5, "{method:?} {sum}");
                            assert!(*start >= 0, "{method:?} {source} {destination}");
                            assert!(i64::from(*start) + table.taps as i64 - 1 <= last);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn equal_sizes_change_nothing() {
        for method in methods() {
            if matches!(method, Method::Bicubic(cubic) if cubic == Cubic::MITCHELL) {
                continue; // it blurs
            }
            let (_, table) = axis(9, 9, method).table(Lattice::LUMA, false, Lattice::LUMA);
            for (pixel, (start, weights)) in table
                .starts
                .iter()
                .zip(table.weights.chunks(table.taps))
                .enumerate()
            {
                for (tap, weight) in weights.iter().enumerate() {
                    let expected = if *start as usize + tap == pixel {
                        1.0
                    } else {
                        0.0
                    };
                    assert!((weight - expected).abs() < 1e-6, "{method:?} {pixel}");
                }
            }
        }
    }

    #[test]
    fn area_covers_cells_by_their_part() {
        // Three pixels from two: 2/3 of a source pixel each, so no averaging; two from three: 1.5.
        let (_, table) = axis(3, 2, Method::Area).table(Lattice::LUMA, false, Lattice::LUMA);
        assert_eq!((table.taps, &table.starts[..]), (2, &[0, 1][..]));
        let third = 1.0 / 3.0;
        for (found, expected) in table
            .weights
            .iter()
            .zip([2.0 * third, third, third, 2.0 * third])
        {
            assert!((found - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn mirrored_nearest_is_the_mirror_image() {
        for (source, destination) in [(7, 7), (7, 3), (3, 8), (10, 4)] {
            let plain = axis(source, destination, Method::Nearest);
            let mirrored = Axis {
                mirrored: true,
                ..plain
            };
            let starts = |axis: Axis| axis.table(Lattice::LUMA, false, Lattice::LUMA).1.starts;
            let back: Vec<i32> = starts(plain)
                .into_iter()
                .map(|i| source as i32 - 1 - i)
                .collect();
            assert_eq!(starts(mirrored), back);
        }
    }

    #[test]
    fn pixels_of_a_span_are_those_with_their_centre_inside() {
        let span = |start: f64, length: f64| Span {
            start: (start * FINE as f64) as i64,
            length: (length * FINE as f64) as i64,
        };
        assert_eq!(span(0.0, 4.0).pixels(), (0, 4));
        assert_eq!(span(0.5, 1.0).pixels(), (0, 1));
        assert_eq!(span(0.75, 1.0).pixels(), (1, 2));
        assert_eq!(span(0.6, 0.2).pixels(), (1, 1));
    }

    #[test]
    fn boxes_of_whole_frames_and_fields() {
        let [top, bottom] = Field::BOTH;
        let eighths = |halves: i64, field| {
            box_weights(Lattice::chroma(2, halves), field).map(|weight| weight * 8.0)
        };
        assert_eq!(eighths(0, Field::WHOLE), [2.0, 4.0, 2.0, 0.0]);
        assert_eq!(eighths(1, Field::WHOLE), [0.0, 4.0, 4.0, 0.0]);
        assert_eq!(eighths(2, Field::WHOLE), [0.0, 2.0, 4.0, 2.0]);
        // Between lines, chroma lies a quarter of a field line below line 2j, or three quarters.
        assert_eq!(eighths(1, top), [1.0, 4.0, 3.0, 0.0]);
        assert_eq!(eighths(1, bottom), [0.0, 3.0, 4.0, 1.0]);
        assert_eq!(eighths(0, top), [2.0, 4.0, 2.0, 0.0]);
        assert_eq!(eighths(0, bottom), [0.0, 4.0, 4.0, 0.0]);
    }

    #[test]
    fn fields_read_their_own_lines_only() {
        let [top, bottom] = Field::BOTH;
        assert_eq!(
            (top.lines(5), bottom.lines(5), Field::WHOLE.lines(5)),
            (3, 2, 5)
        );
        let chroma = Lattice::chroma(2, 1);
        let field = |field, length| Axis {
            field,
            ..axis(length, 8, Method::Bilinear)
        };
        let ends = |base, low, high| Ends { base, low, high };
        // Six lines have three of chroma: two of the top field and one of the bottom field.
        assert_eq!(field(top, 6).ends(Lattice::LUMA), ends(0, 0, 2));
        assert_eq!(field(bottom, 6).ends(Lattice::LUMA), ends(1, 0, 2));
        assert_eq!(field(top, 6).ends(chroma), ends(0, 0, 1));
        assert_eq!(field(bottom, 6).ends(chroma), ends(1, 0, 0));
        // One line of chroma serves both.
        assert_eq!(field(bottom, 2).ends(chroma), ends(0, 0, 0));
        for both in Field::BOTH {
            let (first, table) = field(both, 8).table(chroma, true, chroma);
            assert_eq!((first, &table.starts[..], table.taps), (0, &[0, 1][..], 1));
        }
    }
}
