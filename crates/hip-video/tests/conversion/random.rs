//! Conversions with everything drawn at random, by seed.

use hip_oracle::{
    AlphaMode, ChromaSite, Dither, FixedRect, Format, FrameInfo, LightOptions, Matrix, Method,
    Normalisation, Orientation, Primaries, Range, Rng, ToneMapping, Transfer,
};

use crate::case::Case;
use crate::lab::Lab;
use crate::outcome::Outcome;

pub(crate) fn random_frame(
    format: Format,
    (width, height): (usize, usize),
    rng: &mut Rng,
) -> FrameInfo {
    FrameInfo::new(format, rng.between(1, width), rng.between(1, height))
        .with_colour(rng.pick(&Matrix::ALL), rng.pick(&Range::ALL))
        .with_site(rng.pick(&ChromaSite::ALL))
}

/// A method, half of the time one with parameters of its own.
pub(crate) fn random_method(rng: &mut Rng) -> Method {
    let mut thousandths = |low: usize, high: usize| rng.between(low, high) as f64 / 1000.0;
    let cubic = Method::Bicubic {
        b: thousandths(0, 1000),
        c: thousandths(0, 1000),
    };
    let lobes = rng.between(2, 4) as u32;
    let usual = rng.pick(&Method::ALL);
    rng.pick(&[usual, usual, cubic, Method::Lanczos { lobes }])
}

/// A rectangle in a frame, in 1/65536 pixels; the whole frame one time in four.
pub(crate) fn random_rect(info: &FrameInfo, rng: &mut Rng) -> FixedRect {
    let whole = rng.below(4) == 0;
    let mut span = |pixels: usize| {
        let length = pixels << 16;
        if whole {
            return (0, length as i64);
        }
        let start = rng.between(0, length - 1);
        (start as i64, rng.between(1, length - start) as i64)
    };
    let ((x, width), (y, height)) = (span(info.width), span(info.height));
    FixedRect {
        x,
        y,
        width,
        height,
    }
}

/// A number in 0..=1 that single precision holds.
fn random_part(rng: &mut Rng) -> f64 {
    rng.between(0, 1024) as f64 / 1024.0
}

fn random_alpha(rng: &mut Rng) -> AlphaMode {
    match rng.below(3) {
        0 => AlphaMode::Copy,
        1 => AlphaMode::Set(random_part(rng)),
        _ => AlphaMode::Multiply(random_part(rng)),
    }
}

/// Everything but light, premultiplication and normalisation.
fn random_case(from: Format, to: Format, rng: &mut Rng) -> Case {
    let source = random_frame(from, (40, 24), rng);
    let destination = random_frame(to, (40, 24), rng);
    let mut case = Case::new(source, destination, random_method(rng), rng.next_u64());
    let asked = &mut case.conversion;
    asked.source_rect = random_rect(&source, rng);
    asked.destination_rect = random_rect(&destination, rng);
    asked.orientation = rng.pick(&Orientation::ALL);
    asked.alpha = random_alpha(rng);
    asked.border = [(); 4].map(|()| random_part(rng));
    asked.dither = rng.pick(&[Dither::None, Dither::Bayer]);
    case
}

/// How many of a test's conversions to run: all where all are to run, else one in eight.
fn share(lab: &Lab, count: usize) -> usize {
    if lab.runs_everything() {
        count
    } else {
        count.div_ceil(8)
    }
}

/// Runs `count` conversions that `case` makes.
fn run(name: &str, seed: u64, count: usize, mut case: impl FnMut(&mut Rng) -> Case) {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(seed);
    let mut sum = Outcome::default();
    for _ in 0..share(&lab, count) {
        sum.add(&lab.check(&case(&mut rng)));
    }
    assert!(sum.bias().abs() < 0.05, "biased by {}", sum.bias());
    println!("{name}: {sum}");
}

fn two_formats(rng: &mut Rng) -> (Format, Format) {
    (rng.pick(&Format::ALL), rng.pick(&Format::ALL))
}

#[test]
fn methods_rectangles_orientations_alpha_borders_dither() {
    run("everything but light", 101, 6000, |rng| {
        let (from, to) = two_formats(rng);
        random_case(from, to, rng)
    });
}

/// Each method and orientation shrinking by much: the filters are then at their widest.
#[test]
fn much_smaller() {
    run("much smaller", 102, 600, |rng| {
        let (from, to) = two_formats(rng);
        let source = random_frame(from, (300, 200), rng);
        let destination = random_frame(to, (9, 7), rng);
        let mut case = Case::new(source, destination, random_method(rng), rng.next_u64());
        case.conversion.orientation = rng.pick(&Orientation::ALL);
        case
    });
}

