//! Streams, events and host functions.

use std::ffi::c_void;

use hip_dispatch::{Backend, EventFlags, EventHandle, HostFn, StreamFlags, StreamHandle};

use crate::clock::Clock;
use crate::code::{self, Code, Result};
use crate::sim::{Sim, set_callback, thread};
use crate::state::{Moment, On, number};

/// A host function, in either vendor's form.
#[derive(Debug, Clone, Copy)]
pub enum Callback {
    /// `cuLaunchHostFunc`.
    Plain(HostFn, *mut c_void),
    /// `…StreamAddCallback`: is told the stream and whether all went well.
    WithStatus(
        unsafe extern "C" fn(*mut c_void, Code, *mut c_void),
        *mut c_void,
        *mut c_void,
    ),
}

/// A host function on its way, and what is over when it runs.
struct Pending {
    callback: Callback,
    moment: Moment,
}

unsafe extern "C" fn run_pending(data: *mut c_void) {
    // SAFETY: the box that `host_function` leaked; Host calls this once.
    let pending = unsafe { Box::from_raw(data.cast::<Pending>()) };
    set_callback(Some(pending.moment));
    match pending.callback {
        // SAFETY: whoever enqueued it vouches for function and data.
        Callback::Plain(function, data) => unsafe { function(data) },
        // SAFETY: as above.
        Callback::WithStatus(function, stream, data) => unsafe { function(stream, 0, data) },
    }
    set_callback(None);
}

/// A stream's context and, unless it is the null one, Host's handle.
struct Place {
    context: usize,
    on: On,
    handle: StreamHandle,
}

impl Sim {
    /// A stream by its handle, whatever context is current; the null stream is the current
    /// context's.
    fn place(&self, stream: usize) -> Result<Place> {
        if matches!(stream, 0 | 1) {
            return Ok(Place {
                context: self.current()?,
                on: On::Null,
                handle: StreamHandle::NULL,
            });
        }
        let state = self.state();
        let found = state.streams.get(&stream).ok_or(code::INVALID_HANDLE)?;
        Ok(Place {
            context: found.context,
            on: On::Stream(stream),
            handle: found.handle,
        })
    }

    fn event(&self, event: usize) -> Result<(usize, EventHandle, Clock)> {
        let state = self.state();
        let found = state.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        Ok((found.context, found.handle, found.clock.clone()))
    }

    /// The calling thread saw that all of `clock` is over.
    fn learn(&self, clock: &Clock) {
        self.state().order.host_learns(thread(), clock);
    }

    /// Creates a stream.
    pub fn stream_create(&self, flags: u32, priority: i32) -> Result<usize> {
        let context = self.current()?;
        let flags = StreamFlags::from_bits(flags).ok_or(code::INVALID_VALUE)?;
        let handle = self.on_host(context, |host| host.stream_create(flags, priority))?;
        self.state().add_stream(thread(), context, flags, handle);
        Ok(number(handle.as_raw()))
    }

    /// Destroys a stream; what is on it is still done.
    pub fn stream_destroy(&self, stream: usize) -> Result<()> {
        let removed = self
            .state()
            .remove_stream(stream)
            .ok_or(code::INVALID_HANDLE)?;
        // SAFETY: it was in the table, so it is alive, and is destroyed once.
        self.on_host(removed.context, |host| unsafe {
            host.stream_destroy(removed.handle)
        })
    }

    /// Waits for a stream.
    pub fn stream_synchronize(&self, stream: usize) -> Result<()> {
        let Place {
            context,
            on,
            handle,
        } = self.place(stream)?;
        let name = crate::calls::thread_name();
        let clock = self.state().moment(context, on, thread(), &name).clock;
        // SAFETY: the stream was alive a moment ago; Host checks again.
        self.on_host(context, |host| unsafe { host.stream_synchronize(handle) })?;
        self.learn(&clock);
        Ok(())
    }

    /// Whether a stream's work is done.
    pub fn stream_query(&self, stream: usize) -> Result<()> {
        let Place {
            context,
            on,
            handle,
        } = self.place(stream)?;
        let name = crate::calls::thread_name();
        let clock = self.state().moment(context, on, thread(), &name).clock;
        // SAFETY: as in `stream_synchronize`.
        match self.on_host(context, |host| unsafe { host.stream_query(handle) })? {
            true => {
                self.learn(&clock);
                Ok(())
            }
            false => Err(code::NOT_READY),
        }
    }

    /// The context of a stream.
    pub fn stream_context(&self, stream: usize) -> Result<usize> {
        Ok(self.place(stream)?.context)
    }

