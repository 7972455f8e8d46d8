//! The threads that launches and large copies are spread over.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::ProcessStamp;
use crate::fork::ForkOnce;

/// Parts per thread: enough that a thread that was held up does not hold all of them up.
const PARTS_PER_THREAD: u64 = 4;

/// CPU threads this process may use; asked for once, since the answer takes reading files.
pub(super) fn parallelism() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// One pool for the process, built on first use. `None` where one thread is all there is, where
/// the threads could not be started, in the child of a process that had them (they are not forked
/// with it), and under Miri, which has no use for them.
fn pool() -> Option<&'static rayon::ThreadPool> {
    static POOL: ForkOnce<(ProcessStamp, Option<rayon::ThreadPool>)> = ForkOnce::new();
    let (process, pool) = POOL.get_or_init(|| (ProcessStamp::now(), start()))?;
    pool.as_ref().filter(|_| process.is_current())
}

fn start() -> Option<rayon::ThreadPool> {
    let threads = parallelism();
    if threads < 2 || cfg!(miri) {
        return None;
    }
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("hip-host-{index}"))
        .build()
        .inspect_err(|error| tracing::warn!(%error, "no thread pool: launches run on one thread"))
        .ok()
}

/// Calls `body(first, end)` for ranges that cover `0..total` exactly once, on several threads if
/// there are at least two parts of `least` each, and returns when all are done.
///
/// Allocates nothing. A panic of `body` comes out of here once the other parts are done.
pub(super) fn for_ranges(total: u64, least: u64, body: impl Fn(u64, u64) + Sync) {
    let most = total / least.max(1);
    if most >= 2
        && let Some(pool) = pool()
    {
        let parts = most.min(pool.current_num_threads() as u64 * PARTS_PER_THREAD);
        let start = |part: u64| (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
        pool.install(|| {
            let parts = (0..parts as u32).into_par_iter().with_max_len(1);
            parts.for_each(|part| body(start(part.into()), start(u64::from(part) + 1)));
        });
    } else if total > 0 {
        body(0, total);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn ranges_cover_everything_once() {
        for (total, least) in [
            (0, 1),
            (1, 1),
            (2, 1),
            (7, 3),
            (1000, 1),
            (1001, 500),
            (64, 0),
        ] {
            let seen: Vec<AtomicU32> = (0..total).map(|_| AtomicU32::new(0)).collect();
            for_ranges(total, least, |first, end| {
                assert!(first < end);
                for index in first..end {
                    seen[index as usize].fetch_add(1, Ordering::Relaxed);
                }
            });
            assert!(
                seen.iter().all(|count| count.load(Ordering::Relaxed) == 1),
                "{total} {least}"
            );
        }
    }

    #[test]
    fn a_huge_range_does_not_overflow() {
        let sum = std::sync::atomic::AtomicU64::new(0);
        for_ranges(u64::MAX, 1, |first, end| {
            sum.fetch_add(end - first, Ordering::Relaxed);
        });
        assert_eq!(sum.into_inner(), u64::MAX);
    }
}
