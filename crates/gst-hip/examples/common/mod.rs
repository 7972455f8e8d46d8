//! What the examples share: the command line, the device, and how they end.

use std::fmt;
use std::process::ExitCode;

use gst_hip::{DeviceSelector, HipDevice, HipKernelModule, KernelError};

/// Why an example ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line means nothing; exit code 2.
    Usage(String),
    /// There is no such device; exit code 3.
    NoDevice(String),
    /// Nothing here compiles kernels for the device; exit code 4.
    NoCompiler(String),
    /// Anything else, a wrong result among it; exit code 1.
    Failed(String),
}

/// What an example gives.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(text)
        | Failure::NoDevice(text)
        | Failure::NoCompiler(text)
        | Failure::Failed(text)) = self;
        f.write_str(text)
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Failure {
        match error {
            KernelError::CompilerMissing { .. } => Failure::NoCompiler(error.to_string()),
            error => Failure::Failed(error.to_string()),
        }
    }
}

/// Errors that all mean the same to whoever runs an example.
macro_rules! failed {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Failure {
                Failure::Failed(error.to_string())
            }
        })*
    };
}
failed!(
    gst_hip::Error,
    gst_hip::KernelMemoryError,
    gst::glib::BoolError,
    gst::glib::Error,
    gst::StateChangeError
);

/// Runs an example and turns its end into an exit code.
pub(crate) fn finish(result: Result<()>) -> ExitCode {
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    eprintln!("{failure}");
    ExitCode::from(match failure {
        Failure::Failed(_) => 1,
        Failure::Usage(_) => 2,
        Failure::NoDevice(_) => 3,
        Failure::NoCompiler(_) => 4,
    })
}

/// The values of `--NAME VALUE` pairs; `names` are those that there are.
pub(crate) struct Options(Vec<(String, String)>);

impl Options {
    /// Reads the command line. `--help` prints `about` and the options, and gives `None`.
    pub(crate) fn from_args(about: &str, names: &[&str]) -> Result<Option<Options>> {
        let mut pairs = Vec::new();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if argument == "--help" {
                println!("{about}\n\nOptions:");
                names.iter().for_each(|name| println!("  --{name} VALUE"));
                return Ok(None);
            }
            let name = argument
                .strip_prefix("--")
                .filter(|name| names.contains(name));
            let name = name.ok_or_else(|| {
                Failure::Usage(format!("unknown argument {argument:?}; see --help"))
            })?;
            let value = arguments
                .next()
                .ok_or_else(|| Failure::Usage(format!("--{name} needs a value")))?;
            pairs.push((name.to_owned(), value));
        }
        Ok(Some(Options(pairs)))
    }

    /// The values given for `name`, as `T`.
    pub(crate) fn all<T: std::str::FromStr<Err: fmt::Display>>(
        &self,
        name: &str,
    ) -> Result<Vec<T>> {
        let given = self.0.iter().filter(|(known, _)| known == name);
        given
            .map(|(_, value)| {
                value
                    .parse()
                    .map_err(|error| Failure::Usage(format!("--{name} {value}: {error}")))
            })
            .collect()
    }

    /// The last value given for `name`, else `default`.
    pub(crate) fn last<T: std::str::FromStr<Err: fmt::Display>>(
        &self,
        name: &str,
        default: T,
    ) -> Result<T> {
        Ok(self.all(name)?.pop().unwrap_or(default))
    }
}

/// Opens the device asked for by `--device`, else the one that `GST_HIP_DEVICE` names, else the
/// best, and says which it is.
#[allow(dead_code)] // each example uses its part
pub(crate) fn open_device(options: &Options) -> Result<HipDevice> {
    let default = gst_hip::env::default_selector().map_err(|e| Failure::Usage(e.to_string()))?;
    let selector: DeviceSelector = options.last("device", default)?;
    let device = gst_hip::env::open_device(&selector)
        .map_err(|error| Failure::NoDevice(format!("no device for {selector}: {error}")))?;
    println!("device: {}", device.info());
    if let Some(reason) = device.fallback_reason() {
        println!("        no GPU: {reason}");
    }
    Ok(device)
}

/// Compiles a kernel text and says how long it took, or how it was found.
#[allow(dead_code)] // as above
pub(crate) fn compile(device: &HipDevice, text: &str) -> Result<HipKernelModule> {
    let start = std::time::Instant::now();
    let module = HipKernelModule::from_source(device, text, &[])?;
    println!(
        "kernel: ready after {:.1} ms",
        start.elapsed().as_secs_f64() * 1e3
    );
    Ok(module)
}
