//! Source rectangles, destination rectangles and the borders round them.

use hip_oracle::{Format, FrameInfo, Method, Rect, Rng};

use crate::case::Case;
use crate::lab::Lab;
use crate::pairs::random_colour;

/// A rectangle somewhere in a frame, on a chroma sample where there are such.
fn random_rect(info: &FrameInfo, rng: &mut Rng) -> Rect {
    let mut span = |length: usize| {
        let mut start = rng.between(0, length - 1);
        if info.format.is_subsampled() {
            start &= !1;
        }
        (start, rng.between(1, length - start))
    };
    let ((x, width), (y, height)) = (span(info.width), span(info.height));
    Rect::new(x, y, width, height)
}

#[test]
fn random_rectangles_of_every_pair() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(21);
    for from in Format::COMMON {
        for to in Format::COMMON {
            for _ in 0..24 {
                let source = FrameInfo::new(from, rng.between(1, 40), rng.between(1, 24));
                let destination = FrameInfo::new(to, rng.between(1, 150), rng.between(1, 24));
                let source = random_colour(source, &mut rng);
                let destination = random_colour(destination, &mut rng);
                let mut case = Case::new(
                    source,
                    destination,
                    rng.pick(&Method::SIMPLE),
                    rng.next_u64(),
                );
                case.conversion.source_rect = random_rect(&source, &mut rng).into();
                case.conversion.destination_rect = random_rect(&destination, &mut rng).into();
                lab.check(&case);
            }
        }
    }
}

/// Equal sizes at every offset within a tile: R'G'B' destinations may start at odd pixels.
#[test]
fn unscaled_rectangles_at_every_offset() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(22);
    for from in Format::COMMON {
        for to in Format::COMMON {
            let step = if to.is_subsampled() { 2 } else { 1 };
            for offset in (0..9).step_by(step) {
                let source = random_colour(FrameInfo::new(from, 30, 14), &mut rng);
                let destination = random_colour(FrameInfo::new(to, 37, 21), &mut rng);
                let mut case = Case::new(
                    source,
                    destination,
                    rng.pick(&Method::SIMPLE),
                    rng.next_u64(),
                );
                let (width, height) = (rng.between(1, 24), rng.between(1, 10));
                case.conversion.source_rect = Rect::new(6, 2, width, height).into();
                let destination_rect = Rect::new(offset, rng.between(0, 5) * step, width, height);
                case.conversion.destination_rect = destination_rect.into();
                lab.check(&case);
            }
        }
    }
}
