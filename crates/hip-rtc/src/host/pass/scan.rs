//! The functions of a text: where they begin and end, what they are called, which are kernels.

use std::collections::HashSet;
use std::ops::Range;

use super::lex::{Kind, Token};

/// A function with a body, or a declaration of a kernel without one. Numbers index tokens.
pub(super) struct Function<'a> {
    /// From the first specifier up to the body or the `;`.
    pub(super) header: Range<usize>,
    /// The body's braces included; empty for a declaration.
    pub(super) body: Range<usize>,
    /// What the text may call it by.
    pub(super) names: Vec<&'a str>,
    pub(super) kernel: Option<Kernel<'a>>,
}

pub(super) struct Kernel<'a> {
    pub(super) name: &'a str,
    /// The parentheses of the parameters.
    pub(super) params: Range<usize>,
    /// `extern "C"` and no template: found by its name.
    pub(super) by_name: bool,
}

pub(super) struct Scan<'a, 't> {
    pub(super) tokens: &'t [Token<'a>],
    /// For each opening bracket where it closes; the end of the text if it does not.
    close: Vec<usize>,
    pub(super) functions: Vec<Function<'a>>,
    /// Declarations that are no functions, and the heads of classes: a variable's type or value, an
    /// alias or a base may lead to a function whose name the kernel does not mention.
    others: Vec<Range<usize>>,
}

pub(super) fn scan<'a, 't>(tokens: &'t [Token<'a>]) -> Scan<'a, 't> {
    let mut scan = Scan {
        tokens,
        close: brackets(tokens),
        functions: Vec::new(),
        others: Vec::new(),
    };
    scan.declarations(0..tokens.len(), false);
    scan
}

fn brackets(tokens: &[Token<'_>]) -> Vec<usize> {
    let mut close = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != Kind::Punct {
            continue;
        }
        match token.text {
            "(" | "[" | "{" => open.push(index),
            ")" | "]" | "}" => {
                if let Some(at) = open.pop() {
                    close[at] = index;
                }
            }
            _ => {}
        }
    }
    close
}

/// Words before a `(` in a declaration that are no function's name.
const NO_NAMES: &[&str] = &[
    "__launch_bounds__",
    "__attribute__",
    "__declspec",
    "__cluster_dims__",
    "alignas",
    "decltype",
    "noexcept",
    "throw",
    "explicit",
    "template",
    "sizeof",
    "requires",
];

/// Functions that are called without their names being written: operators, and a range's ends by
/// `for (… : range)`.
const UNNAMED: &[&str] = &["operator", "begin", "end"];

