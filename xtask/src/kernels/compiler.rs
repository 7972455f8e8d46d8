//! The real compilers, each compilation in a child process: an old HIPRTC aborts its process on
//! input it does not like.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::Result;
use super::child::{ARCHITECTURES, COMPILE};
use super::families::file_name;
use crate::bounded::{verdict, within};
use crate::rocm::Version;

/// How long one compilation may take: the longest was 6 s alone and 29 s on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The two interfaces, which are the same functions under two prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    Nvrtc,
    Hiprtc,
}

impl Api {
    /// Prefix of the functions.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Nvrtc => "nvrtc",
            Self::Hiprtc => "hiprtc",
        }
    }
}

/// Where a compiler comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    /// A Python package of NVIDIA's; the library's path in it.
    Wheel {
        package: &'static str,
        version: &'static str,
        library: &'static str,
    },
    /// Debian's packages of AMD's runtime.
    Debian { runtime: Version },
}

/// A compiler that can be had.
#[derive(Debug)]
pub(super) struct Compiler {
    /// What it is called, here and in the manifest.
    pub(super) label: &'static str,
    pub(super) api: Api,
    pub(super) origin: Origin,
    /// HIPRTC: the architectures it was seen to take, for it cannot be asked and up to 6.4 aborts
    /// on any other. NVRTC: empty, it is asked.
    pub(super) architectures: &'static [&'static str],
}

impl Compiler {
    /// The options for an architecture.
    pub(super) fn options(&self, architecture: &str) -> Vec<String> {
        match self.api {
            Api::Nvrtc => vec![
                format!("--gpu-architecture={architecture}"),
                "--std=c++17".to_owned(),
            ],
            Api::Hiprtc => vec![
                format!("--offload-arch={architecture}"),
                "-O3".to_owned(),
                "-std=c++17".to_owned(),
            ],
        }
    }
}

/// A compiler on disk.
#[derive(Debug)]
pub(super) struct Installed {
    pub(super) compiler: &'static Compiler,
    /// The library to open.
    pub(super) library: PathBuf,
    /// Starts a program with the C library that the compiler needs, if that is not the system's.
    pub(super) run: Option<PathBuf>,
    /// `11.8.89`.
    pub(super) version: String,
    /// Every package that has a part in what it writes, with its exact version.
    pub(super) identity: String,
    /// Where the children write.
    pub(super) scratch: PathBuf,
}

/// What a compilation gives, of which a compiler has some.
#[derive(Debug, Default)]
pub(super) struct Products {
    pub(super) ptx: Option<Vec<u8>>,
    pub(super) cubin: Option<Vec<u8>>,
    pub(super) code_object: Option<Vec<u8>>,
}

/// File names of the products, in a folder that the child is given.
pub(super) const PTX: &str = "ptx";
pub(super) const CUBIN: &str = "cubin";
pub(super) const CODE_OBJECT: &str = "hsaco";

impl Installed {
    /// Compiles a text of the folder of kernels, which holds the headers too.
    pub(super) fn compile(
        &self,
        kernels: &Path,
        text: &str,
        options: &[String],
    ) -> Result<Products> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let output = self
            .scratch
            .join(format!("output-{}-{number}", std::process::id()));
        fs::create_dir_all(&output)?;
        let mut child = self.child(COMPILE)?;
        child
            .arg(&output)
            .arg(text)
            .args(options)
            .current_dir(kernels);
        let products = self.listen(&child, options).map(|_| {
            let read = |name| fs::read(output.join(name)).ok();
            Products {
                ptx: read(PTX),
                cubin: read(CUBIN),
                code_object: read(CODE_OBJECT),
            }
        });
        fs::remove_dir_all(&output)?;
        products
    }

    /// The architectures it knows.
    pub(super) fn architectures(&self) -> Result<Vec<String>> {
        if self.compiler.api == Api::Hiprtc {
            let known = self.compiler.architectures.iter();
            return Ok(known.map(|&name| name.to_owned()).collect());
        }
        let said = self.listen(&self.child(ARCHITECTURES)?, &[])?;
        Ok(said.split_whitespace().map(str::to_owned).collect())
    }

    /// This program as a child that opens the library; further arguments are the caller's.
    fn child(&self, what: &str) -> Result<Command> {
        let own = std::env::current_exe()?;
        let mut command = match &self.run {
            Some(run) => {
                let mut command = Command::new(run);
                command.arg(own);
                command
            }
            None => {
                let mut command = Command::new(own);
                // The compiler opens its companions by name.
                let mut search = self
                    .library
                    .parent()
                    .unwrap_or(Path::new(""))
                    .as_os_str()
                    .to_owned();
                if let Some(inherited) = std::env::var_os("LD_LIBRARY_PATH") {
                    search.push(":");
                    search.push(inherited);
                }
                command.env("LD_LIBRARY_PATH", search);
                command
            }
        };
        command
            .args(["kernels", what, self.compiler.api.prefix()])
            .arg(&self.library)
            // AMD's since 6.4 keeps results below the home folder, and a check would find those.
            .env("AMD_COMGR_CACHE", "0");
        Ok(command)
    }

    /// Runs a child and gives what it prints; its failure is an error with what it said.
    fn listen(&self, child: &Command, options: &[String]) -> Result<String> {
        let output = within(child, LIMIT)
            .output()
            .map_err(|error| format!("timeout: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        verdict(output.status, LIMIT).map_err(|reason| {
            format!(
                "{} ({}) with {}: {reason}\n{said}{}",
                self.compiler.label,
                file_name(&self.library),
                options.join(" "),
                String::from_utf8_lossy(&output.stderr)
            )
        })?;
        Ok(said)
    }
}

/// Does `work` with every job, as many at a time as there are cores; results in the jobs' order.
pub(super) fn in_parallel<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(jobs.len()));
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(index) else {
                        break;
                    };
                    let result = work(job);
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_jobs_order() {
        let jobs: Vec<usize> = (0..100).collect();
        let squares: Vec<usize> = jobs.iter().map(|job| job * job).collect();
        assert_eq!(in_parallel(&jobs, |job| job * job), squares);
        assert!(in_parallel(&[0_u8; 0], |_| ()).is_empty());
    }
}
