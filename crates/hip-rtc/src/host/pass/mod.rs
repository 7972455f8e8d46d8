//! What the preprocessed text needs changed before a CPU's compiler can take it.
//!
//! * `__global__`: the kernel gets a hidden first parameter that says which thread it is, with
//!   locals `threadIdx`, `blockIdx`, `blockDim`, `gridDim` from it, so that its loop over threads can
//!   be vectorised; behind an `extern "C"` kernel comes what registers it, and the names of others
//!   come last.
//! * `__shared__` becomes a thread-local: all threads of a block run on one OS thread.
//!   `extern __shared__` becomes a reference to the launch's shared memory.
//! * What cannot be done on a CPU is an error that names it.
//!
//! Nothing adds or removes a line, so the compiler's messages carry the user's line numbers.

mod lex;
mod scan;
mod unsupported;

#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::ops::Range;

use super::HostError;
use lex::{Kind, Token};
use scan::{Function, Kernel, Scan};

/// A text ready to be compiled.
pub(super) struct Passed {
    pub(super) text: String,
    /// Kernels that are not `extern "C"` or are templates, so that no name finds them.
    pub(super) nameless: Vec<String>,
    /// Whether threads of a kernel may wait for each other.
    pub(super) waits: bool,
}

/// What a compiler calls things.
#[derive(Clone, Copy)]
pub(super) struct Spelling {
    pub(super) always_inline: &'static str,
    /// See [`lex::tokens`].
    pub(super) absolute_is_system: bool,
}

/// Whether a thread that comes here may have to wait, or ends the launch.
const PARKING: &[&str] = &[
    "__syncthreads",
    "__syncthreads_count",
    "__syncthreads_and",
    "__syncthreads_or",
    "__trap",
    "assert_failed",
];
const INDICES: &[&str] = &["threadIdx", "blockIdx", "blockDim", "gridDim"];

/// What they are within a kernel.
const LOCALS: &str = " const ::uint3 threadIdx = hip_thread.thread, blockIdx = hip_thread.block; \
    const ::dim3 blockDim = hip_thread.block_dim, gridDim = hip_thread.grid_dim; \
    (void)threadIdx; (void)blockIdx; (void)blockDim; (void)gridDim;";

/// Flags of `hip_host::Entry`.
const PARKS: u32 = 1;
const READS_INDEX: u32 = 2;

/// Does all of it.
pub(super) fn run(text: &str, spelling: Spelling) -> Result<Passed, HostError> {
    let tokens = lex::tokens(text, spelling.absolute_is_system);
    unsupported::check(&tokens)?;
    let scan = scan::scan(&tokens);
    let parks = scan.reaches(PARKING, true);
    let reads_index = scan.reaches(INDICES, false);
    let mut edits = Edits::default();
    let mut nameless = Vec::new();
    let mut kernels = scan.functions.iter().zip(&parks);
    let waits = kernels.any(|(function, parks)| *parks && function.kernel.is_some());
    for (index, function) in scan.functions.iter().enumerate() {
        let Some(kernel) = &function.kernel else {
            continue;
        };
        if !kernel.by_name && !nameless.iter().any(|name| name == kernel.name) {
            nameless.push(kernel.name.to_owned());
        }
        // Locals of the kernel's are not seen in there; thread-local variables are.
        let global = scan.hides_locals(function.body.clone(), INDICES);
        let reads_index = reads_index[index] || global;
        let flags = u32::from(parks[index]) * PARKS + u32::from(reads_index) * READS_INDEX;
        if !function.body.is_empty() && !global {
            edits.insert(tokens[function.body.start].end(), LOCALS);
        }
        edit_kernel(&scan, function, kernel, flags, spelling, &mut edits);
    }
    for (at, token) in tokens.iter().enumerate() {
        if token.is("__shared__") {
            edit_shared(&scan, at, &mut edits)?;
        }
    }
    record_nameless(&nameless, text.len(), &mut edits);
    Ok(Passed {
        text: edits.apply(text),
        nameless,
        waits,
    })
}

