//! Writes the C header anew, or with `--check` compares it.

#[path = "../tests/support/header.rs"]
mod header;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(header::HEADER);
    let text = header::generate();
    if std::env::args().any(|argument| argument == "--check") {
        return match std::fs::read_to_string(&path) {
            Ok(found) if found == text => ExitCode::SUCCESS,
            _ => {
                eprintln!("{} is out of date", path.display());
                ExitCode::FAILURE
            }
        };
    }
    match std::fs::write(&path, text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
