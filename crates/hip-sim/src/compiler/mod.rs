//! Stand-ins for the vendors' run-time compilers, NVRTC and HIPRTC.
//!
//! A text is really compiled, by `hip_rtc::host` for this processor; the product is an image of
//! the vendor's format that carries it. Options, codes and logs are those of the real libraries,
//! as NVRTC 13.0 and HIPRTC 5.2, 6.4 and 7.2 were seen to behave. Texts are not told that they are
//! compiled for a GPU: the vendors' macros (`__CUDACC_RTC__`, `__HIPCC_RTC__`) are not defined.

pub mod abi;
pub mod code;
mod elf_writer;
mod options;
mod product;
pub mod profile;
mod reads;
mod target;

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hip_rtc::KernelSource;

use crate::calls::thread_name;
use crate::code::{Code, Result, SUCCESS};
use crate::lock;
use crate::record::Record;
use options::{Command, Rejected};
use product::Product;
pub use profile::{CompilerKind, CompilerProfile};

/// One library's compiler.
#[derive(Debug)]
pub struct Compiler {
    /// What it pretends to be.
    pub profile: &'static CompilerProfile,
    record: &'static Record,
    programs: Mutex<HashMap<usize, Arc<Mutex<Program>>>>,
    /// The handle of the next program.
    next: AtomicUsize,
}

/// A program, from its creation to its destruction.
#[derive(Debug, Default)]
struct Program {
    text: String,
    name: String,
    /// Names and texts.
    headers: Vec<(String, String)>,
    /// Expressions whose names are asked for, as C strings that live as long as the program.
    expressions: Vec<CString>,
    compiled: bool,
    log: String,
    product: Option<Product>,
}

static THE: OnceLock<Compiler> = OnceLock::new();

