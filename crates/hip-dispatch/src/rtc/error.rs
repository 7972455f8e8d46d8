/// Why nothing was compiled.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RtcError {
    /// The compiler refuses the text or an option.
    #[error("{call} failed: {text} (code {code})\n{log}")]
    Compile {
        /// The vendor's name of the call.
        call: &'static str,
        /// `nvrtcResult` or `hiprtcResult`.
        code: i32,
        /// The code's name.
        text: String,
        /// The compiler's whole log; may be empty.
        log: String,
    },
    /// Another call of the compiler's failed.
    #[error("{call} failed: {text} (code {code})")]
    Call {
        /// The vendor's name of the call.
        call: &'static str,
        /// `nvrtcResult` or `hiprtcResult`.
        code: i32,
        /// The code's name.
        text: String,
    },
    /// The compiler cannot make code for the architecture.
    #[error("{compiler} does not compile for {architecture}{}{known}", if known.is_empty() { "" } else { "; it does for " })]
    Architecture {
        /// The compiler and its version.
        compiler: String,
        /// What was asked for.
        architecture: String,
        /// What it is known to compile for; empty where that is not known.
        known: String,
    },
    /// A text for the compiler has a NUL inside, which would end it there.
    #[error("{0} contains a NUL")]
    Nul(String),
    /// An option sets the architecture, which is the device's.
    #[error("the option {0:?} sets an architecture, which is always the device's")]
    ArchitectureOption(String),
}
