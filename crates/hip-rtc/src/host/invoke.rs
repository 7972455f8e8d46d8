//! The command lines of the two steps.

use std::process::Command;

use super::compiler::{Compiler, Style};
use super::headers::PRELUDE;
use super::pass::Spelling;
use super::scratch::Scratch;

/// The user's text, before.
pub(super) const SOURCE: &str = "source.cpp";
/// The text that is compiled.
pub(super) const PASSED: &str = if cfg!(windows) {
    "passed.cpp"
} else {
    "passed.ii"
};
/// What comes out.
pub(super) const OBJECT: &str = if cfg!(windows) {
    "object.dll"
} else {
    "object.so"
};

/// For GCC and Clang. Of GPUs: no errno, no floating-point exceptions, sums of products fused.
/// Kernels may see memory as any type.
const GNU: &[&str] = &[
    "-O3",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-ffp-contract=fast",
    "-fno-threadsafe-statics",
    "-Wno-unknown-pragmas",
    "-Wno-attributes",
];
/// No symbols for others; what is left out by these is not needed to load the object anywhere: a C++
/// runtime, which nothing here uses.
const GNU_OBJECT: &[&str] = &["-shared", "-fPIC", "-fvisibility=hidden"];
/// For texts whose threads may wait for each other, and then have stacks of 64 KiB each
/// (`hip-dispatch`'s `host/fiber.rs`): a frame that leaves too little of that is an error at compile
/// time, and one that is entered touches each page on its way down, so that several together cannot
/// step over the page that guards the stack.
const GCC_WAITING: &[&str] = &[
    "-Werror=frame-larger-than=49152",
    "-fstack-clash-protection",
];
/// As above.
const CLANG_WAITING: &[&str] = &[
    "-Wframe-larger-than=49152",
    "-Werror=frame-larger-than",
    "-fstack-clash-protection",
];
const MSVC: &[&str] = &["/nologo", "/GR-", "/EHs-c-", "/O2", "/fp:contract"];

pub(super) fn spelling(style: Style) -> Spelling {
    match style {
        Style::Gnu | Style::Clang => Spelling {
            always_inline: "__attribute__((always_inline))",
            absolute_is_system: false,
        },
        Style::Msvc => Spelling {
            always_inline: "__forceinline",
            absolute_is_system: true,
        },
    }
}

/// Options of both steps.
fn common(compiler: &Compiler, options: &[String]) -> Command {
    let mut command = compiler.command();
    match compiler.style {
        Style::Msvc => {
            command.args(MSVC);
        }
        Style::Gnu | Style::Clang => {
            command.args(GNU);
            if cfg!(target_arch = "x86_64") {
                command.arg("-march=native");
            }
        }
    }
    match compiler.style {
        // Template statics would be marked unique, and glibc never unloads an object with such.
        Style::Gnu => command.arg("-fno-gnu-unique"),
        // A loop that cannot be vectorised is no fault of the user's.
        Style::Clang => command.args(["-Wno-unused-command-line-argument", "-Wno-pass-failed"]),
        Style::Msvc => &mut command,
    };
    command.args(options);
    command
}

/// Writes the preprocessed text to the output.
pub(super) fn preprocess(compiler: &Compiler, scratch: &Scratch, options: &[String]) -> Command {
    let mut command = common(compiler, options);
    let [user, prelude] = ["user", "prelude"].map(|folder| scratch.path(folder));
    if compiler.style == Style::Msvc {
        command.arg("/E").arg("/I").arg(user).arg("/I").arg(prelude);
        command.arg(format!("/FI{PRELUDE}")).arg("/Tp");
    } else {
        command.arg("-E").arg("-I").arg(user).arg("-I").arg(prelude);
        command.args(["-include", PRELUDE, "-x", "c++"]);
    }
    command.arg(scratch.path(SOURCE));
    command
}

/// Compiles the changed text; `waits`: threads of a block may wait for each other in it.
pub(super) fn compile(
    compiler: &Compiler,
    scratch: &Scratch,
    options: &[String],
    waits: bool,
) -> Command {
    let mut command = common(compiler, options);
    let [text, object] = [PASSED, OBJECT].map(|name| scratch.path(name));
    if compiler.style == Style::Msvc {
        command.args(["/LD", "/MT", "/Tp"]).arg(text);
        command.arg(format!("/Fe{}", object.display()));
        command.arg(format!("/Fo{}", scratch.path("object.obj").display()));
        return command;
    }
    command.args(GNU_OBJECT);
    if waits {
        command.args(match compiler.style {
            Style::Clang => CLANG_WAITING,
            _ => GCC_WAITING,
        });
    }
    if cfg!(target_os = "linux") {
        // The linker would name the C++ runtime as needed although nothing of it is.
        command.arg("-Wl,--as-needed");
        // What is declared and nowhere defined is the linker's to name, not the loader's.
        command.arg("-Wl,--no-undefined");
    }
    command.args(["-x", "c++-cpp-output"]).arg(text);
    command.arg("-o").arg(object);
    if !cfg!(windows) {
        // After a file of another language the library would be taken for one too.
        command.args(["-x", "none", "-lm"]);
    }
    command
}