impl<'a> Scan<'a, '_> {
    /// The declarations of a file, namespace, class or `extern "C"` block.
    fn declarations(&mut self, range: Range<usize>, extern_c: bool) {
        let (mut at, mut start) = (range.start, range.start);
        while at < range.end {
            let token = self.tokens[at];
            if token.is("(") || token.is("[") {
                at = self.past(at, range.end);
            } else if token.is(";") {
                if self.word_in(start..at, "__global__").is_some() {
                    self.function(start..at, at..at, extern_c);
                } else {
                    self.others.push(start..at);
                }
                at += 1;
                start = at;
            } else if token.is("{") {
                let end = self.past(at, range.end);
                start = self.braces(start..at, at..end, start, extern_c);
                at = end;
            } else {
                at += 1;
            }
        }
    }

    /// Takes a `{…}` whose declaration began at `header`; gives where the declaration that goes on
    /// after it began.
    fn braces(
        &mut self,
        header: Range<usize>,
        body: Range<usize>,
        start: usize,
        extern_c: bool,
    ) -> usize {
        let inside = body.start + 1..body.end.saturating_sub(1).max(body.start + 1);
        let has = |word| self.word_in(header.clone(), word).is_some();
        let calls = self.word_in(header.clone(), "(").is_some();
        let linkage = header.len() == 2
            && self.tokens[header.start].is("extern")
            && self.tokens[header.start + 1].kind == Kind::Literal;
        if linkage {
            let c = self.tokens[header.start + 1].text == "\"C\"";
            self.declarations(inside, c);
        } else if has("namespace") {
            self.declarations(inside, extern_c);
        } else if !calls && !has("enum") && (has("struct") || has("class") || has("union")) {
            self.others.push(header);
            self.declarations(inside, false);
        } else if header.is_empty() || self.tokens[header.start].is(",") {
            // The braces before were a member's initialiser, and this is the next or the body.
            if let Some(last) = self.functions.last_mut() {
                last.body.end = body.end;
            }
        } else if calls && !self.initialises(header.clone()) {
            self.function(header, body.clone(), extern_c);
        } else {
            // An enumeration or an initialiser: the declaration goes on to its `;`.
            return start;
        }
        body.end
    }

    /// Whether a declaration has an `=` of its own before its braces.
    fn initialises(&self, header: Range<usize>) -> bool {
        let mut at = header.start;
        while at < header.end {
            let token = self.tokens[at];
            if token.is("operator") {
                return false;
            }
            if token.is("template") && self.is_at(at + 1, "<") {
                at = self.past_angles(at + 1, header.end);
            } else if token.is("(") || token.is("[") {
                at = self.past(at, header.end);
            } else if token.is("=") {
                return true;
            } else {
                at += 1;
            }
        }
        false
    }

    fn function(&mut self, header: Range<usize>, body: Range<usize>, extern_c: bool) {
        let names = header
            .clone()
            .filter(|at| self.tokens[*at].kind == Kind::Ident)
            .filter(|at| self.is_at(at + 1, "(") || self.is_at(at + 1, "<"))
            .map(|at| self.tokens[at].text)
            .chain(self.word_in(header.clone(), "operator").map(|_| "operator"))
            .filter(|name| !NO_NAMES.contains(name))
            .collect();
        let kernel = self
            .word_in(header.clone(), "__global__")
            .and_then(|_| self.kernel(header.clone(), extern_c));
        if kernel.is_none() && body.is_empty() {
            return;
        }
        self.functions.push(Function {
            header,
            body,
            names,
            kernel,
        });
    }

    /// Finds a kernel's name and parameters in its declaration.
    fn kernel(&self, header: Range<usize>, extern_c: bool) -> Option<Kernel<'a>> {
        let mut by_name = extern_c;
        let mut name = "";
        let mut at = header.start;
        while at < header.end {
            let token = self.tokens[at];
            match token.text {
                "template" => {
                    by_name = false;
                    at += 1;
                    if self.is_at(at, "<") {
                        at = self.past_angles(at, header.end);
                    }
                }
                // `name<int>(…)` of a specialisation or an instantiation.
                "<" if token.kind == Kind::Punct => {
                    by_name = false;
                    at = self.past_angles(at, header.end);
                }
                "\"C\"" if at > header.start && self.is_at(at - 1, "extern") => {
                    by_name = !self.tokens[header.start].is("template");
                    at += 1;
                }
                "(" if !name.is_empty() => {
                    return Some(Kernel {
                        name,
                        params: at..self.past(at, header.end),
                        by_name,
                    });
                }
                "(" | "[" if token.kind == Kind::Punct => at = self.past(at, header.end),
                _ => {
                    let attribute = NO_NAMES.contains(&token.text) && self.is_at(at + 1, "(");
                    if attribute {
                        at = self.past(at + 1, header.end);
                    } else {
                        if token.kind == Kind::Ident {
                            name = token.text;
                        }
                        at += 1;
                    }
                }
            }
        }
        None
    }

    pub(super) fn is_at(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(text))
    }

    /// Where a word stands in a range.
    pub(super) fn word_in(&self, range: Range<usize>, word: &str) -> Option<usize> {
        range.into_iter().find(|at| self.is_at(*at, word))
    }

    /// After the bracket that closes the one at `open`, `end` at most.
    pub(super) fn past(&self, open: usize, end: usize) -> usize {
        (self.close[open] + 1).min(end)
    }

    /// After the `>` that closes the `<` at `open`.
    fn past_angles(&self, open: usize, end: usize) -> usize {
        let (mut depth, mut at) = (0usize, open);
        while at < end {
            let token = self.tokens[at];
            if token.is("(") || token.is("[") || token.is("{") {
                at = self.past(at, end);
                continue;
            }
            if token.is("<") {
                depth += 1;
            } else if token.is(">") {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
            at += 1;
        }
        end
    }

    /// The function whose body a token is in.
    pub(super) fn function_at(&self, at: usize) -> Option<&Function<'a>> {
        // In the order of the text, and none within another.
        let after = self
            .functions
            .partition_point(|function| function.body.end <= at);
        self.functions
            .get(after)
            .filter(|function| function.body.contains(&at))
    }

    /// Whether a function's body mentions one of `words` where the function's locals cannot be named:
    /// in a class, or in a lambda that does not capture all that it uses.
    pub(super) fn hides_locals(&self, body: Range<usize>, words: &[&str]) -> bool {
        let scope = |at: usize| {
            let token = &self.tokens[at];
            let class = ["struct", "class", "union"].iter().any(|key| token.is(key));
            let opens = match class {
                true => Some(at + 1),
                false => self.lambda(at, body.end),
            };
            let open = (opens?..body.end)
                .find(|at| self.is_at(*at, "{") || self.is_at(*at, ";") || self.is_at(*at, "="))
                .filter(|open| self.is_at(*open, "{"))?;
            Some(open..self.past(open, body.end))
        };
        body.clone()
            .filter_map(scope)
            .any(|mut inside| inside.any(|at| words.iter().any(|word| self.is_at(at, word))))
    }

    /// Where the text goes on behind the captures of a lambda that begins at `at` and names them
    /// one by one.
    fn lambda(&self, at: usize, end: usize) -> Option<usize> {
        let subscript = at.checked_sub(1).is_some_and(|before| {
            let before = &self.tokens[before];
            let name = before.kind == Kind::Ident && !before.is("return");
            name || [")", "]", "["].iter().any(|close| before.is(close))
        });
        let attribute = self.is_at(at + 1, "[");
        let all = (self.is_at(at + 1, "=") || self.is_at(at + 1, "&"))
            && (self.is_at(at + 2, "]") || self.is_at(at + 2, ","));
        let named = self.is_at(at, "[") && !subscript && !attribute && !all;
        named.then(|| self.past(at, end))
    }

    /// For each function whether it, or one that it calls by name, mentions one of `words`. What
    /// cannot be followed by name (an operator, a mention outside of functions) counts for all.
    ///
    /// `through_kernels`: a mention in a kernel's own body counts as well.
    pub(super) fn reaches(&self, words: &[&str], through_kernels: bool) -> Vec<bool> {
        let loose = self.tokens.iter().enumerate().any(|(at, token)| {
            token.user && words.contains(&token.text) && self.function_at(at).is_none()
        });
        let mut known: HashSet<&str> = HashSet::new();
        let mut reaches = vec![loose; self.functions.len()];
        loop {
            let mut changed = false;
            for (function, reached) in self.functions.iter().zip(&mut reaches) {
                if *reached {
                    continue;
                }
                let direct = function.kernel.is_none() || through_kernels;
                // A default argument or a member's initialiser calls as well as the body does.
                let mentions = |at: usize| {
                    let token = &self.tokens[at];
                    let own = direct && function.body.contains(&at);
                    token.kind == Kind::Ident
                        && (own && words.contains(&token.text) || known.contains(token.text))
                };
                let mut text = function.header.clone().chain(function.body.clone());
                let unnamed = UNNAMED.iter().any(|name| known.contains(name));
                if unnamed || text.any(mentions) {
                    *reached = true;
                    changed = true;
                    if function.kernel.is_none() {
                        known.extend(&function.names);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        // Not by name: an initialiser, a table of functions, an alias, a base, a member's constructor.
        if self
            .others
            .iter()
            .any(|other| self.leads_to(other.clone(), &known))
        {
            reaches.fill(true);
        }
        reaches
    }

    /// Whether a declaration that is no function mentions one of `names`, other than to declare it.
    fn leads_to(&self, range: Range<usize>, names: &HashSet<&str>) -> bool {
        let value = self.word_in(range.clone(), "=").unwrap_or(range.end);
        range.clone().any(|at| {
            let token = &self.tokens[at];
            let before = |word| at > range.start && self.is_at(at - 1, word);
            let declares = ["struct", "class", "union", "~"]
                .iter()
                .any(|word| before(word))
                || at < value && self.is_at(at + 1, "(");
            token.kind == Kind::Ident && names.contains(token.text) && !declares
        })
    }
}
