//! Which parameters of a kernel are only read through, by its declaration: `const T *`.
//!
//! The text is looked at as it was written, without its macros: a kernel that a macro makes is not
//! found, and counts as one that may write whatever it is given.

use crate::image::carried::Reads;

/// The parameters that are `const T *` in every declaration of a kernel.
pub(super) fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Reads {
    let mut found: Reads = Vec::new();
    for text in texts {
        for (name, places) in of_text(&without_comments(text)) {
            match found.iter_mut().find(|(known, _)| *known == name) {
                // Another declaration, such as that of another branch of an `#if`.
                Some((_, known)) => known.retain(|place| places.contains(place)),
                None => found.push((name, places)),
            }
        }
    }
    found
}

/// Every declaration of a text.
fn of_text(text: &str) -> Reads {
    let mut found = Vec::new();
    for (at, word) in text.match_indices("__global__") {
        if let Some(kernel) = declaration(&text[at + word.len()..]) {
            found.push(kernel);
        }
    }
    found
}

/// What follows `__global__`: the first name before a parenthesis that is no attribute's, and the
/// places of its parameters that are read only.
fn declaration(mut text: &str) -> Option<(String, Vec<usize>)> {
    loop {
        let open = text.find(['(', ';', '{'])?;
        if !text[open..].starts_with('(') {
            return None;
        }
        let before = text[..open].trim_end();
        let start = before
            .rfind(|c: char| !is_word(c))
            .map_or(0, |place| place + 1);
        let name = &before[start..];
        let close = open + closing(&text[open..])?;
        if !name.starts_with("__") {
            let params = split(&text[open + 1..close]);
            let places = params.iter().enumerate().filter(|(_, p)| is_read_only(p));
            return Some((name.to_owned(), places.map(|(place, _)| place).collect()));
        }
        // `__launch_bounds__(256)`, `__attribute__((…))`.
        text = &text[close + 1..];
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Where the parenthesis closes that a text starts with.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// A list at its commas, but for those within brackets of any kind.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0_usize, 0);
    let mut parts = Vec::new();
    for (at, c) in list.char_indices() {
        match c {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[start..]);
    parts
}

/// One star, and `const` before it. What a pointer to pointers leads to is written, maybe.
fn is_read_only(param: &str) -> bool {
    let mut parts = param.split('*');
    let (pointee, rest, more) = (parts.next(), parts.next(), parts.next());
    let is_const = |text: &str| text.split(|c| !is_word(c)).any(|word| word == "const");
    rest.is_some() && more.is_none() && pointee.is_some_and(is_const)
}

/// A text without comments. Strings are left as they are: a kernel's head has none.
fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::with_capacity(text.len());
    while let Some(slash) = rest.find('/') {
        let (before, comment) = rest.split_at(slash);
        code.push_str(before);
        let end = if comment.starts_with("//") {
            comment.find('\n')
        } else if comment.starts_with("/*") {
            code.push(' ');
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

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<usize> {
        let mut found = of_texts([text].into_iter());
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let (name, places) = found.remove(0);
        assert_eq!(name, "k", "{text}");
        places
    }

    #[test]
    fn pointers_to_const_are_found() {
        for (text, expected) in [
            (
                "extern \"C\" __global__ void k(const float *a, float *b, int n) {}",
                &[0][..],
            ),
            (
                "__global__ void __launch_bounds__(64, 2) k(float const* __restrict__ a) {}",
                &[0],
            ),
            (
                "__global__ __attribute__((used)) void k(T<int, 2> s, const T<int, 3> *a);",
                &[1],
            ),
            (
                "__global__ void k(/* const */ float *a, float *const b) {}",
                &[],
            ),
            (
                "__global__ void k(const float **a, const int n, consting *c) {}",
                &[],
            ),
            ("__global__ void k() {}", &[]),
        ] {
            assert_eq!(places(text), expected, "{text}");
        }
    }

    #[test]
    fn declarations_must_agree() {
        let text = "#if A\n__global__ void k(const int *a, const int *b) {\n#else\n\
                    __global__ void k(int *a, const int *b) {\n#endif\n}";
        assert_eq!(places(text), [1]);
    }

    #[test]
    fn what_is_no_declaration_is_left_out() {
        for text in [
            "",
            "__global__",
            "#define KERNEL __global__ void\nint a;",
            "__global__ void k(",
        ] {
            assert_eq!(of_texts([text].into_iter()), []);
        }
    }
}
