//! Every ordered pair of formats, in every matrix and range, at the same size, smaller and larger.
//!
//! On the host all of them run; elsewhere, where every conversion costs a round trip to a device, a
//! seeded sample that has each format on both sides, unless `HIP_TEST_EVERY` is set.

use std::time::Instant;

use hip_oracle::{ChromaSite, Format, FrameInfo, Matrix, Method, Range, Rng};

use crate::case::Case;
use crate::lab::Lab;
use crate::outcome::Outcome;

/// Test functions that share the work, so that it runs on as many threads.
const GROUPS: usize = 8;

const COLOURS: [(Matrix, Range); 6] = [
    (Matrix::Bt601, Range::Limited),
    (Matrix::Bt601, Range::Full),
    (Matrix::Bt709, Range::Limited),
    (Matrix::Bt709, Range::Full),
    (Matrix::Bt2020, Range::Limited),
    (Matrix::Bt2020, Range::Full),
];

#[derive(Clone, Copy)]
enum Sizes {
    Same,
    Smaller,
    Larger,
}

impl Sizes {
    /// Two sizes, one in four up to 64×48: most of what differs from one format to another shows within
    /// a few pixels.
    fn random(self, rng: &mut Rng) -> [(usize, usize); 2] {
        let (width, height) = match rng.below(4) {
            0 => (64, 48),
            _ => (18, 12),
        };
        let large = (rng.between(2, width), rng.between(2, height));
        let small = (rng.between(1, large.0), rng.between(1, large.1));
        match self {
            Sizes::Same => [large, large],
            Sizes::Smaller => [large, small],
            Sizes::Larger => [small, large],
        }
    }
}

/// The eighteen conversions of a pair. Both sides see every colour at every relation of sizes.
fn pair(lab: &mut Lab, from: Format, to: Format, chosen: impl Fn(usize) -> bool) -> Outcome {
    let number = from as usize * Format::ALL.len() + to as usize;
    let mut rng = Rng::new(number as u64);
    let mut sum = Outcome::default();
    for (relation, sizes) in [Sizes::Same, Sizes::Smaller, Sizes::Larger]
        .into_iter()
        .enumerate()
    {
        for (index, (matrix, range)) in COLOURS.into_iter().enumerate() {
            let [source_size, destination_size] = sizes.random(&mut rng);
            let (their_matrix, their_range) = COLOURS[(index + number + relation) % COLOURS.len()];
            let source = FrameInfo::new(from, source_size.0, source_size.1)
                .with_colour(matrix, range)
                .with_site(rng.pick(&ChromaSite::ALL));
            let destination = FrameInfo::new(to, destination_size.0, destination_size.1)
                .with_colour(their_matrix, their_range)
                .with_site(rng.pick(&ChromaSite::ALL));
            let case = Case::new(source, destination, rng.pick(&Method::ALL), rng.next_u64());
            if chosen(relation * COLOURS.len() + index) {
                sum.add(&lab.check(&case));
            }
        }
    }
    sum
}

/// A source format with every other, and the largest bias of a pair.
fn with_every_other(lab: &mut Lab, from: Format) -> (Outcome, f64) {
    let (mut sum, mut largest) = (Outcome::default(), 0.0_f64);
    for to in Format::ALL {
        let outcome = pair(lab, from, to, |_| true);
        let bias = outcome.bias().abs();
        assert!(bias < 0.05, "{from:?} to {to:?}: biased by {bias}");
        // Enough for the mean to mean something.
        assert!(to.is_float() || outcome.samples > 500, "{outcome:?}");
        largest = largest.max(bias);
        sum.add(&outcome);
    }
    (sum, largest)
}

/// A source format with sixteen others, each in one colour of six. They follow in steps round the
/// table of formats, so that each is the destination of sixteen sources.
fn with_some_others(lab: &mut Lab, from: Format) -> Outcome {
    let mut rng = Rng::new(90 + from as u64);
    let mut sum = Outcome::default();
    for step in 0..16 {
        let to = Format::ALL[(from as usize + 5 * step) % Format::ALL.len()];
        let colour = rng.between(0, COLOURS.len() - 1);
        let chosen = |variant| variant % COLOURS.len() == colour;
        sum.add(&pair(lab, from, to, chosen));
    }
    sum
}

/// The pairs of every eighth source format.
fn group(number: usize) {
    let Some(mut lab) = Lab::open() else { return };
    let started = Instant::now();
    let all = lab.runs_everything();
    let (mut sum, mut bias) = (Outcome::default(), 0.0_f64);
    for &from in Format::ALL.iter().skip(number).step_by(GROUPS) {
        if all {
            let (outcome, largest) = with_every_other(&mut lab, from);
            bias = bias.max(largest);
            sum.add(&outcome);
        } else {
            sum.add(&with_some_others(&mut lab, from));
        }
    }
    assert!(sum.bias().abs() < 0.05, "biased by {}", sum.bias());
    let pairs = if all {
        "every pair"
    } else {
        "a sample of pairs"
    };
    println!(
        "group {number}, {pairs}: {sum}; {:.1} s",
        started.elapsed().as_secs_f64()
    );
    if all {
        println!("group {number}: the largest bias of a pair is {bias:.4}");
    }
}

macro_rules! groups {
    ($($name:ident = $number:literal;)*) => {
        $(#[test]
        fn $name() {
            group($number);
        })*

        #[test]
        fn groups_are_all_there() {
            assert_eq!([$($number),*], std::array::from_fn::<usize, GROUPS, _>(|number| number));
        }
    };
}

groups! {
    pairs_0 = 0;
    pairs_1 = 1;
    pairs_2 = 2;
    pairs_3 = 3;
    pairs_4 = 4;
    pairs_5 = 5;
    pairs_6 = 6;
    pairs_7 = 7;
}
