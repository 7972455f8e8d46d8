//! Options as the two compilers take them.

use super::code;
use super::profile::{CompilerKind, CompilerProfile};
use super::target::{self, Target};
use crate::code::Code;

/// What a compiler is to do.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// What for.
    pub(super) target: Target,
    /// Options that mean something to the host build too, each one argument.
    pub(super) options: Vec<String>,
}

/// Why it does not.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rejected {
    pub(super) code: Code,
    pub(super) log: String,
    /// The real library ends the process here.
    pub(super) aborts: bool,
}

impl Rejected {
    fn new(code: Code, log: String) -> Rejected {
        Rejected {
            code,
            log,
            aborts: false,
        }
    }

    pub(super) fn compilation(log: String) -> Rejected {
        Rejected::new(code::COMPILATION, log)
    }
}

impl Command {
    /// Reads the options as the compiler of this profile does.
    pub(super) fn read(profile: &CompilerProfile, options: &[&str]) -> Result<Command, Rejected> {
        match profile.kind {
            CompilerKind::Nvrtc { architectures } => nvrtc(options, architectures),
            CompilerKind::Hiprtc {
                architectures,
                aborts,
            } => hiprtc(options, architectures, aborts),
        }
    }
}

/// NVRTC's options that take a value, in their long and short forms.
const VALUED: [(&str, &str); 13] = [
    ("--gpu-architecture", "-arch"),
    ("--std", "-std"),
    ("--define-macro", "-D"),
    ("--undefine-macro", "-U"),
    ("--include-path", "-I"),
    ("--pre-include", "-include"),
    ("--maxrregcount", "-maxrregcount"),
    ("--ftz", "-ftz"),
    ("--prec-sqrt", "-prec-sqrt"),
    ("--prec-div", "-prec-div"),
    ("--fmad", "-fmad"),
    ("--ptxas-options", "-Xptxas"),
    ("--dopt", "-dopt"),
];

/// NVRTC's options without a value.
const FLAGS: [(&str, &str); 12] = [
    ("--use_fast_math", "-use_fast_math"),
    ("--generate-line-info", "-lineinfo"),
    ("--device-debug", "-G"),
    ("--disable-warnings", "-w"),
    ("--restrict", "-restrict"),
    (
        "--extra-device-vectorization",
        "-extra-device-vectorization",
    ),
    ("--device-as-default-execution-space", "-default-device"),
    ("--relocatable-device-code=false", "-rdc=false"),
    ("--no-source-include", "-no-source-include"),
    ("--display-error-number", "-err-no"),
    ("--no-display-error-number", "-no-err-no"),
    ("--split-compile=0", "-split-compile=0"),
];

/// Language versions that NVRTC knows.
const STANDARDS: [&str; 5] = ["c++03", "c++11", "c++14", "c++17", "c++20"];

/// An option with its value, by its long form, and how many arguments it was.
fn valued<'a>(options: &[&'a str]) -> Option<(&'static str, Option<&'a str>, usize)> {
    let option = options.first()?;
    for (long, short) in VALUED {
        for form in [long, short] {
            let Some(rest) = option.strip_prefix(form) else {
                continue;
            };
            if rest.is_empty() {
                return Some((long, options.get(1).copied(), 2));
            }
            if let Some(value) = rest.strip_prefix('=') {
                return Some((long, Some(value), 1));
            }
            // `-DX=1`, `-I/folder`.
            if form.len() == 2 {
                return Some((long, Some(rest), 1));
            }
        }
    }
    None
}

fn nvrtc(mut options: &[&str], architectures: &[u32]) -> Result<Command, Rejected> {
    let wrong =
        |text: String| Rejected::new(code::INVALID_OPTION, format!("nvrtc: error: {text}\n"));
    let mut architecture = "compute_75";
    let mut passed = Vec::new();
    while let Some(option) = options.first() {
        let (name, value, taken) = match valued(options) {
            Some((name, Some(value), taken)) => (name, value, taken),
            Some((name, None, _)) => {
                return Err(wrong(format!("option {name} requires a value")));
            }
            None => match FLAGS
                .iter()
                .find(|flag| flag.0 == *option || flag.1 == *option)
            {
                Some((name, _)) => (*name, "", 1),
                None => return Err(wrong(format!("unrecognized option {option} found"))),
            },
        };
        options = &options[taken..];
        match name {
            "--gpu-architecture" => architecture = value,
            "--std" if STANDARDS.contains(&value) => passed.push(format!("-std={value}")),
            "--std" => return Err(wrong("invalid value for --std(-std)".to_owned())),
            "--define-macro" => passed.push(format!("-D{value}")),
            "--undefine-macro" => passed.push(format!("-U{value}")),
            "--include-path" => passed.push(format!("-I{value}")),
            "--use_fast_math" => passed.push("--use_fast_math".to_owned()),
            "--disable-warnings" => passed.push("-w".to_owned()),
            _ => {}
        }
    }
    let target = target::cuda(architecture, architectures)
        .ok_or_else(|| wrong("invalid value for --gpu-architecture (-arch)".to_owned()))?;
    Ok(Command {
        target,
        options: passed,
    })
}

