//! Where the picture lies on both sides, and which places are the same.

use hip_video::{Orientation, Rect};

/// How a part of the input comes to lie in the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placement {
    /// What is shown of the input.
    pub(super) source: Rect,
    /// Where in the output it is shown.
    pub(super) picture: Rect,
    /// How it is turned and mirrored.
    pub(super) orientation: Orientation,
}

/// The place in the source of a place in the picture, both as shares of width and height.
fn to_source(orientation: Orientation, [u, v]: [f64; 2]) -> [f64; 2] {
    match orientation {
        Orientation::Identity => [u, v],
        Orientation::Right90 => [v, 1.0 - u],
        Orientation::Turn180 => [1.0 - u, 1.0 - v],
        Orientation::Left90 => [1.0 - v, u],
        Orientation::Horizontal => [1.0 - u, v],
        Orientation::Vertical => [u, 1.0 - v],
        Orientation::UpperLeftLowerRight => [v, u],
        Orientation::UpperRightLowerLeft => [1.0 - v, 1.0 - u],
    }
}

/// The orientation that undoes another.
fn inverse(orientation: Orientation) -> Orientation {
    match orientation {
        Orientation::Right90 => Orientation::Left90,
        Orientation::Left90 => Orientation::Right90,
        own_inverse => own_inverse,
    }
}

impl Placement {
    /// Whether every pixel of a `width`×`height` input stays where it is.
    pub(super) fn is_identity(&self, width: u32, height: u32) -> bool {
        let whole = Rect::of_size(width, height);
        self.source == whole && self.picture == whole && self.orientation == Orientation::Identity
    }

    /// The place in the input of a place in the output, in pixels whose centres are whole numbers.
    /// What lies outside the picture is taken to its edge.
    pub(super) fn point_in_source(&self, x: f64, y: f64) -> (f64, f64) {
        let share = |at: f64, start: u32, length: u32| {
            ((at + 0.5 - f64::from(start)) / f64::from(length)).clamp(0.0, 1.0)
        };
        let Rect {
            x: left,
            y: top,
            width,
            height,
        } = self.picture;
        let [u, v] = to_source(
            self.orientation,
            [share(x, left, width), share(y, top, height)],
        );
        let pixel = |share: f64, start: u32, length: u32| {
            let (start, length) = (f64::from(start), f64::from(length));
            (start + share * length - 0.5).clamp(start, start + length - 1.0)
        };
        (
            pixel(u, self.source.x, self.source.width),
            pixel(v, self.source.y, self.source.height),
        )
    }

    /// What is seen in the output of a region of the input, to the nearest pixel; `None` if nothing is.
    pub(super) fn region_in_output(&self, region: Rect) -> Option<Rect> {
        let share = |at: u32, start: u32, length: u32| {
            ((f64::from(at) - f64::from(start)) / f64::from(length)).clamp(0.0, 1.0)
        };
        let source = self.source;
        let corner = |x: u32, y: u32| {
            let at = [
                share(x, source.x, source.width),
                share(y, source.y, source.height),
            ];
            to_source(inverse(self.orientation), at)
        };
        let first = corner(region.x, region.y);
        let last = corner(
            region.x.saturating_add(region.width),
            region.y.saturating_add(region.height),
        );
        let span = |axis: usize, start: u32, length: u32| {
            let (low, high) = (first[axis].min(last[axis]), first[axis].max(last[axis]));
            let pixel = |share: f64| start + (share * f64::from(length)).round() as u32;
            (high > low).then(|| (pixel(low), (pixel(high) - pixel(low)).max(1)))
        };
        let (x, width) = span(0, self.picture.x, self.picture.width)?;
        let (y, height) = span(1, self.picture.y, self.picture.height)?;
        Some(Rect {
            x,
            y,
            width,
            height,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: u32, y: u32, width: u32, height: u32) -> Rect {
        Rect {
            x,
            y,
            width,
            height,
        }
    }

    #[test]
    fn a_turn_and_its_inverse_change_nothing() {
        for orientation in Orientation::ALL {
            let at = [0.25, 0.875];
            let back = to_source(inverse(orientation), to_source(orientation, at));
            assert_eq!(back, at, "{orientation:?}");
        }
    }

    #[test]
    fn pixels_are_where_gstreamer_says() {
        // A 5×3 input and each orientation's output, pixel by pixel: (x, y) shows what.
        let (w, h) = (5.0, 3.0);
        for orientation in Orientation::ALL {
            let turned = orientation.swaps_axes();
            let placement = Placement {
                source: rect(0, 0, 5, 3),
                picture: if turned {
                    rect(0, 0, 3, 5)
                } else {
                    rect(0, 0, 5, 3)
                },
                orientation,
            };
            let (x, y) = (1.0, 2.0);
            let expected = match orientation {
                Orientation::Identity => (x, y),
                Orientation::Right90 => (y, h - 1.0 - x),
                Orientation::Turn180 => (w - 1.0 - x, h - 1.0 - y),
                Orientation::Left90 => (w - 1.0 - y, x),
                Orientation::Horizontal => (w - 1.0 - x, y),
                Orientation::Vertical => (x, h - 1.0 - y),
                Orientation::UpperLeftLowerRight => (y, x),
                Orientation::UpperRightLowerLeft => (w - 1.0 - y, h - 1.0 - x),
            };
            let (found_x, found_y) = placement.point_in_source(x, y);
            assert!((found_x - expected.0).abs() < 1e-9, "{orientation:?}");
            assert!((found_y - expected.1).abs() < 1e-9, "{orientation:?}");
        }
    }

    #[test]
    fn borders_and_crop_move_places() {
        let placement = Placement {
            source: rect(10, 20, 40, 20),
            picture: rect(0, 30, 80, 40),
            orientation: Orientation::Identity,
        };
        // The middle of the picture is the middle of what is shown.
        assert_eq!(placement.point_in_source(39.5, 49.5), (29.5, 29.5));
        // A border belongs to the edge next to it.
        assert_eq!(placement.point_in_source(0.0, 0.0), (10.0, 20.0));
        let found = placement.region_in_output(rect(15, 25, 10, 5));
        assert_eq!(found, Some(rect(10, 40, 20, 10)));
        let half = placement.region_in_output(rect(0, 0, 20, 30));
        assert_eq!(half, Some(rect(0, 30, 20, 20)));
        assert_eq!(placement.region_in_output(rect(0, 0, 10, 10)), None);
    }

    #[test]
    fn regions_turn_with_the_picture() {
        let placement = Placement {
            source: rect(0, 0, 64, 48),
            picture: rect(0, 0, 48, 64),
            orientation: Orientation::Right90,
        };
        // Clockwise: the upper left corner comes to the upper right.
        let found = placement.region_in_output(rect(0, 0, 16, 8));
        assert_eq!(found, Some(rect(40, 0, 8, 16)));
    }
}