/// Changes of a text, in any order.
#[derive(Default)]
struct Edits(Vec<(Range<usize>, String)>);

impl Edits {
    fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.0.push((at..at, text.into()));
    }

    fn replace(&mut self, token: &Token<'_>, text: impl Into<String>) {
        self.0.push((token.start..token.end(), text.into()));
    }

    fn apply(mut self, text: &str) -> String {
        // Stable: insertions at one place stay in the order in which they were made, and come
        // before a replacement there.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut result = String::with_capacity(text.len() + 256 * self.0.len());
        let mut from = 0;
        for (range, new) in &self.0 {
            result.push_str(&text[from..range.start]);
            result.push_str(new);
            from = range.end;
        }
        result.push_str(&text[from..]);
        result
    }
}

/// Takes out of a kernel's header what is no C++; gives the most threads of `__launch_bounds__`, `0`
/// without.
fn edit_specifiers(
    scan: &Scan<'_, '_>,
    function: &Function<'_>,
    spelling: Spelling,
    edits: &mut Edits,
) -> String {
    let tokens = scan.tokens;
    let mut max_threads = "0".to_owned();
    for at in function.header.clone() {
        let token = &tokens[at];
        if token.is("__global__") {
            edits.replace(token, spelling.always_inline);
        } else if token.is("__launch_bounds__") || token.is("__cluster_dims__") {
            let past = scan.past(at + 1, function.header.end);
            if token.is("__launch_bounds__") {
                max_threads = first_argument(scan, at + 1..past);
            }
            tokens[at..past]
                .iter()
                .for_each(|token| edits.replace(token, ""));
        }
    }
    max_threads
}

fn edit_kernel(
    scan: &Scan<'_, '_>,
    function: &Function<'_>,
    kernel: &Kernel<'_>,
    flags: u32,
    spelling: Spelling,
    edits: &mut Edits,
) {
    let tokens = scan.tokens;
    let max_threads = edit_specifiers(scan, function, spelling, edits);
    let Range { start, end } = kernel.params;
    let inside = &tokens[start + 1..end.saturating_sub(1).max(start + 1)];
    let more = match inside {
        [] => "",
        [only] if only.is("void") => {
            edits.replace(only, "");
            ""
        }
        _ => ", ",
    };
    edits.insert(
        tokens[start].end(),
        format!("const ::hip_host::Thread& hip_thread{more}"),
    );
    if function.body.is_empty() {
        return;
    }
    if kernel.by_name {
        let name = kernel.name;
        edits.insert(
            tokens[function.body.end - 1].end(),
            format!(
                " static constexpr auto hip_info_{name} = \
                 ::hip_host::Signature<decltype({name})>::info(\"{name}\", {max_threads}, \
                 ::hip_host::Count<{}>::Type()); \
                 static ::hip_host::Registration hip_registration_{name}(\"{name}\", \
                 &hip_info_{name}, &::hip_host::Entry<decltype({name}), {name}, {flags}>::run);",
                name.len()
            ),
        );
    }
}

/// Leaves the names of kernels that cannot be looked up in the object, behind the text.
fn record_nameless(nameless: &[String], end: usize, edits: &mut Edits) {
    for (index, name) in nameless.iter().enumerate() {
        edits.insert(
            end,
            format!(
                " static constexpr auto hip_nameless_{index} = \
                 ::hip_host::nameless(\"{name}\", ::hip_host::Count<{}>::Type()); \
                 static ::hip_host::Keep hip_keep_{index}(&hip_nameless_{index});",
                name.len()
            ),
        );
    }
}

