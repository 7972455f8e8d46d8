//! Every ordered pair of formats.

use hip_oracle::{ChromaSite, Format, FrameInfo, Matrix, Method, Range, Rng};

use crate::case::Case;
use crate::lab::Lab;

/// Source and destination sizes: same, smaller, larger; odd and even; one sample short of and past
/// the tiles of four and eight.
const SIZES: [[(usize, usize); 2]; 6] = [
    [(13, 7), (13, 7)],
    [(12, 6), (12, 6)],
    [(17, 9), (7, 5)],
    [(16, 12), (8, 6)],
    [(5, 3), (14, 11)],
    [(6, 4), (9, 9)],
];

/// Every pair with every matrix and range on either side, same, smaller and larger, both methods;
/// sites change from case to case.
#[test]
fn every_pair_colour_relation_and_method() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(1);
    let colours: Vec<(Matrix, Range)> = [Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020]
        .into_iter()
        .flat_map(|matrix| [(matrix, Range::Limited), (matrix, Range::Full)])
        .collect();
    let mut cases = 0;
    for (from, to) in pairs() {
        for source_colour in &colours {
            for destination_colour in &colours {
                for relation in 0..3 {
                    let [size, new_size] = SIZES[2 * relation + rng.between(0, 1)];
                    let source = FrameInfo::new(from, size.0, size.1)
                        .with_colour(source_colour.0, source_colour.1)
                        .with_site(rng.pick(&ChromaSite::ALL));
                    let destination = FrameInfo::new(to, new_size.0, new_size.1)
                        .with_colour(destination_colour.0, destination_colour.1)
                        .with_site(rng.pick(&ChromaSite::ALL));
                    for method in Method::SIMPLE {
                        lab.check(&Case::new(source, destination, method, rng.next_u64()));
                        cases += 1;
                    }
                }
            }
        }
    }
    assert_eq!(cases, 49 * 36 * 3 * 2);
}

/// Every pair with every size of the table, in colours that change from case to case.
#[test]
fn every_pair_and_size() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(2);
    for (from, to) in pairs() {
        for [(width, height), (new_width, new_height)] in SIZES {
            let source = random_colour(FrameInfo::new(from, width, height), &mut rng);
            let destination = random_colour(FrameInfo::new(to, new_width, new_height), &mut rng);
            for method in Method::SIMPLE {
                lab.check(&Case::new(source, destination, method, rng.next_u64()));
            }
        }
    }
}

/// Frames wider than a block, and than the host's runs of 128 pixels, by one or less or more.
#[test]
fn frames_wider_than_a_block() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(3);
    for (from, to) in pairs() {
        for width in [127, 128, 129, 261] {
            let height = rng.between(1, 40);
            let source = random_colour(FrameInfo::new(from, width, height), &mut rng);
            let same = random_colour(FrameInfo::new(to, width, height), &mut rng);
            lab.check(&Case::new(source, same, Method::Bilinear, rng.next_u64()));
            let other = FrameInfo::new(to, rng.between(100, 300), rng.between(1, 20));
            let method = rng.pick(&Method::SIMPLE);
            lab.check(&Case::new(source, other, method, rng.next_u64()));
        }
    }
}

/// The smallest frames there are, to and from each other.
#[test]
fn one_to_five_pixels() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(4);
    for (from, to) in pairs() {
        for width in 1..=5 {
            for height in 1..=5 {
                let source = random_colour(FrameInfo::new(from, width, height), &mut rng);
                let same = random_colour(FrameInfo::new(to, width, height), &mut rng);
                let other = FrameInfo::new(to, rng.between(1, 5), rng.between(1, 5));
                lab.check(&Case::new(
                    source,
                    same,
                    rng.pick(&Method::SIMPLE),
                    rng.next_u64(),
                ));
                lab.check(&Case::new(
                    source,
                    other,
                    rng.pick(&Method::SIMPLE),
                    rng.next_u64(),
                ));
            }
        }
    }
}

/// Rounding is to the nearest: over much noise the mean error is next to nothing.
#[test]
fn rounding_has_no_bias() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(5);
    for (from, to) in pairs() {
        let source = FrameInfo::new(from, 150, 90).with_colour(Matrix::Bt601, Range::Limited);
        let destination = FrameInfo::new(to, 131, 77).with_colour(Matrix::Bt709, Range::Full);
        let outcome = lab.check(&Case::new(
            source,
            destination,
            Method::Bilinear,
            rng.next_u64(),
        ));
        assert!(
            outcome.bias().abs() < 0.03,
            "{from:?} to {to:?}: {outcome:?}"
        );
    }
}

fn pairs() -> impl Iterator<Item = (Format, Format)> {
    Format::COMMON
        .into_iter()
        .flat_map(|from| Format::COMMON.into_iter().map(move |to| (from, to)))
}

pub(crate) fn random_colour(info: FrameInfo, rng: &mut Rng) -> FrameInfo {
    let matrix = rng.pick(&[Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020]);
    let range = rng.pick(&[Range::Limited, Range::Full]);
    info.with_colour(matrix, range)
        .with_site(rng.pick(&ChromaSite::ALL))
}
