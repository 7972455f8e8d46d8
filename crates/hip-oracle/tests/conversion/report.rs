//! Comparisons find what was planted.

use hip_oracle::{
    Component, Format, FrameInfo, Image, Layout, Method, RealImage, Rect, Rng, compare, convert,
};

use crate::{for_each_sample, random_image};

/// A conversion to compare with.
fn reference(to: FrameInfo, rng: &mut Rng) -> RealImage {
    let from = FrameInfo::new(Format::Rgba, 9, 7);
    let source = random_image(from, rng);
    convert(
        &source,
        Rect::full(&from),
        &to,
        Rect::full(&to),
        Method::Bilinear,
    )
}

#[test]
fn exact_rounding_is_within_half_a_code_and_unbiased() {
    let mut rng = Rng::new(71);
    for format in Format::ALL {
        let real = reference(FrameInfo::new(format, 33, 31), &mut rng);
        let report = compare(&real, &real.to_image());
        assert!(report.max_abs_error <= 0.5, "{format:?}: {report}");
        assert!(
            report.mean_signed_error.abs() < 0.05,
            "{format:?}: {report}"
        );
        assert_eq!(report.components.len(), format.info().components.len());
        assert_eq!(report.check(0.5), Ok(()));
        assert_eq!(
            (report.max_abs_difference, report.mean_signed_difference),
            (0.0, 0.0)
        );
        assert_eq!(report.check(0.01).is_err(), !format.is_float());
    }
}

/// What a comparison says to a tolerance.
fn real_check(real: &RealImage, stored: &Image, tolerance: f64) -> Result<(), String> {
    compare(real, stored).check(tolerance)
}

#[test]
fn a_planted_error_is_found_in_every_component() {
    let mut rng = Rng::new(72);
    for format in Format::ALL.into_iter().filter(|format| !format.is_float()) {
        let to = FrameInfo::new(format, 11, 9);
        let real = reference(to, &mut rng);
        for location in &format.info().components {
            let mut stored = Image::with_layout(to, Layout::random(&mut rng));
            stored.clear_samples();
            // Two bits of alpha leave no room for more.
            let distance = if location.number.bits() == 2 { 2 } else { 9 };
            let exact = real.to_image();
            for_each_sample(&real, |component, x, y, _| {
                stored.set_code(component, x, y, exact.code(component, x, y));
            });
            let (width, height) = to.samples(location);
            let (x, y) = (rng.between(0, width - 1), rng.between(0, height - 1));
            let code = exact.code(location.component, x, y);
            let (wrong, sign) = if code >= distance {
                (code - distance, -1.0)
            } else {
                (code + distance, 1.0)
            };
            let planted = f64::from(distance) * sign;
            stored.set_code(location.component, x, y, wrong);
            let report = compare(&real, &stored);
            let worst = report.worst;
            assert_eq!(
                (worst.component, worst.plane),
                (location.component, location.plane)
            );
            assert_eq!((worst.x, worst.y), (x, y), "{format:?}");
            assert!((worst.error - planted).abs() <= 0.5, "{worst}");
            assert_eq!(
                (worst.difference, report.max_abs_difference),
                (planted, planted.abs())
            );
            assert_eq!(report.max_abs_error, worst.error.abs());
            let count = (width * height) as f64;
            for own in report.components {
                let expected = if own.component == location.component {
                    planted
                } else {
                    0.0
                };
                assert_eq!(own.max_abs_difference, expected.abs(), "{format:?}");
                assert!((own.mean_signed_difference - expected / count).abs() < 1e-12);
            }
            assert!(real_check(&real, &stored, f64::from(distance) - 0.6).is_err());
            assert_eq!(
                real_check(&real, &stored, f64::from(distance) + 0.5),
                Ok(())
            );
        }
    }
}

#[test]
fn a_bias_shows_in_the_mean() {
    let to = FrameInfo::new(Format::Rgb, 20, 20);
    let mut real = reference(to, &mut Rng::new(73));
    for samples in &mut real.components {
        for value in &mut samples.values {
            *value = value.clamp(10.0, 200.0).floor() + 0.25;
        }
    }
    let mut stored = Image::new(to);
    for_each_sample(&real, |component, x, y, value| {
        let code = value.floor() as u32 + u32::from(component == Component::G);
        stored.set_code(component, x, y, code);
    });
    let report = compare(&real, &stored);
    let means: Vec<f64> = report
        .components
        .iter()
        .map(|c| c.mean_signed_error)
        .collect();
    for (mean, expected) in means.iter().zip([-0.25, 0.75, -0.25]) {
        assert!((mean - expected).abs() < 1e-9, "{means:?}");
    }
    assert!((report.mean_signed_error - 0.25 / 3.0).abs() < 1e-9);
}

#[test]
fn values_beyond_the_codes_are_compared_clamped() {
    let to = FrameInfo::new(Format::P010Le, 2, 1);
    let mut real = reference(to, &mut Rng::new(74));
    real.components[0].values = vec![-40.0, 1100.0];
    let mut stored = real.to_image();
    assert_eq!(stored.code(Component::Y, 0, 0), 0);
    assert_eq!(stored.code(Component::Y, 1, 0), 1023);
    assert!(compare(&real, &stored).max_abs_error <= 0.5);
    stored.set_code(Component::Y, 1, 0, 1020);
    assert_eq!(compare(&real, &stored).worst.error, -3.0);
}

#[test]
fn low_bits_of_p010_are_found() {
    let to = FrameInfo::new(Format::P010Le, 5, 5);
    let real = reference(to, &mut Rng::new(75));
    for bit in 0..6 {
        let mut stored = real.to_image();
        let word = stored.word(Component::Cr, 2, 1) | 1 << bit;
        stored.set_word(Component::Cr, 2, 1, word);
        let report = compare(&real, &stored);
        let fault = report.padding.expect("a low bit was set");
        // Two bytes a sample, Cr second.
        assert_eq!((fault.plane, fault.row, fault.column), (1, 1, 2 * 4 + 2));
        assert_eq!((fault.expected, fault.found), (0, 1 << bit));
        assert!(report.max_abs_error <= 0.5, "the code value is as it was");
        assert!(report.check(1.0).is_err());
    }
}

#[test]
#[should_panic(expected = "two different kinds of frames")]
fn frames_of_different_kinds_are_not_compared() {
    let real = reference(FrameInfo::new(Format::Nv12, 4, 4), &mut Rng::new(76));
    compare(&real, &Image::new(FrameInfo::new(Format::I420, 4, 4)));
}

#[test]
fn low_bits_of_a_p010_source_are_ignored() {
    let info = FrameInfo::new(Format::P010Le, 6, 6);
    let noisy = random_image(info, &mut Rng::new(77));
    let mut clean = Image::new(info);
    for component in crate::colours(info.format.family()) {
        let (width, height) = noisy.component_size(component);
        for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
            clean.set_code(component, x, y, noisy.word(component, x, y) >> 6);
        }
    }
    let to = FrameInfo::new(Format::Rgba, 5, 7);
    let results = [&noisy, &clean].map(|source| {
        convert(
            source,
            Rect::full(&info),
            &to,
            Rect::full(&to),
            Method::Bilinear,
        )
    });
    assert_eq!(results[0], results[1]);
}
