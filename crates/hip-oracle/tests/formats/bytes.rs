//! A row of two pixels in every format.

use hip_oracle::{Component, Format, FrameInfo, Image, Number};

/// Bytes of the planes, which are divided by `|`, of two pixels beside each other: Y or R 0x10 and
/// 0x11, Cb or G 0x20 and 0x21, Cr or B 0x30 and 0x31 (the first alone where there is one), alpha
/// 0x40 and 0x41 (2 and 3 where it has two bits).
const EXPECTED: [(&str, &str); 74] = [
    ("I420", "10 11|20|30"),
    ("YV12", "10 11|30|20"),
    ("Y42B", "10 11|20|30"),
    ("Y444", "10 11|20 21|30 31"),
    ("A420", "10 11|20|30|40 41"),
    ("A422", "10 11|20|30|40 41"),
    ("A444", "10 11|20 21|30 31|40 41"),
    ("I420_10LE", "10 00 11 00|20 00|30 00"),
    ("I420_12LE", "10 00 11 00|20 00|30 00"),
    ("I422_10LE", "10 00 11 00|20 00|30 00"),
    ("I422_12LE", "10 00 11 00|20 00|30 00"),
    ("Y444_10LE", "10 00 11 00|20 00 21 00|30 00 31 00"),
    ("Y444_12LE", "10 00 11 00|20 00 21 00|30 00 31 00"),
    ("Y444_16LE", "10 00 11 00|20 00 21 00|30 00 31 00"),
    ("A420_10LE", "10 00 11 00|20 00|30 00|40 00 41 00"),
    ("A422_10LE", "10 00 11 00|20 00|30 00|40 00 41 00"),
    (
        "A444_10LE",
        "10 00 11 00|20 00 21 00|30 00 31 00|40 00 41 00",
    ),
    ("A420_12LE", "10 00 11 00|20 00|30 00|40 00 41 00"),
    ("A422_12LE", "10 00 11 00|20 00|30 00|40 00 41 00"),
    (
        "A444_12LE",
        "10 00 11 00|20 00 21 00|30 00 31 00|40 00 41 00",
    ),
    ("A420_16LE", "10 00 11 00|20 00|30 00|40 00 41 00"),
    ("A422_16LE", "10 00 11 00|20 00|30 00|40 00 41 00"),
    (
        "A444_16LE",
        "10 00 11 00|20 00 21 00|30 00 31 00|40 00 41 00",
    ),
    ("NV12", "10 11|20 30"),
    ("NV21", "10 11|30 20"),
    ("NV16", "10 11|20 30"),
    ("NV61", "10 11|30 20"),
    ("NV24", "10 11|20 30 21 31"),
    // 10 bits in the high bits of 16: 0x10 << 6 = 0x0400.
    ("P010_10LE", "00 04 40 04|00 08 00 0c"),
    ("P012_LE", "00 01 10 01|00 02 00 03"),
    ("P016_LE", "10 00 11 00|20 00 30 00"),
    ("YUY2", "10 20 11 30"),
    ("UYVY", "20 10 30 11"),
    ("VYUY", "30 10 20 11"),
    ("YVYU", "10 30 11 20"),
    ("Y210", "00 04 00 08 40 04 00 0c"),
    ("Y212_LE", "00 01 00 02 10 01 00 03"),
    // 0x20 | 0x10 << 10 | 0x30 << 20, 0x11, and no further pixel.
    ("v210", "20 40 00 03 11 00 00 00 00 00 00 00 00 00 00 00"),
    ("AYUV", "40 10 20 30 41 11 21 31"),
    ("VUYA", "30 20 10 40 31 21 11 41"),
    // 0x20 | 0x10 << 10 | 0x30 << 20 | 2 << 30.
    ("Y410", "20 40 00 83 21 44 10 c3"),
    ("Y412_LE", "00 02 00 01 00 03 00 04 10 02 10 01 10 03 10 04"),
    ("GRAY8", "10 11"),
    ("GRAY16_LE", "10 00 11 00"),
    ("GRAY10_LE16", "10 00 11 00"),
    ("RGBA", "10 20 30 40 11 21 31 41"),
    ("BGRA", "30 20 10 40 31 21 11 41"),
    ("ARGB", "40 10 20 30 41 11 21 31"),
    ("ABGR", "40 30 20 10 41 31 21 11"),
    ("RGBx", "10 20 30 ff 11 21 31 ff"),
    ("BGRx", "30 20 10 ff 31 21 11 ff"),
    ("xRGB", "ff 10 20 30 ff 11 21 31"),
    ("xBGR", "ff 30 20 10 ff 31 21 11"),
    ("RGB", "10 20 30 11 21 31"),
    ("BGR", "30 20 10 31 21 11"),
    (
        "RGBA64_LE",
        "10 00 20 00 30 00 40 00 11 00 21 00 31 00 41 00",
    ),
    (
        "BGRA64_LE",
        "30 00 20 00 10 00 40 00 31 00 21 00 11 00 41 00",
    ),
    (
        "ARGB64_LE",
        "40 00 10 00 20 00 30 00 41 00 11 00 21 00 31 00",
    ),
    (
        "ABGR64_LE",
        "40 00 30 00 20 00 10 00 41 00 31 00 21 00 11 00",
    ),
    // 0x10 | 0x20 << 10 | 0x30 << 20 | 2 << 30, and with R and B exchanged.
    ("RGB10A2_LE", "10 80 00 83 11 84 10 c3"),
    ("BGR10A2_LE", "30 80 00 81 31 84 10 c1"),
    ("RGBP", "10 11|20 21|30 31"),
    ("BGRP", "30 31|20 21|10 11"),
    ("GBR", "20 21|30 31|10 11"),
    ("GBRA", "20 21|30 31|10 11|40 41"),
    ("GBR_10LE", "20 00 21 00|30 00 31 00|10 00 11 00"),
    ("GBR_12LE", "20 00 21 00|30 00 31 00|10 00 11 00"),
    ("GBR_16LE", "20 00 21 00|30 00 31 00|10 00 11 00"),
    (
        "GBRA_10LE",
        "20 00 21 00|30 00 31 00|10 00 11 00|40 00 41 00",
    ),
    (
        "GBRA_12LE",
        "20 00 21 00|30 00 31 00|10 00 11 00|40 00 41 00",
    ),
    // 16, 32, 48 and 17, 33, 49 as IEEE 754 binary32 and binary16.
    (
        "RgbF32",
        "00 00 80 41 00 00 00 42 00 00 40 42 00 00 88 41 00 00 04 42 00 00 44 42",
    ),
    ("RgbF16", "00 4c 00 50 00 52 40 4c 20 50 20 52"),
    (
        "RgbpF32",
        "00 00 80 41 00 00 88 41|00 00 00 42 00 00 04 42|00 00 40 42 00 00 44 42",
    ),
    ("RgbpF16", "00 4c 40 4c|00 50 20 50|00 52 20 52"),
];

