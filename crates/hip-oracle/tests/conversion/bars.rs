//! Colour bars, grey ramps and full range, against printed code values.

use hip_oracle::{
    Component, Family, Format, FrameInfo, Image, Matrix, Method, Quantity, Range, Rect, convert,
};

use crate::{colours, flat_image, with_chroma};

/// White, yellow, cyan, green, magenta, red, blue as R'G'B'.
const BARS: [[u32; 3]; 7] = [
    [1, 1, 1],
    [1, 1, 0],
    [0, 1, 1],
    [0, 1, 0],
    [1, 0, 1],
    [1, 0, 0],
    [0, 0, 1],
];

struct Published {
    source: &'static str,
    matrix: Matrix,
    range: Range,
    depth: u32,
    level: f64,
    codes: [[u32; 3]; 7],
}

const LIMITED: [Published; 8] = [
    Published {
        source: "BT.709 100/0/100/0, 8 bit",
        matrix: Matrix::Bt709,
        range: Range::Limited,
        depth: 8,
        level: 1.0,
        codes: [
            [235, 128, 128],
            [219, 16, 138],
            [188, 154, 16],
            [173, 42, 26],
            [78, 214, 230],
            [63, 102, 240],
            [32, 240, 118],
        ],
    },
    Published {
        source: "BT.709 75 %, 8 bit (SMPTE RP 219)",
        matrix: Matrix::Bt709,
        range: Range::Limited,
        depth: 8,
        level: 0.75,
        codes: [
            [180, 128, 128],
            [168, 44, 136],
            [145, 147, 44],
            [133, 63, 52],
            [63, 193, 204],
            [51, 109, 212],
            [28, 212, 120],
        ],
    },
    Published {
        source: "BT.709 100/0/100/0, 10 bit",
        matrix: Matrix::Bt709,
        range: Range::Limited,
        depth: 10,
        level: 1.0,
        codes: [
            [940, 512, 512],
            [877, 64, 553],
            [754, 615, 64],
            [691, 167, 105],
            [313, 857, 919],
            [250, 409, 960],
            [127, 960, 471],
        ],
    },
    Published {
        source: "BT.709 75 %, 10 bit (SMPTE RP 219)",
        matrix: Matrix::Bt709,
        range: Range::Limited,
        depth: 10,
        level: 0.75,
        codes: [
            [721, 512, 512],
            [674, 176, 543],
            [581, 589, 176],
            [534, 253, 207],
            [251, 771, 817],
            [204, 435, 848],
            [111, 848, 481],
        ],
    },
    Published {
        source: "BT.601 100/0/100/0, 8 bit (BT.801)",
        matrix: Matrix::Bt601,
        range: Range::Limited,
        depth: 8,
        level: 1.0,
        codes: [
            [235, 128, 128],
            [210, 16, 146],
            [170, 166, 16],
            [145, 54, 34],
            [106, 202, 222],
            [81, 90, 240],
            [41, 240, 110],
        ],
    },
    Published {
        source: "BT.601 100/0/75/0, 8 bit (BT.801)",
        matrix: Matrix::Bt601,
        range: Range::Limited,
        depth: 8,
        level: 0.75,
        codes: [
            [180, 128, 128],
            [162, 44, 142],
            [131, 156, 44],
            [112, 72, 58],
            [84, 184, 198],
            [65, 100, 212],
            [35, 212, 114],
        ],
    },
    Published {
        source: "BT.2020 100 %, 10 bit (BT.2111, HLG)",
        matrix: Matrix::Bt2020,
        range: Range::Limited,
        depth: 10,
        level: 1.0,
        codes: [
            [940, 512, 512],
            [888, 64, 548],
            [710, 637, 64],
            [658, 189, 100],
            [346, 835, 924],
            [294, 387, 960],
            [116, 960, 476],
        ],
    },
    Published {
        source: "BT.2020 75 %, 10 bit (BT.2111, HLG)",
        matrix: Matrix::Bt2020,
        range: Range::Limited,
        depth: 10,
        level: 0.75,
        codes: [
            [721, 512, 512],
            [682, 176, 539],
            [548, 606, 176],
            [509, 270, 203],
            [276, 754, 821],
            [237, 418, 848],
            [103, 848, 485],
        ],
    },
];

/// JFIF 1.02: BT.601 over all 256 codes.
const JFIF: Published = Published {
    source: "JFIF, 8 bit full range",
    matrix: Matrix::Bt601,
    range: Range::Full,
    depth: 8,
    level: 1.0,
    codes: [
        [255, 128, 128],
        [226, 1, 149],
        [179, 171, 1],
        [150, 44, 21],
        [105, 212, 235],
        [76, 85, 255],
        [29, 255, 107],
    ],
};

