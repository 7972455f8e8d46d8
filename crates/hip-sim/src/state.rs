//! What exists: contexts, memory, streams, events, modules, functions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::c_void;
use std::sync::Arc;

use hip_dispatch::{
    EventFlags, EventHandle, FunctionHandle, ModuleHandle, StreamFlags, StreamHandle,
};

use crate::clock::{Clock, Epoch, Timeline};
use crate::code::{self, Code, Result};
use crate::kernels::Kernel;
use crate::order::{Access, Area, Finding, History, Order};

/// What a block of memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// On the device.
    Device,
    /// Page-locked, on the host.
    Pinned,
}

/// A context: the primary one of a device, or one that was created.
#[derive(Debug)]
pub struct Context {
    /// The device it is of.
    pub device: u32,
    /// How often it is retained; 1 for a created one.
    pub retained: u32,
    /// The code with which everything fails since a kernel went wrong.
    pub failed: Option<Code>,
    /// Work on the null stream.
    pub null: Timeline,
    /// What is over once all work of streams that were destroyed is done.
    pub departed: Clock,
}

/// A block of memory.
#[derive(Debug)]
pub struct Block {
    /// Bytes as asked for.
    pub len: u64,
    /// Which memory.
    pub kind: Kind,
    /// The context it was allocated in.
    pub context: usize,
    history: History,
}

/// A stream.
#[derive(Debug)]
pub struct Stream {
    /// Its context.
    pub context: usize,
    /// As created.
    pub flags: StreamFlags,
    /// Host's handle, which is the caller's too.
    pub handle: StreamHandle,
    timeline: Timeline,
}

/// An event.
#[derive(Debug)]
pub struct Event {
    /// Its context.
    pub context: usize,
    /// Host's handle, which is the caller's too.
    pub handle: EventHandle,
    /// What whoever waits for it knows; nothing before the first record.
    pub clock: Clock,
}

/// A loaded module.
#[derive(Debug)]
pub struct Module {
    /// Its context.
    pub context: usize,
    /// Host's module: what the image carries, or else every kernel of this workspace.
    pub handle: ModuleHandle,
    /// The kernels that the image has, and their handles once asked for.
    pub kernels: Vec<(Arc<Kernel>, Option<usize>)>,
}

/// A kernel of a loaded module.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its context.
    pub context: usize,
    /// Its module's handle.
    pub module: usize,
    /// What the image says about it.
    pub kernel: Arc<Kernel>,
    /// Host's function.
    pub handle: FunctionHandle,
    /// Dynamic shared memory of a launch in bytes, at most; `None`: what a block has unasked.
    pub most_shared: Option<u32>,
}

/// Where work is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// A stream.
    Stream(usize),
    /// The null stream.
    Null,
    /// Nowhere: the call returns when the work is done.
    Call,
}

/// One who accesses memory now.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Which moment.
    pub epoch: Epoch,
    /// What is over.
    pub clock: Clock,
    /// Where, and by which thread, for people.
    pub on: Arc<str>,
}

/// Everything.
#[derive(Debug, Default)]
pub struct State {
    /// Primary contexts by device first, then created ones.
    pub contexts: Vec<Context>,
    /// By address.
    pub blocks: BTreeMap<u64, Block>,
    /// By handle.
    pub streams: HashMap<usize, Stream>,
    /// By handle.
    pub events: HashMap<usize, Event>,
    /// By handle.
    pub modules: HashMap<usize, Module>,
    /// By handle.
    pub functions: HashMap<usize, Function>,
    /// Who knows what.
    pub order: Order,
}

/// A handle as a number.
pub fn number(handle: *mut c_void) -> usize {
    handle.addr()
}

impl State {
    /// A new context of a device; its number.
    pub fn add_context(&mut self, device: u32, retained: u32) -> usize {
        let null = self.order.actor(Clock::default());
        self.contexts.push(Context {
            device,
            retained,
            failed: None,
            null,
            departed: Clock::default(),
        });
        self.contexts.len() - 1
    }

    /// Notes a block.
    pub fn add_block(&mut self, address: u64, len: u64, kind: Kind, context: usize) {
        let history = History::default();
        self.blocks.insert(
            address,
            Block {
                len,
                kind,
                context,
                history,
            },
        );
    }

    /// Notes a stream, which starts with what its maker knows.
    pub fn add_stream(
        &mut self,
        thread: u64,
        context: usize,
        flags: StreamFlags,
        handle: StreamHandle,
    ) {
        let clock = self.order.thread(thread).clock.clone();
        let timeline = self.order.actor(clock);
        let stream = Stream {
            context,
            flags,
            handle,
            timeline,
        };
        self.streams.insert(number(handle.as_raw()), stream);
        if self.order.is_cluttered() {
            self.sweep();
        }
    }

    /// Takes a stream away. Its work is still done: whoever waits for the whole context waits for
    /// it, and so does the null stream if the stream was a blocking one.
    pub fn remove_stream(&mut self, handle: usize) -> Option<Stream> {
        let stream = self.streams.remove(&handle)?;
        let context = &mut self.contexts[stream.context];
        context.departed.join(&stream.timeline.clock);
        if !stream.flags.contains(StreamFlags::NON_BLOCKING) {
            context.null.clock.join(&stream.timeline.clock);
        }
        Some(stream)
    }

    /// Notes an event; the flags are Host's business.
    pub fn add_event(&mut self, context: usize, _flags: EventFlags, handle: EventHandle) {
        let event = Event {
            context,
            handle,
            clock: Clock::default(),
        };
        self.events.insert(number(handle.as_raw()), event);
    }

