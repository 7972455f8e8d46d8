use std::ops::Deref;

use hip_core::{Device, Stream};

use crate::Result;

/// A [`Stream`] whose [`HipStream::synchronize`] says with a bool how it went. It can stand wherever a
/// `&Stream` is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HipStream(Stream);

impl HipStream {
    /// A stream of default priority that does not wait for the default stream.
    ///
    /// # Errors
    /// The vendor call fails.
    pub fn new(device: &Device) -> Result<HipStream> {
        Ok(HipStream(Stream::new(device)?))
    }

    /// Blocks the calling thread until all work on the stream is done. `false`, with the reason in
    /// the log, if work failed or the device is lost.
    #[must_use = "the work may have failed"]
    pub fn synchronize(&self) -> bool {
        let done = self.try_synchronize();
        if let Err(error) = &done {
            tracing::error!(%error, "work on a stream failed");
        }
        done.is_ok()
    }

    /// As [`HipStream::synchronize`], with the reason.
    ///
    /// # Errors
    /// Work failed, or the device is lost.
    pub fn try_synchronize(&self) -> Result<()> {
        Ok(self.0.synchronize()?)
    }
}

impl Deref for HipStream {
    type Target = Stream;

    fn deref(&self) -> &Stream {
        &self.0
    }
}

impl AsRef<Stream> for HipStream {
    fn as_ref(&self) -> &Stream {
        &self.0
    }
}

impl From<Stream> for HipStream {
    fn from(stream: Stream) -> HipStream {
        HipStream(stream)
    }
}

impl From<HipStream> for Stream {
    fn from(stream: HipStream) -> Stream {
        stream.0
    }
}
