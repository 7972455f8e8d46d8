//! What a stand-in for a vendor's library can be asked.

use std::ffi::{CString, c_char, c_int, c_void};

use gst_hip::Device;
use libloading::Library;

/// The stand-in in use.
pub(crate) struct Sim {
    races: unsafe extern "C" fn() -> u64,
    last_finding: unsafe extern "C" fn(*mut c_char, c_int) -> c_int,
    calls_on: unsafe extern "C" fn(*const c_char, *const c_char) -> u64,
    live: unsafe extern "C" fn(c_int) -> u64,
    fail: unsafe extern "C" fn(*const c_char) -> c_int,
    host_access: unsafe extern "C" fn(*const c_void, usize, c_int) -> c_int,
    /// Vendors' libraries are never closed; this is one more handle of it.
    _library: Library,
}

/// Names of what [`Sim::live`] counts.
pub(crate) const LIVE: [&str; 8] = [
    "device blocks",
    "device bytes",
    "pinned blocks",
    "pinned bytes",
    "streams",
    "events",
    "modules",
    "contexts",
];

impl Sim {
    /// The library behind a device, if it is a stand-in.
    pub(crate) fn of(device: &Device) -> Option<Sim> {
        let libraries = device.backend().libraries();
        let path = libraries.first()?.path.clone();
        // SAFETY: the library is loaded already, so that nothing of it runs now.
        let library = unsafe { Library::new(path) }.ok()?;
        Sim::from(library)
    }

    /// The stand-in that the process has loaded for the vendor under test, asked for by name.
    pub(crate) fn loaded() -> Option<Sim> {
        use libloading::os::unix;
        let names = [
            "libcuda.so.1",
            "libamdhip64.so.7",
            "libamdhip64.so.6",
            "libamdhip64.so.5",
        ];
        names.into_iter().find_map(|name| {
            // SAFETY: nothing is loaded that is not yet.
            let library =
                unsafe { unix::Library::open(Some(name), unix::RTLD_LAZY | libc::RTLD_NOLOAD) };
            Sim::from(library.ok()?.into())
        })
    }

    fn from(library: Library) -> Option<Sim> {
        // SAFETY: the signatures are those that the stand-ins document for these names.
        unsafe {
            Some(Sim {
                races: *library.get(b"hipSimRaces\0").ok()?,
                last_finding: *library.get(b"hipSimLastFinding\0").ok()?,
                calls_on: *library.get(b"hipSimCallsOn\0").ok()?,
                live: *library.get(b"hipSimLive\0").ok()?,
                fail: *library.get(b"hipSimFail\0").ok()?,
                host_access: *library.get(b"hipSimHostAccess\0").ok()?,
                _library: library,
            })
        }
    }

    /// As [`Sim::of`]; prints why a test is skipped if there is none.
    pub(crate) fn or_skip(device: &Device) -> Option<Sim> {
        let sim = Sim::of(device);
        if sim.is_none() {
            println!(
                "skipped: {} is served by no stand-in library",
                device.info()
            );
        }
        sim
    }

    /// Accesses out of order so far.
    pub(crate) fn races(&self) -> u64 {
        // SAFETY: takes nothing; the library stays loaded.
        unsafe { (self.races)() }
    }

    /// The last of them in words.
    pub(crate) fn last_finding(&self) -> String {
        let mut text = vec![0_u8; 1000];
        // SAFETY: the buffer has the size told.
        unsafe { (self.last_finding)(text.as_mut_ptr().cast(), text.len() as c_int) };
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(0);
        String::from_utf8_lossy(&text[..end]).into_owned()
    }

    /// Calls of a function on threads whose name contains `thread`.
    pub(crate) fn calls_on(&self, name: &str, thread: &str) -> u64 {
        let [name, thread] = [name, thread].map(|text| CString::new(text).expect("no NUL"));
        // SAFETY: both are C strings that outlive the call.
        unsafe { (self.calls_on)(name.as_ptr(), thread.as_ptr()) }
    }

    /// All calls so far: the number of the last one in the log.
    pub(crate) fn total(&self) -> u64 {
        self.calls_on("", "")
    }

    /// What exists, as [`LIVE`] names it.
    pub(crate) fn live(&self) -> [u64; LIVE.len()] {
        // SAFETY: takes a number.
        std::array::from_fn(|what| unsafe { (self.live)(what as c_int) })
    }

    /// Replaces the faults to come, as `HIP_SIM_FAIL` writes them.
    pub(crate) fn fail(&self, faults: &str) {
        let text = CString::new(faults).expect("no NUL");
        // SAFETY: a C string that outlives the call.
        let code = unsafe { (self.fail)(text.as_ptr()) };
        assert_eq!(code, 0, "{faults}");
    }

    /// Fails unless the CPU may read these bytes now: they are ordered after the device's work.
    pub(crate) fn check_read(&self, bytes: &[u8]) {
        // SAFETY: the function only looks at the numbers.
        let code = unsafe { (self.host_access)(bytes.as_ptr().cast(), bytes.len(), 0) };
        assert_eq!(code, 0, "{}", self.last_finding());
    }

    /// Fails if the checker found anything.
    pub(crate) fn check_order(&self) {
        assert_eq!(self.races(), 0, "{}", self.last_finding());
    }
}
