//! What the benches share: arguments, the device, frames in flight, tables.
//!
//! Each bench measures the limit it is held against in the same run and on the same device, and
//! counts work that is done, not work that is enqueued.

mod calls;
mod link;
mod options;
mod source;
mod table;

pub use calls::{CALLS, Cost, CountingAllocator, Way, measure};
pub use link::{Direction, link_rate};
pub use options::Options;
pub use source::{BenchSource, Frames, Memory};
pub use table::Table;

/// What a bench ends with.
pub type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Buffers that every measurement rotates over, so that caches do not help and work overlaps.
pub const ROTATION: usize = 8;

/// Bytes and seconds of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// Bytes moved in each direction that the measurement is about.
    pub bytes: u64,
    /// Frames, copies or launches.
    pub count: u64,
    /// From the first to the end of the last.
    pub seconds: f64,
}

impl Rate {
    /// 10^9 bytes a second.
    pub fn gigabytes_per_second(&self) -> f64 {
        self.bytes as f64 / self.seconds / 1e9
    }

    /// Frames, copies or launches a second.
    pub fn per_second(&self) -> f64 {
        self.count as f64 / self.seconds
    }
}
