//! Rectangles and positions.

/// A rectangle in luma pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rect {
    /// Left edge.
    pub x: u32,
    /// Top edge.
    pub y: u32,
    /// Width, at least 1.
    pub width: u32,
    /// Height, at least 1.
    pub height: u32,
}

impl Rect {
    /// A rectangle at the origin.
    pub fn of_size(width: u32, height: u32) -> Rect {
        Rect {
            x: 0,
            y: 0,
            width,
            height,
        }
    }

    /// Whether it has pixels and all of them lie in a `width`×`height` frame.
    pub fn fits(&self, width: u32, height: u32) -> bool {
        let inside = |start: u32, length: u32, end| {
            length > 0 && start.checked_add(length).is_some_and(|stop| stop <= end)
        };
        inside(self.x, self.width, width) && inside(self.y, self.height, height)
    }
}

/// Units of a luma pixel in a [`FineRect`].
pub(crate) const FINE: i64 = 1 << 16;

/// A rectangle in luma pixels with fractions, kept as 16.16 fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FineRect {
    /// Left, top; in 1/65536 pixel.
    pub(crate) start: [i64; 2],
    /// Width, height.
    pub(crate) size: [i64; 2],
}

impl FineRect {
    /// The rectangle nearest to these numbers, in luma pixels.
    pub fn new(x: f64, y: f64, width: f64, height: f64) -> FineRect {
        // A cast saturates: what is out of range is refused with the frame it is out of.
        let fine = |value: f64| (value * FINE as f64).round() as i64;
        FineRect {
            start: [fine(x), fine(y)],
            size: [fine(width), fine(height)],
        }
    }

    /// Whether it has an area and lies in a `width`×`height` frame.
    pub fn fits(&self, width: u32, height: u32) -> bool {
        let inside = |axis: usize, end: u32| {
            let end = i64::from(end) * FINE;
            let (start, size) = (self.start[axis], self.size[axis]);
            (0..end).contains(&start) && (1..=end).contains(&size) && start + size <= end
        };
        inside(0, width) && inside(1, height)
    }

    /// The same in whole pixels, if it is.
    pub fn whole(&self) -> Option<Rect> {
        let whole = |value: i64| (value % FINE == 0).then_some((value / FINE) as u32);
        Some(Rect {
            x: whole(self.start[0])?,
            y: whole(self.start[1])?,
            width: whole(self.size[0])?,
            height: whole(self.size[1])?,
        })
    }
}

impl From<Rect> for FineRect {
    fn from(rect: Rect) -> FineRect {
        let fine = |value: u32| i64::from(value) * FINE;
        FineRect {
            start: [fine(rect.x), fine(rect.y)],
            size: [fine(rect.width), fine(rect.height)],
        }
    }
}

/// How a picture is turned and mirrored, as `GstVideoOrientationMethod` numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Orientation {
    /// As it is.
    #[default]
    Identity,
    /// Turned clockwise by 90°.
    Right90,
    /// Turned by 180°.
    Turn180,
    /// Turned anticlockwise by 90°.
    Left90,
    /// Mirrored left to right.
    Horizontal,
    /// Mirrored top to bottom.
    Vertical,
    /// Mirrored along the diagonal from the upper left (the transpose).
    UpperLeftLowerRight,
    /// Mirrored along the diagonal from the upper right.
    UpperRightLowerLeft,
}

impl Orientation {
    /// Every orientation.
    pub const ALL: [Orientation; 8] = [
        Orientation::Identity,
        Orientation::Right90,
        Orientation::Turn180,
        Orientation::Left90,
        Orientation::Horizontal,
        Orientation::Vertical,
        Orientation::UpperLeftLowerRight,
        Orientation::UpperRightLowerLeft,
    ];

    /// Whether width and height change places.
    pub fn swaps_axes(self) -> bool {
        matches!(
            self,
            Orientation::Right90
                | Orientation::Left90
                | Orientation::UpperLeftLowerRight
                | Orientation::UpperRightLowerLeft
        )
    }

    /// Whether the source's x axis, and its y axis, are read backwards.
    pub(crate) fn mirrors(self) -> [bool; 2] {
        match self {
            Orientation::Identity | Orientation::UpperLeftLowerRight => [false, false],
            Orientation::Right90 | Orientation::Vertical => [false, true],
            Orientation::Left90 | Orientation::Horizontal => [true, false],
            Orientation::Turn180 | Orientation::UpperRightLowerLeft => [true, true],
        }
    }
}

/// A size and the shape of its pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Display {
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// Pixel aspect ratio, width over height.
    pub pixel_aspect: (u32, u32),
}

