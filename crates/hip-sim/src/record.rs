//! What every library of stand-ins keeps, be it a driver, a compiler or both: the settings, the
//! log, the counters and the faults that are still to come.

use std::sync::{Mutex, OnceLock};

use crate::calls::Calls;
use crate::code::Code;
use crate::faults::Fault;
use crate::lock;
use crate::settings::Settings;

/// One library's; each library has its own.
#[derive(Debug)]
pub struct Record {
    /// What the test asks for.
    pub settings: Settings,
    /// The log and the counters.
    pub calls: Calls,
    faults: Mutex<Vec<Fault>>,
    /// The process that loaded the library.
    process: u32,
}

static THE: OnceLock<Record> = OnceLock::new();

impl Record {
    /// The library's one record, made at the first call.
    pub fn get() -> &'static Record {
        THE.get_or_init(|| {
            let settings = Settings::of_process();
            Record {
                calls: Calls::new(settings.log.as_deref()),
                faults: Mutex::new(settings.faults.clone()),
                process: std::process::id(),
                settings,
            }
        })
    }

    /// Whether this process is a child of the one that loaded the library. Its locks may be held
    /// for ever then.
    pub fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    /// Counts a call for the faults; the code with which it fails, if a test wants that.
    pub fn strike(&self, name: &str, thread: &str) -> Option<Code> {
        let mut faults = lock(&self.faults);
        faults
            .iter_mut()
            .find_map(|fault| fault.strike(name, thread))
    }

    /// Replaces the faults that are still to come.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        *lock(&self.faults) = faults;
    }

    /// Says on standard error and in the log why a call is refused, where the code says too
    /// little.
    pub fn complain(&self, text: &str) {
        self.calls.line(&format!("!\t{text}"));
        eprintln!("hip-sim: {text}");
    }
}
