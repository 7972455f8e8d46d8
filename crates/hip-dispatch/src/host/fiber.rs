//! Blocks whose threads wait for each other: each thread that waits at a barrier keeps a stack.
//!
//! A block's loop over its threads starts on one fiber. Where a thread comes to a barrier, its
//! fiber parks there and the loop goes on, at the next thread, on another. When the loop is done
//! every thread has either ended or parked: the barrier is complete, and the parked fibers run on
//! in order. A block that comes to no barrier costs one fiber, and nobody has to know beforehand
//! which it is. All fibers of a block run on one OS thread, so that its thread-local storage is
//! the block's shared memory.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{self, NonNull};
use std::sync::{Condvar, Mutex, PoisonError};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::device::{MAX_SHARED_MEMORY, MAX_THREADS_PER_BLOCK};
use super::{lock, pool};

/// Usable bytes of a thread's stack; a guard page lies below. CUDA gives a thread 1 KiB by default.
const STACK_BYTES: usize = 64 * 1024;
/// Stacks that blocks may use at a time, in the whole process. Each is two mappings, of which Linux
/// allows a process 65530; with [`MAX_KEPT`] this takes at most 40960.
const MAX_IN_USE: usize = 12 * 1024;
/// Stacks kept for later by all OS threads together.
const MAX_KEPT: usize = 8 * 1024;

/// `hip_host::Threads`.
#[repr(C)]
pub(super) struct Threads {
    next: u32,
    count: u32,
    parked: *mut u32,
}

type ThreadsFn = unsafe extern "C" fn(*mut c_void);

/// `hip_host::Runtime`: what an object may call.
#[repr(C)]
pub(super) struct Runtime {
    bytes: u32,
    version: u32,
    run_block: unsafe extern "C" fn(ThreadsFn, *mut c_void, *mut Threads) -> u32,
    barrier: unsafe extern "C" fn(u32) -> u64,
    shared: unsafe extern "C" fn(u32) -> *mut u8,
    fail: unsafe extern "C" fn(*const c_char),
}

/// The one table.
pub(super) static RUNTIME: Runtime = Runtime {
    bytes: size_of::<Runtime>() as u32,
    version: 1,
    run_block,
    barrier,
    shared,
    fail,
};

type Fiber = Coroutine<(), (), (), DefaultStack>;

/// A block while it runs.
struct Block {
    state: *mut Threads,
    /// Of the fiber that runs.
    yielder: Cell<*const Yielder<(), ()>>,
    /// Threads that came to the barrier, and how many of them with a predicate that holds.
    arrived: Cell<u32>,
    votes: Cell<u32>,
    /// The last complete barrier's.
    result: Cell<u64>,
    failed: Cell<bool>,
    /// Why, where the kernel said so: a C string of the object's, which the launch keeps loaded.
    reason: Cell<*const c_char>,
}

thread_local! {
    /// The block that this OS thread runs.
    static CURRENT: Cell<*const Block> = const { Cell::new(ptr::null()) };
    /// A launch failed on this OS thread since [`take_failure`].
    static FAILED: Cell<bool> = const { Cell::new(false) };
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
    static SHARED: SharedMemory = const { SharedMemory(Cell::new(ptr::null_mut())) };
}

/// Whether a kernel failed on this OS thread since the last call.
pub(super) fn take_failure() -> bool {
    FAILED.replace(false)
}

fn failure(text: &str) {
    tracing::error!("a kernel failed: {text}");
    FAILED.set(true);
}

/// A block's dynamic shared memory, one for each OS thread, made when first asked for.
struct SharedMemory(Cell<*mut u8>);

const SHARED_LAYOUT: Layout = match Layout::from_size_align(MAX_SHARED_MEMORY as usize, 64) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

impl Drop for SharedMemory {
    fn drop(&mut self) {
        if let Some(at) = NonNull::new(self.0.get()) {
            // SAFETY: allocated by `shared` with this layout, freed once.
            unsafe { std::alloc::dealloc(at.as_ptr(), SHARED_LAYOUT) };
        }
    }
}

