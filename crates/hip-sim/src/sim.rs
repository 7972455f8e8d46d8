//! One stand-in library: what every call goes through.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use hip_dispatch::{Backend, ContextHandle, Host};

use crate::calls::thread_name;
use crate::code::{self, Code, Result};
use crate::lock;
use crate::order::Finding;
use crate::profile::Profile;
use crate::record::Record;
use crate::state::{Moment, State};

/// How a call takes part in what can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Answers without a device, and without initialisation.
    Always,
    /// Answers as long as there is a device, even if it is lost: what is current, what it is.
    Local,
    /// Fails on a lost device.
    Plain,
    /// As [`Class::Plain`], but gives back what it is asked to even if it says that it failed, as
    /// a driver does that passes on an earlier error.
    Release,
}

/// Contexts that were created, at most; each needs a device of Host's.
const CREATED_CONTEXTS: u32 = 64;

/// One library's state; each library has its own.
#[derive(Debug)]
pub struct Sim {
    /// What it pretends to be.
    pub profile: &'static Profile,
    /// What the test asks for, and what was called.
    pub record: &'static Record,
    pub(crate) host: Arc<Host>,
    /// Shared memory of a block on Host, in bytes.
    pub(crate) host_shared_memory: u32,
    /// Host's contexts: one for each of ours.
    host_contexts: Vec<ContextHandle>,
    state: Mutex<State>,
    /// Held while a context comes or goes: one that is retained again is a new one, and nothing of
    /// the old one's end touches it.
    pub(crate) lifecycle: Mutex<()>,
    initialised: AtomicBool,
    /// Calls that a lost device would have failed.
    device_calls: AtomicU64,
    races: AtomicU64,
    unproven: AtomicU64,
    last_finding: Mutex<String>,
}

thread_local! {
    /// A host function runs on this thread: when, on its stream.
    static IN_CALLBACK: RefCell<Option<Moment>> = const { RefCell::new(None) };
    static LAST_ERROR: Cell<Code> = const { Cell::new(0) };
    static THREAD: Thread = Thread::new();
}

/// A thread's number, which the checker forgets when the thread ends.
struct Thread(u64);

static THE: OnceLock<Sim> = OnceLock::new();

