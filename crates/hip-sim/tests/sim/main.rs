//! The stand-in libraries, loaded by the loader that loads the real ones.

mod compilers;
mod discovery;
mod faults;
mod images;
mod lab;
mod launches;
mod memory;
mod order;
mod refusals;
