//! Memory that crosses a border: between two devices, of one vendor or of two.
//!
//! [`copy_across`] moves bytes between any two devices through pinned memory. Sharing with
//! OpenGL, DMA-BUF and other users of CUDA is not here yet.

mod across;

pub use across::{Error, Result, copy_across};
