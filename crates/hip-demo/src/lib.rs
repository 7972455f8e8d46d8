//! The parts of `hip-demo`: a GStreamer application that sends a video file through the plugin.
//!
//! [`pipeline::play`] decodes a file, uploads it to a device, converts and scales it there,
//! downloads it, and writes it as VP8 in WebM, along with one frame from the middle as PNG.
//! What the application uses of the plugin are its elements' names and properties; it links
//! against nothing of it.

mod decode;
mod error;
pub mod options;
pub mod pipeline;
pub mod plugin;
pub mod progress;
mod still;

pub use error::DemoError;
