//! Which source samples each destination sample reads, axis by axis, and the sums themselves.

use crate::axis::{Axis, Lattice};
use crate::filter::{Method, Weights, bilinear, box_weights, nearest, weights};
use crate::geometry::Ratio;

/// Samples of one component in analogue values, by rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) values: Vec<f64>,
}

impl Grid {
    /// The grid with rows and columns exchanged.
    pub(crate) fn transposed(&self) -> Self {
        let columns = (0..self.width).flat_map(|x| (0..self.height).map(move |y| (x, y)));
        Self {
            width: self.height,
            height: self.width,
            values: columns.map(|(x, y)| self.at(x, y)).collect(),
        }
    }

    pub(crate) fn at(&self, x: usize, y: usize) -> f64 {
        self.values[y * self.width + x]
    }

    /// The sums that `across` and `down` ask for, one list of samples for each column and each row
    /// of the result. An empty list gives 0.
    pub(crate) fn resampled(&self, across: &[Taps], down: &[Taps]) -> Self {
        let mut rows = Vec::with_capacity(across.len() * self.height);
        for y in 0..self.height {
            let row = &self.values[y * self.width..(y + 1) * self.width];
            let sum = |taps: &Taps| taps.iter().map(|&(x, weight)| row[x] * weight).sum::<f64>();
            rows.extend(across.iter().map(sum));
        }
        let mut values = Vec::with_capacity(across.len() * down.len());
        for taps in down {
            for x in 0..across.len() {
                let column = taps
                    .iter()
                    .map(|&(y, weight)| rows[y * across.len() + x] * weight);
                values.push(column.sum());
            }
        }
        Self {
            width: across.len(),
            height: down.len(),
            values,
        }
    }
}

/// What one destination sample reads along one axis: source indices with weights that sum to 1;
/// none if the sample lies outside the picture.
pub(crate) type Taps = Vec<(usize, f64)>;

/// A destination axis, tied to its source axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tie {
    pub(crate) axis: Axis,
    /// The method on this axis; never [`Method::Auto`].
    pub(crate) method: Method,
    /// Fields that the axis is divided in: 2 down interlaced frames, else 1.
    pub(crate) fields: i64,
    /// Luma pixels of the whole destination frame along the axis.
    pub(crate) destination_size: i64,
}

impl Tie {
    pub(crate) fn new(axis: Axis, method: Method, fields: i64, destination_size: usize) -> Self {
        Self {
            axis,
            method: method.on_axis(axis.scale()),
            fields,
            destination_size: destination_size as i64,
        }
    }

    /// What every destination pixel reads from a source component: Y', R', G', B' or alpha if its
    /// lattice is that of the pixels, chroma otherwise.
    pub(crate) fn pixels(&self, source: Lattice) -> Vec<Taps> {
        self.each(Lattice::PIXELS, |field, line| {
            self.pixel(source, field, line)
        })
    }

    /// What every destination chroma sample reads from the source's chroma, or from R', G' and B'.
    pub(crate) fn chroma(&self, source: Lattice, destination: Lattice) -> Vec<Taps> {
        let boxed = self.method.is_simple() && source.step == 1 && destination.step == 2;
        self.each(destination, |field, line| {
            if boxed {
                let pixels = self.box_of(destination, field, line);
                let taps = pixels.into_iter().flat_map(|(pixel, share)| {
                    let taps = self.pixel(source, field, pixel).into_iter();
                    taps.map(move |(index, weight)| (index, weight * share))
                });
                taps.collect()
            } else {
                let position = self
                    .axis
                    .map(destination.of_field(field, self.fields).position(line));
                self.by_method(source, destination.step, field, position)
            }
        })
    }

    /// The destination pixels under the chroma box of every chroma sample, as indices of the frame.
    pub(crate) fn boxes(&self, destination: Lattice) -> Vec<Taps> {
        self.each(destination, |field, line| {
            let pixels = self.box_of(destination, field, line).into_iter();
            let frame_line = |pixel: i64| (pixel * self.fields + field) as usize;
            pixels
                .map(|(pixel, share)| (frame_line(pixel), share))
                .collect()
        })
    }

    /// Whether each sample of a lattice belongs to the picture.
    pub(crate) fn belongs(&self, destination: Lattice) -> Vec<bool> {
        let taps = self.each(destination, |_, _| vec![(0, 1.0)]);
        taps.iter().map(|taps| !taps.is_empty()).collect()
    }

