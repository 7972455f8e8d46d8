//! PTX text: versions, entries and their parameters (PTX ISA, "Kernel function directives").

use super::{ImageError, ImageFormat, KernelInfo, place};

/// What a PTX text starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// `.version`: (9, 0) is CUDA 13.0's.
    pub version: (u32, u32),
    /// `.target`: `sm_90`, without the texture mode.
    pub target: String,
}

/// A text handed over as bytes, with NULs at its end or without; `None` if it is no text.
pub fn text(image: &[u8]) -> Option<&str> {
    let end = image.iter().rposition(|byte| *byte != 0)? + 1;
    let text = image.get(..end)?;
    // A NUL within is where a driver, which takes a C string, would stop.
    (!text.contains(&0)).then(|| std::str::from_utf8(text).ok())?
}

/// Whether a text starts like PTX.
pub fn is_ptx(text: &str) -> bool {
    after_comments(text).starts_with(".version")
}

/// The head of a PTX text, which tells whether a driver takes it at all.
///
/// # Errors
/// It has no `.version` or no `.target`, in words of NVIDIA's assembler.
pub fn header(text: &str) -> Result<Header, ImageError> {
    let (line, rest) = first_line(text);
    let version = line.strip_prefix(".version").and_then(version);
    let version = version.ok_or_else(|| damaged("Missing .version directive at start of file"))?;
    let (line, _) = first_line(rest);
    let target = line.strip_prefix(".target");
    let target = target.ok_or_else(|| damaged("Missing .target directive"))?;
    let target = target.split(',').next().unwrap_or_default().trim();
    Ok(Header {
        version,
        target: target.to_owned(),
    })
}

/// The number in `sm_90`, `sm_90a` or `compute_120f`.
pub fn target_number(target: &str) -> Option<u32> {
    let digits = target
        .strip_prefix("sm_")
        .or_else(|| target.strip_prefix("compute_"))?;
    digits.trim_end_matches(['a', 'f']).parse().ok()
}

/// The kernels of a PTX text.
///
/// # Errors
/// As [`header`], or the text ends early, or a parameter's type is unknown.
pub fn kernels(text: &str) -> Result<Vec<KernelInfo>, ImageError> {
    header(text)?;
    let text = without_comments(text);
    if text.matches('{').count() != text.matches('}').count() {
        return Err(damaged(
            "Parsing error near the end of the file: syntax error",
        ));
    }
    entries(&text).ok_or_else(|| damaged("Parsing error in an entry's parameters: syntax error"))
}

fn damaged(what: &str) -> ImageError {
    ImageError::damaged(ImageFormat::Ptx, what)
}

fn version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The first line that is not empty, without comments, and what follows it.
fn first_line(text: &str) -> (&str, &str) {
    let text = after_comments(text);
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let end = ["//", "/*"].iter().filter_map(|mark| line.find(mark)).min();
    // A comment that starts on this line goes on from there.
    match end {
        Some(end) => (line[..end].trim(), &text[end..]),
        None => (line.trim(), rest),
    }
}

/// A text from its first character that is neither space nor comment.
fn after_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some(end) = comment_end(rest) {
        rest = rest[end..].trim_start();
    }
    rest
}

/// Where the comment ends that a text starts with.
fn comment_end(text: &str) -> Option<usize> {
    let end = if text.starts_with("//") {
        text.find('\n')
    } else if text.starts_with("/*") {
        text.find("*/").map(|end| end + 2)
    } else {
        return None;
    };
    Some(end.unwrap_or(text.len()))
}

/// PTX has C's comments.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(slash) = rest.find('/') {
        let (before, comment) = rest.split_at(slash);
        code.push_str(before);
        let end = comment_end(comment).unwrap_or_else(|| {
            code.push('/');
            1
        });
        rest = &comment[end..];
    }
    code.push_str(rest);
    code
}

/// The entries that a module shows: a template's instance is a weak one.
fn entries(text: &str) -> Option<Vec<KernelInfo>> {
    let shown = |(at, _): &(usize, &str)| {
        let before = text[..*at].trim_end();
        before.ends_with(".visible") || before.ends_with(".weak")
    };
    let entry_at = |(at, mark): (usize, &str)| entry(&text[at + mark.len()..]);
    let places = text.match_indices(".entry").filter(shown);
    places.map(entry_at).collect()
}