/// The largest rectangle of `output` that shows all of `input` undistorted, in the middle. For
/// `even` (a subsampled output) its origin is even, and so is its size where it is not the frame's.
pub fn letterbox(input: Display, output: Display, even: bool) -> Rect {
    let wide = u128::from(input.width)
        * u128::from(input.pixel_aspect.0)
        * u128::from(output.pixel_aspect.1);
    let high = u128::from(input.height)
        * u128::from(input.pixel_aspect.1)
        * u128::from(output.pixel_aspect.0);
    let (frame_width, frame_height) = (u128::from(output.width), u128::from(output.height));
    if wide == 0 || high == 0 {
        return Rect::of_size(output.width, output.height);
    }
    // wide:high is the input's shape in output pixels.
    let (width, height) = if frame_width * high <= frame_height * wide {
        (frame_width, (frame_width * high + wide / 2) / wide)
    } else {
        ((frame_height * wide + high / 2) / high, frame_height)
    };
    let (x, width) = centred(width as u32, output.width, even);
    let (y, height) = centred(height as u32, output.height, even);
    Rect {
        x,
        y,
        width,
        height,
    }
}

/// Start and length of a span in the middle of `frame`.
fn centred(length: u32, frame: u32, even: bool) -> (u32, u32) {
    let mut length = length.clamp(1, frame.max(1));
    if even && length < frame {
        length = (length & !1).max(2).min(frame);
    }
    let start = (frame - length.min(frame)) / 2;
    (if even { start & !1 } else { start }, length)
}

/// How destination samples of one axis map to source samples, in 32.32 fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FixedAxis {
    /// Source position of destination sample 0.
    pub(crate) origin: i64,
    /// Distance between neighbours.
    pub(crate) step: i64,
}

fn nearest_quotient(numerator: i128, denominator: i128) -> i64 {
    (numerator + denominator / 2).div_euclid(denominator) as i64
}

fn quotient_up(numerator: i128, denominator: i128) -> i64 {
    -(-numerator).div_euclid(denominator) as i64
}

impl FixedAxis {
    /// Luma, bilinear: sample `d` lies at `(d + 1/2)·source/destination - 1/2`.
    pub(crate) fn bilinear(source: u32, destination: u32) -> FixedAxis {
        let (source, destination) = (i128::from(source), i128::from(destination));
        FixedAxis {
            origin: nearest_quotient((source - destination) << 32, 2 * destination),
            step: nearest_quotient(source << 32, destination),
        }
    }

    /// Luma, nearest: the integer part at `d` is `((2d+1)·source) div (2·destination)`.
    ///
    /// Both numbers are rounded up. The position is then too large by less than `(d + 1)/2^32`,
    /// at most 2^-18 for sizes up to 16384, while the true position is at least
    /// `1/(2·destination)`, 2^-15, below the next integer: the integer part is exact.
    pub(crate) fn nearest(source: u32, destination: u32) -> FixedAxis {
        let (source, destination) = (i128::from(source), i128::from(destination));
        FixedAxis {
            origin: quotient_up(source << 32, 2 * destination),
            step: quotient_up(source << 32, destination),
        }
    }

    /// Chroma to chroma, bilinear: sample `i` lies at
    /// `((2i + to/2 + 1/2)·source/destination - 1/2 - from/2)/2`, sites in half luma pixels.
    pub(crate) fn chroma_bilinear(source: u32, destination: u32, from: i64, to: i64) -> FixedAxis {
        let (source, destination) = (i128::from(source), i128::from(destination));
        let (from, to) = (i128::from(from), i128::from(to));
        let origin = (to + 1) * source - (from + 1) * destination;
        FixedAxis {
            origin: nearest_quotient(origin << 32, 4 * destination),
            step: nearest_quotient(source << 32, destination),
        }
    }

    /// Chroma to chroma, nearest: the integer part is the integer nearest to the position that
    /// [`FixedAxis::chroma_bilinear`] states, halves up. Exact as [`FixedAxis::nearest`] is: the
    /// denominator is twice as large.
    pub(crate) fn chroma_nearest(source: u32, destination: u32, from: i64, to: i64) -> FixedAxis {
        let (source, destination) = (i128::from(source), i128::from(destination));
        let (from, to) = (i128::from(from), i128::from(to));
        let origin = (to + 1) * source + (1 - from) * destination;
        FixedAxis {
            origin: quotient_up(origin << 32, 4 * destination),
            step: quotient_up(source << 32, destination),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl FixedAxis {
        /// The position of a sample, computed as the kernels do.
        fn at(&self, sample: i64) -> i64 {
            self.origin + self.step * sample
        }
    }

    /// Sizes up to the limit: small ones, powers of two and their neighbours, common ones, and
    /// some with no pattern.
    fn sizes() -> Vec<u32> {
        let mut sizes: Vec<u32> = (1..=20).collect();
        for power in 5..=14 {
            sizes.extend([(1 << power) - 1, 1 << power]);
        }
        sizes.extend([
            33, 720, 1080, 1366, 1920, 2160, 3840, 4320, 7680, 8640, 15360,
        ]);
        let mut state = 12345_u32;
        sizes.extend((0..40).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state % 16384 + 1
        }));
        sizes
    }