    /// Calls `taps` with the field and the index in the field of every sample that belongs to the
    /// picture: pixels with their centre in the rectangle, chroma samples with their first pixel.
    fn each(&self, lattice: Lattice, taps: impl Fn(i64, i64) -> Taps) -> Vec<Taps> {
        let count = (self.destination_size + lattice.step - 1) / lattice.step;
        let samples = (0..count).map(|index| {
            let (field, line) = (index % self.fields, index / self.fields);
            if self.holds(field, line * lattice.step) {
                taps(field, line)
            } else {
                Taps::new()
            }
        });
        samples.collect()
    }

    /// Whether pixel (or line) `line` of a field is one of the picture.
    fn holds(&self, field: i64, line: i64) -> bool {
        let pixel = line * self.fields + field;
        (0..self.destination_size).contains(&pixel) && self.axis.holds(pixel)
    }

    /// What pixel `line` of a field reads from a component.
    fn pixel(&self, source: Lattice, field: i64, line: i64) -> Taps {
        let pixels = Lattice::PIXELS.of_field(field, self.fields);
        let position = self.axis.map(pixels.position(line));
        if source == Lattice::PIXELS || !self.method.is_simple() {
            return self.by_method(source, 1, field, position);
        }
        // Chroma is interpolated even where the pixel is the nearest one.
        let position = match self.method {
            Method::Nearest => pixels.position(nearest(pixels.index(position), self.axis.mirrored)),
            _ => position,
        };
        let index = source.of_field(field, self.fields).index(position);
        self.clamped(source, field, bilinear(index))
    }

    /// What the method reads at a source position, for a destination lattice of step `step`.
    fn by_method(&self, source: Lattice, step: i64, field: i64, position: Ratio) -> Taps {
        let samples = self.axis.scale() * Ratio::new(i128::from(step), i128::from(source.step));
        let index = source.of_field(field, self.fields).index(position);
        let weights = weights(self.method, index, samples, self.axis.mirrored);
        self.clamped(source, field, weights)
    }

    /// Samples of a field as indices of the frame, those outside the source rectangle replaced by
    /// the nearest inside.
    fn clamped(&self, source: Lattice, field: i64, weights: Weights) -> Taps {
        let (first, last) = source.span(self.axis.source_start, self.axis.source_length);
        let first_line = (first - field + self.fields - 1).div_euclid(self.fields);
        let last_line = (last - field).div_euclid(self.fields);
        let frame_index = |line: i64| {
            if first_line > last_line {
                // The rectangle has one line only, which is the other field's.
                first
            } else {
                line.clamp(first_line, last_line) * self.fields + field
            }
        };
        let weights = weights.into_iter();
        weights
            .map(|(line, weight)| (frame_index(line) as usize, weight))
            .collect()
    }

