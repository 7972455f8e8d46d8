//! PTX text: versions, entries and their parameters (PTX ISA, "Kernel function directives").

use super::{Kernel, Refusal, place};
use crate::code;

/// The PTX version that a driver of a CUDA version takes: 9.0 with 13.0, 8.x with 12.x.
fn newest(version: i32) -> (u32, u32) {
    let (major, minor) = (version / 1000, version % 1000 / 10);
    // CUDA 12.0 brought PTX 8.0 and 11.0 brought 7.0; each release since added one.
    (
        u32::try_from(major - 4).unwrap_or(0),
        u32::try_from(minor).unwrap_or(0),
    )
}

/// The kernels of a PTX text, for a driver of a CUDA version and a device (`sm_90`).
///
/// # Errors
/// 218 for what is no PTX, 222 for a newer one than the driver's, 209 for a newer device's.
pub fn kernels(text: &str, architecture: &str, version: i32) -> Result<Vec<Kernel>, Refusal> {
    let wrong = |why: &str| {
        Refusal::new(
            code::INVALID_PTX,
            format!("ptxas application ptx input, fatal: {why}"),
        )
    };
    let text = without_comments(text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_default();
    let ptx = first
        .strip_prefix(".version")
        .and_then(|rest| rest.trim().split_once('.'));
    let ptx = ptx.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let ptx: (u32, u32) =
        ptx.ok_or_else(|| wrong("Missing .version directive at start of file"))?;
    if ptx > newest(version) {
        let (major, minor) = ptx;
        let text = format!(
            "Unsupported .version {major}.{minor}; current version is {}.{}",
            newest(version).0,
            newest(version).1
        );
        return Err(Refusal::new(code::UNSUPPORTED_PTX_VERSION, text));
    }
    let target = lines.next().and_then(|line| line.strip_prefix(".target"));
    let target = target
        .ok_or_else(|| wrong("Missing .target directive"))?
        .trim();
    let number = |name: &str| -> Option<u32> {
        let digits = name.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
        digits.parse().ok()
    };
    let wanted = target.split(',').next().and_then(number);
    let wanted = wanted.ok_or_else(|| wrong("Unknown .target"))?;
    if number(architecture).is_none_or(|device| wanted > device) {
        let text = format!("SM version of {target} is higher than {architecture}");
        return Err(Refusal::new(code::NO_BINARY_FOR_GPU, text));
    }
    if text.matches('{').count() != text.matches('}').count() {
        return Err(wrong(
            "Parsing error near the end of the file: syntax error",
        ));
    }
    entries(&text).ok_or_else(|| wrong("Parsing error in an entry's parameters: syntax error"))
}

/// PTX has C's comments.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(slash) = rest.find('/') {
        let (before, comment) = rest.split_at(slash);
        code.push_str(before);
        let end = if comment.starts_with("//") {
            comment.find('\n')
        } else if comment.starts_with("/*") {
            comment.find("*/").map(|end| end + 2)
        } else {
            code.push('/');
            Some(1)
        };
        rest = &comment[end.unwrap_or(comment.len())..];
    }
    code.push_str(rest);
    code
}

fn entries(text: &str) -> Option<Vec<Kernel>> {
    text.split(".visible .entry ").skip(1).map(entry).collect()
}

/// What follows `.visible .entry `.
fn entry(text: &str) -> Option<Kernel> {
    let head = &text[..text.find('{')?];
    let (name, params) = match head.split_once('(') {
        Some((name, rest)) => (name, rest.split_once(')')?),
        None => (head, ("", "")),
    };
    let (params, directives) = params;
    let params = params
        .split(',')
        .map(str::trim)
        .filter(|param| !param.is_empty());
    let sizes = params.map(param).collect::<Option<Vec<_>>>()?;
    let max_threads = directives.split_once(".maxntid").and_then(|(_, rest)| {
        let numbers = rest.split('.').next()?.split(',');
        numbers
            .map(|number| number.trim().parse::<u32>().ok())
            .product::<Option<u32>>()
    });
    Some(Kernel {
        name: name.trim().to_owned(),
        params: place(sizes),
        max_threads,
    })
}

