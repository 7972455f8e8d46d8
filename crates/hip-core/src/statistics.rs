use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What a device has been asked to do so far; a snapshot.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        #[non_exhaustive]
        pub struct Statistics {
            $($(#[$doc])* pub $name: u64,)*
        }

        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: AtomicU64,)*
        }

        impl Counters {
            pub(crate) fn snapshot(&self) -> Statistics {
                // Who sees that something is given back sees what was done before.
                Statistics { $($name: self.$name.load(Ordering::Acquire),)* }
            }
        }
    };
}

counters! {
    /// Device allocations made.
    device_allocations,
    /// Bytes of device memory held now.
    device_bytes,
    /// Device allocations held now.
    device_live,
    /// Pinned allocations made.
    pinned_allocations,
    /// Bytes of pinned memory held now.
    pinned_bytes,
    /// Pinned allocations held now.
    pinned_live,
    /// Streams held now.
    streams_live,
    /// Events created at the vendor's; reused events count once.
    events_created,
    /// Copies enqueued or made from the CPU to the device.
    copies_htod,
    /// Copies enqueued or made from the device to the CPU.
    copies_dtoh,
    /// Copies enqueued or made within the device.
    copies_dtod,
    /// Times a thread was blocked for an event.
    event_waits,
    /// Times a thread was blocked for a whole stream.
    stream_waits,
    /// Kernel launches.
    launches,
    /// Fences handed to the completion worker and not yet released.
    fences_pending,
}

pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.fetch_add(amount, Ordering::Relaxed);
}

pub(crate) fn sub(counter: &AtomicU64, amount: u64) {
    counter.fetch_sub(amount, Ordering::Release);
}