impl Compiler {
    /// The library's one compiler, made at the first call.
    pub fn get(profile: &'static CompilerProfile) -> &'static Compiler {
        THE.get_or_init(|| Compiler {
            profile,
            record: Record::get(),
            programs: Mutex::default(),
            next: AtomicUsize::new(1),
        })
    }

    /// Carries out a call: counts it, lets it fail if a test wants that, logs it.
    pub fn call(
        &'static self,
        name: &'static str,
        body: impl FnOnce(&'static Compiler) -> Result<()>,
    ) -> Code {
        if self.record.is_forked() {
            return code::INTERNAL_ERROR;
        }
        let thread = thread_name();
        let number = self.record.calls.begin(name, &thread);
        let code = self.record.strike(name, &thread).unwrap_or_else(|| {
            let done = catch_unwind(AssertUnwindSafe(|| body(self)));
            done.unwrap_or(Err(code::INTERNAL_ERROR))
                .err()
                .unwrap_or(SUCCESS)
        });
        self.record.calls.end(number, name, &thread, code);
        code
    }

    /// `nvrtcGetSupportedArchs`; nothing of HIPRTC, which has no such call.
    pub fn architectures(&self) -> &'static [u32] {
        match self.profile.kind {
            CompilerKind::Nvrtc { architectures } => architectures,
            CompilerKind::Hiprtc { .. } => &[],
        }
    }

    /// Makes a program; its handle is not 0.
    pub fn create(&self, text: &CStr, name: Option<&CStr>, headers: &[(&CStr, &CStr)]) -> usize {
        let owned = |text: &CStr| text.to_string_lossy().into_owned();
        let program = Program {
            text: owned(text),
            name: name.map_or_else(|| self.profile.default_name.to_owned(), owned),
            headers: headers
                .iter()
                .map(|(name, text)| (owned(name), owned(text)))
                .collect(),
            ..Program::default()
        };
        // Handles look like addresses, and those of the compilers in one process differ from the
        // driver's.
        let handle = 0x7c00_0000 + 16 * self.next.fetch_add(1, Ordering::Relaxed);
        lock(&self.programs).insert(handle, Arc::new(Mutex::new(program)));
        handle
    }

    /// Ends a program.
    pub fn destroy(&self, program: usize) -> Result<()> {
        let removed = lock(&self.programs).remove(&program);
        removed.map(drop).ok_or(code::INVALID_PROGRAM)
    }

    fn program(&self, program: usize) -> Result<Arc<Mutex<Program>>> {
        let programs = lock(&self.programs);
        programs.get(&program).cloned().ok_or(code::INVALID_PROGRAM)
    }

    /// Asks for the name that an expression has in the product.
    pub fn add_expression(&self, program: usize, expression: &CStr) -> Result<()> {
        let program = self.program(program)?;
        let mut program = lock(&program);
        if program.compiled {
            return Err(code::NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
        }
        program.expressions.push(expression.to_owned());
        Ok(())
    }

    /// The name of an expression that was asked for before the program was compiled; it lives as
    /// long as the program. Kernels found by name are `extern "C"`, so it is the expression itself.
    pub fn lowered_name(&self, program: usize, expression: &CStr) -> Result<*const c_char> {
        let program = self.program(program)?;
        let program = lock(&program);
        if program.product.is_none() {
            return Err(code::NO_LOWERED_NAMES_BEFORE_COMPILATION);
        }
        let mut asked = program.expressions.iter();
        let found = asked.find(|asked| ***asked == *expression);
        let found = found.ok_or(code::NAME_EXPRESSION_NOT_VALID)?;
        Ok(found.as_ptr())
    }

    /// Compiles.
    pub fn compile(&self, program: usize, options: &[&CStr]) -> Result<()> {
        let program = self.program(program)?;
        let mut program = lock(&program);
        let options = options.iter().map(|option| option.to_str());
        let options = options.collect::<std::result::Result<Vec<_>, _>>();
        let options = options.map_err(|_| code::INVALID_OPTION)?;
        program.compiled = true;
        (program.log, program.product) = (String::new(), None);
        let built = Command::read(self.profile, &options)
            .and_then(|command| program.build(self.profile, &command));
        match built {
            Ok((product, log)) => {
                (program.log, program.product) = (log, Some(product));
                Ok(())
            }
            Err(rejected) => {
                if rejected.aborts {
                    // What the real library does, from a thread of the caller's.
                    eprintln!("hip-sim: {}", rejected.log);
                    self.record.calls.line(&format!("!\t{}", rejected.log));
                    std::process::abort();
                }
                program.log = rejected.log;
                Err(rejected.code)
            }
        }
    }

    /// The log of the last compilation with its NUL.
    pub fn log(&self, program: usize) -> Result<Vec<u8>> {
        let program = self.program(program)?;
        let mut log = lock(&program).log.clone().into_bytes();
        log.retain(|byte| *byte != 0);
        log.push(0);
        Ok(log)
    }

    /// The machine code: CUBIN or code object; empty if there is none.
    pub fn binary(&self, program: usize) -> Result<Vec<u8>> {
        let program = self.program(program)?;
        let program = lock(&program);
        let binary = program.product.as_ref().map(|product| &product.binary);
        Ok(binary.cloned().unwrap_or_default())
    }

    /// The PTX text with its NUL; only that if there is none.
    pub fn ptx(&self, program: usize) -> Result<Vec<u8>> {
        let program = self.program(program)?;
        let program = lock(&program);
        let ptx = program.product.as_ref().map(|product| &product.ptx);
        let mut bytes = ptx.cloned().unwrap_or_default().into_bytes();
        bytes.push(0);
        Ok(bytes)
    }
}

impl Program {
    /// Builds the text for this processor, and the vendor's image round that.
    fn build(
        &self,
        profile: &CompilerProfile,
        command: &Command,
    ) -> std::result::Result<(Product, String), Rejected> {
        let headers = self.headers.iter();
        let source = KernelSource {
            name: &self.name,
            text: &self.text,
            // Those for GPUs are full of their assembly; the host build has its own by these names.
            headers: headers
                .map(|(name, text)| (&**name, &**text))
                .filter(|(name, text)| !hip_rtc::is_bundled_header(name, text))
                .collect(),
        };
        let options: Vec<&str> = command.options.iter().map(String::as_str).collect();
        let build = hip_rtc::host::compile(&source, &options)
            .map_err(|error| Rejected::compilation(error.to_string()))?;
        let texts = [&self.text].into_iter();
        let texts = texts.chain(self.headers.iter().map(|(_, text)| text));
        let reads = reads::of_texts(texts.map(String::as_str));
        let product = product::make(profile, &command.target, build.object, reads);
        let product = product.ok_or_else(|| {
            Rejected::compilation("hip-sim: the host build does not describe its kernels".into())
        })?;
        for expression in &self.expressions {
            let expression = expression.to_string_lossy();
            if !product.kernels.iter().any(|name| *name == expression) {
                let log = format!("error: identifier \"{expression}\" is undefined\n");
                return Err(Rejected::compilation(log));
            }
        }
        Ok((product, build.log))
    }
}