/// What follows `.visible .entry`.
fn entry(text: &str) -> Option<KernelInfo> {
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
    let params = params.map(param).collect::<Option<Vec<_>>>()?;
    let max_threads = directives.split_once(".maxntid").and_then(|(_, rest)| {
        let numbers = rest.split('.').next()?.split(',');
        numbers
            .map(|number| number.trim().parse::<u32>().ok())
            .try_fold(1_u32, |threads, number| threads.checked_mul(number?))
    });
    Some(KernelInfo {
        name: name.trim().to_owned(),
        params: place(params)?,
        max_threads,
    })
}

/// Size, alignment and whether it is said to be an address of `.param .align 8 .b8 name[400]`,
/// `.param .u64 .ptr .global .align 4 name`. NVRTC 11.8 leaves `.ptr` out.
fn param(text: &str) -> Option<(usize, usize, Option<bool>)> {
    let mut words = text.split_whitespace();
    (words.next()? == ".param").then_some(())?;
    let mut align = None;
    let mut words = words.peekable();
    if words.next_if_eq(&".align").is_some() {
        align = Some(words.next()?.parse().ok()?);
    }
    let element = type_size(words.next()?)?;
    let pointer = words.next_if_eq(&".ptr").map(|_| true);
    let name = words.last()?;
    let count: usize = match name.split_once('[') {
        Some((_, count)) => count.strip_suffix(']')?.parse().ok()?,
        None => 1,
    };
    let align: usize = align.unwrap_or(element);
    let size = element.checked_mul(count)?;
    align.is_power_of_two().then_some((size, align, pointer))
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

    const TEXT: &str = "// a comment { \n.version 8.3 // new\n/* { */ .target sm_52, texmode_independent\n\
        .address_size 64\n.func helper(.param .b32 x) { }\n.entry hidden() { }\n\
        .visible .entry first(\n\t.param .u8 a,\n\t.param .u64 .ptr .global .align 4 b,\n\
        \t.param .align 16 .b8 c[20] /* } */\n)\n.maxntid 32, 4, 1\n.minnctapersm 1\n{ ret; }\n\
        .weak .entry second()\n{\n}\n";

    #[test]
    fn entries_and_parameters_are_found() {
        let found = kernels(TEXT).unwrap();
        let param = |offset, size, align, pointer| Param {
            offset,
            size,
            align,
            pointer,
        };
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&*found[0].name, found[0].max_threads),
            ("first", Some(128))
        );
        let params = [
            param(0, 1, 1, None),
            param(8, 8, 8, Some(true)),
            param(16, 20, 16, None),
        ];
        assert_eq!(found[0].params, params);
        assert_eq!((&*found[1].name, found[1].params.len()), ("second", 0));
        assert_eq!(found[1].max_threads, None);
    }

    #[test]
    fn the_head_is_read() {
        let header = header(TEXT).unwrap();
        assert_eq!((header.version, &*header.target), ((8, 3), "sm_52"));
        let numbers = ["sm_90", "sm_90a", "compute_120f", "gfx906"].map(target_number);
        assert_eq!(numbers, [Some(90), Some(90), Some(120), None]);
    }

    #[test]
    fn what_is_no_ptx_is_an_error() {
        for wrong in [
            "",
            "garbage",
            ".target sm_90",
            ".version 8",
            ".version 8.0\n.reg x",
            ".version 8.0\n.target sm_90\n.visible .entry a(.param .u32 x) {",
            ".version 8.0\n.target sm_90\n.visible .entry a(.param .q7 x) {}",
            ".version 8.0\n.target sm_90\n.visible .entry a(.param .b64 x[9999999999999999999]) {}",
        ] {
            assert!(kernels(wrong).is_err(), "{wrong}");
        }
        assert!(is_ptx(TEXT) && !is_ptx("int main() {}") && !is_ptx("/* .version"));
        assert_eq!(text(b"a\0\0"), Some("a"));
        assert_eq!([text(b"a\0b"), text(b""), text(b"\xff")], [None; 3]);
    }
}
