//! Launches, and whether the calling thread must have a context current for one.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use super::table::Code;
use super::{Dialect, Driver};
use crate::{ContextHandle, FunctionHandle, LaunchConfig, Result, StreamHandle};

/// `CUDA_ERROR_INVALID_CONTEXT` and `CUDA_ERROR_INVALID_HANDLE`: what a driver says that looks for
/// the launch's context on the thread and finds none, or another.
const WANTS_A_CONTEXT: [Code; 2] = [201, 400];

/// Whether a driver takes a launch's context from the thread, or from the stream.
///
/// NVIDIA's driver 580 does the latter, which spares a thread without the context 35 to 45 ns for
/// push and pop, and one that has it 8 ns to find out. Older ones are not known to: the first launch
/// tries it, and what it shows is kept for all that follow.
#[derive(Debug)]
pub(super) struct ContextNeed(AtomicBool);

impl ContextNeed {
    pub(super) fn new(is_needed: bool) -> ContextNeed {
        ContextNeed(AtomicBool::new(is_needed))
    }

    /// Makes a launch on `stream`. `launch(false)` makes it with the thread as it is,
    /// `launch(true)` with the context current.
    #[inline]
    fn launch(
        &self,
        stream: StreamHandle,
        mut launch: impl FnMut(bool) -> Result<Code>,
    ) -> Result<Code> {
        // The null stream is every context's: only the thread tells which one is meant.
        if stream.is_null() || self.0.load(Ordering::Relaxed) {
            return launch(true);
        }
        match launch(false)? {
            refused if WANTS_A_CONTEXT.contains(&refused) => self.launch_again(launch),
            code => Ok(code),
        }
    }

    /// A refusal was due to the thread if the launch succeeds with the context current.
    #[cold]
    fn launch_again(&self, mut launch: impl FnMut(bool) -> Result<Code>) -> Result<Code> {
        let code = launch(true)?;
        if code == 0 {
            tracing::debug!("the driver launches with a current context only");
            self.0.store(true, Ordering::Relaxed);
        }
        Ok(code)
    }
}

/// Under the contract of [`crate::Backend`]'s unsafe calls.
impl<D: Dialect> Driver<D> {
    #[inline]
    unsafe fn launch_code(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Code {
        let ([gx, gy, gz], [bx, by, bz]) = (config.grid_dim, config.block_dim);
        let (shared, none) = (config.shared_mem_bytes, std::ptr::null_mut());
        let (function, stream) = (function.as_raw(), stream.as_raw());
        let launch = self.table.launch_kernel.call;
        // SAFETY: the vendor's documented signature; handles and arguments are valid by the
        // caller's promise.
        unsafe {
            launch(
                function,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shared,
                stream,
                args.as_mut_ptr(),
                none,
            )
        }
    }

    /// See [`crate::Backend::launch_kernel`].
    pub(super) unsafe fn launch_in_current(
        &self,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        let call = self.table.launch_kernel.name;
        self.alive(call)?;
        // SAFETY: the caller's.
        self.check(call, unsafe {
            self.launch_code(function, config, stream, args)
        })
    }

    /// See [`crate::Backend::launch_on_stream`].
    #[inline]
    pub(super) unsafe fn launch_in(
        &self,
        context: ContextHandle,
        function: FunctionHandle,
        config: &LaunchConfig,
        stream: StreamHandle,
        args: &mut [*mut c_void],
    ) -> Result<()> {
        let call = self.table.launch_kernel.name;
        self.alive(call)?;
        let code = self.context_need.launch(stream, |with_context| {
            if !with_context {
                // SAFETY: the caller's; a driver that wants a context current refuses the launch.
                return Ok(unsafe { self.launch_code(function, config, stream, args) });
            }
            let token = self.dialect_result(self.dialect.push(context))?;
            // SAFETY: the caller's.
            let code = unsafe { self.launch_code(function, config, stream, args) };
            if let Err(error) = self.dialect_result(self.dialect.pop(token)) {
                // The launch is made or not, whatever becomes of the thread's context.
                tracing::warn!(%error, "previous context not restored");
            }
            Ok(code)
        })?;
        self.check(call, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver's answers to launches with and without a context, and what it was asked.
    struct Answers {
        need: ContextNeed,
        without: Code,
        with: Code,
        asked: Vec<bool>,
    }

    impl Answers {
        fn new(is_needed: bool, without: Code, with: Code) -> Answers {
            Answers {
                need: ContextNeed::new(is_needed),
                without,
                with,
                asked: Vec::new(),
            }
        }

        /// Launches; gives the code, and how the driver was asked.
        fn launch(&mut self, stream: StreamHandle) -> (Code, Vec<bool>) {
            let code = self.need.launch(stream, |with_context| {
                self.asked.push(with_context);
                Ok(if with_context {
                    self.with
                } else {
                    self.without
                })
            });
            (code.unwrap(), std::mem::take(&mut self.asked))
        }
    }

    fn stream() -> StreamHandle {
        StreamHandle::from_raw(std::ptr::without_provenance_mut(8))
    }

    #[test]
    fn a_driver_that_needs_no_context_is_given_none() {
        let mut driver = Answers::new(false, 0, 0);
        assert_eq!(driver.launch(stream()), (0, vec![false]));
        // The null stream has no context of its own.
        assert_eq!(driver.launch(StreamHandle::NULL), (0, vec![true]));
        assert_eq!(driver.launch(stream()), (0, vec![false]));
    }

    #[test]
    fn a_driver_that_needs_one_is_asked_without_once() {
        for code in WANTS_A_CONTEXT {
            let mut driver = Answers::new(false, code, 0);
            assert_eq!(driver.launch(stream()), (0, vec![false, true]));
            assert_eq!(driver.launch(stream()), (0, vec![true]));
        }
        let mut amd = Answers::new(true, 0, 0);
        assert_eq!(amd.launch(stream()), (0, vec![true]));
    }

    #[test]
    fn other_failures_show_nothing() {
        let mut driver = Answers::new(false, 1, 0);
        assert_eq!(driver.launch(stream()), (1, vec![false]));
        // A handle that is wrong with a context too.
        let mut driver = Answers::new(false, 400, 400);
        for _ in 0..2 {
            assert_eq!(driver.launch(stream()), (400, vec![false, true]));
        }
    }

    #[test]
    fn a_context_that_cannot_be_made_current_is_the_error() {
        let need = ContextNeed::new(true);
        let failed =
            || crate::HipError::new(crate::Vendor::Nvidia, "cuCtxPushCurrent_v2", 4, "gone");
        let error = need.launch(stream(), |_| Err(failed())).unwrap_err();
        assert_eq!((error.call, error.code), ("cuCtxPushCurrent_v2", 4));
    }
}