/// Size and alignment of `.param .align 8 .b8 name[400]`, `.param .u64 .ptr .global .align 4 name`.
fn param(text: &str) -> Option<(usize, usize)> {
    let mut words = text.split_whitespace();
    (words.next()? == ".param").then_some(())?;
    let mut align = None;
    let mut words = words.peekable();
    if words.next_if_eq(&".align").is_some() {
        align = Some(words.next()?.parse().ok()?);
    }
    let element = type_size(words.next()?)?;
    let name = words.last()?;
    let count = match name.split_once('[') {
        Some((_, count)) => count.strip_suffix(']')?.parse().ok()?,
        None => 1,
    };
    let align: usize = align.unwrap_or(element);
    align.is_power_of_two().then_some((element * count, align))
}

/// Bytes of `.u32` and its like.
fn type_size(name: &str) -> Option<usize> {
    let digits = name
        .strip_prefix('.')?
        .trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let bits: usize = digits.parse().ok()?;
    matches!(bits, 8 | 16 | 32 | 64 | 128).then_some(bits / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Param;

    fn code(text: &str) -> i32 {
        kernels(text, "sm_90", 13_000).map_or_else(|refusal| refusal.code, |_| 0)
    }

    #[test]
    fn entries_and_parameters_are_found() {
        let text = "// a comment { \n.version 8.3\n.target sm_52\n.address_size 64\n\
            .func helper(.param .b32 x) { }\n\
            .visible .entry first(\n\t.param .u8 a,\n\t.param .u64 .ptr .global .align 4 b,\n\
            \t.param .align 16 .b8 c[20] /* } */\n)\n.maxntid 32, 4, 1\n.minnctapersm 1\n{ ret; }\n\
            .visible .entry second()\n{\n}\n";
        let found = kernels(text, "sm_90", 13_000).unwrap();
        let param = |offset, size, align| Param {
            offset,
            size,
            align,
        };
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&*found[0].name, found[0].max_threads),
            ("first", Some(128))
        );
        assert_eq!(
            found[0].params,
            [param(0, 1, 1), param(8, 8, 8), param(16, 20, 16)]
        );
        assert_eq!((&*found[1].name, found[1].params.len()), ("second", 0));
        assert_eq!(found[1].max_threads, None);
    }

    #[test]
    fn what_a_driver_refuses_is_refused() {
        let head = |version: &str, target: &str| format!(".version {version}\n.target {target}\n");
        assert_eq!(code(&head("9.0", "sm_90")), 0);
        assert_eq!(code(&head("7.8", "sm_90a, texmode_independent")), 0);
        assert_eq!(code(&head("9.1", "sm_90")), code::UNSUPPORTED_PTX_VERSION);
        assert_eq!(code(&head("10.0", "sm_90")), code::UNSUPPORTED_PTX_VERSION);
        assert_eq!(code(&head("9.0", "sm_100")), code::NO_BINARY_FOR_GPU);
        for text in [
            "",
            "garbage",
            ".target sm_90",
            ".version 8",
            ".version 8.0\n.reg x",
        ] {
            assert_eq!(code(text), code::INVALID_PTX, "{text}");
        }
        let cut = head("8.0", "sm_90") + ".visible .entry a(.param .u32 x) {";
        assert_eq!(code(&cut), code::INVALID_PTX);
        let odd = head("8.0", "sm_90") + ".visible .entry a(.param .q7 x) {}";
        assert_eq!(code(&odd), code::INVALID_PTX);
    }

    #[test]
    fn the_versions_of_drivers_are_known() {
        assert_eq!(
            [11_080, 12_000, 12_090, 13_000].map(newest),
            [(7, 8), (8, 0), (8, 9), (9, 0)]
        );
    }
}
