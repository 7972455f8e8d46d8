//! `cargo xtask kernels [--check]`: builds the prebuilt device code of `hip-video`.
//!
//! PTX comes from NVRTC 11.8, so that every driver since 2022 loads it, and AMD code objects from
//! HIPRTC 5.2.3. Neither needs a GPU or an installed toolkit: the first is a Python wheel, the second
//! two Debian packages, both unpacked under `target/compilers`. A compiler runs in a child process,
//! because an old HIPRTC aborts the process on input it does not like.
//!
//! `--check` changes nothing. It always compares `manifest.toml` with the kernel texts and the blobs
//! on disk, and compiles again and compares byte for byte where a compiler can be had.

use std::error::Error;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const HELP: &str = "\
Usage: cargo xtask kernels [--check]

Compiles the prebuilt device code of hip-video; fetches the compilers when they are not there.

  --check  change nothing: compare manifest, texts and blobs, and compile again where possible
";

/// First argument of the hidden child command.
const CHILD: &str = "--compile-in-this-process";
const WHEEL: &str = "nvidia-cuda-nvrtc-cu11";
const WHEEL_VERSION: &str = "11.8.89";
const HIPRTC_VERSION: &str = "5.2.3";
const HIPRTC_PACKAGES: [&str; 2] = ["libamdhip64-5", "libhiprtc-builtins5"];
const SOURCE: &str = "convert.cu";
/// Entry points of `convert.cu` in the order of its `CONVERT_UNIT` numbers.
const UNITS: [&str; 8] = [
    "convert_yuv420_8_scaled",
    "convert_yuv420_8_unscaled",
    "convert_yuv420_16_scaled",
    "convert_yuv420_16_unscaled",
    "convert_packed_8_scaled",
    "convert_packed_8_unscaled",
    "convert_planar_8_scaled",
    "convert_planar_8_unscaled",
];
/// Architectures that HIPRTC 5.2.3 knows; it aborts on others.
const AMD_ARCHITECTURES: [&str; 3] = ["gfx906", "gfx90a", "gfx1030"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Compiler {
    Nvrtc,
    Hiprtc,
}

impl Compiler {
    /// What the manifest says.
    fn title(self) -> String {
        match self {
            Self::Nvrtc => format!("NVRTC {WHEEL_VERSION}"),
            Self::Hiprtc => format!("HIPRTC {HIPRTC_VERSION}"),
        }
    }

    /// Prefix of its functions.
    fn prefix(self) -> &'static str {
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

/// One prebuilt file.
struct Blob {
    file: String,
    compiler: Compiler,
    options: Vec<String>,
}

/// A compiler on disk: the library to open and the folder its companions lie in.
struct Installed {
    library: PathBuf,
    folder: PathBuf,
}

/// Runs the command; see the module's documentation.
///
/// # Errors
/// When a compiler cannot be had (without `--check`), a kernel does not compile, or with `--check`
/// when a blob or the manifest is not what the texts give.
pub(crate) fn run(args: &[String]) -> Result<()> {
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => build(),
        ["--check"] => check(),
        ["--help" | "-h"] => {
            print!("{HELP}");
            Ok(())
        }
        [CHILD, rest @ ..] => compile_here(rest),
        _ => Err(format!("kernels takes nothing or --check, not {args:?}").into()),
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

fn kernels() -> PathBuf {
    workspace().join("crates/hip-video/kernels")
}

fn prebuilt() -> PathBuf {
    workspace().join("crates/hip-video/prebuilt")
}

fn compilers() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace().join("target"), |folder| workspace().join(folder));
    target.join("compilers")
}

fn blobs() -> Vec<Blob> {
    let mut blobs = Vec::new();
    for (unit, name) in UNITS.iter().enumerate() {
        let unit = format!("-DCONVERT_UNIT={unit}");
        blobs.push(Blob {
            file: format!("{name}.ptx"),
            compiler: Compiler::Nvrtc,
            options: vec!["--gpu-architecture=compute_52".into(), "--std=c++17".into(), unit.clone()],
        });
        for architecture in AMD_ARCHITECTURES {
            blobs.push(Blob {
                file: format!("{name}.{architecture}.hsaco"),
                compiler: Compiler::Hiprtc,
                options: vec![
                    format!("--offload-arch={architecture}"),
                    "-O3".into(),
                    "-std=c++17".into(),
                    unit.clone(),
                ],
            });
        }
    }
    blobs
}

fn build() -> Result<()> {
    let nvrtc = find_compiler(Compiler::Nvrtc)?;
    let hiprtc = find_compiler(Compiler::Hiprtc)?;
    fs::create_dir_all(prebuilt())?;
    let mut total = 0;
    for blob in blobs() {
        let installed = if blob.compiler == Compiler::Nvrtc { &nvrtc } else { &hiprtc };
        let image = compile(&blob, installed)?;
        total += image.len();
        fs::write(prebuilt().join(&blob.file), image)?;
    }
    remove_strangers()?;
    fs::write(prebuilt().join("manifest.toml"), manifest()?)?;
    println!("kernels: wrote {} files, {} KiB", blobs().len(), total / 1024);
    Ok(())
}

/// Deletes blobs that no entry point has any more.
fn remove_strangers() -> Result<()> {
    for path in files_in(&prebuilt())? {
        let name = file_name(&path);
        if name != "manifest.toml" && !blobs().iter().any(|blob| blob.file == name) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

fn check() -> Result<()> {
    let expected = manifest()?;
    let found = fs::read_to_string(prebuilt().join("manifest.toml"))
        .map_err(|error| format!("prebuilt/manifest.toml: {error}; run `cargo xtask kernels`"))?;
    if normalised(found.as_bytes()) != normalised(expected.as_bytes()) {
        let differs = expected.lines().zip(found.lines()).find(|(left, right)| left != right);
        return Err(format!(
            "prebuilt/manifest.toml is not what the kernel texts and blobs give; run `cargo xtask \
             kernels`. First difference (expected, found): {differs:?}"
        )
        .into());
    }
    println!("kernels: {} blobs match the manifest and the texts", blobs().len());
    for compiler in [Compiler::Nvrtc, Compiler::Hiprtc] {
        match find_compiler(compiler) {
            Ok(installed) => recompile(compiler, &installed)?,
            Err(reason) => println!("kernels: SKIP compiling again with {}: {reason}", compiler.title()),
        }
    }
    Ok(())
}

/// Compiles every blob of one compiler and compares it with the file.
fn recompile(compiler: Compiler, installed: &Installed) -> Result<()> {
    let mut count = 0;
    for blob in blobs().iter().filter(|blob| blob.compiler == compiler) {
        if compile(blob, installed)? != fs::read(prebuilt().join(&blob.file))? {
            return Err(format!("{} compiles to other bytes; run `cargo xtask kernels`", blob.file).into());
        }
        count += 1;
    }
    println!("kernels: {count} blobs compiled again with {}, bytes equal", compiler.title());
    Ok(())
}

/// The manifest that the texts and blobs on disk give.
fn manifest() -> Result<String> {
    let mut text = String::from("# Written by `cargo xtask kernels`, which also checks it.\n\n[sources]\n");
    for path in files_in(&kernels())? {
        writeln!(text, "\"{}\" = \"{}\"", file_name(&path), hash(&normalised(&fs::read(&path)?)))?;
    }
    for blob in blobs() {
        let path = prebuilt().join(&blob.file);
        let image = fs::read(&path).map_err(|error| format!("prebuilt/{}: {error}", blob.file))?;
        let options = blob.options.iter().map(|option| format!("\"{option}\"")).collect::<Vec<_>>();
        writeln!(text, "\n[[blob]]\nfile = \"{}\"", blob.file)?;
        writeln!(text, "compiler = \"{}\"", blob.compiler.title())?;
        writeln!(text, "options = [{}]", options.join(", "))?;
        writeln!(text, "sha256 = \"{}\"", hash(&image))?;
    }
    Ok(text)
}

/// Text without the carriage returns that a checkout on Windows adds.
fn normalised(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'\r').collect()
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Plain files of a folder, sorted.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Compiles one blob in a child process.
fn compile(blob: &Blob, installed: &Installed) -> Result<Vec<u8>> {
    let output = compilers().join("output");
    let _ = fs::remove_file(&output);
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
    Ok(fs::read(&output)?)
}

/// The child: `COMPILER LIBRARY OUTPUT [OPTION...]`.
fn compile_here(args: &[&str]) -> Result<()> {
    let [compiler, library, output, options @ ..] = args else {
        return Err("kernels: the child needs a compiler, a library and an output".into());
    };
    let compiler = if *compiler == "nvrtc" { Compiler::Nvrtc } else { Compiler::Hiprtc };
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
    let options = options.iter().map(|text| CString::new(*text)).collect::<std::result::Result<Vec<_>, _>>()?;
    let image = RuntimeCompiler { compiler, library }.compile(&source, &headers, &names, &options)?;
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
        let pointers = |texts: &[CString]| texts.iter().map(|text| text.as_ptr()).collect::<Vec<_>>();
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
            image.truncate(image.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
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
            let code = if code == 0 { fill(program, bytes.as_mut_ptr().cast()) } else { code };
            if code == 0 { Ok(bytes) } else { Err(format!("Get{what}: {code}").into()) }
        }
    }
}

/// Finds or fetches a compiler.
fn find_compiler(compiler: Compiler) -> Result<Installed> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("the compilers are fetched on x86-64 Linux only".into());
    }
    match compiler {
        Compiler::Nvrtc => fetch_nvrtc(),
        Compiler::Hiprtc => fetch_hiprtc(),
    }
}

