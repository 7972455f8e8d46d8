//! What `tests/amd_runtime.rs` starts under each version of AMD's runtime: loads it through the
//! crate's loader in one way or another, prints what it saw as `name=value` lines, and ends as a
//! program does, by returning from `main`, so that the runtime's own clean-up runs.
//!
//! `amd-runtime-probe HOW PATH [SYMBOL...]`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use hip_dispatch::{Backend, DeviceSelector, LoaderConfig, Runtime, SelectError, Vendor};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (Some(how), Some(path)) = (arguments.first(), arguments.get(1)) else {
        eprintln!("usage: amd-runtime-probe HOW PATH [SYMBOL...]");
        return ExitCode::from(2);
    };
    let path = Path::new(path);
    match how.as_str() {
        "symbols" => symbols(path, &arguments[2..]),
        "open" => open_only(path),
        "file" => report(&global(file_config(path))),
        "folder" => report(&global(folder_config(path))),
        "unused" => print_selected(&global(file_config(path)), "host"),
        "dropped" => dropped(path),
        "again" => again(path),
        "thread" => report(&on_a_thread(|| global(file_config(path)))),
        "thread-dropped" => report(&on_a_thread(|| Runtime::new(file_config(path)))),
        _ => {
            eprintln!("amd-runtime-probe: unknown way {how}");
            return ExitCode::from(2);
        }
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    line("mapped", maps.contains("libamdhip64"));
    line("end", "main");
    ExitCode::SUCCESS
}

fn line(name: &str, value: impl std::fmt::Display) {
    println!("{name}={value}");
}

fn list<T: ToString>(values: impl IntoIterator<Item = T>) -> String {
    let texts: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    texts.join(" ")
}

/// AMD by one file and NVIDIA not at all, whatever is installed.
fn file_config(file: &Path) -> LoaderConfig {
    let mut config = LoaderConfig::default();
    config.amd_runtime = Some(file.to_owned());
    config.cuda_driver = Some(PathBuf::from("libno-cuda-here.so.1"));
    config
}

/// A folder is searched before the system's.
fn folder_config(folder: &Path) -> LoaderConfig {
    let mut config = LoaderConfig::default();
    config.search_dirs = vec![folder.to_owned()];
    config.cuda_driver = Some(PathBuf::from("libno-cuda-here.so.1"));
    config
}

/// The process's runtime, as a program has it: alive to the end.
fn global(config: LoaderConfig) -> Arc<Runtime> {
    Arc::clone(Runtime::global_with(config).0)
}

/// Everything that the crate says of AMD.
fn report(runtime: &Runtime) {
    match runtime.backend(Vendor::Amd) {
        Ok(backend) => print_backend(backend),
        Err(error) => {
            line("load_error", &error);
            line("missing_required", list(error.missing_symbols));
        }
    }
    line(
        "devices",
        match runtime.devices(Vendor::Amd) {
            Ok(devices) => devices.len().to_string(),
            Err(error) => error.to_string(),
        },
    );
    match runtime.select(&DeviceSelector::Vendor(Vendor::Amd)) {
        Ok(selected) => line("amd", selected.info),
        Err(error) => {
            let no_device = matches!(error, SelectError::NoDevice { .. });
            line("amd_error", error.to_string().replace('\n', " "));
            line("amd_error_is_no_device", no_device);
        }
    }
    print_selected(runtime, "auto");
    let discovery = runtime.discover();
    for report in &discovery.vendors {
        if report.vendor == Vendor::Amd {
            let attempts = report.attempts.iter().map(|attempt| attempt.file.display());
            line("attempts", list(attempts));
            if let Some(versions) = report.versions {
                line("discovered_runtime", versions.runtime);
            }
        }
    }
}

fn print_backend(backend: &Arc<dyn Backend>) {
    line(
        "library",
        list(backend.libraries().iter().map(|l| l.path.display())),
    );
    line("missing", list(backend.missing_symbols()));
    match backend.versions() {
        Ok(versions) => {
            line("driver_version", versions.driver);
            line("runtime_version", versions.runtime);
        }
        Err(error) => line("version_error", error),
    }
    match backend.device_count() {
        Ok(count) => line("count", count),
        Err(error) => {
            line("count_call", error.call);
            line("count_code", error.code);
            line("count_is_no_device", error.is_no_device());
        }
    }
    match backend.device_info(0) {
        Ok(info) => line("info", info),
        Err(error) => line("info_is_no_device", error.is_no_device()),
    }
}

fn print_selected(runtime: &Runtime, selector: &str) {
    let parsed = selector.parse().unwrap_or_default();
    match runtime.select(&parsed) {
        Ok(selected) => {
            line(selector, selected.info.vendor);
            if let Some(reason) = selected.fallback {
                line("fallback", reason.replace('\n', " "));
            }
        }
        Err(error) => line("select_error", error),
    }
}

/// Which of `names` the library exports.
fn symbols(file: &Path, names: &[String]) {
    let library = open(file);
    for name in names {
        // SAFETY: only whether it is there is asked; the address is not used.
        let found = unsafe { library.get::<*const ()>(name.as_bytes()) };
        line(name, found.is_ok());
    }
}

/// The library is opened and nothing in it is called.
fn open_only(file: &Path) {
    // Never closed, as at the end of a program that uses it.
    std::mem::forget(open(file));
}

fn open(file: &Path) -> libloading::Library {
    // SAFETY: AMD's initialisers are meant to run in any process that opens the library.
    unsafe { libloading::Library::new(file) }.expect("the library opens")
}

/// The runtime object is dropped before the end.
fn dropped(file: &Path) {
    let runtime = Runtime::new(file_config(file));
    print_selected(&runtime, "auto");
    drop(runtime);
}

/// Two runtime objects, one after the other and then both.
fn again(file: &Path) {
    dropped(file);
    let (first, second) = (
        Runtime::new(file_config(file)),
        Runtime::new(file_config(file)),
    );
    print_selected(&first, "auto");
    print_selected(&second, "auto");
    drop(first);
    print_selected(&second, "amd");
}

/// Loads AMD's runtime on a thread that has ended when this returns.
fn on_a_thread(make: impl FnOnce() -> Arc<Runtime> + Send) -> Arc<Runtime> {
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let runtime = make();
            print_selected(&runtime, "auto");
            runtime
        });
        loading.join().expect("the thread ends well")
    })
}
