//! The system's C++ compiler, found at run time.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use super::HostError;
use crate::compile::file_identity;
use crate::options::Dialect;

/// What brings a compiler.
pub(crate) const INSTALL: &str = if cfg!(windows) {
    "install Visual Studio's Build Tools with the C++ workload, or name a compiler in CXX"
} else if cfg!(target_os = "macos") {
    "run `xcode-select --install`, or name a compiler in CXX"
} else {
    "install g++ or clang (`apt install g++`), or name a compiler in CXX"
};

/// Whose options a compiler takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Gnu,
    Clang,
    Msvc,
}

impl Style {
    /// How options are spelled.
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Style::Gnu | Style::Clang => Dialect::Gnu,
            Style::Msvc => Dialect::Msvc,
        }
    }
}

/// A C++ compiler of this machine.
#[derive(Debug, Clone)]
pub struct Compiler {
    /// As it was found: a compiler that is a link to a wrapper (ccache's `c++`), or to a driver of
    /// several languages (`clang++`), goes by the name it is called by.
    program: PathBuf,
    /// Arguments that `CXX` has, before all others.
    pub(super) arguments: Vec<String>,
    /// What the compiler's environment has besides this process's: MSVC's include and library
    /// folders.
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) style: Style,
    version: String,
}

impl Compiler {
    /// `$CXX`, which may have arguments, and if that is not set `c++`, `g++`, `clang++`; on Windows
    /// MSVC of the newest Visual Studio before those.
    ///
    /// # Errors
    /// There is none, or the one in `CXX` is not there: it is not replaced by another.
    pub fn find() -> Result<Compiler, HostError> {
        if let Some(cxx) = configured() {
            let mut words = words(&cxx).into_iter();
            let program = words.next().unwrap_or_default();
            return match in_path(&program) {
                Some(path) => Compiler::new(path, words.collect(), Vec::new()),
                None => Err(HostError::NoCompiler {
                    tried: format!("CXX={cxx}"),
                }),
            };
        }
        #[cfg(windows)]
        if let Some(compiler) = msvc() {
            return compiler;
        }
        let names = ["c++", "g++", "clang++"];
        match names.iter().find_map(|name| in_path(name)) {
            Some(path) => Compiler::new(path, Vec::new(), Vec::new()),
            None => Err(HostError::NoCompiler {
                tried: names.join(", "),
            }),
        }
    }

    /// The first line that the compiler says about itself.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The program, by the path it was found at.
    pub fn path(&self) -> &Path {
        &self.program
    }

    fn new(
        program: PathBuf,
        arguments: Vec<String>,
        environment: Vec<(OsString, OsString)>,
    ) -> Result<Compiler, HostError> {
        let stem = program.file_stem().unwrap_or_default().to_string_lossy();
        let msvc = stem.eq_ignore_ascii_case("cl");
        let version = match msvc {
            // It says its version with an error; size and time tell versions apart.
            true => "Microsoft C++".to_owned(),
            false => version(&program, &arguments)?,
        };
        let style = if msvc {
            Style::Msvc
        } else if version.contains("clang") {
            Style::Clang
        } else {
            Style::Gnu
        };
        Ok(Compiler {
            program,
            arguments,
            environment,
            style,
            version,
        })
    }

    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command.envs(self.environment.iter().map(|(key, value)| (key, value)));
        // Messages are for programs and logs too; a path in them may not be translated.
        command.env("LC_ALL", "C").env_remove("LANGUAGE");
        command
    }
}

/// What the environment asks for in place of the compilers known by name.
pub(crate) fn configured() -> Option<String> {
    let cxx = std::env::var("CXX").ok();
    cxx.filter(|cxx| !cxx.trim().is_empty())
}

/// The first line of `--version`, asked for once for each compiler: starting one takes milliseconds.
fn version(program: &Path, arguments: &[String]) -> Result<String, HostError> {
    static KNOWN: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
    let file = file_identity(program);
    let key = format!("{} {arguments:?} {file:?}", program.display());
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, version)) = known().iter().find(|(other, _)| *other == key) {
        return Ok(version.clone());
    }
    let output = Command::new(program)
        .args(arguments)
        .arg("--version")
        .env("LC_ALL", "C")
        .stdin(std::process::Stdio::null())
        .output()
        .map_err(HostError::io(format!("cannot start {}", program.display())))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().next().filter(|_| output.status.success()) else {
        return Err(HostError::Io {
            doing: format!("{} --version", program.display()),
            error: format!(
                "{}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        });
    };
    known().push((key, line.to_owned()));
    Ok(line.to_owned())
}

/// Words of a command line, with `'` and `"` around words that have blanks.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in line.chars() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, _) if char.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    words
}

/// The file that a program's name stands for, as a shell finds it.
fn in_path(program: &str) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return is_program(path).then(|| path.to_owned());
    }
    let file = match path.extension() {
        None => format!("{program}{}", std::env::consts::EXE_SUFFIX),
        Some(_) => program.to_owned(),
    };
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| [folder.join(program), folder.join(&file)])
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let Ok(data) = path.metadata() else {
        return false;
    };
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        data.is_file() && data.permissions().mode() & 0o111 != 0
    }
    #[cfg(not(unix))]
    data.is_file()
}

#[cfg(windows)]
fn msvc() -> Option<Result<Compiler, HostError>> {
    let tool = find_msvc_tools::find_tool(std::env::consts::ARCH, "cl.exe")?;
    let environment = tool.env().into_iter().cloned().collect();
    Some(Compiler::new(
        tool.path().to_owned(),
        Vec::new(),
        environment,
    ))
}

/// What `-march=native` looks at: the CPU's family and model, and its features.
pub(crate) fn cpu() -> String {
    let mut text = std::env::consts::ARCH.to_owned();
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::__cpuid_count;
        // Leaf 1's EBX is left out: it has the number of the core that is asked.
        for (leaf, sub) in [(0, 0), (1, 0), (7, 0), (7, 1), (0x8000_0001, 0), (0xd, 0)] {
            let found = __cpuid_count(leaf, sub);
            let ebx = if leaf == 1 || leaf == 0xd {
                0
            } else {
                found.ebx
            };
            // Writing to a `String` does not fail.
            let _ = write!(
                text,
                " {:x}.{ebx:x}.{:x}.{:x}",
                found.eax, found.ecx, found.edx
            );
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        // Elsewhere nothing is compiled for more than the architecture's base.
        let _ = write!(text, " {}", std::env::consts::OS);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_lines_are_cut_as_shells_cut_them() {
        assert_eq!(words("ccache  g++ -m64"), ["ccache", "g++", "-m64"]);
        assert_eq!(words("'/a b/c++' -D\"x y\" ''"), ["/a b/c++", "-Dx y", ""]);
        assert_eq!(words(" "), [""; 0]);
    }

    #[test]
    fn the_cpu_is_the_same_on_every_core() {
        let first = cpu();
        for _ in 0..100 {
            assert_eq!(cpu(), first);
            std::thread::yield_now();
        }
    }
}
