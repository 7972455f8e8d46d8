//! The stand-ins for NVRTC and HIPRTC through their C ABI, and what they make on the devices.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;

use hip_dispatch::rtc::RtcError;
use hip_dispatch::{
    DevicePtr, FunctionHandle, LaunchConfig, LoaderConfig, ModuleImage, Runtime, Vendor,
};
use hip_rtc::image::{ImageFormat, format};
use hip_sim::install::Install;

use crate::lab::{ALL, Folder, Lab, code};

const TEXT: &str = r#"
#include "scale.h"
extern "C" __global__ void scaled(float *out, const float *in, int count) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < count) out[index] = in[index] * SCALE;
}
"#;

/// Which option names the device's architecture.
fn architecture(name: &str) -> &'static str {
    match name {
        "nvidia" => "--gpu-architecture=sm_90",
        _ => "--offload-arch=gfx90a:sramecc+:xnack-",
    }
}

/// A compiler: an open library and the prefix of its functions.
struct Compiler {
    library: libloading::Library,
    prefix: &'static str,
}

type Program = *mut c_void;
type GetSize = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// What a compilation gave.
#[derive(Debug)]
struct Output {
    code: c_int,
    log: String,
    binary: Vec<u8>,
    ptx: Vec<u8>,
}

impl Compiler {
    /// The compiler of a library that was installed.
    fn open(name: &str, folder: &Path) -> Compiler {
        let (file, prefix) = match name {
            "amd5" => ("libamdhip64.so.5", "hiprtc"),
            "amd6" => ("libhiprtc.so.6", "hiprtc"),
            "amd7" => ("libhiprtc.so.7", "hiprtc"),
            _ => ("libnvrtc.so.13", "nvrtc"),
        };
        // SAFETY: the library's initialisers are Rust's and do nothing of note.
        let library = unsafe { libloading::Library::new(folder.join(file)) }.unwrap();
        Compiler { library, prefix }
    }

    /// A function by its name without the prefix.
    ///
    /// # Safety
    /// `F` is a function pointer of the documented signature.
    unsafe fn function<F: Copy>(&self, name: &str) -> F {
        let name = format!("{}{name}", self.prefix);
        // SAFETY: the caller's promise.
        *unsafe { self.library.get::<F>(name.as_bytes()) }.unwrap()
    }

    fn read(&self, program: Program, size: &str, get: &str) -> Vec<u8> {
        let mut bytes = usize::MAX;
        // SAFETY: the documented signatures; there is room for as much as is announced.
        unsafe {
            let code = self.function::<GetSize>(size)(program, &mut bytes);
            assert_eq!(code, 0, "{size}");
            let mut out = vec![0_u8; bytes];
            let code = self.function::<Get>(get)(program, out.as_mut_ptr().cast());
            assert_eq!(code, 0, "{get}");
            out
        }
    }

    fn create(&self, text: &str) -> Program {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int;
        let text = CString::new(text).unwrap();
        let (header, name) = (c"#define SCALE 3.0f\n".as_ptr(), c"scale.h".as_ptr());
        let mut program = std::ptr::null_mut();
        // SAFETY: the documented signature; every address is a C string's.
        let code = unsafe {
            let create: Create = self.function("CreateProgram");
            create(
                &mut program,
                text.as_ptr(),
                c"user.cu".as_ptr(),
                1,
                &header,
                &name,
            )
        };
        assert_eq!(code, 0);
        program
    }

    fn compile_program(&self, program: Program, options: &[&str]) -> c_int {
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
        let options: Vec<CString> = options.iter().map(|o| CString::new(*o).unwrap()).collect();
        let list: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the documented signature; as many C strings as told.
        unsafe {
            let compile: Compile = self.function("CompileProgram");
            compile(program, list.len() as c_int, list.as_ptr())
        }
    }

