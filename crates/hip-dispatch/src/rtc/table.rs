use std::ffi::{CStr, c_char, c_int, c_void};

use super::RtcError;
use crate::Vendor;
use crate::driver::c_text;
use crate::loader::Library;

/// `nvrtcResult` / `hiprtcResult`.
pub(super) type Code = c_int;
/// `nvrtcProgram` / `hiprtcProgram`.
pub(super) type Program = *mut c_void;
type Texts = *const *const c_char;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> Code;
type GetBytes = unsafe extern "C" fn(Program, *mut c_char) -> Code;

/// A function and the vendor's name of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<F> {
    pub(super) name: &'static str,
    pub(super) call: F,
}

/// Two calls: how many bytes, and the bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Output {
    pub(super) size: Entry<GetSize>,
    pub(super) get: Entry<GetBytes>,
}

/// A compiler's functions, under either vendor's names.
pub(super) struct Table {
    version: Entry<unsafe extern "C" fn(*mut c_int, *mut c_int) -> Code>,
    error_string: Entry<unsafe extern "C" fn(Code) -> *const c_char>,
    pub(super) create: Entry<
        unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            Texts,
            Texts,
        ) -> Code,
    >,
    pub(super) destroy: Entry<unsafe extern "C" fn(*mut Program) -> Code>,
    pub(super) compile: Entry<unsafe extern "C" fn(Program, c_int, Texts) -> Code>,
    pub(super) log: Output,
    /// PTX of NVRTC, the code object of HIPRTC.
    pub(super) code: Output,
    /// NVRTC from 11.1.
    pub(super) cubin: Option<Output>,
    /// NVRTC from 11.2.
    count_archs: Option<Entry<unsafe extern "C" fn(*mut c_int) -> Code>>,
    list_archs: Option<Entry<unsafe extern "C" fn(*mut c_int) -> Code>>,
}

/// A function that every such library has; HIPRTC's is in the runtime up to 6.x.
pub(super) fn probe(vendor: Vendor) -> &'static CStr {
    match vendor {
        Vendor::Nvidia => c"nvrtcVersion",
        _ => c"hiprtcVersion",
    }
}

/// Looks functions up, and remembers those that are missing.
struct Finder<'a> {
    vendor: Vendor,
    library: &'a Library,
    missing: Vec<&'static str>,
}

impl Finder<'_> {
    /// The function of either name.
    ///
    /// # Safety
    /// `F` is a function pointer of the signature that both vendors document.
    unsafe fn get<F: Copy>(
        &mut self,
        amd: &'static CStr,
        nvidia: &'static CStr,
    ) -> Option<Entry<F>> {
        const { assert!(size_of::<F>() == size_of::<*const c_void>()) };
        let symbol = match self.vendor {
            Vendor::Nvidia => nvidia,
            _ => amd,
        };
        let name = symbol.to_str().unwrap_or("a function");
        let Some(address) = self.library.symbol(symbol) else {
            self.missing.push(name);
            return None;
        };
        // SAFETY: of equal size, checked above; the caller vouches for the signature.
        let call = unsafe { std::mem::transmute_copy::<*const c_void, F>(&address) };
        Some(Entry { name, call })
    }

    /// A size and a getter of that size.
    fn output(&mut self, amd: [&'static CStr; 2], nvidia: [&'static CStr; 2]) -> Option<Output> {
        // SAFETY: the signatures are those of nvrtc.h and hiprtc.h, which are equal.
        let (size, get) = unsafe { (self.get(amd[0], nvidia[0]), self.get(amd[1], nvidia[1])) };
        Some(Output {
            size: size?,
            get: get?,
        })
    }
}

impl Table {
    /// Resolves the functions, or names those that are missing.
    pub(super) fn resolve(vendor: Vendor, library: &Library) -> Result<Table, Vec<&'static str>> {
        let mut finder = Finder {
            vendor,
            library,
            missing: Vec::new(),
        };
        // SAFETY: the signatures are those of nvrtc.h and hiprtc.h, which are equal.
        let (version, error_string, create, destroy, compile) = unsafe {
            (
                finder.get(c"hiprtcVersion", c"nvrtcVersion"),
                finder.get(c"hiprtcGetErrorString", c"nvrtcGetErrorString"),
                finder.get(c"hiprtcCreateProgram", c"nvrtcCreateProgram"),
                finder.get(c"hiprtcDestroyProgram", c"nvrtcDestroyProgram"),
                finder.get(c"hiprtcCompileProgram", c"nvrtcCompileProgram"),
            )
        };
        let log = finder.output(
            [c"hiprtcGetProgramLogSize", c"hiprtcGetProgramLog"],
            [c"nvrtcGetProgramLogSize", c"nvrtcGetProgramLog"],
        );
        let code = finder.output(
            [c"hiprtcGetCodeSize", c"hiprtcGetCode"],
            [c"nvrtcGetPTXSize", c"nvrtcGetPTX"],
        );
        let missing = std::mem::take(&mut finder.missing);
        let nvidia = vendor == Vendor::Nvidia;
        let cubin = [c"nvrtcGetCUBINSize", c"nvrtcGetCUBIN"];
        let cubin = nvidia.then(|| finder.output(cubin, cubin)).flatten();
        let (mut count_archs, mut list_archs) = (None, None);
        if nvidia {
            let (count, list) = (c"nvrtcGetNumSupportedArchs", c"nvrtcGetSupportedArchs");
            // SAFETY: the signatures are those of nvrtc.h.
            (count_archs, list_archs) =
                unsafe { (finder.get(count, count), finder.get(list, list)) };
        }
        let build = || {
            Some(Table {
                version: version?,
                error_string: error_string?,
                create: create?,
                destroy: destroy?,
                compile: compile?,
                log: log?,
                code: code?,
                cubin,
                count_archs,
                list_archs,
            })
        };
        build().ok_or(missing)
    }

    /// What the compiler says of itself; 0.0 if it says nothing.
    pub(super) fn version(&self) -> (u32, u32) {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both are writable.
        let code = unsafe { (self.version.call)(&mut major, &mut minor) };
        match code {
            0 => (major.unsigned_abs(), minor.unsigned_abs()),
            _ => (0, 0),
        }
    }

    /// The architectures it compiles for, where it tells; in rising order.
    pub(super) fn architectures(&self) -> Option<Vec<u32>> {
        let (count_archs, list_archs) = (self.count_archs?, self.list_archs?);
        let mut count = 0;
        // SAFETY: `count` is writable.
        if unsafe { (count_archs.call)(&mut count) } != 0 || !(1..1024).contains(&count) {
            return None;
        }
        let mut list = vec![0; count as usize];
        // SAFETY: the list has room for as many as were announced.
        if unsafe { (list_archs.call)(list.as_mut_ptr()) } != 0 {
            return None;
        }
        let mut list: Vec<u32> = list.into_iter().map(c_int::unsigned_abs).collect();
        list.sort_unstable();
        Some(list)
    }

    /// The compiler's text for a code.
    pub(super) fn error_text(&self, code: Code) -> String {
        // SAFETY: both compilers give a static string for any code.
        let text = unsafe { c_text((self.error_string.call)(code)) };
        text.unwrap_or_else(|| "the compiler has no text for it".to_owned())
    }

    pub(super) fn check(&self, call: &'static str, code: Code) -> Result<(), RtcError> {
        match code {
            0 => Ok(()),
            code => Err(RtcError::Call {
                call,
                code,
                text: self.error_text(code),
            }),
        }
    }
}
