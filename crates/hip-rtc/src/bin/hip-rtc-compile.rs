//! `hip-rtc-compile`: compiles a kernel text with a compiler that is named, for an architecture that
//! is named. No device is needed. Images are built ahead of time with it, and tests drive vendors'
//! compilers through it: one that ends the process ends this one only.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use hip_dispatch::{LoaderConfig, RtcLibrary};
use hip_rtc::{KernelSource, compile_for};

const HELP: &str = "\
Usage: hip-rtc-compile --nvrtc FILE|--hiprtc FILE|--host [--arch ARCH] [--name NAME]
                       [--header NAME=FILE]... [-o FILE] INPUT [-- OPTION...]

Compiles INPUT, a CUDA/HIP C++ text. The log goes to the standard error output; the exit code is 1 if
the text does not compile.

  --nvrtc FILE        compile with this NVRTC, for sm_N (a CUBIN) or compute_N (PTX)
  --hiprtc FILE       compile with this HIPRTC, for gfxN; it is given no architecture that its
                      version was not seen to take, because it would end the process
  --host              compile with the C++ compiler for this CPU
  --arch ARCH         the architecture; without it, those that the compiler knows are listed
  --name NAME         what the compiler calls the text (default: the input's file name)
  --header NAME=FILE  a header in memory
  -o FILE             where the image goes; without it, nowhere
  OPTION              options for the compiler, in NVRTC's or clang's spelling
";

/// What to compile with.
enum Compiler {
    Nvrtc(PathBuf),
    Hiprtc(PathBuf),
    Host,
}

/// The command line.
#[derive(Default)]
struct Arguments {
    compiler: Option<Compiler>,
    architecture: Option<String>,
    name: Option<String>,
    /// Name and file.
    headers: Vec<(String, PathBuf)>,
    output: Option<PathBuf>,
    input: Option<PathBuf>,
    options: Vec<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match parse(arguments).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: Vec<String>) -> Result<Arguments, Box<dyn Error>> {
    let mut parsed = Arguments::default();
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--nvrtc" => parsed.compiler = Some(Compiler::Nvrtc(value()?.into())),
            "--hiprtc" => parsed.compiler = Some(Compiler::Hiprtc(value()?.into())),
            "--host" => parsed.compiler = Some(Compiler::Host),
            "--arch" => parsed.architecture = Some(value()?),
            "--name" => parsed.name = Some(value()?),
            "-o" => parsed.output = Some(value()?.into()),
            "--header" => {
                let header = value()?;
                let (name, file) = header.split_once('=').ok_or("--header needs NAME=FILE")?;
                parsed.headers.push((name.to_owned(), file.into()));
            }
            "--" => parsed.options.extend(rest.by_ref()),
            option if option.starts_with('-') => {
                return Err(format!("unknown argument {option}; see --help").into());
            }
            input if parsed.input.is_none() => parsed.input = Some(input.into()),
            more => return Err(format!("one input at a time, not {more} too").into()),
        }
    }
    Ok(parsed)
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let compiler = arguments
        .compiler
        .as_ref()
        .ok_or("which compiler? see --help")?;
    let library = match compiler {
        Compiler::Nvrtc(file) => {
            let config = LoaderConfig::default().nvrtc(file);
            Some(RtcLibrary::open_nvrtc(&config, &[])?)
        }
        Compiler::Hiprtc(file) => {
            let config = LoaderConfig::default().hiprtc(file);
            Some(RtcLibrary::open_hiprtc(&config, None)?)
        }
        Compiler::Host => None,
    };
    if let (Some(library), None) = (&library, &arguments.architecture) {
        println!("{library}: {}", library.architectures().join(" "));
        return Ok(());
    }
    let input = arguments.input.as_ref().ok_or("which input? see --help")?;
    let read = |file: &PathBuf| {
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
    };
    let text = read(input)?;
    let headers: Vec<(&str, String)> = arguments
        .headers
        .iter()
        .map(|(name, file)| Ok((name.as_str(), read(file)?)))
        .collect::<Result<_, String>>()?;
    let file_name = input.file_name().unwrap_or_default().to_string_lossy();
    let mut source =
        KernelSource::new(&text).named(arguments.name.as_deref().unwrap_or(&file_name));
    for (name, text) in &headers {
        source = source.header(name, text);
    }
    let options: Vec<&str> = arguments.options.iter().map(String::as_str).collect();
    let (image, log) = match (&library, &arguments.architecture) {
        (Some(library), Some(architecture)) => {
            let compiled = compile_for(library, architecture, &source, &options)?;
            (compiled.image, compiled.log)
        }
        _ => {
            let built = hip_rtc::host::compile(&source, &options)?;
            (built.object, built.log)
        }
    };
    if !log.is_empty() {
        eprintln!("{log}");
    }
    if let Some(file) = &arguments.output {
        std::fs::write(file, image).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}
