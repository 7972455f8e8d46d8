//! The child process that opens a vendor's compiler.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs;
use std::path::Path;

use super::Result;
use super::compiler::{Api, CODE_OBJECT, CUBIN, PTX};
use super::families::{file_name, files_in, is_header, normalised};

/// First argument of the child that compiles.
pub(super) const COMPILE: &str = "--compile-in-this-process";
/// First argument of the child that prints the architectures that NVRTC knows.
pub(super) const ARCHITECTURES: &str = "--architectures-in-this-process";

/// `API LIBRARY OUTPUT TEXT [OPTION...]`: compiles a text of the current folder, with its headers, and writes the products into the folder `OUTPUT`.
pub(super) fn compile(args: &[&str]) -> Result<()> {
    let [api, library, output, text, options @ ..] = args else {
        return Err(
            "kernels: the child needs an interface, a library, an output and a text".into(),
        );
    };
    let compiler = RuntimeCompiler::open(api, library)?;
    let mut headers = Vec::new();
    let mut names = Vec::new();
    for path in files_in(Path::new("."))? {
        if is_header(&path) {
            headers.push(CString::new(normalised(&fs::read(&path)?))?);
            names.push(CString::new(file_name(&path))?);
        }
    }
    let source = CString::new(normalised(&fs::read(text)?))?;
    let name = CString::new(*text)?;
    let owned = options
        .iter()
        .map(|option| CString::new(*option))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let program = compiler.compile(&source, &name, &headers, &names, &owned)?;
    let output = Path::new(output);
    match compiler.api {
        Api::Hiprtc => {
            let image = compiler.product(program, "Code")?;
            fs::write(output.join(CODE_OBJECT), image)?;
        }
        Api::Nvrtc => {
            let mut ptx = compiler.product(program, "PTX")?;
            // It is text, and its size counts the terminator.
            let end = ptx.iter().rposition(|byte| *byte != 0);
            ptx.truncate(end.map_or(0, |last| last + 1));
            fs::write(output.join(PTX), ptx)?;
            // For a real architecture there is machine code too.
            if options.iter().any(|option| option.contains("=sm_")) {
                fs::write(output.join(CUBIN), compiler.product(program, "CUBIN")?)?;
            }
        }
    }
    Ok(())
}

/// `API LIBRARY`: prints the architectures that NVRTC knows, `sm_80` and so on.
pub(super) fn architectures(args: &[&str]) -> Result<()> {
    let [api, library] = args else {
        return Err("kernels: the child needs an interface and a library".into());
    };
    let compiler = RuntimeCompiler::open(api, library)?;
    let mut count = 0;
    // SAFETY: the signatures are those of nvrtc.h (since 11.2), and the array has as many entries
    // as the first call said.
    let (code, numbers) = unsafe {
        let count_of: unsafe extern "C" fn(*mut c_int) -> c_int =
            compiler.function("GetNumSupportedArchs")?;
        let fill: unsafe extern "C" fn(*mut c_int) -> c_int =
            compiler.function("GetSupportedArchs")?;
        let code = count_of(&mut count);
        let mut numbers = vec![0; usize::try_from(count)?];
        let code = if code == 0 {
            fill(numbers.as_mut_ptr())
        } else {
            code
        };
        (code, numbers)
    };
    if code != 0 {
        return Err(format!("GetSupportedArchs: {code}").into());
    }
    for number in numbers {
        println!("sm_{number}");
    }
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

/// A compiler library. Programs are not destroyed: the process ends after one.
struct RuntimeCompiler {
    api: Api,
    library: libloading::Library,
}

impl RuntimeCompiler {
    fn open(api: &str, library: &str) -> Result<RuntimeCompiler> {
        let api = [Api::Nvrtc, Api::Hiprtc]
            .into_iter()
            .find(|known| known.prefix() == api)
            .ok_or("kernels: the interface is nvrtc or hiprtc")?;
        // SAFETY: the library is the vendor's compiler that `fetch` unpacked; its initialisers are
        // those of any shared library.
        let library = unsafe { libloading::Library::new(library) }?;
        Ok(RuntimeCompiler { api, library })
    }

    /// # Safety
    /// `T` is the type of the function `prefix + name`.
    unsafe fn function<T: Copy>(&self, name: &str) -> Result<T> {
        let symbol = format!("{}{name}", self.api.prefix());
        // SAFETY: the caller states the type; the copy does not outlive `self.library`, which the
        // process keeps open to its end.
        Ok(*unsafe { self.library.get::<T>(symbol.as_bytes()) }?)
    }

    /// The program, compiled.
    fn compile(
        &self,
        source: &CStr,
        name: &CStr,
        headers: &[CString],
        names: &[CString],
        options: &[CString],
    ) -> Result<*mut c_void> {
        let pointers =
            |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
        let (headers, names, options) = (pointers(headers), pointers(names), pointers(options));
        let mut program = std::ptr::null_mut();
        // SAFETY: the signatures are those of nvrtc.h and hiprtc.h; every array has as many entries
        // as the count beside it says, and all strings are the caller's and outlive the calls.
        let code = unsafe {
            let create: Create = self.function("CreateProgram")?;
            let compile: Compile = self.function("CompileProgram")?;
            let created = create(
                &mut program,
                source.as_ptr(),
                name.as_ptr(),
                c_int::try_from(headers.len())?,
                headers.as_ptr(),
                names.as_ptr(),
            );
            if created != 0 {
                return Err(format!("{}CreateProgram: {created}", self.api.prefix()).into());
            }
            compile(program, c_int::try_from(options.len())?, options.as_ptr())
        };
        if code != 0 {
            let log = self.product(program, "ProgramLog")?;
            return Err(format!("compile error {code}\n{}", String::from_utf8_lossy(&log)).into());
        }
        Ok(program)
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
