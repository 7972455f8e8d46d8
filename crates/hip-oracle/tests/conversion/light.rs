//! Light, on whole frames.

use hip_oracle::transfer::{hlg_from_scene, pq_from_luminance};
use hip_oracle::{
    ChromaSite, Component, Conversion, Format, FrameInfo, Image, LightOptions, Matrix, Method,
    Primaries, Range, ToneMapping, Transfer,
};

use crate::flat_image;

fn pq(format: Format, width: usize, height: usize) -> FrameInfo {
    FrameInfo::new(format, width, height)
        .with_colour(Matrix::Bt2020, Range::Limited)
        .with_light(Transfer::Pq, Primaries::Bt2020)
}

fn remapped(source: FrameInfo, destination: FrameInfo) -> Conversion {
    Conversion {
        light: LightOptions {
            transfer: true,
            primaries: true,
            ..LightOptions::default()
        },
        ..Conversion::new(source, destination)
    }
}

/// The components of a pixel of one colour, converted.
fn colour(conversion: &Conversion, code: [u32; 3]) -> [f64; 3] {
    let real = conversion.convert(&flat_image(conversion.source, code));
    [0, 1, 2].map(|slot| real.components[slot].values[0])
}

fn assert_colour(found: [f64; 3], expected: [f64; 3], tolerance: f64, what: &str) {
    for (a, b) in found.into_iter().zip(expected) {
        assert!(
            (a - b).abs() <= tolerance,
            "{what}: {found:?}, not {expected:?}"
        );
    }
}

#[test]
fn white_becomes_hdr_reference_white() {
    // BT.2408: 203 cd/m² is 58 % PQ and 75 % HLG, in 10 bits limited 572 and 721 to the per cent
    // that they are rounded to (BT.2111 puts its 58 % and 75 % bars there).
    let sdr = FrameInfo::new(Format::Rgb, 2, 2).with_light(Transfer::Bt709, Primaries::Bt709);
    for (transfer, code) in [(Transfer::Pq, 572.0), (Transfer::Hlg, 721.0)] {
        let hdr = FrameInfo::new(Format::P010Le, 2, 2)
            .with_colour(Matrix::Bt2020, Range::Limited)
            .with_light(transfer, Primaries::Bt2020);
        let found = colour(&remapped(sdr, hdr), [255; 3]);
        assert_colour(found, [code, 512.0, 512.0], 1.0, "white");
        let found = colour(&remapped(sdr, hdr), [0; 3]);
        assert_colour(found, [64.0, 512.0, 512.0], 0.01, "black");
    }
}

#[test]
fn sdr_colours_keep_their_light_in_hdr() {
    // BT.709 red in BT.2020 by BT.2087: 0.6274, 0.0691, 0.0164 of 203 cd/m².
    let sdr = FrameInfo::new(Format::Rgb, 2, 2).with_light(Transfer::Bt709, Primaries::Bt709);
    let to = FrameInfo::new(Format::Gbr12Le, 2, 2).with_light(Transfer::Pq, Primaries::Bt2020);
    let light = [0.6274, 0.0691, 0.0164];
    let expected = light.map(|value| 4095.0 * pq_from_luminance(203.0 * value));
    assert_colour(
        colour(&remapped(sdr, to), [255, 0, 0]),
        expected,
        1.0,
        "red",
    );
}

