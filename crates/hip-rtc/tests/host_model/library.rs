//! Every function of the prelude, against values from elsewhere.

use std::fmt::Write;

use crate::rig::{Rig, arg, block};

/// Evaluates expressions of `n` (0, always, but the compiler does not know) as doubles.
fn evaluate(expressions: &[&str]) -> Vec<f64> {
    let mut text =
        "#include <cuda_fp16.h>\nextern \"C\" __global__ void k(double* out, int n) {\n".to_owned();
    for (index, expression) in expressions.iter().enumerate() {
        writeln!(text, "out[{index}] = (double)({expression});").unwrap();
    }
    text.push('}');
    let rig = Rig::new(&text);
    let mut out = vec![f64::NAN; expressions.len()];
    rig.run("k", block(1), &[arg(&out.as_mut_ptr()), arg(&0i32)]);
    out
}

#[test]
fn sizes_and_alignments_are_cudas() {
    let types = [
        ("char", 1, 2, 4),
        ("uchar", 1, 2, 4),
        ("short", 2, 4, 8),
        ("ushort", 2, 4, 8),
        ("int", 4, 8, 16),
        ("uint", 4, 8, 16),
        ("longlong", 8, 16, 16),
        ("ulonglong", 8, 16, 16),
        ("float", 4, 8, 16),
        ("double", 8, 16, 16),
    ];
    let mut names = Vec::new();
    let mut expected = Vec::new();
    for (name, size, align2, align4) in types {
        for (count, align) in [(1, size), (2, align2), (3, size), (4, align4)] {
            names.push(format!("sizeof({name}{count})"));
            names.push(format!("alignof({name}{count})"));
            expected.extend([f64::from(size * count), f64::from(align)]);
        }
        names.push(format!(
            "make_{name}4(1, 2, 3, 4).w + make_{name}3(1, 2, 3).z * 10"
        ));
        expected.push(34.0);
    }
    for (name, value) in [
        ("sizeof(dim3)", 12.0),
        ("sizeof(__half)", 2.0),
        ("alignof(__half2)", 4.0),
        ("dim3(7).x + dim3(7).y + dim3(7, 2).z", 9.0),
        ("warpSize", 1.0),
    ] {
        names.push(name.to_owned());
        expected.push(value);
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for ((name, found), expected) in names.iter().zip(evaluate(&names)).zip(expected) {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn mathematics_is_right() {
    let x = 0.75f64;
    // Name, and its value at x or at (x, 1.5).
    let one: &[(&str, f64)] = &[
        ("sqrt", x.sqrt()),
        ("cbrt", x.cbrt()),
        ("exp", x.exp()),
        ("exp2", x.exp2()),
        ("expm1", x.exp_m1()),
        ("log", x.ln()),
        ("log2", x.log2()),
        ("log10", x.log10()),
        ("log1p", x.ln_1p()),
        ("sin", x.sin()),
        ("cos", x.cos()),
        ("tan", x.tan()),
        ("asin", x.asin()),
        ("acos", x.acos()),
        ("atan", x.atan()),
        ("sinh", x.sinh()),
        ("cosh", x.cosh()),
        ("tanh", x.tanh()),
        ("asinh", x.asinh()),
        ("atanh", x.atanh()),
        ("acosh(1 + n) + fabs", x),
        ("ceil", 1.0),
        ("floor", 0.0),
        ("round", 1.0),
        ("trunc", 0.0),
        ("rint", 1.0),
        ("nearbyint", 1.0),
        ("logb", -1.0),
        ("erf", 0.711_155_633_653_515_1),
        ("erfc", 0.288_844_366_346_484_9),
        ("tgamma", 1.225_416_702_465_177_6),
        ("lgamma", 0.203_280_951_431_295_4),
    ];
    let two: &[(&str, f64)] = &[
        ("pow", x.powf(1.5)),
        ("atan2", x.atan2(1.5)),
        ("hypot", x.hypot(1.5)),
        ("fmod", 0.75),
        ("remainder", 0.75),
        ("fmin", 0.75),
        ("fmax", 1.5),
        ("fdim", 0.0),
        ("copysign", 0.75),
        ("min", 0.75),
        ("max", 1.5),
    ];
    let own: &[(&str, f64)] = &[
        ("exp10(x)", 10f64.powf(x)),
        ("rsqrt(x)", 1.0 / x.sqrt()),
        ("rcbrt(x)", 1.0 / x.cbrt()),
        ("sinpi(x)", (x * std::f64::consts::PI).sin()),
        ("cospi(x)", (x * std::f64::consts::PI).cos()),
        ("fma(x, x, x)", x * x + x),
        ("ldexp(x, 3)", 6.0),
        ("scalbn(x, 2)", 3.0),
        ("abs(-x)", x),
        ("ilogb(x)", -1.0),
        ("lround(x)", 1.0),
        ("llrint(x)", 1.0),
        ("isnan(x / n - x / n)", 1.0),
        ("isinf(x / n)", 1.0),
        ("isfinite(x)", 1.0),
        ("signbit(-x)", 1.0),
        ("nextafter(x, x)", x),
    ];
    let fast: &[(&str, f64)] = &[
        ("__expf(x)", x.exp()),
        ("__logf(x)", x.ln()),
        ("__log2f(x)", x.log2()),
        ("__log10f(x)", x.log10()),
        ("__sinf(x)", x.sin()),
        ("__cosf(x)", x.cos()),
        ("__tanf(x)", x.tan()),
        ("__powf(x, 1.5f)", x.powf(1.5)),
        ("__exp10f(x)", 10f64.powf(x)),
        ("__fdividef(x, 3.0f)", 0.25),
        ("__frcp_rn(x)", 1.0 / x),
        ("__fsqrt_rn(x)", x.sqrt()),
        ("rsqrtf(x)", 1.0 / x.sqrt()),
        ("__frsqrt_rn(x)", 1.0 / x.sqrt()),
        ("__saturatef(x)", x),
        ("__saturatef(x + 1)", 1.0),
        ("__saturatef(-x)", 0.0),
        ("__saturatef(x / n - x / n)", 0.0),
        ("__fmaf_rn(x, x, x)", x * x + x),
        ("__fadd_rn(x, x)", 1.5),
        ("__fmul_rn(x, x)", x * x),
        ("__fdiv_rn(x, 3.0f)", 0.25),
        ("norm3df(x, 0.0f, 1.0f)", 1.25),
        ("fmaf(x, 2.0f, 1.0f)", 2.5),
    ];
    let mut expressions = Vec::new();
    let mut expected = Vec::new();
    for (name, value) in one {
        for (expression, precise) in [
            (format!("{name}(0.75 + n)"), true),
            (format!("{name}(0.75f + n)"), false),
            (format!("{name}f(0.75f + n)"), false),
        ] {
            expressions.push(expression);
            expected.push((*value, precise));
        }
    }
    for (name, value) in two {
        let suffix = if matches!(*name, "min" | "max") {
            ""
        } else {
            "f"
        };
        for (expression, precise) in [
            (format!("{name}(0.75 + n, 1.5)"), true),
            (format!("{name}(0.75f + n, 1.5f)"), false),
            (format!("{name}{suffix}(0.75f + n, 1.5f)"), false),
        ] {
            expressions.push(expression);
            expected.push((*value, precise));
        }
    }
    for (list, kind) in [(own, "double"), (fast, "float")] {
        for (expression, value) in list {
            expressions.push(format!(
                "[=]({kind} x) {{ return {expression}; }}(0.75 + n)"
            ));
            expected.push((*value, kind == "double"));
        }
    }
    let expressions: Vec<&str> = expressions.iter().map(String::as_str).collect();
    for ((expression, found), (expected, precise)) in
        expressions.iter().zip(evaluate(&expressions)).zip(expected)
    {
        let most = if precise { 1e-14 } else { 3e-7 };
        assert!(
            (found - expected).abs() <= most * expected.abs().max(1.0),
            "{expression}: {found} for {expected}"
        );
    }
}

#[test]
fn integer_functions_are_right() {
    let cases: &[(&str, f64)] = &[
        ("__popc(0xf0f0u + n)", 8.0),
        ("__popcll(~0ull - n)", 64.0),
        ("__clz(1 + n)", 31.0),
        ("__clz(n)", 32.0),
        ("__clz(-1 + n)", 0.0),
        ("__clzll(1ll + n)", 63.0),
        ("__clzll((long long)n)", 64.0),
        ("__ffs(n)", 0.0),
        ("__ffs(12 + n)", 3.0),
        ("__ffs((int)0x80000000u + n)", 32.0),
        ("__ffsll((1ll << 40) + n)", 41.0),
        ("__brev(1u + n)", 2_147_483_648.0),
        ("__brevll(1ull + n) >> 60", 8.0),
        (
            "__byte_perm(0x33221100u, 0x77665544u + n, 0x7531)",
            0x7755_3311u32 as f64,
        ),
        ("__byte_perm(0x80000000u, n, 0xb0b0)", 0xff00_ff00u32 as f64),
        ("__mulhi(-2 + n, 1 << 30)", -1.0),
        ("__umulhi(0xffffffffu, 0x80000000u + n)", 2_147_483_647.0),
        ("__umul64hi(~0ull, ~0ull - n) == ~0ull - 1", 1.0),
        ("__mul64hi(-1ll + n, 5ll)", -1.0),
        ("__mul24(-3 + n, 5)", -15.0),
        ("__umul24(0x1000003u + n, 5u)", 15.0),
        ("__sad(3 + n, 10, 1u)", 8.0),
        ("__hadd(-1 + n, 4)", 1.0),
        ("__rhadd(1 + n, 4)", 3.0),
        ("__funnelshift_l(0x80000000u, 1u + n, 1u)", 3.0),
        ("__funnelshift_r(2u, 1u + n, 1u)", 2_147_483_649.0),
        ("min(-1 + n, 3)", -1.0),
        ("max(2u, 3 + n)", 3.0),
        ("min(-1 + n, 3u)", 3.0),
        ("max(1ll << 40, 1ll + n)", 1_099_511_627_776.0),
        ("abs(-7 + n)", 7.0),
        ("sqrt(49 + n)", 7.0),
        ("pow(2.0f, 3 + n)", 8.0),
        ("fmax(2 + n, 3.5)", 3.5),
        ("abs(-7ll + n)", 7.0),
        ("__float2int_rn(2.5f + n)", 2.0),
        ("__float2int_rz(-2.7f + n)", -2.0),
        ("__float2int_ru(2.1f + n)", 3.0),
        ("__float2int_rd(-2.1f + n)", -3.0),
        ("__float2int_rz(1e20f + n)", 2_147_483_647.0),
        ("__float2int_rz(-1e20f + n)", -2_147_483_648.0),
        ("__float2uint_rn(-5.0f + n)", 0.0),
        ("__float2uint_rn(NAN + n)", 0.0),
        ("__double2int_rn(3.5 + n)", 4.0),
        ("__double2ll_rz(1e15 + n)", 1e15),
        ("__float2uint_rz(1e20f + n)", 4_294_967_295.0),
        ("__int2float_rn(7 + n)", 7.0),
        ("__float_as_int(1.0f + n)", f64::from(0x3f80_0000)),
        ("__int_as_float(0x40000000 + n)", 2.0),
        ("__float_as_uint(-0.0f + n * 0)", 0.0),
        ("__uint_as_float(0x3f000000u + n)", 0.5),
        ("__double_as_longlong(1.0 + n) >> 52", 1023.0),
        ("__longlong_as_double(0x4000000000000000ll + n)", 2.0),
        ("__double2hiint(1.0 + n)", f64::from(0x3ff0_0000)),
        ("__hiloint2double(0x3ff00000 + n, 0)", 1.0),
        ("__ldg(&n)", 0.0),
        ("(clock64() >= 0 && clock() >= 0)", 1.0),
        ("[](unsigned v) { atomicDec(&v, 5u); return v; }(n)", 5.0),
        (
            "[](unsigned v) { atomicXor(&v, 5u); atomicAnd(&v, 4u); return v; }(n)",
            4.0,
        ),
        (
            "[](float v) { float old = atomicExch(&v, 2.0f); return v + old; }(n + 1)",
            3.0,
        ),
        (
            "[](unsigned short v) { atomicCAS(&v, (unsigned short)1, (unsigned short)9); return v; }(n + 1)",
            9.0,
        ),
        (
            "[](unsigned v) { atomicSub(&v, 1u); return v; }(n)",
            4_294_967_295.0,
        ),
    ];
    let expressions: Vec<&str> = cases.iter().map(|case| case.0).collect();
    for ((expression, expected), found) in cases.iter().zip(evaluate(&expressions)) {
        assert_eq!(found, *expected, "{expression}");
    }
}

/// A half's value, from its fields.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[test]
fn every_half_survives_and_rounding_is_to_the_nearest_even() {
    let rig = Rig::new(
        r#"
        #include <cuda_fp16.h>
        extern "C" __global__ void there_and_back(const __half* in, float* wide, __half* out, int n) {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) { wide[i] = __half2float(in[i]); out[i] = __float2half_rn(wide[i]); }
        }
        extern "C" __global__ void narrow(const float* in, __half* out, int n) {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) out[i] = __float2half(in[i]);
        }"#,
    );
    let all: Vec<u16> = (0..=u16::MAX).collect();
    let (mut wide, mut back) = (vec![0f32; 65536], vec![0u16; 65536]);
    rig.run(
        "there_and_back",
        crate::rig::grid(256, 256),
        &[
            arg(&all.as_ptr()),
            arg(&wide.as_mut_ptr()),
            arg(&back.as_mut_ptr()),
            arg(&65536i32),
        ],
    );
    for bits in all.iter().copied() {
        let (found, expected) = (f64::from(wide[usize::from(bits)]), half(bits));
        if expected.is_nan() {
            assert!(
                found.is_nan() && half(back[usize::from(bits)]).is_nan(),
                "{bits:#x}"
            );
        } else {
            assert_eq!(found.to_bits(), expected.to_bits(), "{bits:#x}");
            assert_eq!(back[usize::from(bits)], bits);
        }
    }
    // Between each two neighbours: a little below the middle, the middle, a little above.
    let finite: Vec<u16> = (0..0x7bff).collect();
    let middles: Vec<f32> = finite
        .iter()
        .map(|bits| ((half(*bits) + half(bits + 1)) / 2.0) as f32)
        .collect();
    let input: Vec<f32> = middles
        .iter()
        .flat_map(|middle| [middle.next_down(), *middle, middle.next_up()])
        .chain([65519.996, 65520.0, 1e10, f32::INFINITY, 1e-10])
        .collect();
    let mut out = vec![0u16; input.len()];
    let blocks = input.len().div_ceil(256) as u32;
    rig.run(
        "narrow",
        crate::rig::grid(blocks, 256),
        &[
            arg(&input.as_ptr()),
            arg(&out.as_mut_ptr()),
            arg(&(input.len() as i32)),
        ],
    );
    for (bits, found) in finite.iter().zip(out.chunks(3)) {
        let even = bits + (bits & 1);
        assert_eq!(found, [*bits, even, bits + 1], "{bits:#x}");
    }
    assert_eq!(out[3 * finite.len()..], [0x7bff, 0x7c00, 0x7c00, 0x7c00, 0]);
}

#[test]
fn halves_are_calculated_with() {
    let cases: &[(&str, f64)] = &[
        ("__hadd(__half(1.5f + n), __half(2.0f))", 3.5),
        ("__hsub(__half(1.5f + n), __half(2.0f))", -0.5),
        ("__hmul(__half(1.5f + n), __half(2.0f))", 3.0),
        ("__hdiv(__half(1.5f + n), __half(2.0f))", 0.75),
        ("__hfma(__half(1.5f + n), __half(2.0f), __half(1.0f))", 4.0),
        ("__hneg(__half(1.5f + n))", -1.5),
        ("__high2float(__floats2half2_rn(1.0f, 2.0f + n))", 2.0),
        ("__low2float(__half2half2(__half(3.0f + n)))", 3.0),
        (
            "__half22float2(__hadd2(make_half2(1.0f, 2.0f + n), make_half2(3.0f, 4.0f))).y",
            6.0,
        ),
        ("__half_as_ushort(__half(1.0f + n))", f64::from(0x3c00)),
        ("__half2float(__ushort_as_half(0x4000 + n))", 2.0),
        ("__hlt(__half(1.0f + n), __half(2.0f))", 1.0),
        ("__hisnan(__half(NAN + n))", 1.0),
    ];
    let expressions: Vec<&str> = cases.iter().map(|case| case.0).collect();
    for ((expression, expected), found) in cases.iter().zip(evaluate(&expressions)) {
        assert_eq!(found, *expected, "{expression}");
    }
}