/// Beginnings of clang's options that say nothing to the host build.
const CLANGS: [&str; 5] = ["-W", "-f", "-m", "-g", "--hip-version="];

fn hiprtc(options: &[&str], architectures: &[&str], aborts: bool) -> Result<Command, Rejected> {
    let mut architecture = None;
    let mut passed = Vec::new();
    for option in options {
        let value = ["--offload-arch=", "--gpu-architecture="]
            .iter()
            .find_map(|form| option.strip_prefix(form));
        if value.is_some() {
            architecture = value;
        } else if ["-D", "-U", "-I", "-O", "-std=", "--std="]
            .iter()
            .any(|form| option.starts_with(form) && option.len() > form.len())
            || matches!(*option, "-ffast-math" | "-w")
        {
            passed.push((*option).to_owned());
        } else if !CLANGS.iter().any(|form| option.starts_with(form)) {
            let log = format!("error: unknown argument: '{option}'\n");
            return Err(Rejected::compilation(log));
        }
    }
    let unknown = |name: &str| {
        let log = format!("error: invalid target ID '{name}'\n");
        Rejected {
            aborts,
            ..Rejected::compilation(log)
        }
    };
    // Without an architecture the real library fails, and says nothing.
    let architecture = architecture.ok_or_else(|| Rejected::compilation(String::new()))?;
    let target = target::amd(architecture, architectures).ok_or_else(|| unknown(architecture))?;
    Ok(Command {
        target,
        options: passed,
    })
}

#[cfg(test)]
mod tests {
    use super::super::profile::{HIPRTC5, HIPRTC7, NVRTC13};
    use super::*;

    fn passed(profile: &CompilerProfile, options: &[&str]) -> Vec<String> {
        Command::read(profile, options).unwrap().options
    }

    /// As NVRTC 13.0.88 answers.
    #[test]
    fn nvrtc_takes_its_options() {
        let options = [
            "-arch",
            "sm_90",
            "-DA=1",
            "-D",
            "B",
            "--std=c++17",
            "-lineinfo",
        ];
        let expected = ["-DA=1", "-DB", "-std=c++17"];
        assert_eq!(passed(&NVRTC13, &options), expected);
        for (option, log) in [
            (
                "--nonsense",
                "nvrtc: error: unrecognized option --nonsense found\n",
            ),
            ("-O3", "nvrtc: error: unrecognized option -O3 found\n"),
            (
                "-ffast-math",
                "nvrtc: error: unrecognized option -ffast-math found\n",
            ),
            (
                "-arch=sm_12",
                "nvrtc: error: invalid value for --gpu-architecture (-arch)\n",
            ),
            (
                "--std=c++99",
                "nvrtc: error: invalid value for --std(-std)\n",
            ),
        ] {
            let rejected = Command::read(&NVRTC13, &[option]).unwrap_err();
            assert_eq!((rejected.code, &*rejected.log), (5, log));
        }
        let default = Command::read(&NVRTC13, &[]).unwrap().target;
        assert!(matches!(
            default,
            Target::Cuda {
                number: 75,
                real: false,
                ..
            }
        ));
    }

    #[test]
    fn hiprtc_takes_clangs_options() {
        let arch = "--offload-arch=gfx90a:sramecc+:xnack-";
        let options = [arch, "-DA", "-O3", "-ffast-math", "-Wall", "-mcumode"];
        assert_eq!(passed(&HIPRTC5, &options), ["-DA", "-O3", "-ffast-math"]);
        let none = Command::read(&HIPRTC5, &["-DA"]).unwrap_err();
        assert_eq!((none.code, &*none.log, none.aborts), (6, "", false));
        let foreign = Command::read(&HIPRTC7, &["-arch=gfx90a"]).unwrap_err();
        assert!(foreign.code == 6 && foreign.log.contains("-arch=gfx90a"));
        for (profile, aborts) in [(&HIPRTC5, true), (&HIPRTC7, false)] {
            let wrong = Command::read(profile, &["--offload-arch=compute_80"]).unwrap_err();
            assert_eq!((wrong.code, wrong.aborts), (6, aborts));
            assert!(wrong.log.contains("compute_80"));
        }
    }
}