    fn destroy(&self, mut program: Program) -> c_int {
        // SAFETY: the documented signature; the place is writable.
        let code = unsafe {
            let destroy: unsafe extern "C" fn(*mut Program) -> c_int =
                self.function("DestroyProgram");
            destroy(&mut program)
        };
        assert!(program.is_null());
        code
    }

    fn compile(&self, text: &str, options: &[&str]) -> Output {
        let program = self.create(text);
        let code = self.compile_program(program, options);
        let log = self.read(program, "GetProgramLogSize", "GetProgramLog");
        let log = CStr::from_bytes_with_nul(&log).expect("the size counts one NUL");
        let output = Output {
            code,
            log: log.to_str().unwrap().to_owned(),
            binary: match self.prefix {
                "nvrtc" => self.read(program, "GetCUBINSize", "GetCUBIN"),
                _ => self.read(program, "GetCodeSize", "GetCode"),
            },
            ptx: match self.prefix {
                "nvrtc" => self.read(program, "GetPTXSize", "GetPTX"),
                _ => Vec::new(),
            },
        };
        assert_eq!(self.destroy(program), 0);
        assert_eq!(self.destroy(program), 4, "it is gone");
        output
    }

    fn calls(&self, name: &str) -> u64 {
        let name = CString::new(name).unwrap();
        // SAFETY: the extension's signature, and a C string.
        unsafe {
            let count = self
                .library
                .get::<unsafe extern "C" fn(*const c_char) -> u64>(b"hipSimCalls");
            count.unwrap()(name.as_ptr())
        }
    }
}

/// Loads an image's kernel and runs it over 0, 1, 2, …; gives what it wrote.
fn run(lab: &Lab, image: ModuleImage<'_>) -> Vec<f32> {
    const COUNT: usize = 1000;
    let backend = &lab.backend;
    let [out, input] = [0; 2].map(|_| backend.mem_alloc(4 * COUNT).unwrap());
    let values: Vec<f32> = (0..COUNT).map(|value| value as f32).collect();
    let mut result = vec![0.0_f32; COUNT];
    let config = LaunchConfig {
        grid_dim: [COUNT.div_ceil(64) as u32, 1, 1],
        block_dim: [64, 1, 1],
        shared_mem_bytes: 0,
    };
    let (mut to, mut from, mut count) = (out, input, COUNT as i32);
    let mut args: [*mut c_void; 3] = [
        (&raw mut to).cast(),
        (&raw mut from).cast(),
        (&raw mut count).cast(),
    ];
    let stream = lab.stream();
    // SAFETY: the image is whole; the kernel takes these arguments and stays within the blocks;
    // everything lives until the stream is synchronised.
    unsafe {
        let module = backend.module_load(image).unwrap();
        let function: FunctionHandle = backend.module_get_function(module, c"scaled").unwrap();
        backend
            .memcpy_htod(input, values.as_ptr().cast(), 4 * COUNT, None)
            .unwrap();
        backend
            .launch_kernel(function, &config, stream, &mut args)
            .unwrap();
        backend.stream_synchronize(stream).unwrap();
        backend
            .memcpy_dtoh(result.as_mut_ptr().cast(), out, 4 * COUNT, None)
            .unwrap();
        backend.module_unload(module).unwrap();
    }
    result
}

fn check(result: &[f32], name: &str) {
    let wrong = result
        .iter()
        .zip(0..)
        .position(|(r, i)| *r != i as f32 * 3.0);
    assert_eq!(wrong, None, "{name}: {:?}", &result[..4]);
}

#[test]
fn a_text_becomes_an_image_that_the_device_runs() {
    for name in ALL {
        let lab = Lab::new(name);
        let compiler = Compiler::open(name, lab.library.folder.path());
        let output = compiler.compile(TEXT, &[architecture(name), "-DUNUSED=1"]);
        assert_eq!((output.code, &*output.log), (0, ""), "{name}");
        let expected = match name {
            "nvidia" => ImageFormat::Cubin,
            _ => ImageFormat::AmdCodeObject,
        };
        assert_eq!(format(&output.binary), Some(expected));
        check(&run(&lab, ModuleImage::Binary(&output.binary)), name);
        if name == "nvidia" {
            let text = CStr::from_bytes_with_nul(&output.ptx).unwrap();
            assert_eq!(format(&output.ptx), Some(ImageFormat::Ptx));
            check(&run(&lab, ModuleImage::Ptx(text)), "PTX");
        }
        assert_eq!(lab.library.races(), 0);
    }
}

