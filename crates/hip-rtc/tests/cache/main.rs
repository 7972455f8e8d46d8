//! The disk cache with real files, threads and processes.

mod damage;
#[cfg(unix)]
mod folders;
mod limits;
#[cfg(unix)]
mod processes;
mod setup;
mod support;
mod threads;
