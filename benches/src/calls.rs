use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Calls of one measurement: many against the clock's cost, few against a driver's launch queue,
/// which holds 1024.
pub const CALLS: usize = 256;

/// Least measurements of each way; the table shows their medians.
const LEAST_ROUNDS: usize = 101;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting what each thread asks of it. A program that counts makes it
/// its `#[global_allocator]`.
pub struct CountingAllocator;

fn count() {
    // A thread that is ending is not measured.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is the system allocator's.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(ptr, layout) }
    }
}

/// A way to make a call: what it is called, and a function that makes so many calls.
pub type Way<'a> = (&'static str, Box<dyn FnMut(usize) + 'a>);

/// What one call costs.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// Nanoseconds of the calling thread, the median of all rounds.
    pub nanoseconds: f64,
    /// Heap allocations of the calling thread, the least of all rounds (under
    /// [`CountingAllocator`]; else 0).
    pub allocations: f64,
}

/// Measures each way in turn, over and over for `duration` a way, so that what disturbs the machine
/// disturbs all alike. `before` and `after` surround each measurement and are not part of it.
pub fn measure(
    ways: &mut [Way<'_>],
    duration: Duration,
    mut before: impl FnMut(),
    mut after: impl FnMut(),
) -> Vec<Cost> {
    let mut seen: Vec<(Vec<f64>, u64)> = vec![(Vec::new(), u64::MAX); ways.len()];
    let end = Instant::now() + duration * ways.len() as u32;
    for round in 0.. {
        if round > LEAST_ROUNDS && Instant::now() > end {
            break;
        }
        for ((_, calls), (times, allocations)) in ways.iter_mut().zip(&mut seen) {
            before();
            let allocated = ALLOCATIONS.get();
            let start = Instant::now();
            calls(CALLS);
            let time = start.elapsed();
            let allocated = ALLOCATIONS.get() - allocated;
            after();
            // The first round warms caches and queues.
            if round > 0 {
                times.push(time.as_nanos() as f64 / CALLS as f64);
                *allocations = allocated.min(*allocations);
            }
        }
    }
    seen.into_iter()
        .map(|(mut times, allocations)| {
            times.sort_by(f64::total_cmp);
            Cost {
                nanoseconds: times[times.len() / 2],
                allocations: allocations as f64 / CALLS as f64,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_is_measured_between_before_and_after() {
        let calls = Cell::new(0);
        let open = Cell::new(false);
        let mut ways: Vec<Way<'_>> = vec![
            ("a", Box::new(|n| calls.set(calls.get() + n))),
            ("b", Box::new(|_| assert!(open.get()))),
        ];
        let costs = measure(
            &mut ways,
            Duration::ZERO,
            || assert!(!open.replace(true)),
            || assert!(open.replace(false)),
        );
        assert_eq!(costs.len(), 2);
        assert!(costs.iter().all(|cost| cost.nanoseconds >= 0.0));
        assert!(calls.get() > LEAST_ROUNDS * CALLS);
    }
}