    fn sweep(&mut self) {
        let mut named: HashSet<_> = self
            .blocks
            .values()
            .flat_map(|b| b.history.actors())
            .collect();
        named.extend(self.streams.values().map(|stream| stream.timeline.actor));
        named.extend(self.contexts.iter().map(|context| context.null.actor));
        let named = self.order.sweep(named);
        let streams = self
            .streams
            .values_mut()
            .map(|stream| &mut stream.timeline.clock);
        let nulls = self
            .contexts
            .iter_mut()
            .flat_map(|context| [&mut context.null.clock, &mut context.departed]);
        let events = self.events.values_mut().map(|event| &mut event.clock);
        for clock in streams.chain(nulls).chain(events) {
            clock.retain(|actor| named.contains(&actor));
        }
    }

    /// The block that an address is in, and where it starts.
    pub fn block_at(&self, address: u64) -> Option<(u64, &Block)> {
        let (start, block) = self.blocks.range(..=address).next_back()?;
        (address - start < block.len).then_some((*start, block))
    }

    /// Whether an address is one past the last byte of a block.
    pub fn ends_block(&self, address: u64) -> bool {
        let before = self.blocks.range(..address).next_back();
        before.is_some_and(|(start, block)| start + block.len == address)
    }

    /// The block of a stretch of memory that the device may use in a context.
    pub fn device_range(&self, context: usize, area: &Area) -> Result<u64> {
        let (start, block) = self.block_at(area.start).ok_or(code::INVALID_VALUE)?;
        let ours = block.kind == Kind::Pinned || block.context == context;
        let inside = area.end() <= start + block.len;
        if ours && inside {
            Ok(start)
        } else {
            Err(code::INVALID_VALUE)
        }
    }

    /// The block of a stretch of memory on the host: `None` if it is the program's own.
    pub fn host_range(&self, area: &Area) -> Result<Option<u64>> {
        match self.block_at(area.start) {
            None => Ok(None),
            Some((start, block)) => {
                let inside = area.end() <= start + block.len;
                let pinned = block.kind == Kind::Pinned;
                if pinned && inside {
                    Ok(Some(start))
                } else {
                    Err(code::INVALID_VALUE)
                }
            }
        }
    }

    /// Where work of a call in `context` goes.
    pub fn on(&self, context: usize, stream: Option<usize>) -> Result<On> {
        match stream {
            None => Ok(On::Call),
            // 1 is CUDA's name for the legacy default stream.
            Some(0 | 1) => Ok(On::Null),
            Some(handle) => match self.streams.get(&handle) {
                Some(stream) if stream.context == context => Ok(On::Stream(handle)),
                _ => Err(code::INVALID_HANDLE),
            },
        }
    }

    /// The next moment of where work goes, which knows what the enqueuing thread knows.
    pub fn moment(&mut self, context: usize, on: On, thread: u64, name: &str) -> Moment {
        let caller = self.order.thread(thread).clock.clone();
        let (timeline, place) = match on {
            On::Stream(handle) => match self.streams.get_mut(&handle) {
                Some(stream) => {
                    if !stream.flags.contains(StreamFlags::NON_BLOCKING) {
                        stream
                            .timeline
                            .clock
                            .join(&self.contexts[context].null.clock);
                    }
                    (&mut stream.timeline, format!("stream {handle:#x}"))
                }
                None => unreachable!("looked up under the same lock"),
            },
            On::Null | On::Call => {
                let null = &mut self.contexts[context].null;
                let blocking = self.streams.values().filter(|stream| {
                    stream.context == context && !stream.flags.contains(StreamFlags::NON_BLOCKING)
                });
                blocking.for_each(|stream| null.clock.join(&stream.timeline.clock));
                (null, "the null stream".to_owned())
            }
        };
        timeline.clock.join(&caller);
        let epoch = timeline.tick();
        let clock = timeline.clock.clone();
        Moment {
            epoch,
            clock,
            on: format!("{place} (by {name})").into(),
        }
    }

    /// A stream goes on with what `clock` knows too.
    pub fn stream_learns(&mut self, context: usize, on: On, clock: &Clock) {
        match on {
            On::Stream(handle) => {
                if let Some(stream) = self.streams.get_mut(&handle) {
                    stream.timeline.clock.join(clock);
                }
            }
            On::Null | On::Call => self.contexts[context].null.clock.join(clock),
        }
    }

    /// What is known once all work of a context is done.
    pub fn context_clock(&self, context: usize) -> Clock {
        let mut clock = self.contexts[context].null.clock.clone();
        clock.join(&self.contexts[context].departed);
        for stream in self
            .streams
            .values()
            .filter(|stream| stream.context == context)
        {
            clock.join(&stream.timeline.clock);
        }
        clock
    }

    /// Notes an access to a block that starts at `block`.
    pub fn access(
        &mut self,
        block: u64,
        area: Area,
        write: bool,
        moment: &Moment,
        what: &Arc<str>,
    ) -> Vec<Finding> {
        let Some(block) = self.blocks.get_mut(&block) else {
            return Vec::new();
        };
        let (what, on, epoch) = (what.clone(), moment.on.clone(), moment.epoch);
        let access = Access {
            area,
            write,
            epoch,
            what,
            on,
        };
        block.history.add(access, &moment.clock, self.order.hosts())
    }

    /// Bytes of device memory in use on a device.
    pub fn used(&self, device: u32) -> u64 {
        let on_device = |block: &&Block| {
            block.kind == Kind::Device && self.contexts[block.context].device == device
        };
        self.blocks
            .values()
            .filter(on_device)
            .map(|block| block.len)
            .sum()
    }
}