    /// Lets later work of a stream wait for what an event last recorded.
    pub fn stream_wait_event(&self, stream: usize, event: usize) -> Result<()> {
        let Place {
            context,
            on,
            handle,
        } = self.place(stream)?;
        let mut state = self.state();
        let found = state.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        let (clock, event) = (found.clock.clone(), found.handle);
        state.stream_learns(context, on, &clock);
        let name = crate::calls::thread_name();
        state.moment(context, on, thread(), &name);
        // SAFETY: both handles are in the tables, so they are alive.
        let wait = |host: &hip_dispatch::Host| unsafe { host.stream_wait_event(handle, event) };
        self.enqueue(state, context, on, wait)
    }

    /// As [`Sim::finish`], for what takes no time of the device's.
    fn enqueue(
        &self,
        state: std::sync::MutexGuard<'_, crate::state::State>,
        context: usize,
        on: On,
        work: impl FnOnce(&hip_dispatch::Host) -> hip_dispatch::Result<()>,
    ) -> Result<()> {
        match on {
            On::Stream(_) => {
                let result = self.on_host(context, work);
                drop(state);
                result
            }
            On::Null | On::Call => {
                drop(state);
                self.on_host(context, work)
            }
        }
    }

    /// Has a function called once a stream gets there.
    ///
    /// # Safety
    /// The function may be called with its data, once, on another thread.
    pub unsafe fn host_function(&self, stream: usize, callback: Callback) -> Result<()> {
        let context = self.current()?;
        let mut state = self.state();
        let on = state.on(context, Some(stream))?;
        let handle = match on {
            On::Stream(handle) => state.streams[&handle].handle,
            On::Null | On::Call => StreamHandle::NULL,
        };
        let name = crate::calls::thread_name();
        let moment = state.moment(context, on, thread(), &name);
        let pending = Box::into_raw(Box::new(Pending { callback, moment }));
        // SAFETY: the box is taken by `run_pending`, which Host calls once if this succeeds.
        let launch = |host: &hip_dispatch::Host| unsafe {
            host.launch_host_func(handle, run_pending, pending.cast())
        };
        let result = self.enqueue(state, context, on, launch);
        if result.is_err() {
            // SAFETY: Host calls nothing that it refused, so the box is still ours.
            drop(unsafe { Box::from_raw(pending) });
        }
        result
    }

    /// Creates an event.
    pub fn event_create(&self, flags: u32) -> Result<usize> {
        let context = self.current()?;
        if !self.profile.is_amd() && flags & !7 != 0 {
            return Err(code::INVALID_VALUE);
        }
        let flags = EventFlags::from_bits_truncate(flags);
        let handle = self.on_host(context, |host| host.event_create(flags))?;
        self.state().add_event(context, flags, handle);
        Ok(number(handle.as_raw()))
    }

    /// Destroys an event.
    pub fn event_destroy(&self, event: usize) -> Result<()> {
        let removed = self
            .state()
            .events
            .remove(&event)
            .ok_or(code::INVALID_HANDLE)?;
        // SAFETY: it was in the table, so it is alive, and is destroyed once.
        self.on_host(removed.context, |host| unsafe {
            host.event_destroy(removed.handle)
        })
    }

    /// Records an event on a stream of its context.
    pub fn event_record(&self, event: usize, stream: usize) -> Result<()> {
        let Place {
            context,
            on,
            handle: stream,
        } = self.place(stream)?;
        let mut state = self.state();
        let found = state.events.get(&event).ok_or(code::INVALID_HANDLE)?;
        if found.context != context {
            return Err(code::INVALID_HANDLE);
        }
        let handle = found.handle;
        let name = crate::calls::thread_name();
        let moment = state.moment(context, on, thread(), &name);
        if let Some(event) = state.events.get_mut(&event) {
            event.clock = moment.clock;
        }
        // SAFETY: both handles are in the tables, so they are alive.
        let record = |host: &hip_dispatch::Host| unsafe { host.event_record(handle, stream) };
        self.enqueue(state, context, on, record)
    }

    /// Whether what an event recorded is done.
    pub fn event_query(&self, event: usize) -> Result<()> {
        let (context, handle, clock) = self.event(event)?;
        // SAFETY: the event was alive a moment ago; Host checks again.
        match self.on_host(context, |host| unsafe { host.event_query(handle) })? {
            true => {
                self.learn(&clock);
                Ok(())
            }
            false => Err(code::NOT_READY),
        }
    }

    /// Waits for what an event recorded.
    pub fn event_synchronize(&self, event: usize) -> Result<()> {
        let (context, handle, clock) = self.event(event)?;
        // SAFETY: as in `event_query`.
        self.on_host(context, |host| unsafe { host.event_synchronize(handle) })?;
        self.learn(&clock);
        Ok(())
    }

    /// Milliseconds between two events.
    pub fn event_elapsed(&self, start: usize, end: usize) -> Result<f32> {
        let (context, start, _) = self.event(start)?;
        let (_, end, _) = self.event(end)?;
        // SAFETY: as in `event_query`.
        self.on_host(context, |host| unsafe {
            host.event_elapsed_time(start, end)
        })
    }
}
