//! `hip-demo`: a video file through the plugin, to a WebM and a PNG.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong command line. Progress and errors go to standard error,
//! the summary to standard output.

use std::process::ExitCode;

use hip_demo::DemoError;
use hip_demo::options::{HELP, Options};
use hip_demo::pipeline::{self, Report};
use hip_demo::progress::Line;

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("hip-demo: {error}");
            return ExitCode::from(2);
        }
    };
    match demo(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hip-demo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn demo(options: &Options) -> Result<(), DemoError> {
    let mut line = Line::new(options.quiet);
    let played = pipeline::play(options, &mut |progress| line.show(progress));
    line.clear();
    let report = played?;
    if !options.quiet {
        print(&report);
    }
    Ok(())
}

fn print(report: &Report) {
    let (width, height) = report.size;
    println!("{} -> {width}x{height}", report.input);
    for (element, device) in &report.elements {
        println!("  {element:<16} on {device}");
    }
    let seconds = report.elapsed.as_secs_f64();
    println!(
        "{} frames in {seconds:.2} s: {:.1} frames/s, with decoding and encoding on the CPU",
        report.frames,
        report.frames as f64 / seconds.max(f64::EPSILON)
    );
    for (file, bytes) in &report.files {
        println!("wrote {} ({} kB)", file.display(), bytes.div_ceil(1000));
    }
}