fn parsed(text: &str) -> Vec<Vec<u8>> {
    let byte = |text| u8::from_str_radix(text, 16).expect("two hexadecimal digits");
    let planes = text.split('|');
    planes
        .map(|plane| plane.split(' ').map(byte).collect())
        .collect()
}

/// The code of sample `x` of a component of the picture.
fn code(component: Component, number: Number, x: usize) -> u32 {
    match (component, number) {
        (Component::A, Number::Bits(2)) => 2 + x as u32,
        _ => 0x10 * (component.slot() as u32 + 1) + x as u32,
    }
}

#[test]
fn two_pixels_of_every_format() {
    for (format, (name, text)) in Format::ALL.into_iter().zip(EXPECTED) {
        assert_eq!(format.name(), name);
        let expected = parsed(text);
        let info = FrameInfo::new(format, 2, 1);

        let mut written = Image::new(info);
        written.clear_samples();
        for location in &format.info().components {
            for x in 0..info.samples(location).0 {
                let code = code(location.component, location.number, x);
                written.set_value(location.component, x, 0, f64::from(code));
            }
        }
        let found: Vec<&[u8]> = written.planes.iter().map(|plane| &plane.data[..]).collect();
        assert_eq!(found, expected, "{name}");

        let planes: Vec<(&[u8], usize)> = expected.iter().map(|p| (&p[..], p.len())).collect();
        let read = Image::from_planes(info, &planes);
        assert_eq!(read.padding_fault(), None, "{name}");
        for location in &format.info().components {
            for x in 0..info.samples(location).0 {
                let code = code(location.component, location.number, x);
                let found = read.value(location.component, x, 0);
                assert_eq!(found, f64::from(code), "{name} {:?}", location.component);
            }
        }
    }
}

#[test]
fn the_last_pixel_of_an_odd_row() {
    for (format, width, expected) in [
        ("YUY2", 3, "00 00 00 00 10 20 00 30"),
        ("UYVY", 1, "20 10 30 00"),
        ("Y212_LE", 1, "00 01 00 02 00 00 00 03"),
        ("v210", 1, "20 40 00 03 00 00 00 00 00 00 00 00 00 00 00 00"),
        // Y2 and Cb1 in the second word, Cr1 in the third: Y1 and Y3 are not theirs.
        ("v210", 3, "00 00 00 00 00 80 00 01 30 00 00 00 00 00 00 00"),
        // Cr2, the last of all, and Y4 before it: pixel 5 is not there.
        ("v210", 5, "00 00 00 00 00 00 00 00 00 00 00 02 10 c0 00 00"),
    ] {
        let format = Format::from_name(format).expect("a format");
        let info = FrameInfo::new(format, width, 1);
        let mut image = Image::new(info);
        for location in &format.info().components {
            let (last, _) = info.samples(location);
            let code = code(location.component, location.number, 0);
            image.set_code(location.component, last - 1, 0, code);
        }
        assert_eq!(
            image.planes[0].data,
            parsed(expected)[0],
            "{format:?} {width}"
        );
    }
}