/// The first of the arguments within a pair of parentheses.
fn first_argument(scan: &Scan<'_, '_>, parentheses: Range<usize>) -> String {
    let mut argument = String::new();
    let last = parentheses.end.saturating_sub(1);
    let mut at = parentheses.start + 1;
    while at < last && !scan.is_at(at, ",") {
        let next = match scan.is_at(at, "(") {
            true => scan.past(at, last),
            false => at + 1,
        };
        for token in &scan.tokens[at..next] {
            // Writing to a `String` does not fail.
            let _ = write!(argument, "{} ", token.text);
        }
        at = next;
    }
    argument
}

/// A `__shared__` at `at`.
fn edit_shared(scan: &Scan<'_, '_>, at: usize, edits: &mut Edits) -> Result<(), HostError> {
    let tokens = scan.tokens;
    let boundary = |token: &Token<'_>| [";", "{", "}", ":"].iter().any(|end| token.is(end));
    let start = tokens[..at]
        .iter()
        .rposition(boundary)
        .map_or(0, |at| at + 1);
    let end = tokens[at..].iter().position(|token| token.is(";"));
    let end = end.map_or(tokens.len(), |end| at + end);
    let word = |word| scan.word_in(start..at + 3, word).filter(|at| *at < end);
    if let Some(storage) = word("extern") {
        return edit_dynamic(scan, at, storage, start..end, edits);
    }
    if let Some(storage) = word("static") {
        edits.replace(&tokens[storage], "");
    }
    edits.replace(&tokens[at], "static thread_local");
    Ok(())
}

/// Takes the alignment out of an array's declaration; gives where its name stands.
fn edit_array(scan: &Scan<'_, '_>, declaration: &Range<usize>, edits: &mut Edits) -> Option<usize> {
    let tokens = scan.tokens;
    let mut array = None;
    let mut index = declaration.start;
    while index < declaration.end {
        let token = &tokens[index];
        let aligned = ["__attribute__", "alignas", "__declspec"];
        if aligned.iter().any(|word| token.is(word)) && scan.is_at(index + 1, "(") {
            // The memory is aligned to 64 bytes as it is.
            let past = scan.past(index + 1, declaration.end);
            tokens[index..past]
                .iter()
                .for_each(|token| edits.replace(token, ""));
            index = past;
        } else if token.is("[") && array.is_none() {
            array = Some(index);
            index = scan.past(index, declaration.end);
        } else if token.is("(") || token.is("[") {
            index = scan.past(index, declaration.end);
        } else {
            index += 1;
        }
    }
    array.and_then(|array| array.checked_sub(1))
}

/// `extern __shared__ T name[]…;`, whose tokens are `declaration`.
fn edit_dynamic(
    scan: &Scan<'_, '_>,
    at: usize,
    storage: usize,
    declaration: Range<usize>,
    edits: &mut Edits,
) -> Result<(), HostError> {
    let tokens = scan.tokens;
    edits.replace(&tokens[storage], "");
    edits.replace(&tokens[at], "");
    let name = edit_array(scan, &declaration, edits);
    let name = name.filter(|name| *name > at && tokens[*name].kind == Kind::Ident);
    let Some(name) = name else {
        return Err(HostError::Unsupported {
            name: "extern __shared__".to_owned(),
            what: "dynamic shared memory that is no array",
            file: tokens[at].file.to_owned(),
            line: tokens[at].line,
        });
    };
    let end = tokens[declaration.end - 1].end();
    match scan.function_at(at) {
        Some(function) => {
            let memory = match function.kernel {
                Some(_) => "hip_thread.shared",
                None => "::hip_host::shared",
            };
            edits.insert(tokens[name].start, "(&");
            edits.insert(tokens[name].end(), ")");
            edits.insert(end, format!(" = ::hip_host::Shared{{{memory}}}"));
        }
        None => {
            edits.insert(
                tokens[declaration.start].start,
                "static const ::hip_host::SharedArray<",
            );
            let name = tokens[name];
            edits.replace(&name, "");
            edits.insert(end, format!("> {}{{}}", name.text));
        }
    }
    Ok(())
}
