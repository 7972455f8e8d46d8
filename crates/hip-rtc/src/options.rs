//! Options in the spelling of the compiler at hand: texts and their options mean the same everywhere.

use hip_dispatch::rtc::sets_architecture;

/// Whose spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// NVRTC's.
    Nvrtc,
    /// HIPRTC's, which is clang's for a GPU.
    Clang,
    /// That of GCC and Clang for a CPU.
    Gnu,
    /// Microsoft's.
    Msvc,
}

/// The language, where the caller names none: all compilers know it, from NVRTC 11 and HIPRTC 5.2 on.
const STANDARD: &str = "c++17";

/// What an option becomes; `None` where it means nothing.
type Words = Option<&'static [&'static str]>;

/// One meaning, in all spellings.
struct Meaning {
    /// What a caller may write: a whole option, or what comes before its value.
    spellings: &'static [&'static str],
    /// Whether a value follows: behind `=` or as the next option, or at once behind a single letter.
    valued: bool,
    /// In the order of [`Dialect`]; a value goes behind the last word.
    to: [Words; 4],
}

const fn flag(spellings: &'static [&'static str], to: [Words; 4]) -> Meaning {
    Meaning {
        spellings,
        valued: false,
        to,
    }
}

const fn valued(spellings: &'static [&'static str], to: [Words; 4]) -> Meaning {
    Meaning {
        spellings,
        valued: true,
        to,
    }
}

/// NVIDIA's alone: about its code or its assembler.
const fn nvidia(words: &'static [&'static str]) -> [Words; 4] {
    [Some(words), None, None, None]
}

/// AMD's alone.
const fn amd(words: &'static [&'static str]) -> [Words; 4] {
    [None, Some(words), None, None]
}

const fn same(words: &'static [&'static str]) -> [Words; 4] {
    [Some(words); 4]
}

/// Reassociation and reciprocals, but neither the belief that there are no NaN nor a start-up file:
/// GCC before 13 links one into a shared object that makes the whole process flush denormals.
const FAST_GNU: &[&str] = &[
    "-fassociative-math",
    "-freciprocal-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
];

const INCLUDE_PATH: Meaning = valued(&["-I", "--include-path"], same(&["-I"]));
const LANGUAGE: Meaning = valued(
    &["--std", "-std"],
    [
        Some(&["--std="]),
        Some(&["-std="]),
        Some(&["-std="]),
        Some(&["/std:"]),
    ],
);