/// Checks that each value rounds to the printed code. Pure blue and yellow in full range are
/// ties (255.5 and 0.5), which either neighbour satisfies.
fn assert_rounds_to(found: [f64; 3], expected: [u32; 3], what: &str) {
    for (value, code) in found.into_iter().zip(expected) {
        assert!(
            (value - f64::from(code)).abs() < 0.5 + 1e-9,
            "{what}: {found:?}, {expected:?}"
        );
    }
}

#[test]
fn formulas_give_the_printed_codes() {
    for table in LIMITED.iter().chain([&JFIF]) {
        for (bar, expected) in BARS.iter().zip(table.codes) {
            let rgb = bar.map(|on| f64::from(on) * table.level);
            let [y, cb, cr] = table.matrix.ycbcr_from_rgb(rgb);
            let codes = [
                (Quantity::Luma, y),
                (Quantity::Chroma, cb),
                (Quantity::Chroma, cr),
            ]
            .map(|(quantity, value)| table.range.encode(quantity, table.depth, value));
            assert_rounds_to(codes, expected, &format!("{} {bar:?}", table.source));
        }
    }
}

#[test]
fn converting_rgb_bars_gives_the_printed_codes() {
    for table in LIMITED
        .iter()
        .chain([&JFIF])
        .filter(|table| table.level == 1.0)
    {
        for to in with_chroma().filter(|format| format.depth() == table.depth) {
            for from in [Format::Rgba, Format::Bgra, Format::Rgb, Format::Rgbp] {
                for (bar, expected) in BARS.iter().zip(table.codes) {
                    let rgb = FrameInfo::new(from, 3, 3);
                    let yuv = FrameInfo::new(to, 4, 2).with_colour(table.matrix, table.range);
                    let source = flat_image(rgb, bar.map(|on| on * 255));
                    let (from_rect, to_rect) = (Rect::full(&rgb), Rect::full(&yuv));
                    let real = convert(&source, from_rect, &yuv, to_rect, Method::Bilinear);
                    let found = colours(Family::Yuv).map(|component| real.value(component, 1, 0));
                    let what = format!("{} {from:?} to {to:?} {bar:?}", table.source);
                    assert_rounds_to(found, expected, &what);
                }
            }
        }
    }
}

#[test]
fn converting_printed_codes_gives_rgb_bars() {
    // Codes are printed rounded: half a code of Y', Cb and Cr makes up to 2 of R'G'B'.
    for table in LIMITED.iter().chain([&JFIF]) {
        for from in with_chroma().filter(|format| format.depth() == table.depth) {
            for (bar, codes) in BARS.iter().zip(table.codes) {
                let yuv = FrameInfo::new(from, 2, 2).with_colour(table.matrix, table.range);
                let rgb = FrameInfo::new(Format::Rgba, 3, 1);
                let source = flat_image(yuv, codes);
                let (from_rect, to_rect) = (Rect::full(&yuv), Rect::full(&rgb));
                let real = convert(&source, from_rect, &rgb, to_rect, Method::Nearest);
                for (component, on) in colours(Family::Rgb).into_iter().zip(bar) {
                    let expected = 255.0 * f64::from(*on) * table.level;
                    let error = (real.value(component, 2, 0) - expected).abs();
                    assert!(
                        error < 2.0,
                        "{} {bar:?} {component:?} {error}",
                        table.source
                    );
                }
                assert_eq!(real.value(Component::A, 2, 0), 255.0);
            }
        }
    }
}

#[test]
fn bars_of_one_matrix_become_the_bars_of_another() {
    let tables: Vec<&Published> = LIMITED.iter().filter(|table| table.depth == 10).collect();
    for from in &tables {
        for to in tables.iter().filter(|to| to.level == from.level) {
            for (codes, expected) in from.codes.into_iter().zip(to.codes) {
                let before =
                    FrameInfo::new(Format::P010Le, 2, 2).with_colour(from.matrix, Range::Limited);
                let after =
                    FrameInfo::new(Format::P010Le, 4, 4).with_colour(to.matrix, Range::Limited);
                let source = flat_image(before, codes);
                let (from_rect, to_rect) = (Rect::full(&before), Rect::full(&after));
                let real = convert(&source, from_rect, &after, to_rect, Method::Bilinear);
                for (component, code) in colours(Family::Yuv).into_iter().zip(expected) {
                    // Half a code from each printed component, and half from the expected one.
                    let error = (real.value(component, 1, 1) - f64::from(code)).abs();
                    assert!(
                        error < 1.3,
                        "{} to {}: {component:?}",
                        from.source,
                        to.source
                    );
                }
            }
        }
    }
}