/// Memory for a block; null, with the launch failed, if there is none.
unsafe extern "C" fn shared(bytes: u32) -> *mut u8 {
    if bytes == 0 {
        // Aligned, and never read: an object sees null as a failure.
        return ptr::without_provenance_mut(SHARED_LAYOUT.align());
    }
    let at = SHARED.try_with(|memory| {
        if memory.0.get().is_null() {
            // SAFETY: the layout's size is not 0.
            memory.0.set(unsafe { std::alloc::alloc(SHARED_LAYOUT) });
        }
        memory.0.get()
    });
    let at = at.unwrap_or(ptr::null_mut());
    if at.is_null() {
        failure("there is no memory for its shared memory");
    }
    at
}

/// Stacks that blocks use now.
struct InUse {
    count: Mutex<usize>,
    less: Condvar,
}

static IN_USE: InUse = InUse {
    count: Mutex::new(0),
    less: Condvar::new(),
};

/// The right to use as many stacks as a block has threads. A block takes all of it before it starts,
/// so that none waits for another while it holds some.
struct Reservation(usize);

impl Reservation {
    fn new(stacks: usize) -> Reservation {
        let mut count = lock(&IN_USE.count);
        while *count + stacks > MAX_IN_USE {
            count = IN_USE
                .less
                .wait(count)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *count += stacks;
        Reservation(stacks)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        *lock(&IN_USE.count) -= self.0;
        IN_USE.less.notify_all();
    }
}

fn take_stack() -> std::io::Result<DefaultStack> {
    let kept = STACKS.try_with(|stacks| stacks.borrow_mut().pop());
    match kept.ok().flatten() {
        Some(stack) => Ok(stack),
        None => DefaultStack::new(STACK_BYTES),
    }
}

fn give_back(stack: DefaultStack) {
    let most = (MAX_KEPT / pool::parallelism()).clamp(1, MAX_THREADS_PER_BLOCK as usize);
    // At a thread's end there is nobody left to keep it for.
    let _ = STACKS.try_with(|stacks| {
        let mut stacks = stacks.borrow_mut();
        if stacks.len() < most {
            stacks.push(stack);
        }
    });
}

/// Runs the threads of a block; 0 if the block failed.
unsafe extern "C" fn run_block(
    threads: ThreadsFn,
    context: *mut c_void,
    state: *mut Threads,
) -> u32 {
    let block = Block {
        state,
        yielder: Cell::new(ptr::null()),
        arrived: Cell::new(0),
        votes: Cell::new(0),
        result: Cell::new(0),
        failed: Cell::new(false),
        reason: Cell::new(ptr::null()),
    };
    // SAFETY: the object's state of this block, alive until this returns.
    let count = unsafe { (*state).count };
    let _reservation = Reservation::new(count as usize);
    let outer = CURRENT.replace(&block);
    // SAFETY: `threads` and `context` belong together, and fit `state`.
    unsafe { block.run(threads, context) };
    CURRENT.set(outer);
    let reason = block.reason.get();
    if !reason.is_null() {
        // Here and not in `fail`: a log's writer may need more stack than a fiber has.
        // SAFETY: `fail` was given it by the object, whose literal it is.
        failure(&unsafe { CStr::from_ptr(reason) }.to_string_lossy());
    }
    u32::from(!block.failed.get())
}

impl Block {
    /// # Safety
    /// `threads(context)` is the loop of this block, which reads and writes `state`.
    unsafe fn run(&self, threads: ThreadsFn, context: *mut c_void) {
        let mut parked: Vec<Fiber> = Vec::new();
        // SAFETY: the object touches its state only while a fiber runs.
        while !self.failed.get() && unsafe { (*self.state).next < (*self.state).count } {
            // SAFETY: the caller's promise.
            match unsafe { self.fiber(threads, context) } {
                Ok(fiber) => self.resume(fiber, &mut parked),
                Err(error) => {
                    failure(&format!("a thread has no stack: {error}"));
                    self.failed.set(true);
                }
            }
        }
        while !parked.is_empty() && !self.failed.get() {
            // Threads that ended are not waited for.
            let (arrived, votes) = (self.arrived.take(), self.votes.take());
            self.result.set(u64::from(arrived) << 32 | u64::from(votes));
            let mut again = Vec::with_capacity(parked.len());
            let mut fibers = parked.into_iter();
            while let Some(fiber) = fibers.next() {
                self.resume(fiber, &mut again);
                if self.failed.get() {
                    again.extend(fibers);
                    break;
                }
            }
            parked = again;
        }
        for mut fiber in parked {
            // SAFETY: on the stack are frames of the kernel, built without exceptions, so that
            // none has anything to run when it is left; `barrier` and the closure of `fiber`,
            // below and above them, hold nothing either.
            unsafe { fiber.force_reset() };
            give_back(fiber.into_stack());
        }
    }