fn fetch_nvrtc() -> Result<Installed> {
    let root = compilers().join(format!("nvrtc-{WHEEL_VERSION}"));
    let folder = root.join("nvidia/cuda_nvrtc/lib");
    let library = folder.join("libnvrtc.so.11.2");
    if !library.exists() {
        let wheels = compilers().join("wheels");
        fs::create_dir_all(&wheels)?;
        let package = format!("{WHEEL}=={WHEEL_VERSION}");
        let download = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "-d", "."];
        succeed(Command::new("python3").args(download).arg(package).current_dir(&wheels))?;
        let wheel = files_in(&wheels)?
            .into_iter()
            .find(|path| file_name(path).contains(WHEEL_VERSION))
            .ok_or("pip downloaded no wheel")?;
        succeed(Command::new("python3").args(["-m", "zipfile", "-e"]).arg(wheel).arg(&root))?;
    }
    Ok(Installed { library, folder })
}

fn fetch_hiprtc() -> Result<Installed> {
    let root = compilers().join(format!("hiprtc-{HIPRTC_VERSION}"));
    let folder = root.join("usr/lib/x86_64-linux-gnu");
    let library = folder.join("libamdhip64.so.5");
    if !library.exists() {
        let version = succeed(Command::new("apt-cache").args(["show", HIPRTC_PACKAGES[0]]))?;
        let wanted = format!("Version: {HIPRTC_VERSION}-");
        if !version.lines().any(|line| line.starts_with(&wanted)) {
            return Err(format!("the distribution's {} is not {HIPRTC_VERSION}", HIPRTC_PACKAGES[0]).into());
        }
        let packages = compilers().join("packages");
        fs::create_dir_all(&packages)?;
        let names = missing_packages()?;
        succeed(Command::new("apt-get").args(["download", "-q"]).args(&names).current_dir(&packages))?;
        for package in files_in(&packages)? {
            succeed(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root))?;
        }
    }
    Ok(Installed { library, folder })
}

/// The HIPRTC packages, and of what they depend on what is not installed.
fn missing_packages() -> Result<Vec<String>> {
    let listing = succeed(
        Command::new("apt-get")
            .args(["install", "-y", "--no-install-recommends", "--print-uris", "-o"])
            .arg("Debug::NoLocking=true")
            .args(HIPRTC_PACKAGES),
    )?;
    // A line is: 'address' name_version_architecture.deb size checksum
    let mut names = HIPRTC_PACKAGES.map(String::from).to_vec();
    for line in listing.lines().filter(|line| line.starts_with('\'')) {
        let name = line.split_whitespace().nth(1).and_then(|file| file.split('_').next());
        names.extend(name.map(String::from));
    }
    names.sort();
    names.dedup();
    Ok(names)
}

/// Runs a command and returns what it printed; its failure is an error that says why.
fn succeed(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!("{command:?}: {} {}", output.status, String::from_utf8_lossy(&output.stderr).trim()).into())
}
