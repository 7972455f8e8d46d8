//! NVRTC and HIPRTC, in a child process.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::process::Command;

use super::fetch::{HIPRTC_VERSION, Installed, WHEEL_VERSION};
use super::{Blob, CHILD, Result, SOURCE, compilers, file_name, files_in, kernels, normalised};

/// The two compilers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Compiler {
    Nvrtc,
    Hiprtc,
}

impl Compiler {
    /// What the manifest says.
    pub(super) fn title(self) -> String {
        match self {
            Self::Nvrtc => format!("NVRTC {WHEEL_VERSION}"),
            Self::Hiprtc => format!("HIPRTC {HIPRTC_VERSION}"),
        }
    }

    /// Prefix of its functions.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Nvrtc => "nvrtc",
            Self::Hiprtc => "hiprtc",
        }
    }

    /// What its functions call the product.
    fn product(self) -> &'static str {
        match self {
            Self::Nvrtc => "PTX",
            Self::Hiprtc => "Code",
        }
    }
}

/// Compiles one blob in a child process.
pub(super) fn compile(blob: &Blob, installed: &Installed) -> Result<Vec<u8>> {
    let output = compilers().join(format!("output-{}", std::process::id()));
    let mut search = installed.folder.clone().into_os_string();
    if let Some(inherited) = std::env::var_os("LD_LIBRARY_PATH") {
        search.push(":");
        search.push(inherited);
    }
    let child = Command::new(std::env::current_exe()?)
        .args(["kernels", CHILD, blob.compiler.prefix()])
        .arg(&installed.library)
        .arg(&output)
        .args(&blob.options)
        .env("LD_LIBRARY_PATH", search)
        .output()?;
    if !child.status.success() {
        return Err(format!(
            "{} failed on {} ({})\n{}{}",
            blob.compiler.title(),
            blob.file,
            child.status,
            String::from_utf8_lossy(&child.stdout),
            String::from_utf8_lossy(&child.stderr)
        )
        .into());
    }
    let image = fs::read(&output)?;
    fs::remove_file(&output)?;
    Ok(image)
}

/// The child: `COMPILER LIBRARY OUTPUT [OPTION...]`.
pub(super) fn compile_here(args: &[&str]) -> Result<()> {
    let [compiler, library, output, options @ ..] = args else {
        return Err("kernels: the child needs a compiler, a library and an output".into());
    };
    let compiler = if *compiler == "nvrtc" {
        Compiler::Nvrtc
    } else {
        Compiler::Hiprtc
    };
    // SAFETY: the library is the vendor's compiler that `find_compiler` unpacked; its initialisers
    // are those of any shared library.
    let library = unsafe { libloading::Library::new(*library) }?;
    let mut headers = Vec::new();
    let mut names = Vec::new();
    for path in files_in(&kernels())? {
        if file_name(&path) != SOURCE {
            headers.push(CString::new(normalised(&fs::read(&path)?))?);
            names.push(CString::new(file_name(&path))?);
        }
    }
    let source = CString::new(normalised(&fs::read(kernels().join(SOURCE))?))?;
    let options = options
        .iter()
        .map(|text| CString::new(*text))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let image =
        RuntimeCompiler { compiler, library }.compile(&source, &headers, &names, &options)?;
    fs::write(output, image)?;
    Ok(())
}

type Create = unsafe extern "C" fn(
    *mut *mut c_void,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(*mut c_void, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int;
type Fill = unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int;

/// NVRTC and HIPRTC have the same functions under two prefixes.
struct RuntimeCompiler {
    compiler: Compiler,
    library: libloading::Library,
}

impl RuntimeCompiler {
    /// # Safety
    /// `T` is the type of the function `prefix + name`.
    unsafe fn function<T: Copy>(&self, name: &str) -> Result<T> {
        let symbol = format!("{}{name}", self.compiler.prefix());
        // SAFETY: the caller states the type; the copy does not outlive `self.library`, which the
        // process keeps open to its end.
        Ok(*unsafe { self.library.get::<T>(symbol.as_bytes()) }?)
    }

    fn compile(
        &self,
        source: &CStr,
        headers: &[CString],
        names: &[CString],
        options: &[CString],
    ) -> Result<Vec<u8>> {
        let pointers =
            |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (headers, names, options) = (pointers(headers), pointers(names), pointers(options));
        let file = CString::new(SOURCE)?;
        let mut program = std::ptr::null_mut();
        // SAFETY: the signatures are those of nvrtc.h and hiprtc.h; every array has as many entries
        // as the count beside it says, and all strings live to the end of this function.
        let code = unsafe {
            let create: Create = self.function("CreateProgram")?;
            let compile: Compile = self.function("CompileProgram")?;
            let created = create(
                &mut program,
                source.as_ptr(),
                file.as_ptr(),
                c_int::try_from(headers.len())?,
                headers.as_ptr(),
                names.as_ptr(),
            );
            if created != 0 {
                return Err(format!("{}CreateProgram: {created}", self.compiler.prefix()).into());
            }
            compile(program, c_int::try_from(options.len())?, options.as_ptr())
        };
        if code != 0 {
            let log = self.product(program, "ProgramLog")?;
            return Err(format!("compile error {code}\n{}", String::from_utf8_lossy(&log)).into());
        }
        let mut image = self.product(program, self.compiler.product())?;
        if self.compiler == Compiler::Nvrtc {
            // PTX is text, and its size counts the terminator.
            image.truncate(
                image
                    .iter()
                    .rposition(|byte| *byte != 0)
                    .map_or(0, |last| last + 1),
            );
        }
        Ok(image)
    }

    fn product(&self, program: *mut c_void, what: &str) -> Result<Vec<u8>> {
        let mut size = 0;
        // SAFETY: `program` is a live program of this library, the signatures are those of its
        // header, and the buffer has the size that the first call gave.
        unsafe {
            let size_of: Size = self.function(&format!("Get{what}Size"))?;
            let fill: Fill = self.function(&format!("Get{what}"))?;
            let code = size_of(program, &mut size);
            let mut bytes = vec![0_u8; size];
            let code = if code == 0 {
                fill(program, bytes.as_mut_ptr().cast())
            } else {
                code
            };
            if code == 0 {
                Ok(bytes)
            } else {
                Err(format!("Get{what}: {code}").into())
            }
        }
    }
}