#[rustfmt::skip] // A table is read by its columns.
const MEANINGS: &[Meaning] = &[
    valued(&["-D", "--define-macro"], same(&["-D"])),
    valued(&["-U", "--undefine-macro"], same(&["-U"])),
    INCLUDE_PATH,
    LANGUAGE,
    flag(
        &["--use_fast_math", "-use_fast_math", "-ffast-math", "-funsafe-math-optimizations"],
        [Some(&["--use_fast_math"]), Some(&["-ffast-math"]), Some(FAST_GNU), Some(&["/fp:fast"])],
    ),
    flag(
        &["--fmad=false", "-fmad=false", "-ffp-contract=off"],
        [Some(&["--fmad=false"]), Some(&["-ffp-contract=off"]), Some(&["-ffp-contract=off"]), Some(&["/fp:precise"])],
    ),
    flag(
        &["--fmad=true", "-fmad=true", "-ffp-contract=fast"],
        [Some(&["--fmad=true"]), Some(&["-ffp-contract=fast"]), Some(&["-ffp-contract=fast"]), Some(&["/fp:contract"])],
    ),
    flag(
        &["--ftz=true", "-ftz=true", "-fgpu-flush-denormals-to-zero"],
        [Some(&["--ftz=true"]), Some(&["-fgpu-flush-denormals-to-zero"]), None, None],
    ),
    flag(
        &["--ftz=false", "-ftz=false", "-fno-gpu-flush-denormals-to-zero"],
        [Some(&["--ftz=false"]), Some(&["-fno-gpu-flush-denormals-to-zero"]), None, None],
    ),
    flag(
        &["--generate-line-info", "-lineinfo", "-gline-tables-only"],
        [Some(&["--generate-line-info"]), Some(&["-gline-tables-only"]), Some(&["-g1"]), Some(&["/Z7"])],
    ),
    flag(
        &["--device-debug", "-G"],
        [Some(&["--device-debug"]), Some(&["-g"]), Some(&["-g"]), Some(&["/Z7"])],
    ),
    flag(
        &["--disable-warnings", "-w"],
        [Some(&["--disable-warnings"]), Some(&["-w"]), Some(&["-w"]), Some(&["/w"])],
    ),
    // NVRTC optimises fully; only its assembler has levels.
    flag(&["-O0"], [Some(&["--ptxas-options=-O0"]), Some(&["-O0"]), Some(&["-O0"]), Some(&["/Od"])]),
    flag(&["-O1"], [Some(&["--ptxas-options=-O1"]), Some(&["-O1"]), Some(&["-O1"]), Some(&["/O1"])]),
    flag(&["-O2"], [Some(&["--ptxas-options=-O2"]), Some(&["-O2"]), Some(&["-O2"]), Some(&["/O2"])]),
    flag(&["-O3"], [Some(&["--ptxas-options=-O3"]), Some(&["-O3"]), Some(&["-O3"]), Some(&["/O2"])]),
    valued(&["--ptxas-options", "-Xptxas"], nvidia(&["--ptxas-options="])),
    valued(&["--maxrregcount", "-maxrregcount"], nvidia(&["--maxrregcount="])),
    valued(&["--prec-div", "-prec-div"], nvidia(&["--prec-div="])),
    valued(&["--prec-sqrt", "-prec-sqrt"], nvidia(&["--prec-sqrt="])),
    valued(&["--dopt", "-dopt"], nvidia(&["--dopt="])),
    valued(&["--relocatable-device-code", "-rdc"], nvidia(&["--relocatable-device-code="])),
    flag(
        &["--device-as-default-execution-space", "-default-device"],
        nvidia(&["--device-as-default-execution-space"]),
    ),
    flag(&["--extra-device-vectorization", "-extra-device-vectorization"], nvidia(&["--extra-device-vectorization"])),
    flag(&["--extensible-whole-program", "-ewp"], nvidia(&["--extensible-whole-program"])),
    flag(&["--dlink-time-opt", "-dlto"], nvidia(&["--dlink-time-opt"])),
    flag(&["--restrict", "-restrict"], nvidia(&["--restrict"])),
    flag(&["--minimal", "-minimal"], nvidia(&["--minimal"])),
    flag(&["--device-int128", "-device-int128"], nvidia(&["--device-int128"])),
    flag(&["-fgpu-rdc"], amd(&["-fgpu-rdc"])),
    flag(&["-fno-gpu-rdc"], amd(&["-fno-gpu-rdc"])),
    flag(&["-munsafe-fp-atomics"], amd(&["-munsafe-fp-atomics"])),
];

/// Options for a compiler.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Translated {
    /// In its spelling, in order, the language's version first if the caller names none.
    pub(crate) arguments: Vec<String>,
    /// What means nothing there, as the caller wrote it.
    pub(crate) ignored: Vec<String>,
}

impl Translated {
    /// Says in a build's log what was ignored.
    pub(crate) fn note(&self, log: &mut String) {
        if self.ignored.is_empty() {
            return;
        }
        if !log.is_empty() && !log.ends_with('\n') {
            log.push('\n');
        }
        log.push_str("without a meaning on this device: ");
        log.push_str(&self.ignored.join(" "));
        log.push('\n');
    }
}

/// Translates options; one that is not known is passed on, for the compiler to judge.
pub(crate) fn translate(dialect: Dialect, options: &[&str]) -> Translated {
    let mut result = Translated::default();
    if !options
        .iter()
        .any(|option| is_spelling(&LANGUAGE, option).is_some())
    {
        let words = LANGUAGE.to[dialect as usize];
        push(&mut result.arguments, words.unwrap_or_default(), STANDARD);
    }
    for (words, known) in parse(options) {
        match known.map(|(meaning, value)| (meaning.to[dialect as usize], value)) {
            Some((Some(to), value)) => push(&mut result.arguments, to, value),
            Some((None, _)) => result.ignored.extend(words.iter().map(|w| (*w).to_owned())),
            None => result
                .arguments
                .extend(words.iter().map(|w| (*w).to_owned())),
        }
    }
    result
}

