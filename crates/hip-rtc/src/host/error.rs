use hip_core::Device;

use crate::check::Flaw;
use crate::{CompileError, Error, KernelSource};

/// Why the CPU has no code for a kernel text.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no C++ compiler.
    #[error(
        "no C++ compiler was found (tried {tried}); {hint}",
        hint = super::compiler::INSTALL
    )]
    NoCompiler {
        /// What was looked for.
        tried: String,
    },
    /// The text uses what a CPU cannot do.
    #[error("{file}:{line}: {name} ({what}) is not possible on Host")]
    Unsupported {
        /// The name in the text.
        name: String,
        /// What that is.
        what: &'static str,
        /// File as the text's line markers call it.
        file: String,
        /// Line in it, from 1.
        line: u32,
    },
    /// The compiler refuses the text.
    #[error("{compiler} refuses the kernel text (options {options:?}):\n{log}")]
    Compile {
        /// The compiler's first line about itself.
        compiler: String,
        /// As the caller gave them.
        options: Vec<String>,
        /// All that the compiler said.
        log: String,
    },
    /// A header's name is empty, absolute, leaves its folder, or is there twice.
    #[error("{0:?} is no name for a header in memory")]
    HeaderName(String),
    /// An option that is not the caller's to give.
    #[error("the option {option:?} cannot be used: {why}")]
    UnsupportedOption {
        /// The option.
        option: String,
        /// Why not.
        why: &'static str,
    },
    /// A name, text or option has a NUL inside.
    #[error("{0} contains a NUL")]
    Nul(String),
    /// The compiler took too long and was ended.
    #[error("{compiler} had not finished after {seconds} s")]
    TimedOut {
        /// The program.
        compiler: String,
        /// How long it had.
        seconds: u64,
    },
    /// The system failed: no room, no right.
    #[error("{doing}: {error}")]
    Io {
        /// What was being done.
        doing: String,
        /// The system's words.
        error: String,
    },
}

impl From<Flaw> for HostError {
    fn from(flaw: Flaw) -> HostError {
        match flaw {
            Flaw::Nul(what) => HostError::Nul(what),
            Flaw::HeaderName(name) => HostError::HeaderName(name),
            Flaw::Option { option, why } => HostError::UnsupportedOption { option, why },
        }
    }
}

impl HostError {
    pub(super) fn io(doing: impl Into<String>) -> impl FnOnce(std::io::Error) -> HostError {
        let doing = doing.into();
        move |error| HostError::Io {
            doing,
            error: error.to_string(),
        }
    }
}

impl HostError {
    /// The same as an error of this crate, for a text that was to be compiled for `device`.
    pub(crate) fn into_error(
        self,
        device: &Device,
        source: &KernelSource<'_>,
        options: &[&str],
    ) -> Error {
        let why = self.to_string();
        let refused = |compiler, why, log| {
            Error::Compile(Box::new(CompileError {
                name: source.name.to_owned(),
                compiler,
                architecture: device.info().architecture.clone(),
                options: options.iter().map(|option| (*option).to_owned()).collect(),
                why,
                log,
            }))
        };
        match self {
            HostError::NoCompiler { tried } => Error::CompilerMissing {
                device: device.info().to_string(),
                why: format!("no C++ compiler was found (tried {tried})"),
                install: super::compiler::INSTALL,
            },
            HostError::Compile { compiler, log, .. } => {
                refused(compiler, "it is refused".to_owned(), log)
            }
            HostError::Nul(what) => Error::Nul(what),
            HostError::HeaderName(name) => Error::HeaderName(name),
            HostError::UnsupportedOption { option, why } => {
                Error::UnsupportedOption { option, why }
            }
            HostError::Unsupported { .. } => {
                refused("the system's C++ compiler".to_owned(), why, String::new())
            }
            HostError::TimedOut { .. } | HostError::Io { .. } => Error::CompilerFailed {
                device: device.info().to_string(),
                why,
            },
        }
    }
}
