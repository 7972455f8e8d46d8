use std::ffi::{CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};

use super::table::{Output, Program, Table};
use super::{RtcError, RtcLibrary, RtcProduct, RtcTarget, sets_architecture};
use crate::Vendor;
use crate::locale::CLocale;

/// A text for a compiler, and the headers it includes.
#[derive(Debug, Clone, Copy)]
pub struct RtcSource<'a> {
    /// What the compiler calls the text in its messages.
    pub name: &'a str,
    /// CUDA/HIP C++.
    pub text: &'a str,
    /// Name as in `#include "name"` and text of each header.
    pub headers: &'a [(&'a str, &'a str)],
}

/// What a compiler made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RtcOutput {
    /// PTX with its terminating NUL, a CUBIN, or a code object.
    pub image: Vec<u8>,
    /// Warnings; may be empty.
    pub log: String,
}

/// HIPRTC shares one LLVM's global state between its programs, in every version up to now, and had
/// data races in 5.x and 6.x: one compilation at a time, in whatever library of the process.
static HIPRTC: Mutex<()> = Mutex::new(());

/// C strings and their addresses, as the compilers take them.
struct Texts {
    /// What the addresses point to.
    _owned: Vec<CString>,
    addresses: Vec<*const c_char>,
}

impl Texts {
    fn new<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        what: impl Fn(usize) -> String,
    ) -> Result<Texts, RtcError> {
        let owned: Vec<CString> = texts
            .into_iter()
            .enumerate()
            .map(|(index, text)| c_string(text, || what(index)))
            .collect::<Result<_, _>>()?;
        let addresses = owned.iter().map(|text| text.as_ptr()).collect();
        Ok(Texts {
            _owned: owned,
            addresses,
        })
    }

    fn count(&self) -> c_int {
        c_int::try_from(self.addresses.len()).unwrap_or(c_int::MAX)
    }
}

fn c_string(text: &str, what: impl FnOnce() -> String) -> Result<CString, RtcError> {
    CString::new(text).map_err(|_| RtcError::Nul(what()))
}

/// A program object, destroyed when dropped.
struct OpenProgram<'a> {
    table: &'a Table,
    handle: Program,
}

impl Drop for OpenProgram<'_> {
    fn drop(&mut self) {
        // SAFETY: created by this table's function, destroyed once.
        let code = unsafe { (self.table.destroy.call)(&mut self.handle) };
        if let Err(error) = self.table.check(self.table.destroy.name, code) {
            tracing::warn!(%error, "a compiler's program is not given back");
        }
    }
}

impl OpenProgram<'_> {
    /// The bytes of a log or a product.
    fn read(&self, output: &Output) -> Result<Vec<u8>, RtcError> {
        let mut size = 0;
        // SAFETY: the program is alive and `size` writable.
        let code = unsafe { (output.size.call)(self.handle, &mut size) };
        self.table.check(output.size.name, code)?;
        let mut bytes = vec![0u8; size];
        if size > 0 {
            // SAFETY: there is room for as many bytes as were announced.
            let code = unsafe { (output.get.call)(self.handle, bytes.as_mut_ptr().cast()) };
            self.table.check(output.get.name, code)?;
        }
        Ok(bytes)
    }

    /// The log, without the NUL and the blank lines at its end; empty if there is none.
    fn log(&self) -> String {
        let bytes = self.read(&self.table.log).unwrap_or_default();
        let end = bytes.iter().position(|byte| *byte == 0);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        String::from_utf8_lossy(text).trim_end().to_owned()
    }
}

impl RtcLibrary {
    /// Compiles a text (`nvrtcCompileProgram`, `hiprtcCompileProgram`). May be called by many threads
    /// at once; HIPRTC then takes them one after the other.
    ///
    /// # Errors
    /// The text does not compile; a name, text or option has a NUL inside; an option sets an
    /// architecture.
    pub fn compile(
        &self,
        source: &RtcSource<'_>,
        target: &RtcTarget,
        options: &[&str],
    ) -> Result<RtcOutput, RtcError> {
        if let Some(option) = options.iter().find(|option| sets_architecture(option)) {
            return Err(RtcError::ArchitectureOption((*option).to_owned()));
        }
        self.accepts(target)?;
        let name = c_string(source.name, || "the name of the source".to_owned())?;
        let text = c_string(source.text, || format!("the source {:?}", source.name))?;
        let headers = source.headers;
        let texts = Texts::new(headers.iter().map(|(_, text)| *text), |index| {
            format!("the header {:?}", headers[index].0)
        })?;
        let names = Texts::new(headers.iter().map(|(name, _)| *name), |index| {
            format!("the header name {:?}", headers[index].0)
        })?;
        let all = [target.option()].into_iter().chain(options.iter().copied());
        let options = Texts::new(all, |index| match index.checked_sub(1) {
            Some(index) => format!("the option {:?}", options[index]),
            None => "the architecture".to_owned(),
        })?;
        let _alone = (self.vendor == Vendor::Amd)
            .then(|| HIPRTC.lock().unwrap_or_else(PoisonError::into_inner));
        let _locale = CLocale::enter();
        let mut handle = std::ptr::null_mut();
        let create = self.table.create;
        // SAFETY: every address is of a C string that outlives the program object, and the counts
        // are those of the arrays.
        let code = unsafe {
            (create.call)(
                &mut handle,
                text.as_ptr(),
                name.as_ptr(),
                texts.count(),
                texts.addresses.as_ptr(),
                names.addresses.as_ptr(),
            )
        };
        self.table.check(create.name, code)?;
        let program = OpenProgram {
            table: &self.table,
            handle,
        };
        self.finish(&program, &options, target)
    }

    /// Compiles the program and reads what came of it.
    fn finish(
        &self,
        program: &OpenProgram<'_>,
        options: &Texts,
        target: &RtcTarget,
    ) -> Result<RtcOutput, RtcError> {
        let compile = self.table.compile;
        // SAFETY: the program is alive, and so are the options.
        let code =
            unsafe { (compile.call)(program.handle, options.count(), options.addresses.as_ptr()) };
        let log = program.log();
        if code != 0 {
            return Err(RtcError::Compile {
                call: compile.name,
                code,
                text: self.table.error_text(code),
                log,
            });
        }
        let output = match (target.product(), &self.table.cubin) {
            (RtcProduct::Cubin, Some(cubin)) => cubin,
            _ => &self.table.code,
        };
        let image = program.read(output)?;
        Ok(RtcOutput { image, log })
    }
}