#[test]
fn hlg_and_pq_show_the_same() {
    // BT.2408 and BT.2100 table 5: HLG 75 % grey is 203 cd/m² on a display of 1000; peak is peak.
    let hlg = FrameInfo::new(Format::Y444_12Le, 2, 2)
        .with_colour(Matrix::Bt2020, Range::Full)
        .with_light(Transfer::Hlg, Primaries::Bt2020);
    let to = pq(Format::Y444_12Le, 2, 2).with_colour(Matrix::Bt2020, Range::Full);
    for (scene, display) in [(1.0, 1000.0), (0.2650, 203.0), (1.0 / 12.0, 50.70)] {
        let code = (4095.0 * hlg_from_scene(scene)).round() as u32;
        let found = colour(&remapped(hlg, to), [code, 2048, 2048]);
        let expected = 4095.0 * pq_from_luminance(display);
        assert_colour(found, [expected, 2048.0, 2048.0], 1.5, "HLG to PQ");
        let back = colour(&remapped(to, hlg), [expected.round() as u32, 2048, 2048]);
        assert_colour(back, [f64::from(code), 2048.0, 2048.0], 2.0, "PQ to HLG");
    }
}

#[test]
fn tone_mapping_brings_the_peak_to_white() {
    let sdr = FrameInfo::new(Format::Rgb, 2, 2).with_light(Transfer::Srgb, Primaries::Bt709);
    let from = pq(Format::Y444_16Le, 2, 2).with_colour(Matrix::Bt2020, Range::Full);
    let code = |luminance| (65535.0 * pq_from_luminance(luminance)).round() as u32;
    for mapping in ToneMapping::ALL {
        let conversion = Conversion {
            light: LightOptions {
                tone_mapping: Some(mapping),
                max_cll: Some(1000.0),
                ..LightOptions::default()
            },
            ..Conversion::new(from, sdr)
        };
        let grey = |luminance| colour(&conversion, [code(luminance), 32768, 32768])[0];
        assert!((grey(1000.0) - 255.0).abs() < 0.1, "{mapping:?}");
        assert!(grey(0.0).abs() < 0.1, "{mapping:?}");
        let middle = grey(203.0);
        let expected = match mapping {
            // Clipped, 203 cd/m² is white already.
            ToneMapping::Clip => 255.0..255.1,
            _ => 150.0..250.0,
        };
        assert!(expected.contains(&(middle + 0.05)), "{mapping:?}: {middle}");
    }
}

#[test]
fn without_being_asked_nothing_becomes_light() {
    let from = pq(Format::P010Le, 4, 4);
    let to = FrameInfo::new(Format::P010Le, 4, 4).with_colour(Matrix::Bt2020, Range::Limited);
    let found = colour(&Conversion::new(from, to), [700, 300, 600]);
    assert_colour(found, [700.0, 300.0, 600.0], 1e-9, "nothing asked");
}

#[test]
fn chroma_is_the_mean_of_the_pixels_after_the_change() {
    // A black and a white pixel, and a red and a blue one, under one centred chroma sample.
    let from = FrameInfo::new(Format::Rgb, 2, 1).with_light(Transfer::Srgb, Primaries::Bt709);
    let to = FrameInfo::new(Format::Y42b, 2, 1)
        .with_colour(Matrix::Bt601, Range::Full)
        .with_site(ChromaSite::Centre)
        .with_light(Transfer::Gamma10, Primaries::Bt709);
    let mut source = Image::new(from);
    source.set_code(Component::R, 0, 0, 128);
    source.set_code(Component::B, 1, 0, 128);
    let linear = 255.0 * Transfer::Srgb.to_light([128.0 / 255.0; 3])[0];
    for method in Method::ALL {
        let conversion = Conversion {
            method,
            ..remapped(from, to)
        };
        let real = conversion.convert(&source);
        let expected = [
            (Component::Y, 0, 0.299 * linear),
            (Component::Y, 1, 0.114 * linear),
            (
                Component::Cb,
                0,
                128.0 + linear * (0.5 - 0.299 / 1.772) / 2.0,
            ),
            (
                Component::Cr,
                0,
                128.0 + linear * (0.5 - 0.114 / 1.402) / 2.0,
            ),
        ];
        for (component, x, expected) in expected {
            let found = real.value(component, x, 0);
            assert!(
                (found - expected).abs() < 1e-9,
                "{method:?} {component:?}: {found}"
            );
        }
    }
}