fn push(arguments: &mut Vec<String>, words: &[&str], value: &str) {
    arguments.extend(words.iter().map(|word| (*word).to_owned()));
    if let Some(last) = arguments.last_mut() {
        last.push_str(value);
    }
}

/// An option as the caller wrote it, of one word or two, and what it means with its value (empty
/// without one).
type Parsed<'o, 'a> = (&'o [&'a str], Option<(&'static Meaning, &'a str)>);

fn parse<'o, 'a>(options: &'o [&'a str]) -> Vec<Parsed<'o, 'a>> {
    let mut parsed = Vec::with_capacity(options.len());
    let mut rest = options;
    while let [option, after @ ..] = rest {
        let found = MEANINGS
            .iter()
            .find_map(|meaning| Some((meaning, is_spelling(meaning, option)?)));
        let (words, known) = match (found, after) {
            (Some((meaning, Given::Nothing)), _) if !meaning.valued => (1, Some((meaning, ""))),
            (Some((meaning, Given::Value(value))), _) => (1, Some((meaning, value))),
            (Some((meaning, Given::Nothing)), [value, ..]) => (2, Some((meaning, *value))),
            // Without the value that it needs: the compiler says so.
            _ => (1, None),
        };
        parsed.push((&rest[..words], known));
        rest = &rest[words..];
    }
    parsed
}

/// What an option brings along.
enum Given<'a> {
    Nothing,
    Value(&'a str),
}

/// Whether an option is one of a meaning's spellings.
fn is_spelling<'a>(meaning: &Meaning, option: &'a str) -> Option<Given<'a>> {
    meaning.spellings.iter().find_map(|spelling| {
        let rest = option.strip_prefix(spelling)?;
        match rest.strip_prefix('=') {
            _ if rest.is_empty() => Some(Given::Nothing),
            // `-DX=1`, `-I/folder`.
            _ if meaning.valued && spelling.len() == 2 => Some(Given::Value(rest.trim_start())),
            Some(value) if meaning.valued => Some(Given::Value(value)),
            _ => None,
        }
    })
}

/// The include folders among options.
pub(crate) fn include_folders<'a>(options: &[&'a str]) -> Vec<&'a str> {
    parse(options)
        .into_iter()
        .filter_map(|(_, known)| known)
        .filter(|(meaning, _)| meaning.spellings == INCLUDE_PATH.spellings)
        .map(|(_, folder)| folder)
        .collect()
}

/// Whether an option makes the compiler read files: folders to include from, files to include.
pub(crate) fn reads_files(option: &str) -> bool {
    const NAMES: [&str; 11] = [
        "-I",
        "--include-path",
        "-include",
        "--pre-include",
        "-isystem",
        "-iquote",
        "-idirafter",
        "-imacros",
        "-isysroot",
        "--sysroot",
        "-fmodule",
    ];
    // `--include…` is clang's long spelling of `-include` and of `-I`.
    option.starts_with("--include") || NAMES.iter().any(|name| option.starts_with(name))
}