/// A kernel that only reads a block through `const T *` may do so beside another that does.
#[test]
fn what_is_const_is_read_only() {
    let lab = Lab::new("nvidia");
    let compiler = Compiler::open("nvidia", lab.library.folder.path());
    let output = compiler.compile(TEXT, &[architecture("nvidia")]);
    let backend = &lab.backend;
    let [first, second, shared] = [0; 3].map(|_| backend.mem_alloc(256).unwrap());
    let streams = [lab.stream(), lab.stream()];
    // SAFETY: the image is whole.
    let function = unsafe {
        let module = backend
            .module_load(ModuleImage::Binary(&output.binary))
            .unwrap();
        backend.module_get_function(module, c"scaled").unwrap()
    };
    let launch = |stream: usize, mut out: DevicePtr, mut input: DevicePtr| {
        let mut count = 1_i32;
        let mut args: [*mut c_void; 3] = [
            (&raw mut out).cast(),
            (&raw mut input).cast(),
            (&raw mut count).cast(),
        ];
        let config = LaunchConfig {
            grid_dim: [1; 3],
            block_dim: [1; 3],
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel takes these arguments and touches the first element of each.
        unsafe { backend.launch_kernel(function, &config, streams[stream], &mut args) }.unwrap();
    };
    launch(0, first, shared);
    launch(1, second, shared);
    assert_eq!(lab.library.races(), 0, "both read");
    launch(1, shared, second);
    assert_eq!(
        lab.library.races(),
        1,
        "the second writes what the first reads"
    );
}

#[test]
fn what_does_not_compile_says_why() {
    for name in ALL {
        let folder = Folder::new();
        Install::library(name).install_into(folder.path()).unwrap();
        let compiler = Compiler::open(name, folder.path());
        let output = compiler.compile("extern int x = ;", &[architecture(name)]);
        assert_eq!(output.code, 6, "{name}");
        assert!(output.log.contains("user.cu"), "{name}: {}", output.log);
        assert!(output.binary.is_empty() && output.ptx.len() <= 1);
        let unknown = compiler.compile(TEXT, &[architecture(name), "--nonsense"]);
        let expected = if name == "nvidia" { 5 } else { 6 };
        assert_eq!(unknown.code, expected, "{name}");
        assert!(
            unknown.log.contains("--nonsense"),
            "{name}: {}",
            unknown.log
        );
        if name != "nvidia" {
            let silent = compiler.compile(TEXT, &[]);
            assert_eq!((silent.code, &*silent.log), (6, ""), "{name}");
        }
    }
}

#[test]
fn names_are_asked_for_before_the_compilation() {
    let folder = Folder::new();
    Install::library("nvidia")
        .install_into(folder.path())
        .unwrap();
    let compiler = Compiler::open("nvidia", folder.path());
    let program = compiler.create(TEXT);
    type Add = unsafe extern "C" fn(Program, *const c_char) -> c_int;
    type Lowered = unsafe extern "C" fn(Program, *const c_char, *mut *const c_char) -> c_int;
    let mut name = std::ptr::null();
    // SAFETY: the documented signatures, and C strings.
    unsafe {
        let add: Add = compiler.function("AddNameExpression");
        let lowered: Lowered = compiler.function("GetLoweredName");
        assert_eq!(add(program, c"scaled".as_ptr()), 0);
        assert_eq!(lowered(program, c"scaled".as_ptr(), &mut name), 9);
        assert_eq!(compiler.compile_program(program, &["-arch=sm_90"]), 0);
        assert_eq!(add(program, c"other".as_ptr()), 8);
        assert_eq!(lowered(program, c"other".as_ptr(), &mut name), 10);
        assert_eq!(lowered(program, c"scaled".as_ptr(), &mut name), 0);
        assert_eq!(CStr::from_ptr(name), c"scaled");
    }
}

/// The driver refuses what the real one would: another architecture's machine code.
#[test]
fn images_are_for_one_architecture() {
    let lab = Lab::new("nvidia");
    let compiler = Compiler::open("nvidia", lab.library.folder.path());
    let output = compiler.compile(TEXT, &["-arch=sm_80"]);
    // SAFETY: the image is whole.
    let load = |image| unsafe { lab.backend.module_load(image) };
    assert_eq!(code(load(ModuleImage::Binary(&output.binary))), 209);
    let text = CStr::from_bytes_with_nul(&output.ptx).unwrap();
    check(&run(&lab, ModuleImage::Ptx(text)), "older PTX");
    let virtual_one = compiler.compile(TEXT, &["-arch=compute_90"]);
    assert!(virtual_one.binary.is_empty() && virtual_one.ptx.len() > 100);
}

/// Runs a test of this program in a child process, which is told what to compile.
fn child(test: &str, name: &str, folder: &Path, file: &Path) -> std::process::Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("compilers::{test}"), "--nocapture"])
        .env("HIP_SIM_TEST_NAME", name)
        .env("HIP_SIM_TEST_FOLDER", folder)
        .env("HIP_SIM_TEST_FILE", file)
        .output()
        .unwrap()
}

