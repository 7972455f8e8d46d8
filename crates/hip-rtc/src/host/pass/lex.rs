//! Preprocessed C++ cut into tokens, each with its place in the user's files.

/// What a token is, as far as the pass tells tokens apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ident,
    /// A number, a character, or a string of any kind.
    Literal,
    /// One byte of punctuation.
    Punct,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// Byte offset in the text.
    pub(super) start: usize,
    pub(super) file: &'a str,
    pub(super) line: u32,
    /// Not from a header of the system's.
    pub(super) user: bool,
}

impl Token<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.text == text && self.kind != Kind::Literal
    }

    pub(super) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// Files of the prelude, whose tokens are left out.
const PRELUDE: &str = "hip_host/";

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    file: &'a str,
    line: u32,
    system: bool,
    /// Nothing but blanks since the line's start.
    fresh: bool,
    absolute_is_system: bool,
}

/// Cuts a text into tokens. Comments, blanks, directives and the prelude give none.
/// `absolute_is_system`: line markers carry no flags, so files with an absolute path are taken for
/// the system's (MSVC).
pub(super) fn tokens(text: &str, absolute_is_system: bool) -> Vec<Token<'_>> {
    let mut lexer = Lexer {
        text,
        at: 0,
        file: "",
        line: 1,
        system: false,
        fresh: true,
        absolute_is_system,
    };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next() {
        if !token.file.starts_with(PRELUDE) {
            tokens.push(token);
        }
    }
    tokens
}

fn is_ident(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let rest = self.rest();
            match rest {
                [] => return None,
                [b'\n', ..] => {
                    self.at += 1;
                    self.line += 1;
                    self.fresh = true;
                }
                [b'#', ..] if self.fresh => self.directive(),
                [b'/', b'/', ..] => self.at += rest.iter().take_while(|b| **b != b'\n').count(),
                [b'/', b'*', ..] => {
                    let end = self.text[self.at + 2..].find("*/");
                    self.skip(end.map_or(rest.len(), |end| end + 4));
                }
                [byte, ..] if byte.is_ascii_whitespace() => self.at += 1,
                _ => return Some(self.token()),
            }
        }
    }

    /// Passes over bytes that may hold line ends.
    fn skip(&mut self, bytes: usize) {
        let passed = &self.rest()[..bytes];
        self.line += passed.iter().filter(|b| **b == b'\n').count() as u32;
        self.at += bytes;
    }

    /// `# 7 "file" 3`, `#line 7 "file"`, or `#pragma …`, which is left where it is.
    fn directive(&mut self) {
        let line = self.text[self.at..].lines().next().unwrap_or_default();
        self.at += line.len();
        let line = line[1..].trim_start();
        let line = line.strip_prefix("line").unwrap_or(line).trim_start();
        let (number, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Ok(number) = number.parse::<u32>() else {
            return;
        };
        // The line end that follows counts one up.
        self.line = number.saturating_sub(1);
        if let Some((file, flags)) = rest
            .trim_start()
            .strip_prefix('"')
            .and_then(|rest| rest.rsplit_once('"'))
        {
            self.file = file;
            let absolute = file.starts_with('/') || file.as_bytes().get(1) == Some(&b':');
            self.system = flags.split_whitespace().any(|flag| flag == "3")
                || self.absolute_is_system && absolute;
        }
    }

    fn token(&mut self) -> Token<'a> {
        let (start, line) = (self.at, self.line);
        self.fresh = false;
        let rest = self.rest();
        let (kind, length) = match rest {
            [b'"' | b'\'', ..] => (Kind::Literal, quoted(rest)),
            [b'.', digit, ..] if digit.is_ascii_digit() => (Kind::Literal, number(rest)),
            [digit, ..] if digit.is_ascii_digit() => (Kind::Literal, number(rest)),
            [byte, ..] if is_ident(*byte) => {
                let length = rest.iter().take_while(|byte| is_ident(**byte)).count();
                match (&rest[..length], rest.get(length)) {
                    (b"R" | b"LR" | b"uR" | b"UR" | b"u8R", Some(b'"')) => {
                        (Kind::Literal, length + raw_string(&rest[length..]))
                    }
                    (b"L" | b"u" | b"U" | b"u8", Some(b'"' | b'\'')) => {
                        (Kind::Literal, length + quoted(&rest[length..]))
                    }
                    _ => (Kind::Ident, length),
                }
            }
            _ => (Kind::Punct, 1),
        };
        self.skip(length);
        Token {
            kind,
            text: &self.text[start..self.at],
            start,
            file: self.file,
            line,
            user: !self.system,
        }
    }
}

/// Bytes of a string or character literal; one without an end stops at the line's.
fn quoted(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'\n' => return at,
            byte if *byte == text[0] => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

/// Bytes of `"mark(…)mark"`.
fn raw_string(text: &[u8]) -> usize {
    let Some(open) = text.iter().position(|byte| *byte == b'(') else {
        return text.len();
    };
    let end = [b")", &text[1..open], b"\""].concat();
    let body = &text[open..];
    let close = body.windows(end.len()).position(|window| window == end);
    close.map_or(text.len(), |close| open + close + end.len())
}

/// Bytes of a preprocessing number.
fn number(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = text.get(at) {
        let exponent = matches!(text[at - 1], b'e' | b'E' | b'p' | b'P');
        let separator = *byte == b'\'' && text.get(at + 1).is_some_and(|next| is_ident(*next));
        if !(is_ident(*byte)
            || *byte == b'.'
            || separator
            || exponent && matches!(byte, b'+' | b'-'))
        {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        tokens(text, false).iter().map(|token| token.text).collect()
    }

    #[test]
    fn what_looks_like_code_in_literals_is_none() {
        assert_eq!(
            texts(r#"a="{\"__shared__";b='"';c=L"x"/*{*/;// }"#),
            [
                "a",
                "=",
                r#""{\"__shared__""#,
                ";",
                "b",
                "=",
                "'\"'",
                ";",
                "c",
                "=",
                "L\"x\"",
                ";"
            ]
        );
        assert_eq!(
            texts("f(R\"x(a)\" { )x\",u8R\"()\") 1'000.5e+3f+.5-2"),
            [
                "f",
                "(",
                "R\"x(a)\" { )x\"",
                ",",
                "u8R\"()\"",
                ")",
                "1'000.5e+3f",
                "+",
                ".5",
                "-",
                "2"
            ]
        );
        // Texts without an end are the compiler's to complain of.
        for text in ["\"abc", "'", "R\"x(", "/* a", "R\"", "\"\\"] {
            assert!(tokens(text, false).len() <= 1, "{text}");
        }
    }

    #[test]
    fn tokens_know_their_line() {
        let text = "# 1 \"hip_host/types.h\"\nint a;\n# 5 \"kernel.cu\" 2\nx\n/*\n*/ y\n# 9 \"/usr/include/z.h\" 1 3\nz\n#pragma unroll\nw";
        let found: Vec<_> = tokens(text, false)
            .iter()
            .map(|token| (token.text, token.file, token.line, token.user))
            .collect();
        let system = "/usr/include/z.h";
        assert_eq!(
            found,
            [
                ("x", "kernel.cu", 5, true),
                ("y", "kernel.cu", 7, true),
                ("z", system, 9, false),
                ("w", system, 11, false)
            ]
        );
        let msvc = tokens("#line 3 \"C:\\\\sdk\\\\x.h\"\na\n#line 1 \"k.cu\"\nb", true);
        assert_eq!((msvc[0].user, msvc[0].line), (false, 3));
        assert_eq!((msvc[1].user, msvc[1].line), (true, 1));
    }
}
