use smallvec::SmallVec;

use crate::worker::CompletionWorker;
use crate::{Event, Result};

/// Resources that work in flight still needs: buffers, foreign objects, anything.
///
/// Hand it to [`crate::Stream::keep_alive`] or [`FenceData::release_after`]; the calling thread does
/// not wait. The resources are dropped, in the order they were added, on the completion worker's
/// thread of the device.
#[derive(Default)]
pub struct FenceData {
    resources: SmallVec<[Box<dyn Release>; 4]>,
}

trait Release: Send {
    fn release(self: Box<Self>);
}

struct Resource<T>(T);

impl<T: Send> Release for Resource<T> {
    fn release(self: Box<Self>) {
        drop(self.0);
    }
}

struct Callback<F>(F);

impl<F: FnOnce() + Send> Release for Callback<F> {
    fn release(self: Box<Self>) {
        (self.0)();
    }
}

impl FenceData {
    /// Nothing yet.
    pub fn new() -> FenceData {
        FenceData::default()
    }

    /// Adds something that is dropped when the work is done.
    pub fn push<T: Send + 'static>(&mut self, resource: T) {
        self.resources.push(Box::new(Resource(resource)));
    }

    /// Adds a function that is called when the work is done (or has failed).
    pub fn on_complete(&mut self, function: impl FnOnce() + Send + 'static) {
        self.resources.push(Box::new(Callback(function)));
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Releases the resources once every event is done, on the worker of the first event's
    /// device. With no event they are released at once, here.
    ///
    /// # Errors
    /// The worker's thread could not be started: the events are then waited for on this thread
    /// and the resources released.
    pub fn release_after(self, events: impl IntoIterator<Item = Event>) -> Result<()> {
        let events: SmallVec<[Event; 4]> = events.into_iter().collect();
        let Some(device) = events.first().map(|event| event.device().clone()) else {
            return Ok(());
        };
        CompletionWorker::submit(&device, events, self)
    }
}

impl Drop for FenceData {
    fn drop(&mut self) {
        for resource in self.resources.drain(..) {
            // A panic in somebody's destructor must not end the worker's thread.
            let released = std::panic::AssertUnwindSafe(|| resource.release());
            if std::panic::catch_unwind(released).is_err() {
                tracing::error!("a resource panicked while it was released");
            }
        }
    }
}

impl std::fmt::Debug for FenceData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FenceData({} resources)", self.resources.len())
    }
}