/// In a child process, compiles as told: with the option that the file holds, into the file.
fn compiled_as_a_child() -> bool {
    let told = ["NAME", "FOLDER", "FILE"].map(|part| std::env::var(format!("HIP_SIM_TEST_{part}")));
    let [Ok(name), Ok(folder), Ok(file)] = told else {
        return false;
    };
    let compiler = Compiler::open(&name, Path::new(&folder));
    let option = std::fs::read_to_string(&file).unwrap();
    let output = compiler.compile(TEXT, &[&option]);
    println!("code {} log {}", output.code, output.log);
    std::fs::write(&file, output.binary).unwrap();
    true
}

#[test]
fn an_image_survives_the_process_that_made_it() {
    if compiled_as_a_child() {
        return;
    }
    for name in ALL {
        let lab = Lab::new(name);
        let folder = lab.library.folder.path();
        let file = folder.join("image");
        std::fs::write(&file, architecture(name)).unwrap();
        let test = "an_image_survives_the_process_that_made_it";
        let done = child(test, name, folder, &file);
        assert!(done.status.success(), "{name}: {done:?}");
        let image = std::fs::read(&file).unwrap();
        check(&run(&lab, ModuleImage::Binary(&image)), name);
    }
}

/// As the real ones: up to 6.4 an unknown architecture ends the process, 7.2 gives an error.
#[test]
fn an_unknown_architecture_kills_with_an_old_hiprtc() {
    use std::os::unix::process::ExitStatusExt;
    if compiled_as_a_child() {
        return;
    }
    let test = "an_unknown_architecture_kills_with_an_old_hiprtc";
    for (name, dies) in [("amd5", true), ("amd6", true), ("amd7", false)] {
        for architecture in ["compute_80", "gfx1030:xnack-"] {
            let folder = Folder::new();
            Install::library(name).install_into(folder.path()).unwrap();
            let file = folder.path().join("option");
            std::fs::write(&file, format!("--offload-arch={architecture}")).unwrap();
            let done = child(test, name, folder.path(), &file);
            let aborted = done.status.signal() == Some(libc::SIGABRT);
            assert_eq!(aborted, dies, "{name} {architecture}: {done:?}");
            if !dies {
                let text = String::from_utf8_lossy(&done.stdout).into_owned();
                assert!(text.contains("code 6 log error: "), "{text}");
            }
        }
    }
}

