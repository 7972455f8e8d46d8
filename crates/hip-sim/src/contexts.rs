//! Devices and contexts.
//!
//! A context's handle is its number in disguise; on AMD it is the device's, and always current.

use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;

use hip_dispatch::Backend;

use crate::code::{self, Result};
use crate::sim::Sim;
use crate::state::Kind;

/// What handles are counted from, so that they look like addresses.
const FIRST_HANDLE: usize = 0x5100_0000;
/// From one handle to the next.
const HANDLE_STEP: usize = 0x100;

thread_local! {
    /// NVIDIA: the thread's contexts, the current one last. Without a destructor, so that it is
    /// there as long as the thread is: programs drop objects in their own locals' destructors.
    static STACK: RefCell<ManuallyDrop<Vec<usize>>> =
        const { RefCell::new(ManuallyDrop::new(Vec::new())) };
    /// AMD: the thread's device.
    static DEVICE: Cell<u32> = const { Cell::new(0) };
}

/// The handle of a context by its number.
pub fn handle(context: usize) -> usize {
    FIRST_HANDLE + context * HANDLE_STEP
}

fn context_of(handle: usize) -> Result<usize> {
    let offset = handle
        .checked_sub(FIRST_HANDLE)
        .ok_or(code::INVALID_CONTEXT)?;
    match offset % HANDLE_STEP {
        0 => Ok(offset / HANDLE_STEP),
        _ => Err(code::INVALID_CONTEXT),
    }
}

impl Sim {
    /// Checks an ordinal.
    pub fn device(&self, ordinal: i32) -> Result<u32> {
        let ordinal = u32::try_from(ordinal).map_err(|_| code::INVALID_DEVICE)?;
        if ordinal < self.devices() {
            Ok(ordinal)
        } else {
            Err(code::INVALID_DEVICE)
        }
    }

    /// The context that is current on this thread and alive.
    pub fn current(&self) -> Result<usize> {
        if self.profile.is_amd() {
            return Ok(DEVICE.with(Cell::get) as usize);
        }
        let context = STACK.with_borrow(|stack| stack.last().copied());
        let context = context.ok_or(code::INVALID_CONTEXT)?;
        match self.state().contexts[context].retained {
            0 => Err(code::CONTEXT_IS_DESTROYED),
            _ => Ok(context),
        }
    }

    /// The device of the current context.
    pub fn current_device(&self) -> Result<u32> {
        let context = self.current()?;
        Ok(self.state().contexts[context].device)
    }

    /// `hipSetDevice`.
    pub fn set_device(&self, ordinal: i32) -> Result<()> {
        let device = self.device(ordinal)?;
        DEVICE.with(|current| current.set(device));
        Ok(())
    }

    /// Checks a context's handle.
    pub fn context(&self, handle: usize) -> Result<usize> {
        let context = context_of(handle)?;
        match self.state().contexts.get(context) {
            Some(found) if found.retained > 0 => Ok(context),
            _ => Err(code::INVALID_CONTEXT),
        }
    }

    /// `cuCtxPushCurrent`.
    pub fn push(&self, handle: usize) -> Result<()> {
        let context = self.context(handle)?;
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(())
    }

    /// `cuCtxPopCurrent`: the handle of what was current.
    pub fn pop(&self) -> Result<usize> {
        let popped = STACK.with_borrow_mut(|stack| stack.pop());
        popped.map(self::handle).ok_or(code::INVALID_CONTEXT)
    }

    /// `cuCtxSetCurrent`: replaces what is current; 0 takes it away.
    pub fn set_current(&self, handle: usize) -> Result<()> {
        let context = if handle == 0 {
            None
        } else {
            Some(self.context(handle)?)
        };
        STACK.with_borrow_mut(|stack| {
            stack.pop();
            stack.extend(context);
        });
        Ok(())
    }

    /// `cuCtxGetCurrent`: 0 if none is.
    pub fn get_current(&self) -> usize {
        STACK.with_borrow(|stack| stack.last().map_or(0, |context| handle(*context)))
    }