impl Thread {
    fn new() -> Thread {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Thread(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        if let Some(sim) = THE.get() {
            sim.state().order.forget_thread(self.0);
        }
    }
}

/// The calling thread's number; 0 for any thread whose locals are gone.
pub(crate) fn thread() -> u64 {
    THREAD.try_with(|thread| thread.0).unwrap_or(0)
}

impl Sim {
    /// The library's one state, made at the first call.
    pub fn get(profile: &'static Profile) -> &'static Sim {
        THE.get_or_init(|| Sim::new(profile, Record::get()))
    }

    fn new(profile: &'static Profile, record: &'static Record) -> Sim {
        let devices = record.settings.devices.unwrap_or(1);
        let created = if profile.is_amd() {
            0
        } else {
            CREATED_CONTEXTS
        };
        let host = Host::new(devices + created);
        let mut state = State::default();
        for device in 0..devices {
            // HIP's contexts are always there.
            state.add_context(device, u32::from(profile.is_amd()));
        }
        let host_contexts = (0..devices + created).filter_map(|device| {
            // Fails for no device that there is.
            host.primary_context_retain(device).ok()
        });
        let host_shared_memory = host
            .device_info(0)
            .map_or(0, |info| info.limits.max_shared_memory_per_block);
        Sim {
            profile,
            host_shared_memory,
            record,
            host_contexts: host_contexts.collect(),
            host: host.clone(),
            state: Mutex::new(state),
            lifecycle: Mutex::new(()),
            initialised: AtomicBool::new(false),
            device_calls: AtomicU64::new(0),
            races: AtomicU64::new(0),
            unproven: AtomicU64::new(0),
            last_finding: Mutex::default(),
        }
    }

    /// How many devices it shows.
    pub fn devices(&self) -> u32 {
        self.record.settings.devices.unwrap_or(1)
    }

    /// The architecture of its devices.
    pub fn architecture(&self) -> &str {
        self.record
            .settings
            .architecture
            .as_deref()
            .unwrap_or(self.profile.architecture)
    }

    /// Bytes of each device's memory.
    pub fn total_memory(&self) -> u64 {
        self.record
            .settings
            .memory
            .unwrap_or(self.profile.total_memory)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Has Host do something in one of its contexts.
    pub(crate) fn on_host<T>(
        &self,
        context: usize,
        work: impl FnOnce(&Host) -> hip_dispatch::Result<T>,
    ) -> Result<T> {
        let handle = self
            .host_contexts
            .get(context)
            .ok_or(code::INVALID_CONTEXT)?;
        let run = || {
            // SAFETY: retained for as long as the library is loaded.
            let token = unsafe { self.host.context_push(*handle) }?;
            let result = work(&self.host);
            self.host.context_pop(token)?;
            result
        };
        run().map_err(|error: hip_dispatch::HipError| {
            self.record.calls.line(&format!("#\t{error}"));
            error.code
        })
    }

    /// Whether another context can be created.
    pub(crate) fn has_room_for_context(&self, contexts: usize) -> bool {
        contexts < self.host_contexts.len()
    }

    /// `…Init`.
    pub fn initialise(&self, flags: u32) -> Result<()> {
        if flags != 0 {
            return Err(code::INVALID_VALUE);
        }
        if self.devices() == 0 {
            return Err(self.profile.no_device_at_init);
        }
        self.initialised.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether a call of a class can be served at all.
    fn admit(&self, class: Class) -> Result<()> {
        if class == Class::Always {
            return Ok(());
        }
        if self.devices() == 0 {
            return Err(self.profile.no_device);
        }
        // HIP initialises itself at the first call.
        if !self.profile.is_amd() && !self.initialised.load(Ordering::Acquire) {
            return Err(code::NOT_INITIALIZED);
        }
        if in_callback().is_some() {
            return Err(code::NOT_PERMITTED);
        }
        Ok(())
    }

    /// The code with which the device's state fails a call.
    fn broken(&self, class: Class) -> Option<Code> {
        if matches!(class, Class::Always | Class::Local) {
            return None;
        }
        let number = self.device_calls.fetch_add(1, Ordering::Relaxed) + 1;
        let lost = self
            .record
            .settings
            .lost
            .filter(|(from, _)| number >= *from);
        let lost = lost.map(|(_, code)| code.unwrap_or(self.profile.lost));
        lost.or_else(|| {
            let context = self.current().ok()?;
            self.state().contexts.get(context)?.failed
        })
    }

    /// Carries out a call: counts it, lets it fail if a test wants that, logs it.
    pub fn call(
        &'static self,
        name: &'static str,
        class: Class,
        body: impl FnOnce(&'static Sim) -> Result<()>,
    ) -> Code {
        if self.record.is_forked() {
            // After fork nothing of a driver works in the child; locks may be held for ever.
            return code::NOT_INITIALIZED;
        }
        let thread = thread_name();
        let number = self.record.calls.begin(name, &thread);
        let run = || {
            self.admit(class)?;
            let fault = self.record.strike(name, &thread);
            let code = fault.or_else(|| self.broken(class));
            if code.is_none() || class == Class::Release {
                let done = catch_unwind(AssertUnwindSafe(|| body(self)));
                done.unwrap_or(Err(code::UNKNOWN))?;
            }
            code.map_or(Ok(()), Err)
        };
        let code = run().err().unwrap_or(code::SUCCESS);
        if code != code::SUCCESS && code != code::NOT_READY {
            LAST_ERROR.with(|last| last.set(code));
        }
        self.record.calls.end(number, name, &thread, code);
        code
    }

    /// The thread's last error, which stays until it is taken.
    pub fn last_error(&self, take: bool) -> Code {
        LAST_ERROR.with(|last| if take { last.replace(0) } else { last.get() })
    }

    /// Reports what the checker found.
    pub(crate) fn report(&self, findings: Vec<Finding>) {
        for finding in findings {
            let race = !finding.unproven || self.record.settings.strict;
            let counter = if race { &self.races } else { &self.unproven };
            counter.fetch_add(1, Ordering::Relaxed);
            self.record.calls.line(&format!("!\t{}", finding.text));
            if race {
                eprintln!("hip-sim: {}", finding.text);
            }
            *lock(&self.last_finding) = finding.text;
            if race && self.record.settings.abort_on_race {
                std::process::abort();
            }
        }
    }

    /// Races, and accesses whose order is unproven, so far.
    pub fn findings(&self) -> (u64, u64) {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (get(&self.races), get(&self.unproven))
    }

    /// The last finding in words.
    pub fn last_finding(&self) -> String {
        lock(&self.last_finding).clone()
    }
}

/// The moment at which the host function that runs on this thread was reached.
pub(crate) fn in_callback() -> Option<Moment> {
    // A thread that is ending has no host function to run.
    IN_CALLBACK
        .try_with(|moment| moment.borrow().clone())
        .ok()
        .flatten()
}

/// Says which host function runs on this thread.
pub(crate) fn set_callback(moment: Option<Moment>) {
    IN_CALLBACK.replace(moment);
}