/// A HIPRTC that somebody names need not be of the runtime's version: it is given no architecture
/// that would end the process.
#[test]
fn a_hiprtc_of_another_version_gets_no_architecture_that_it_may_not_know() {
    let (runtime, old) = (Folder::new(), Folder::new());
    let files = Install::library("amd7")
        .with("HIP_SIM_ARCH", "gfx1201")
        .install_into(runtime.path())
        .unwrap();
    let hiprtc = Install::library("amd5").install_into(old.path()).unwrap();
    let backend = |hiprtc: Option<&std::path::PathBuf>| {
        let mut config = LoaderConfig::default();
        config.amd_runtime = Some(files[0].clone());
        config.hiprtc = hiprtc.cloned();
        let runtime = Runtime::new(config);
        runtime.backend(Vendor::Amd).unwrap().clone()
    };
    let named = backend(Some(&hiprtc[0]));
    let info = named.device_info(0).unwrap();
    let compiler = named.compiler().unwrap().unwrap();
    assert_eq!(compiler.version(), (5, 2));
    let refused = compiler.target_for(&info).unwrap_err();
    let RtcError::Architecture { architecture, .. } = &refused else {
        panic!("{refused}")
    };
    assert_eq!(architecture, "gfx1201", "{refused}");
    // The runtime's own knows its devices.
    let found = backend(None);
    let compiler = found.compiler().unwrap().unwrap();
    assert_eq!(compiler.version().0, 7);
    let target = compiler.target_for(&info).unwrap();
    assert_eq!(target.architecture(), "gfx1201");
}

#[test]
fn calls_are_logged_and_fail_on_demand() {
    for name in ALL {
        let folder = Folder::new();
        let log = folder.path().join("log");
        let prefix = if name == "nvidia" { "nvrtc" } else { "hiprtc" };
        let call = format!("{prefix}CompileProgram");
        Install::library(name)
            .with("HIP_SIM_LOG", log.to_str().unwrap())
            .with("HIP_SIM_FAIL", &format!("{call}:2=7"))
            .install_into(folder.path())
            .unwrap();
        let compiler = Compiler::open(name, folder.path());
        let codes = [0; 3].map(|_| compiler.compile(TEXT, &[architecture(name)]).code);
        assert_eq!(codes, [0, 7, 0], "{name}");
        assert_eq!(compiler.calls(&call), 3, "{name}");
        let text = std::fs::read_to_string(&log).unwrap();
        let logged = text.lines().filter_map(|line| {
            let mut parts = line.split('\t').skip(2);
            (parts.next()? == call).then(|| parts.next())?
        });
        assert!(logged.eq(["0", "7", "0"]), "{text}");
    }
}

#[test]
fn libraries_can_be_without_a_compiler() {
    for name in ALL {
        let folder = Folder::new();
        let files = Install::library(name)
            .without_compiler()
            .install_into(folder.path())
            .unwrap();
        assert_eq!(files.len(), 1, "{name}: {files:?}");
        // SAFETY: the library's initialisers are Rust's and do nothing of note.
        let library = unsafe { libloading::Library::new(&files[0]) }.unwrap();
        for symbol in [
            "hiprtcVersion",
            "hiprtcCompileProgram",
            "hiprtcGetLoweredName",
        ] {
            // SAFETY: the address is not used.
            let found = unsafe { library.get::<*const c_void>(symbol.as_bytes()) };
            assert!(found.is_err(), "{name}: {symbol}");
        }
    }
}

#[test]
fn eight_threads_compile_at_once() {
    let lab = Lab::new("amd7");
    let compiler = Compiler::open("amd7", lab.library.folder.path());
    let images: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let one = || compiler.compile(TEXT, &[architecture("amd7")]).binary;
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    for image in &images {
        check(&run(&lab, ModuleImage::Binary(image)), "amd7");
    }
}