    /// The pixels of a field under the box of chroma sample `line`, each with its share, those
    /// outside the picture replaced by the nearest inside.
    fn box_of(&self, destination: Lattice, field: i64, line: i64) -> Weights {
        let position = destination.of_field(field, self.fields).position(line);
        let centre = Lattice::PIXELS.of_field(field, self.fields).index(position);
        let boxed = box_weights(centre.to_f64(), destination.step as f64);
        let inside = |pixel: i64| {
            // The sample's own first pixel is in the picture, so that the search ends there.
            let mut pixel = pixel;
            let own = line * destination.step;
            while !self.holds(field, pixel) {
                pixel += (own - pixel).signum();
            }
            pixel
        };
        boxed
            .into_iter()
            .map(|(pixel, share)| (inside(pixel), share))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::FIXED_ONE;

    fn tie(source: i64, destination: i64, method: Method, mirrored: bool, fields: i64) -> Tie {
        let axis = Axis {
            source_start: 0,
            source_length: source * FIXED_ONE,
            destination_start: 0,
            destination_length: destination * FIXED_ONE,
            mirrored,
        };
        Tie::new(axis, method, fields, destination as usize)
    }

    fn indices(taps: &[Taps]) -> Vec<usize> {
        let single = |taps: &Taps| {
            assert_eq!(taps.len(), 1);
            taps[0].0
        };
        taps.iter().map(single).collect()
    }

    #[test]
    fn nearest_is_the_integer_formula_for_all_small_sizes() {
        for (source, destination) in (1..=40).flat_map(|s| (1..=40).map(move |d| (s, d))) {
            let plain = tie(source, destination, Method::Nearest, false, 1);
            let found = indices(&plain.pixels(Lattice::PIXELS));
            let expected = (0..destination).map(|x| (2 * x + 1) * source / (2 * destination));
            let expected: Vec<usize> = expected.map(|x| x as usize).collect();
            assert_eq!(found, expected, "{source} to {destination}");
            let mirrored = tie(source, destination, Method::Nearest, true, 1);
            let found = indices(&mirrored.pixels(Lattice::PIXELS));
            let expected: Vec<usize> = expected.iter().map(|x| source as usize - 1 - x).collect();
            assert_eq!(found, expected, "{source} to {destination}");
        }
    }

    #[test]
    fn each_field_reads_its_own_lines() {
        for method in [Method::Bilinear, Method::Nearest, Method::Area] {
            for taps in tie(9, 7, method, false, 2)
                .pixels(Lattice::PIXELS)
                .iter()
                .enumerate()
            {
                let (line, taps) = taps;
                assert!(!taps.is_empty());
                assert!(
                    taps.iter().all(|(index, _)| index % 2 == line % 2),
                    "{method:?} {line}"
                );
            }
        }
        // One line of source has no bottom field of its own.
        let found = tie(1, 4, Method::Nearest, false, 2).pixels(Lattice::PIXELS);
        assert_eq!(indices(&found), [0; 4]);
    }

    #[test]
    fn same_size_fields_change_nothing() {
        let chroma = Lattice { step: 2, halves: 1 };
        for method in Method::ALL {
            let tie = tie(12, 12, method, false, 2);
            for (index, taps) in tie.chroma(chroma, chroma).iter().enumerate() {
                let own: f64 = taps.iter().filter(|t| t.0 == index).map(|t| t.1).sum();
                assert!((own - 1.0).abs() < 1e-12, "{method:?} {index}: {taps:?}");
            }
        }
    }

    #[test]
    fn boxes_of_interlaced_chroma_lie_where_the_sample_does() {
        // Vertically between lines: a top field's chroma lies a quarter of a field line below its
        // line 2j, a bottom field's three quarters.
        let chroma = Lattice { step: 2, halves: 1 };
        let boxes = tie(16, 16, Method::Bilinear, false, 2).boxes(chroma);
        assert_eq!(boxes[2], [(2, 0.125), (4, 0.5), (6, 0.375)]);
        assert_eq!(boxes[3], [(5, 0.375), (7, 0.5), (9, 0.125)]);
    }

    #[test]
    fn taps_sum_to_one() {
        for (source, destination) in (1..9).flat_map(|s| (1..9).map(move |d| (s, d))) {
            for (method, fields) in Method::ALL.into_iter().flat_map(|m| [(m, 1), (m, 2)]) {
                let tie = tie(source, destination, method, false, fields);
                let chroma = Lattice { step: 2, halves: 2 };
                let all = [
                    tie.pixels(Lattice::PIXELS),
                    tie.pixels(chroma),
                    tie.chroma(chroma, chroma),
                    tie.chroma(Lattice::PIXELS, chroma),
                    tie.chroma(chroma, Lattice::PIXELS),
                    tie.boxes(chroma),
                ];
                for taps in all.iter().flatten() {
                    let sum: f64 = taps.iter().map(|(_, weight)| weight).sum();
                    assert!(
                        (sum - 1.0).abs() < 1e-12,
                        "{method:?} {source} {destination}"
                    );
                }
            }
        }
    }

    #[test]
    fn sums_of_a_small_grid() {
        let grid = Grid {
            width: 3,
            height: 2,
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        };
        let across = [vec![(0, 0.5), (2, 0.5)], vec![]];
        let down = [vec![(1, 1.0)], vec![(0, 0.25), (1, 0.75)], vec![(0, 1.0)]];
        let found = grid.resampled(&across, &down);
        assert_eq!((found.width, found.height), (2, 3));
        assert_eq!(found.values, [5.0, 0.0, 4.25, 0.0, 2.0, 0.0]);
        assert_eq!(grid.transposed().values, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