/// A ramp of all 256 codes in the 16×16 pixels of an RGB frame.
fn grey_ramp(info: FrameInfo) -> Image {
    let mut image = Image::new(info);
    image.fill_with(|component, x, y| {
        if component == Component::A {
            255.0
        } else {
            y * 16.0 + x
        }
    });
    image
}

#[test]
fn grey_ramps_have_no_chroma() {
    for from in [Range::Limited, Range::Full] {
        for to in [Range::Limited, Range::Full] {
            for matrix in Matrix::ALL {
                let rgb = FrameInfo::new(Format::Rgba, 16, 16).with_colour(Matrix::Bt601, from);
                let yuv = FrameInfo::new(Format::P010Le, 16, 16).with_colour(matrix, to);
                let source = grey_ramp(rgb);
                let (from_rect, to_rect) = (Rect::full(&rgb), Rect::full(&yuv));
                let real = convert(&source, from_rect, &yuv, to_rect, Method::Bilinear);
                for code in 0..256u32 {
                    let (x, y) = (code as usize % 16, code as usize / 16);
                    let code = f64::from(code);
                    let expected = match (from, to) {
                        (Range::Limited, Range::Limited) => code * 4.0,
                        (Range::Limited, Range::Full) => (code - 16.0) / 219.0 * 1023.0,
                        (Range::Full, Range::Limited) => code / 255.0 * 876.0 + 64.0,
                        (Range::Full, Range::Full) => code / 255.0 * 1023.0,
                    };
                    let found = real.value(Component::Y, x, y);
                    assert!(
                        (found - expected).abs() < 1e-9,
                        "{from:?} {to:?} {code}: {found}"
                    );
                    for component in [Component::Cb, Component::Cr] {
                        let chroma = real.value(component, x / 2, y / 2);
                        assert!((chroma - 512.0).abs() < 1e-9, "{component:?} {chroma}");
                    }
                }
            }
        }
    }
}

#[test]
fn limited_luma_beyond_black_and_white_is_clamped_only_at_the_end() {
    let yuv = FrameInfo::new(Format::Nv12, 2, 2);
    let rgb = FrameInfo::new(Format::Rgb, 2, 2);
    for (luma, value, clamped) in [
        (16, 0.0, 0.0),
        (235, 255.0, 255.0),
        (0, -16.0 / 219.0 * 255.0, 0.0),
    ] {
        let source = flat_image(yuv, [luma, 128, 128]);
        let (from_rect, to_rect) = (Rect::full(&yuv), Rect::full(&rgb));
        let real = convert(&source, from_rect, &rgb, to_rect, Method::Bilinear);
        assert!((real.value(Component::G, 1, 1) - value).abs() < 1e-9);
        assert!((real.clamped(Component::G, 1, 1) - clamped).abs() < 1e-9);
        // By way of R'G'B' and back nothing is lost: super-black stays where it was.
        let to = yuv.with_colour(Matrix::Bt2020, Range::Limited);
        let back = convert(&source, from_rect, &to, Rect::full(&to), Method::Bilinear);
        assert!((back.value(Component::Y, 0, 0) - f64::from(luma)).abs() < 1e-9);
    }
}

#[test]
fn alpha_is_full_range_and_straight() {
    for range in Range::ALL {
        let from = FrameInfo::new(Format::Rgba, 2, 1).with_colour(Matrix::Bt709, Range::Full);
        let to = FrameInfo::new(Format::Bgra, 4, 1).with_colour(Matrix::Bt709, range);
        let mut source = Image::new(from);
        for (x, alpha, red) in [(0, 0, 200), (1, 100, 40)] {
            source.set_code(Component::A, x, 0, alpha);
            source.set_code(Component::R, x, 0, red);
        }
        let real = convert(
            &source,
            Rect::full(&from),
            &to,
            Rect::full(&to),
            Method::Bilinear,
        );
        let alpha = [0, 1, 2, 3].map(|x| real.value(Component::A, x, 0));
        let red = [0, 1, 2, 3].map(|x| real.value(Component::R, x, 0));
        let scaled = |code: f64| to.encode(Component::R, code / 255.0);
        for x in 0..4 {
            assert!(
                (alpha[x] - [0.0, 25.0, 75.0, 100.0][x]).abs() < 1e-9,
                "{alpha:?}"
            );
            assert!(
                (red[x] - scaled([200.0, 160.0, 80.0, 40.0][x])).abs() < 1e-9,
                "{red:?}"
            );
        }
        // Colours are not multiplied by alpha on the way to a format without it.
        let opaque = FrameInfo::new(Format::Rgb, 2, 1);
        let rect = Rect::full(&opaque);
        let real = convert(&source, Rect::full(&from), &opaque, rect, Method::Nearest);
        assert!((real.value(Component::R, 0, 0) - 200.0).abs() < 1e-9);
    }
}
