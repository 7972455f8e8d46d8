//! Alpha between Y'CbCr and R'G'B'.

use hip_oracle::{Component, Family, Format, FrameInfo, Image, Layout, Matrix, Method, Range, Rng};

use crate::case::Case;
use crate::lab::Lab;

fn alpha_depth(format: Format) -> Option<u32> {
    format
        .component(Component::A)
        .map(|alpha| alpha.number.bits())
}

/// Noise with every alpha that the format has, in turn.
fn ramp(info: FrameInfo, rng: &mut Rng) -> Image {
    let mut image = Image::new(info);
    image.fill_random(rng);
    let alphas = 1 << alpha_depth(info.format).expect("a format with alpha");
    for (x, y) in (0..info.height).flat_map(|y| (0..info.width).map(move |x| (x, y))) {
        image.set_code(Component::A, x, y, ((y * info.width + x) % alphas) as u32);
    }
    image
}

fn alphas(image: &Image) -> Vec<u32> {
    let FrameInfo { width, height, .. } = image.info;
    let all = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    all.map(|(x, y)| image.code(Component::A, x, y)).collect()
}

/// From Y'CbCrA to R'G'B'A and from there to Y'CbCrA no alpha changes, at every depth.
#[test]
fn ramps_survive() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(51);
    let mut pairs = 0;
    for from in Format::ALL {
        for to in Format::ALL {
            let depth = alpha_depth(from);
            if depth.is_none() || depth != alpha_depth(to) || from.family() == to.family() {
                continue;
            }
            // All alphas of up to 12 bits, and every other row of 16.
            let (width, height) = if depth == Some(16) {
                (256, 128)
            } else {
                (128, 34)
            };
            let info = |format| {
                FrameInfo::new(format, width, height).with_colour(Matrix::Bt709, Range::Full)
            };
            let source = ramp(info(from), &mut rng);
            let case = Case::new(source.info, info(to), Method::Bilinear, rng.next_u64());
            let found = lab.convert(&case, &source, Layout::default());
            assert_eq!(alphas(&source), alphas(&found), "{from:?} to {to:?}");
            pairs += 1;
        }
    }
    assert!(pairs > 30, "{pairs} pairs");
}

/// Eight bits of alpha fit into sixteen and come back as they were.
#[test]
fn deeper_and_back() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(52);
    for (shallow, deep) in [
        (Format::A420, Format::Rgba64Le),
        (Format::Rgba, Format::A444_16Le),
        (Format::Vuya, Format::Gbra12Le),
        (Format::Gbra, Format::Y412Le),
    ] {
        assert_ne!(
            shallow.family() == Family::Rgb,
            deep.family() == Family::Rgb
        );
        let source = ramp(FrameInfo::new(shallow, 64, 8), &mut rng);
        let case = Case::new(source.info, FrameInfo::new(deep, 64, 8), Method::Auto, 53);
        let wide = lab.convert(&case, &source, Layout::default());
        let case = Case::new(wide.info, source.info, Method::Auto, 54);
        let back = lab.convert(&case, &wide, Layout::default());
        assert_eq!(
            alphas(&source),
            alphas(&back),
            "{shallow:?} by way of {deep:?}"
        );
    }
}
