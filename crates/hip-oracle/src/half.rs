//! IEEE 754 binary16, which Rust does not have yet.

/// The binary16 nearest to a value; a tie goes to the even one, as IEEE 754 §4.3.1 has it.
pub fn from_f64(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    // Half way between the largest binary16 and the next step, 2^16: from here on it is infinity.
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // 2^-14 is the smallest normal number; numbers below share its steps of 2^-24.
    let exponent = if magnitude < f64::powi(2.0, -14) {
        -14
    } else {
        magnitude.log2().floor() as i32
    };
    let steps = (magnitude * f64::powi(2.0, 10 - exponent)).round_ties_even() as u16;
    // The leading 1 of a normal number adds 1 to the exponent field, and so does a carry.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

/// The value of a binary16.
pub fn to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * f64::powi(2.0, -24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * f64::powi(2.0, exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for bits in 0..=u16::MAX {
            let value = to_f64(bits);
            if !value.is_nan() {
                assert_eq!(from_f64(value), bits, "{value}");
            }
        }
    }

    #[test]
    fn printed_examples() {
        for (value, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.0, 0x7bff),
            (65520.0, 0x7c00),
            (1.0 / 3.0, 0x3555),
            (f64::powi(2.0, -24), 0x0001),
            (f64::powi(2.0, -14), 0x0400),
            (f64::powi(2.0, -26), 0x0000),
        ] {
            assert_eq!(from_f64(value), bits, "{value}");
        }
    }

    #[test]
    fn ties_go_to_the_even_number() {
        let step = f64::powi(2.0, -10);
        assert_eq!(from_f64(1.0 + 0.5 * step), 0x3c00);
        assert_eq!(from_f64(1.0 + 1.5 * step), 0x3c02);
        assert_eq!(from_f64(1.0 + 0.51 * step), 0x3c01);
        // A carry into the exponent.
        assert_eq!(from_f64(2.0 - 0.25 * step), 0x4000);
    }
}