    /// `cuDevicePrimaryCtxRetain`: the handle.
    pub fn primary_retain(&self, ordinal: i32) -> Result<usize> {
        let context = self.device(ordinal)? as usize;
        let _alone = crate::lock(&self.lifecycle);
        let mut state = self.state();
        let primary = &mut state.contexts[context];
        primary.retained += 1;
        if primary.retained == 1 {
            // A new context has no errors of the last one.
            primary.failed = None;
        }
        Ok(handle(context))
    }

    /// `cuDevicePrimaryCtxRelease`: the last one destroys everything in the context.
    pub fn primary_release(&self, ordinal: i32) -> Result<()> {
        let context = self.device(ordinal)? as usize;
        self.release(context)
    }

    /// How often a device's primary context is retained.
    pub fn primary_retained(&self, ordinal: i32) -> Result<u32> {
        let context = self.device(ordinal)? as usize;
        Ok(self.state().contexts[context].retained)
    }

    /// `cuCtxCreate`: a context of its own, which becomes current; its handle.
    pub fn create_context(&self, ordinal: i32) -> Result<usize> {
        let device = self.device(ordinal)?;
        let mut state = self.state();
        if !self.has_room_for_context(state.contexts.len()) {
            return Err(code::OUT_OF_MEMORY);
        }
        let context = state.add_context(device, 1);
        drop(state);
        STACK.with_borrow_mut(|stack| stack.push(context));
        Ok(handle(context))
    }

    /// `cuCtxDestroy`.
    pub fn destroy_context(&self, handle: usize) -> Result<()> {
        let context = self.context(handle)?;
        if context < self.devices() as usize {
            // A primary context is released, not destroyed.
            return Err(code::INVALID_CONTEXT);
        }
        STACK.with_borrow_mut(|stack| {
            if stack.last() == Some(&context) {
                stack.pop();
            }
        });
        self.release(context)
    }

    fn release(&self, context: usize) -> Result<()> {
        let _alone = crate::lock(&self.lifecycle);
        let mut state = self.state();
        let retained = &mut state.contexts[context].retained;
        *retained = retained.checked_sub(1).ok_or(code::INVALID_CONTEXT)?;
        let last = *retained == 0;
        drop(state);
        if last {
            self.tear_down(context)
        } else {
            Ok(())
        }
    }

    /// Destroys what is in a context, once its work is done.
    fn tear_down(&self, context: usize) -> Result<()> {
        self.on_host(context, |host| host.context_synchronize())?;
        let mut state = self.state();
        let state = &mut *state;
        let blocks = state
            .blocks
            .extract_if(.., |_, block| block.context == context);
        let blocks: Vec<_> = blocks
            .map(|(address, block)| (address, block.kind))
            .collect();
        let streams: Vec<_> = state
            .streams
            .extract_if(|_, s| s.context == context)
            .map(|(_, s)| s.handle)
            .collect();
        let events: Vec<_> = state
            .events
            .extract_if(|_, e| e.context == context)
            .map(|(_, e)| e.handle)
            .collect();
        let modules: Vec<_> = state
            .modules
            .extract_if(|_, m| m.context == context)
            .map(|(_, m)| m.handle)
            .collect();
        state
            .functions
            .retain(|_, function| function.context != context);
        // SAFETY: all of it was this context's and is no longer in any table, so it is given back
        // once; the context's work is done, and Host waits for what other contexts may do.
        self.on_host(context, |host| unsafe {
            for (address, kind) in blocks {
                match kind {
                    Kind::Device => host.mem_free(hip_dispatch::DevicePtr(address))?,
                    Kind::Pinned => {
                        if let Some(pointer) = std::ptr::NonNull::new(address as *mut u8) {
                            host.host_free(pointer)?;
                        }
                    }
                }
            }
            streams
                .into_iter()
                .try_for_each(|stream| host.stream_destroy(stream))?;
            events
                .into_iter()
                .try_for_each(|event| host.event_destroy(event))?;
            modules
                .into_iter()
                .try_for_each(|module| host.module_unload(module))
        })
    }

    /// Waits for a context's work.
    pub fn synchronize(&self) -> Result<()> {
        let context = self.current()?;
        let clock = self.state().context_clock(context);
        self.on_host(context, |host| host.context_synchronize())?;
        self.state().order.host_learns(crate::sim::thread(), &clock);
        Ok(())
    }
}
