//! `cargo xtask kernels --compilers`: every family by every real compiler for every architecture
//! that it knows.

use std::path::Path;
use std::time::Instant;

use super::Result;
use super::compiler::{Api, Installed, Products, in_parallel};
use super::families::{Family, families};
use super::fetch::{COMPILERS, Missing, fetch};

/// One line of the table: all families, one after the other.
struct Job<'a> {
    installed: &'a Installed,
    architecture: String,
}

/// Compiles everything and prints a table; gives the compilers that are here, and a line for each
/// that cannot be had.
pub(super) fn run(target: &Path, kernels: &Path) -> Result<(Vec<Installed>, Vec<String>)> {
    let start = Instant::now();
    let families = families(kernels)?;
    let names: Vec<&str> = families.iter().map(|family| &*family.name).collect();
    let (installed, skipped) = fetch_all(target)?;
    let mut jobs = Vec::new();
    for installed in &installed {
        for architecture in installed.architectures()? {
            jobs.push(Job {
                installed,
                architecture,
            });
        }
    }
    let results = in_parallel(&jobs, |job| {
        let start = Instant::now();
        let done = families.iter().try_for_each(|family| {
            compile(job, kernels, family).map_err(|error| error.to_string())
        });
        done.map(|()| start.elapsed().as_millis())
    });
    println!("compiler    version  architecture  families  ms");
    let mut failures = Vec::new();
    for (job, result) in jobs.iter().zip(results) {
        let outcome = match result {
            Ok(milliseconds) => milliseconds.to_string(),
            Err(error) => {
                failures.push(error);
                "FAILED".to_owned()
            }
        };
        println!(
            "{:<11} {:<8} {:<13} {:<9} {outcome}",
            job.installed.compiler.label,
            job.installed.version,
            job.architecture,
            names.join(","),
        );
    }
    println!(
        "kernels: {} compilers, {} architectures, {} failed, {} s",
        installed.len(),
        jobs.len(),
        failures.len(),
        start.elapsed().as_secs()
    );
    drop(jobs);
    match failures.is_empty() {
        true => Ok((installed, skipped)),
        false => Err(failures.join("\n").into()),
    }
}

/// The compilers that are here, and a line for each that cannot be.
fn fetch_all(target: &Path) -> Result<(Vec<Installed>, Vec<String>)> {
    let mut installed = Vec::new();
    let mut skipped = Vec::new();
    for compiler in &COMPILERS {
        match fetch(compiler, target) {
            Ok(found) => installed.push(found),
            Err(Missing::Here(reason)) => {
                let line = format!("{}: not run: {reason}", compiler.label);
                println!("{line}");
                skipped.push(line);
            }
            Err(Missing::Failed(error)) => {
                return Err(format!("{}: {error}", compiler.label).into());
            }
        }
    }
    Ok((installed, skipped))
}

/// Compiles a whole family: for NVIDIA to PTX and, with the same call, to machine code.
fn compile(job: &Job<'_>, kernels: &Path, family: &Family) -> Result<()> {
    let compiler = job.installed.compiler;
    let options = compiler.options(&job.architecture);
    let products = job.installed.compile(kernels, &family.text(), &options)?;
    complete(compiler.api, &products, &family.entries).map_err(|lack| {
        format!(
            "{} for {}: {}: {lack}",
            compiler.label, job.architecture, family.name
        )
        .into()
    })
}

/// Whether every product is there and holds every entry point.
pub(super) fn complete(
    api: Api,
    products: &Products,
    entries: &[String],
) -> std::result::Result<(), String> {
    let wanted = match api {
        Api::Nvrtc => vec![("PTX", &products.ptx), ("CUBIN", &products.cubin)],
        Api::Hiprtc => vec![("code object", &products.code_object)],
    };
    for (what, image) in wanted {
        let Some(image) = image else {
            return Err(format!("no {what}"));
        };
        let begins = if what == "PTX" { "//" } else { "\x7fELF" };
        if !image.starts_with(begins.as_bytes()) {
            return Err(format!("the {what} is none"));
        }
        for entry in entries {
            if !image
                .windows(entry.len())
                .any(|bytes| bytes == entry.as_bytes())
            {
                return Err(format!("the {what} lacks {entry}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_without_an_entry_point_is_noticed() {
        let entries = ["blend_a".to_owned(), "blend_b".to_owned()];
        let image = |text: &str| Some(text.as_bytes().to_vec());
        let mut products = Products {
            ptx: image("//\n.entry blend_a .entry blend_b"),
            cubin: image("\x7fELF blend_a"),
            code_object: None,
        };
        let check = |products: &Products, api| complete(api, products, &entries).unwrap_err();
        assert_eq!(check(&products, Api::Nvrtc), "the CUBIN lacks blend_b");
        assert_eq!(check(&products, Api::Hiprtc), "no code object");
        products.code_object = image("blend_a blend_b");
        assert_eq!(check(&products, Api::Hiprtc), "the code object is none");
        products.code_object = image("\x7fELF blend_a blend_b");
        assert_eq!(complete(Api::Hiprtc, &products, &entries), Ok(()));
    }
}
