//! Options in the spelling of the compiler at hand: texts and their options mean the same everywhere.

/// Whose spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// NVRTC's.
    Nvrtc,
    /// HIPRTC's, which is clang's.
    Clang,
}

/// The language, where the caller names none: all three compilers know it, from NVRTC 11 and HIPRTC
/// 5.2 on.
const STANDARD: &str = "c++17";

/// Whole options: NVRTC's spelling, clang's.
const WHOLE: [(&str, &str); 5] = [
    ("--use_fast_math", "-ffast-math"),
    ("--generate-line-info", "-gline-tables-only"),
    ("--fmad=false", "-ffp-contract=off"),
    ("--fmad=true", "-ffp-contract=fast"),
    ("--ftz=true", "-fgpu-flush-denormals-to-zero"),
];

/// Other spellings of NVRTC's own.
const NVRTC_SHORT: [(&str, &str); 6] = [
    ("-use_fast_math", "--use_fast_math"),
    ("-lineinfo", "--generate-line-info"),
    ("-fmad=false", "--fmad=false"),
    ("-fmad=true", "--fmad=true"),
    ("-ftz=true", "--ftz=true"),
    ("-default-device", "--device-as-default-execution-space"),
];

/// Options with a value behind them: NVRTC's spellings, clang's.
const VALUED: [(&[&str], &str); 4] = [
    (&["--define-macro=", "-D"], "-D"),
    (&["--undefine-macro=", "-U"], "-U"),
    (&["--include-path=", "-I"], "-I"),
    (&["--std=", "-std="], "-std="),
];

/// Translates options and puts the default standard before them.
pub(super) fn translate(dialect: Dialect, options: &[&str]) -> Vec<String> {
    let mut out = Vec::with_capacity(options.len() + 1);
    if !options.iter().any(|option| names_standard(option)) {
        out.push(standard(dialect, STANDARD));
    }
    out.extend(options.iter().map(|option| translate_one(dialect, option)));
    out
}

fn names_standard(option: &str) -> bool {
    option.starts_with("--std") || option.starts_with("-std")
}

fn standard(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::Nvrtc => format!("--std={name}"),
        Dialect::Clang => format!("-std={name}"),
    }
}

fn translate_one(dialect: Dialect, option: &str) -> String {
    let long = NVRTC_SHORT.iter().find(|(short, _)| *short == option);
    let option = long.map_or(option, |(_, long)| long);
    for (nvrtc, clang) in WHOLE {
        if option == nvrtc || option == clang {
            return match dialect {
                Dialect::Nvrtc => nvrtc.to_owned(),
                Dialect::Clang => clang.to_owned(),
            };
        }
    }
    for (spellings, clang) in VALUED {
        let value = spellings.iter().find_map(|name| option.strip_prefix(name));
        if let Some(value) = value {
            return match (dialect, clang) {
                (Dialect::Nvrtc, "-std=") => format!("--std={value}"),
                (Dialect::Nvrtc, _) => format!("{clang}{value}"),
                (Dialect::Clang, _) => format!("{clang}{value}"),
            };
        }
    }
    match (dialect, option) {
        // NVRTC optimises fully; only its assembler has levels.
        (Dialect::Nvrtc, "-O0" | "-O1" | "-O2" | "-O3") => format!("--ptxas-options={option}"),
        _ => option.to_owned(),
    }
}

/// The include folders among options, in either spelling.
pub(super) fn include_folders<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let mut folders = Vec::new();
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        match *option {
            "-I" | "--include-path" => folders.extend(rest.next().copied()),
            option => folders.extend(
                ["-I", "--include-path="]
                    .iter()
                    .find_map(|name| option.strip_prefix(name))
                    .map(str::trim_start),
            ),
        }
    }
    folders
}

/// Whether an option makes the compiler read files: folders to include from, files to include.
pub(super) fn reads_files(option: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(option: &str, nvrtc: &str, clang: &str) {
        assert_eq!(translate_one(Dialect::Nvrtc, option), nvrtc, "{option}");
        assert_eq!(translate_one(Dialect::Clang, option), clang, "{option}");
    }

    #[test]
    fn options_are_spelled_for_the_compiler() {
        check("--use_fast_math", "--use_fast_math", "-ffast-math");
        check("-use_fast_math", "--use_fast_math", "-ffast-math");
        check("-ffast-math", "--use_fast_math", "-ffast-math");
        check("-lineinfo", "--generate-line-info", "-gline-tables-only");
        check("--fmad=false", "--fmad=false", "-ffp-contract=off");
        check("-DN=4", "-DN=4", "-DN=4");
        check("--define-macro=N=4", "-DN=4", "-DN=4");
        check("--include-path=/x", "-I/x", "-I/x");
        check("-std=c++14", "--std=c++14", "-std=c++14");
        check("-O3", "--ptxas-options=-O3", "-O3");
        // What is not known is the compiler's to refuse.
        check("--frobnicate", "--frobnicate", "--frobnicate");
    }

    #[test]
    fn the_standard_is_the_callers_or_the_default() {
        assert_eq!(translate(Dialect::Nvrtc, &["-DX"]), ["--std=c++17", "-DX"]);
        assert_eq!(translate(Dialect::Clang, &["--std=c++20"]), ["-std=c++20"]);
    }

    #[test]
    fn include_folders_are_found_in_each_spelling() {
        let options = ["-I/a", "-I", "/b", "--include-path=/c", "-DI=-I"];
        assert_eq!(include_folders(&options), ["/a", "/b", "/c"]);
        assert!(options[..1].iter().all(|option| reads_files(option)));
        assert!(!reads_files("-DI=-I"));
    }
}
