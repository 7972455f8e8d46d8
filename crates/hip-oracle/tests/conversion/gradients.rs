//! A linear picture stays the same linear picture, wherever its samples are taken: positions of
//! all kinds are right to a fraction of a pixel.

use hip_oracle::fill::gradient;
use hip_oracle::geometry::luma_position;
use hip_oracle::{
    ChromaSite, Component, Family, Format, FrameInfo, Image, Matrix, Method, Range, Rect, Rng,
    convert,
};

use crate::{colours, for_each_sample};

/// The analogue colour of the gradient of `from` at a position of it, in the family of `to`.
fn expected_colour(from: &FrameInfo, to: &FrameInfo, px: f64, py: f64) -> [f64; 3] {
    let colour = colours(from.format.family()).map(|component| {
        let stored = from.format.component(component).map(|_| component);
        stored.map_or(0.0, |c| from.decode(c, gradient(from, c, px, py)))
    });
    let rgb = match from.format.family() {
        Family::Yuv => from.matrix.rgb_from_ycbcr(colour),
        Family::Rgb => colour,
    };
    match to.format.family() {
        Family::Yuv => to.matrix.ycbcr_from_rgb(rgb),
        Family::Rgb => rgb,
    }
}

/// The most by which rounding each source sample to half a code (2^-12 of floating point, half a
/// step of binary16 below 1) can move a destination code: that times the sum of the magnitudes of
/// the colour conversion's coefficients.
fn rounding_reach(from: &FrameInfo, to: &FrameInfo, component: Component) -> f64 {
    let convert = |codes: [f64; 3]| {
        let sources = colours(from.format.family());
        let colour = sources.map(|c| from.decode(c, codes[c.slot()]));
        let rgb = match from.format.family() {
            Family::Yuv => from.matrix.rgb_from_ycbcr(colour),
            Family::Rgb => colour,
        };
        let colour = match to.format.family() {
            Family::Yuv => to.matrix.ycbcr_from_rgb(rgb),
            Family::Rgb => rgb,
        };
        to.encode(component, colour[component.slot()])
    };
    let zero = convert([0.0; 3]);
    let slopes =
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|unit| convert(unit) - zero);
    let half_step = if from.format.is_float() {
        f64::powi(2.0, -12)
    } else {
        0.5
    };
    slopes.iter().map(|slope| slope.abs()).sum::<f64>() * half_step
}

/// Checks every sample whose sources all lie inside the picture; returns how many there were.
fn check(from: FrameInfo, to: FrameInfo) -> usize {
    let mut source = Image::new(from);
    source.fill_gradient();
    let real = convert(
        &source,
        Rect::full(&from),
        &to,
        Rect::full(&to),
        Method::Bilinear,
    );
    let mut checked = 0;
    for_each_sample(&real, |component, x, y, value| {
        if component == Component::A {
            return;
        }
        let location = to
            .format
            .component(component)
            .expect("a component of the frame");
        let (h, v) = to.halves(location);
        let at = (
            luma_position(x as i64, location.sub_x, h).to_f64(),
            luma_position(y as i64, location.sub_y, v).to_f64(),
        );
        let map = |position: f64, source: usize, destination: usize| {
            (position + 0.5) * source as f64 / destination as f64 - 0.5
        };
        let px = map(at.0, from.width, to.width);
        let py = map(at.1, from.height, to.height);
        // A chroma box reaches one destination pixel further, a chroma sample up to three luma
        // pixels.
        let margin_x = 3.0 + from.width as f64 / to.width as f64;
        let margin_y = 3.0 + from.height as f64 / to.height as f64;
        let inside_x = px >= margin_x && px <= from.width as f64 - 1.0 - margin_x;
        let inside_y = py >= margin_y && py <= from.height as f64 - 1.0 - margin_y;
        if inside_x && inside_y {
            let colour = expected_colour(&from, &to, px, py);
            let expected = to.encode(component, colour[component.slot()]);
            let reach = rounding_reach(&from, &to, component) + 1e-9;
            let error = value - expected;
            assert!(
                error.abs() <= reach,
                "{from:?} to {to:?}: {component:?} {x} {y}: {error}"
            );
            checked += 1;
        }
    });
    checked
}

#[test]
fn all_pairs_of_formats() {
    let mut rng = Rng::new(51);
    for (from, to) in Format::ALL
        .into_iter()
        .flat_map(|f| Format::ALL.map(|t| (f, t)))
    {
        let mut checked = 0;
        for _ in 0..6 {
            let mut info = |format| {
                FrameInfo::new(format, rng.between(11, 24), rng.between(11, 24))
                    .with_colour(rng.pick(&Matrix::ALL), rng.pick(&Range::ALL))
                    .with_site(rng.pick(&ChromaSite::ALL))
            };
            let (from, to) = (info(from), info(to));
            checked += check(from, to);
        }
        assert!(
            checked > 100,
            "{from:?} to {to:?}: only {checked} samples inside"
        );
    }
}

#[test]
fn all_pairs_of_sites() {
    for (from, to) in ChromaSite::ALL
        .into_iter()
        .flat_map(|f| ChromaSite::ALL.map(|t| (f, t)))
    {
        for (width, height) in [(16, 16), (23, 11), (13, 24)] {
            let before = FrameInfo::new(Format::P010Le, 16, 16).with_site(from);
            let after = FrameInfo::new(Format::P010Le, width, height).with_site(to);
            assert!(check(before, after) > 20);
            // By way of another matrix, luma and chroma have to meet in the right place.
            let after = after.with_colour(Matrix::Bt2020, Range::Full);
            assert!(check(before, after) > 20);
        }
    }
}
