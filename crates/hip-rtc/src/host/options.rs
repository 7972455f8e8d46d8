//! Options as users write them for a GPU's compiler, as a CPU's compiler takes them.

use super::compiler::Style;

/// Options for the compiler's two steps.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Translated {
    /// For both steps, in order.
    pub(super) arguments: Vec<String>,
    /// What means nothing on a CPU; the build's log says so.
    pub(super) ignored: Vec<String>,
}

/// Spellings of NVRTC's and HIPRTC's that stand for something here: with one dash or two, whether
/// the value follows `=`, and what it becomes.
const VALUED: &[(&str, &str)] = &[
    ("define-macro", "-D"),
    ("undefine-macro", "-U"),
    ("include-path", "-I"),
];

/// Facts about a GPU, or about code for one.
const GPU_ONLY: &[&str] = &[
    "gpu-architecture",
    "arch",
    "gencode",
    "generate-code",
    "offload-arch",
    "gpu-code",
    "code",
    "maxrregcount",
    "ptxas-options",
    "Xptxas",
    "device-as-default-execution-space",
    "default-device",
    "relocatable-device-code",
    "rdc",
    "extra-device-vectorization",
    "extensible-whole-program",
    "ewp",
    "dopt",
    "ftz",
    "prec-div",
    "prec-sqrt",
    "restrict",
    "minimal",
    "device-int128",
    "std-is-default",
    "fgpu-rdc",
    "fno-gpu-rdc",
    "munsafe-fp-atomics",
    "dlink-time-opt",
    "dlto",
];

/// Those of [`GPU_ONLY`] whose value is the next option.
const GPU_ONLY_NEXT: &[&str] = &["-arch", "-gencode", "-maxrregcount", "-Xptxas", "-code"];

/// Reassociation and reciprocals, but neither the belief that there are no NaN nor a start-up file:
/// gcc before 13 links one into a shared object that makes the whole process flush denormals.
const FAST_GNU: &[&str] = &[
    "-fassociative-math",
    "-freciprocal-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
];

pub(super) fn translate(options: &[&str], style: Style) -> Translated {
    let mut result = Translated::default();
    let mut options = options.iter().copied();
    while let Some(option) = options.next() {
        let bare = option.trim_start_matches('-');
        let (key, value) = bare
            .split_once('=')
            .map_or((bare, None), |(k, v)| (k, Some(v)));
        let valued = VALUED.iter().find(|(name, _)| *name == key);
        if let (Some((_, short)), Some(value)) = (valued, value) {
            result.arguments.push(format!("{short}{value}"));
        } else if GPU_ONLY.contains(&key) {
            result.ignored.push(option.to_owned());
            if GPU_ONLY_NEXT.contains(&option) {
                result.ignored.extend(options.next().map(str::to_owned));
            }
        } else {
            result.arguments.extend(other(option, key, value, style));
        }
    }
    result
}

fn other(option: &str, key: &str, value: Option<&str>, style: Style) -> Vec<String> {
    let msvc = style == Style::Msvc;
    let own = |gnu: &[&str], cl: &[&str]| -> Vec<String> {
        let chosen = if msvc { cl } else { gnu };
        chosen.iter().map(|option| (*option).to_owned()).collect()
    };
    match (key, value) {
        ("use_fast_math" | "ffast-math" | "Ofast" | "funsafe-math-optimizations", None) => {
            own(FAST_GNU, &["/fp:fast"])
        }
        ("fmad", Some("false")) => own(&["-ffp-contract=off"], &["/fp:precise"]),
        ("fmad", Some("true")) => own(&["-ffp-contract=fast"], &["/fp:contract"]),
        ("lineinfo" | "generate-line-info", None) => own(&["-g1"], &["/Z7"]),
        ("device-debug" | "G", None) => own(&["-g"], &["/Z7"]),
        ("disable-warnings" | "w", None) => own(&["-w"], &["/w"]),
        ("std", Some(value)) if msvc => vec![format!("/std:{value}")],
        ("std", Some(value)) => vec![format!("-std={value}")],
        _ => vec![option.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_gpu_compilers_are_understood() {
        let given = [
            "-DA=1",
            "-D",
            "B",
            "--define-macro=C=2",
            "--gpu-architecture=sm_90",
            "-arch",
            "sm_80",
            "--use_fast_math",
            "--std=c++14",
            "-O1",
            "--fmad=false",
            "--include-path=/x",
            "-lineinfo",
        ];
        let translated = translate(&given, Style::Gnu);
        let arguments = [
            &["-DA=1", "-D", "B", "-DC=2"],
            FAST_GNU,
            &["-std=c++14", "-O1", "-ffp-contract=off", "-I/x", "-g1"],
        ]
        .concat();
        assert_eq!(translated.arguments, arguments);
        assert_eq!(
            translated.ignored,
            ["--gpu-architecture=sm_90", "-arch", "sm_80"]
        );
        let msvc = translate(&["-std=c++17", "--use_fast_math"], Style::Msvc);
        assert_eq!(msvc.arguments, ["/std:c++17", "/fp:fast"]);
    }

    #[test]
    fn what_is_not_known_reaches_the_compiler() {
        let translated = translate(&["--no-such-option", "-mavx2"], Style::Gnu);
        assert_eq!(translated.arguments, ["--no-such-option", "-mavx2"]);
        assert_eq!(translated.ignored, [""; 0]);
    }
}