    /// A fiber that runs the block's loop from its next thread on.
    ///
    /// # Safety
    /// As [`Block::run`]; the fiber is used only while this and `context` are alive.
    unsafe fn fiber(&self, threads: ThreadsFn, context: *mut c_void) -> std::io::Result<Fiber> {
        let block = ptr::from_ref(self);
        let body = move |yielder: &Yielder<(), ()>, ()| {
            // SAFETY: the block outlives its fibers.
            unsafe { (*block).yielder.set(yielder) };
            // SAFETY: the promise of `run`'s caller.
            unsafe { threads(context) };
        };
        let stack = take_stack()?;
        // SAFETY: what the closure borrows is alive by the caller's promise.
        Ok(unsafe { Coroutine::with_stack_unchecked(stack, body) })
    }

    /// Runs a fiber until it parks or ends.
    fn resume(&self, mut fiber: Fiber, parked: &mut Vec<Fiber>) {
        match fiber.resume(()) {
            CoroutineResult::Yield(()) => parked.push(fiber),
            CoroutineResult::Return(()) => give_back(fiber.into_stack()),
        }
    }

    /// Stops the running fiber until it is resumed.
    fn park(&self) {
        let yielder = self.yielder.get();
        // SAFETY: `fiber` or the line below set it to that of the fiber that runs this.
        unsafe { (*yielder).suspend(()) };
        self.yielder.set(yielder);
    }
}

/// The running thread waits for the others of its block.
unsafe extern "C" fn barrier(predicate: u32) -> u64 {
    // SAFETY: null, or set by `run_block`, which has not returned while its fibers run.
    let Some(block) = (unsafe { CURRENT.get().as_ref() }) else {
        // The source pass took the kernel for one without barriers, as where one is reached through
        // an address that it cannot follow: the threads cannot be made to wait any more.
        failure("it reaches a barrier in a way that was not seen when it was compiled");
        return 1 << 32 | u64::from(predicate != 0);
    };
    block.arrived.set(block.arrived.get() + 1);
    block
        .votes
        .set(block.votes.get() + u32::from(predicate != 0));
    // SAFETY: the loop that runs the thread set the pointer to a variable of its own frame, on the
    // stack of this fiber.
    unsafe { *(*block.state).parked = 1 };
    block.park();
    block.result.get()
}

/// Ends the launch with a failure. Does not return to the kernel.
unsafe extern "C" fn fail(text: *const c_char) {
    // SAFETY: as in `barrier`.
    let Some(block) = (unsafe { CURRENT.get().as_ref() }) else {
        // SAFETY: the object passes a literal.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        // Only code that the source pass took for incapable of this comes here; there is no frame to
        // go back to.
        tracing::error!("a kernel failed where it cannot be stopped: {text}");
        std::process::abort();
    };
    block.reason.set(text);
    block.failed.set(true);
    loop {
        block.park();
    }
}