    #[test]
    fn nearest_is_exact() {
        for destination in sizes() {
            for source in sizes() {
                let axis = FixedAxis::nearest(source, destination);
                for d in 0..i64::from(destination) {
                    let exact = (2 * d + 1) * i64::from(source) / (2 * i64::from(destination));
                    assert_eq!(axis.at(d) >> 32, exact, "{d} of {source} to {destination}");
                }
            }
        }
    }

    #[test]
    fn nearest_chroma_is_exact() {
        for destination in sizes() {
            for source in sizes().into_iter().step_by(3) {
                for (from, to) in [(0, 0), (1, 0), (0, 1), (2, 1), (1, 2), (2, 0)] {
                    let axis = FixedAxis::chroma_nearest(source, destination, from, to);
                    let (source, destination) = (i64::from(source), i64::from(destination));
                    for i in 0..(destination + 1) / 2 {
                        let numerator = (4 * i + to + 1) * source + (1 - from) * destination;
                        let exact = numerator.div_euclid(4 * destination);
                        assert_eq!(axis.at(i) >> 32, exact, "{i} of {source} to {destination}");
                    }
                }
            }
        }
    }

    #[test]
    fn bilinear_positions() {
        let same = FixedAxis {
            origin: 0,
            step: 1 << 32,
        };
        assert_eq!(FixedAxis::bilinear(77, 77), same);
        assert_eq!(FixedAxis::chroma_bilinear(77, 77, 1, 1), same);
        let half = FixedAxis::bilinear(4, 2);
        assert_eq!((half.at(0), half.at(1)), (1 << 31, 5 << 31));
        // A quarter of a chroma sample from cosited to centred.
        assert_eq!(FixedAxis::chroma_bilinear(8, 8, 0, 1).origin, 1 << 30);
        assert_eq!(FixedAxis::chroma_bilinear(8, 8, 1, 0).origin, -(1 << 30));
    }

    #[test]
    fn bilinear_drifts_less_than_a_hundred_thousandth() {
        for (source, destination) in [(16384, 16383), (16383, 16384), (3, 16384), (16384, 7)] {
            let axis = FixedAxis::bilinear(source, destination);
            for d in 0..destination {
                let exact = (f64::from(d) + 0.5) * f64::from(source) / f64::from(destination) - 0.5;
                let found = axis.at(i64::from(d)) as f64 / 4_294_967_296.0;
                assert!((exact - found).abs() < 1e-5);
            }
        }
    }

    fn square(width: u32, height: u32) -> Display {
        Display {
            width,
            height,
            pixel_aspect: (1, 1),
        }
    }

    #[test]
    fn letterboxes() {
        let rect = |x, y, width, height| Rect {
            x,
            y,
            width,
            height,
        };
        let cinema = square(1920, 800);
        assert_eq!(
            letterbox(cinema, square(1920, 1080), true),
            rect(0, 140, 1920, 800)
        );
        assert_eq!(
            letterbox(square(640, 480), square(1920, 1080), true),
            rect(240, 0, 1440, 1080)
        );
        assert_eq!(
            letterbox(square(16, 9), square(16, 9), true),
            rect(0, 0, 16, 9)
        );
        assert_eq!(
            letterbox(square(1, 3), square(9, 9), false),
            rect(3, 0, 3, 9)
        );
        assert_eq!(
            letterbox(square(1, 3), square(9, 9), true),
            rect(2, 0, 2, 9)
        );
        // PAL widescreen: pixels 16:11 wide.
        let pal = Display {
            width: 720,
            height: 576,
            pixel_aspect: (64, 45),
        };
        assert_eq!(
            letterbox(pal, square(1024, 576), true),
            rect(0, 0, 1024, 576)
        );
        // Extreme shapes keep at least a pixel.
        assert_eq!(letterbox(square(16384, 1), square(16, 16), false).height, 1);
    }

    #[test]
    fn letterboxes_fit_and_are_even() {
        for (width, height) in [(1, 1), (2, 3), (17, 9), (640, 481), (3, 100)] {
            for (frame_width, frame_height) in [(1, 1), (1, 2), (2, 2), (33, 15), (64, 64)] {
                let frame = square(frame_width, frame_height);
                let rect = letterbox(square(width, height), frame, true);
                assert!(rect.fits(frame_width, frame_height), "{rect:?} {frame:?}");
                assert_eq!((rect.x % 2, rect.y % 2), (0, 0));
            }
        }
    }

    #[test]
    fn fits() {
        assert!(
            Rect {
                x: 1,
                y: 2,
                width: 3,
                height: 4
            }
            .fits(4, 6)
        );
        assert!(
            !Rect {
                x: 1,
                y: 2,
                width: 3,
                height: 4
            }
            .fits(3, 6)
        );
        assert!(
            !Rect {
                x: 1,
                y: 2,
                width: 0,
                height: 4
            }
            .fits(9, 9)
        );
        assert!(
            !Rect {
                x: u32::MAX,
                y: 0,
                width: 2,
                height: 1
            }
            .fits(9, 9)
        );
    }
}
