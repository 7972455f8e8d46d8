//! What a compiled image depends on.

use hip_dispatch::ImageKind;

use super::Job;
use crate::cache::{Key, KeyBuilder};
use crate::{KernelSource, headers, host, options};

impl Job<'_> {
    /// Everything that another image could come of, but the compiler's file: that is in the entry,
    /// since a hit must not open it.
    pub(super) fn key(&self) -> Key {
        let backend = self.device.backend();
        let kind = match self.kind {
            ImageKind::Cuda => "cuda",
            ImageKind::AmdCodeObject => "amd",
            ImageKind::Host => "host",
            _ => "other",
        };
        let mut key = Key::builder()
            .text("hip-rtc", env!("CARGO_PKG_VERSION"))
            .text("kind", kind)
            .text("architecture", &self.device.info().architecture)
            .text("name", self.source.name)
            .text("text", self.source.text)
            .number("headers", self.source.headers.len() as u64);
        for (name, text) in &self.source.headers {
            key = key.text("header", name).text("text", text);
        }
        for option in &self.options.arguments {
            key = key.text("option", option);
        }
        if let Some(file) = backend.configured_compiler() {
            key = key.bytes("compiler", file.as_os_str().as_encoded_bytes());
        }
        match self.kind {
            ImageKind::Host => host_parts(key),
            // PTX is as new as its compiler; a code object's ABI is its runtime's.
            _ => key.number("driver", driver_generation(backend.versions().ok())),
        }
        .finish()
    }
}

/// What else an object for the CPU depends on: the CPU, since machines may share a folder, the
/// compiler asked for, and the texts that are read before every other.
fn host_parts(mut key: KeyBuilder) -> KeyBuilder {
    if let Some(compiler) = host::configured() {
        key = key.text("CXX", &compiler);
    }
    for (name, text) in host::PRELUDE {
        key = key.text("prelude", name).text("text", text);
    }
    key.text("cpu", &host::cpu())
}

/// The driver's or runtime's major version, in whichever of the vendors' ways it is numbered.
fn driver_generation(versions: Option<hip_dispatch::Versions>) -> u64 {
    let runtime = versions.map_or(0, |versions| versions.runtime.unsigned_abs());
    match runtime {
        // 6.4.43484 is 60443484.
        10_000_000.. => u64::from(runtime / 10_000_000),
        // 13.0 is 13000.
        _ => u64::from(runtime / 1000),
    }
}

/// Whether the compiler would read files that may change without the key: include folders, and
/// includes that are not among the headers in memory. (What a GPU's compiler has built in, and C++'s
/// own `<…>`, change with the compiler.)
pub(super) fn reads_files(source: &KernelSource<'_>, options: &[String]) -> bool {
    let texts = [source.text]
        .into_iter()
        .chain(source.headers.iter().map(|(_, text)| *text));
    let in_memory = |name: &str| {
        let last = |path: &str| path.rsplit('/').next().map(str::to_owned);
        // A header may include its neighbour by the last part of its name.
        let same = |known: &str| known == name || last(known) == last(name);
        source.headers.iter().any(|(known, _)| same(known))
    };
    options.iter().any(|option| options::reads_files(option))
        || texts.flat_map(str::lines).any(|line| match included(line) {
            Included::Nothing => false,
            // C++'s own have no dot; a name with one may be anybody's, found through `CPATH`.
            Included::System(name) => {
                let bundled = headers::TABLE.iter().any(|header| header.name == name);
                name.contains('.') && !bundled && !in_memory(name)
            }
            Included::Quoted(name) => !in_memory(name),
            Included::Computed => true,
        })
}

/// What a line includes.
#[derive(Debug, PartialEq, Eq)]
enum Included<'a> {
    Nothing,
    /// `<name>`.
    System(&'a str),
    /// `"name"`.
    Quoted(&'a str),
    /// A macro's value.
    Computed,
}

fn included<'a>(line: &'a str) -> Included<'a> {
    let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
    let Some(rest) = directive.and_then(|rest| rest.strip_prefix("include")) else {
        return Included::Nothing;
    };
    let rest = rest.strip_prefix("_next").unwrap_or(rest).trim_start();
    let up_to = |text: &'a str, end| text.split(end).next().unwrap_or_default();
    if let Some(name) = rest.strip_prefix('"') {
        Included::Quoted(up_to(name, '"'))
    } else if let Some(name) = rest.strip_prefix('<') {
        Included::System(up_to(name, '>').trim())
    } else {
        Included::Computed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_told_apart() {
        assert_eq!(
            included("# include \"a/b.h\" // x"),
            Included::Quoted("a/b.h")
        );
        assert_eq!(included("#include <cmath>"), Included::System("cmath"));
        assert_eq!(included("  #include HEADER"), Included::Computed);
        assert_eq!(included("int include;"), Included::Nothing);
        assert_eq!(included("#define X"), Included::Nothing);
    }

    #[test]
    fn only_files_outside_memory_keep_a_text_out_of_the_cache() {
        let source = KernelSource::new("#include \"a.h\"\n#include <stdint.h>\n");
        assert!(reads_files(&source, &[]));
        let source = source.header("a.h", "int a;");
        assert!(!reads_files(&source, &[]));
        assert!(reads_files(&source, &["-I/x".to_owned()]));
        assert!(!reads_files(&source, &["-DI".to_owned()]));
        let including = |text| source.clone().header("b.h", text);
        assert!(reads_files(&including("#include \"c.h\""), &[]));
        assert!(reads_files(&including("#include <c.h>"), &[]));
        assert!(!reads_files(&including("#include <vector>"), &[]));
    }

    #[test]
    fn a_generation_is_the_major_version() {
        let mut versions = hip_dispatch::Versions::default();
        versions.runtime = 13_000;
        assert_eq!(driver_generation(Some(versions)), 13);
        versions.runtime = 60_443_484;
        assert_eq!(driver_generation(Some(versions)), 6);
        assert_eq!(driver_generation(None), 0);
    }
}