/// The smallest frames there are, to and from each other.
#[test]
fn tiny_frames() {
    run("tiny frames", 103, 6000, |rng| {
        let (from, to) = two_formats(rng);
        let (width, height) = rng.pick(&[(1, 1), (1, 9), (9, 1), (2, 2), (3, 3)]);
        let source = random_frame(from, (width, height), rng);
        let (width, height) = rng.pick(&[(1, 1), (1, 9), (9, 1), (2, 2), (3, 3)]);
        let destination = random_frame(to, (width, height), rng);
        let mut case = Case::new(source, destination, random_method(rng), rng.next_u64());
        case.conversion.orientation = rng.pick(&Orientation::ALL);
        case
    });
}

/// Field by field, with every rectangle and method; lines do not become columns.
#[test]
fn interlaced() {
    run("interlaced", 107, 6000, |rng| {
        let (from, to) = two_formats(rng);
        let mut case = random_case(from, to, rng);
        let asked = &mut case.conversion;
        asked.interlaced = true;
        asked.orientation = rng.pick(&[
            Orientation::Identity,
            Orientation::Horizontal,
            Orientation::Vertical,
            Orientation::Half,
        ]);
        if rng.below(4) == 0 {
            asked.light.transfer = true;
            asked.destination.transfer = Transfer::Gamma22;
        }
        case
    });
}

#[test]
fn straight_and_premultiplied() {
    let with_alpha: Vec<Format> = Format::ALL.into_iter().filter(|f| f.has_alpha()).collect();
    run("premultiplication", 104, 4000, |rng| {
        let any = rng.pick(&Format::ALL);
        let (one, other) = (rng.pick(&with_alpha), rng.pick(&with_alpha));
        let (from, to) = rng.pick(&[(one, other), (one, other), (any, other), (one, any)]);
        let mut case = random_case(from, to, rng);
        case.conversion.source.premultiplied = rng.below(2) == 0;
        case.conversion.destination.premultiplied = rng.below(2) == 0;
        case
    });
}

fn random_light(rng: &mut Rng) -> LightOptions {
    let mut peak = |choices: &[Option<f64>]| rng.pick(choices);
    let max_cll = peak(&[None, Some(0.0), Some(203.0), Some(600.0), Some(4000.0)]);
    let mastering_peak = peak(&[None, Some(0.0), Some(1000.0), Some(4000.0)]);
    let destination_peak = peak(&[None, None, Some(120.0), Some(203.0)]);
    let [none, some] = [None, Some(rng.pick(&ToneMapping::ALL))];
    LightOptions {
        transfer: rng.below(4) != 0,
        primaries: rng.below(4) != 0,
        tone_mapping: rng.pick(&[none, some, some]),
        max_cll,
        mastering_peak,
        destination_peak,
    }
}

/// Every transfer function to every other, with primaries, tone mapping and the rest at random.
#[test]
fn light() {
    let mut pairs = Transfer::ALL
        .into_iter()
        .flat_map(|from| Transfer::ALL.map(|to| (from, to)))
        .cycle();
    run("light", 105, 196 * 20, |rng| {
        let (from, to) = two_formats(rng);
        let mut case = if rng.below(4) == 0 {
            random_case(from, to, rng)
        } else {
            let source = random_frame(from, (40, 24), rng);
            let destination = random_frame(to, (40, 24), rng);
            Case::new(source, destination, random_method(rng), rng.next_u64())
        };
        let asked = &mut case.conversion;
        let (transfer, their_transfer) = pairs.next().expect("without end");
        asked.source = asked.source.with_light(transfer, rng.pick(&Primaries::ALL));
        let primaries = rng.pick(&Primaries::ALL);
        asked.destination = asked.destination.with_light(their_transfer, primaries);
        asked.light = random_light(rng);
        let gamuts = [asked.source, asked.destination].map(|info| info.primaries.chromaticities());
        let same_gamut = !asked.light.primaries || gamuts[0] == gamuts[1];
        if transfer.is_same_as(their_transfer)
            && same_gamut
            && asked.light.tone_mapping == Some(ToneMapping::Clip)
        {
            // A clamp to what the same transfer function carries: nothing for a converter to do.
            asked.light.tone_mapping = None;
        }
        case
    });
}

/// What models are fed: floats with a mean and a scale, a letterbox of any colour round them.
#[test]
fn normalised_floats() {
    let floats: Vec<Format> = Format::ALL.into_iter().filter(|f| f.is_float()).collect();
    run("normalised floats", 106, 2000, |rng| {
        let (from, to) = (rng.pick(&Format::ALL), rng.pick(&floats));
        let mut case = random_case(from, to, rng);
        case.conversion.normalisation = Some(Normalisation {
            mean: [(); 3].map(|()| random_part(rng)),
            scale: [(); 3].map(|()| random_part(rng) * 8.0 - 2.0),
        });
        case
    });
}