/// Why an option is not the caller's to give, whatever the compiler.
pub(crate) fn refusal(option: &str) -> Option<&'static str> {
    const WHOLE: [&str; 8] = ["-c", "-E", "-S", "-P", "/c", "/E", "/EP", "/P"];
    const OTHER_PRODUCT: [&str; 9] = [
        "--output",
        "-M",
        "-fsyntax-only",
        "-save-temps",
        "--save-temps",
        "-emit-",
        "/Fe",
        "/Fo",
        "/Fi",
    ];
    const INSTRUMENTED: [&str; 6] = [
        "-fsanitize",
        "--coverage",
        "-coverage",
        "-ftest-coverage",
        "-fprofile-",
        "-pg",
    ];
    let option = option.trim();
    let starts = |names: &[&str]| names.iter().any(|name| option.starts_with(name));
    // `-ofile`, but not NVRTC's `-opt-info`.
    let output = option.starts_with("-o") && !option.starts_with("-opt-info");
    if sets_architecture(option) {
        Some("the architecture is always the device's, and options do not come from files")
    } else if WHOLE.contains(&option) || output || starts(&OTHER_PRODUCT) {
        Some("what comes out is always a module in memory, and nothing else")
    } else if starts(&INSTRUMENTED) {
        Some("the code would need a run-time library, which a module has not")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Dialect; 4] = [Dialect::Nvrtc, Dialect::Clang, Dialect::Gnu, Dialect::Msvc];

    /// What an option becomes in each dialect, words with spaces between them.
    fn check(options: &[&str], expected: [&str; 4]) {
        for (dialect, expected) in ALL.into_iter().zip(expected) {
            let translated = translate(dialect, options);
            assert_eq!(
                translated.arguments[1..].join(" "),
                expected,
                "{options:?} for {dialect:?}"
            );
            let dropped = translated.arguments.len() == 1;
            assert_eq!(translated.ignored == options, dropped, "{options:?}");
        }
    }

    #[test]
    fn options_are_spelled_for_the_compiler() {
        let fast = FAST_GNU.join(" ");
        for spelling in ["--use_fast_math", "-use_fast_math", "-ffast-math"] {
            check(
                &[spelling],
                ["--use_fast_math", "-ffast-math", &fast, "/fp:fast"],
            );
        }
        let lines = ["--generate-line-info", "-gline-tables-only", "-g1", "/Z7"];
        check(&["-lineinfo"], lines);
        let off = "-ffp-contract=off";
        check(&["-fmad=false"], ["--fmad=false", off, off, "/fp:precise"]);
        let keep = "-fno-gpu-flush-denormals-to-zero";
        check(&["--ftz=false"], ["--ftz=false", keep, "", ""]);
        for define in [&["-DN=4"][..], &["-D", "N=4"], &["--define-macro=N=4"]] {
            check(define, ["-DN=4"; 4]);
        }
        check(&["--include-path=/x"], ["-I/x"; 4]);
        check(&["-O3"], ["--ptxas-options=-O3", "-O3", "-O3", "/O2"]);
        check(&["-Xptxas", "-v"], ["--ptxas-options=-v", "", "", ""]);
        check(&["-maxrregcount=32"], ["--maxrregcount=32", "", "", ""]);
        let atomics = "-munsafe-fp-atomics";
        check(&[atomics], ["", atomics, "", ""]);
    }

    #[test]
    fn what_is_not_known_reaches_the_compiler() {
        check(&["--frobnicate"], ["--frobnicate"; 4]);
        check(&["-mavx2"], ["-mavx2"; 4]);
        // Without its value.
        check(&["-D"], ["-D"; 4]);
    }

    #[test]
    fn the_standard_is_the_callers_or_the_default() {
        let first = |dialect, options: &[&str]| translate(dialect, options).arguments;
        assert_eq!(first(Dialect::Nvrtc, &["-DX"]), ["--std=c++17", "-DX"]);
        assert_eq!(first(Dialect::Clang, &["--std=c++20"]), ["-std=c++20"]);
        assert_eq!(first(Dialect::Gnu, &["--std", "c++14"]), ["-std=c++14"]);
        assert_eq!(first(Dialect::Msvc, &[]), ["/std:c++17"]);
    }

    #[test]
    fn include_folders_are_found_in_each_spelling() {
        let options = ["-I/a", "-I", "/b", "--include-path=/c", "-DI=-I"];
        assert_eq!(include_folders(&options), ["/a", "/b", "/c"]);
        assert!(options[..1].iter().all(|option| reads_files(option)));
        assert!(!reads_files("-DI=-I"));
    }

    #[test]
    fn options_that_ask_for_something_else_are_refused() {
        for option in [
            "-fsanitize=address",
            "-o",
            "-oout.so",
            "--coverage",
            "-fprofile-generate",
            "-c",
            "-E",
            "-MD",
            "--config=x",
            "-arch=sm_90",
            "@file",
        ] {
            assert!(refusal(option).is_some(), "{option}");
        }
        for option in [
            "-DM=-M",
            "-O2",
            "-fno-sanitize=all",
            "-opt-info=inline",
            "--use_fast_math",
            "-mcmodel=medium",
            "-ewp",
        ] {
            assert_eq!(refusal(option), None, "{option}");
        }
    }
}
