//! Forks, and the end of a process with work in flight, for real.
#![cfg(unix)]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hip_core::{
    BufferPool, Device, DeviceBuffer, DeviceSelector, ErrorKind, Event, FenceData, MemsetValue,
    PinnedBuffer, PooledBuffer, Runtime, Stream, Vendor,
};
use support::{device, pattern, read_back, upload};

/// What a child may take before it counts as hanging, in seconds.
const LIMIT: u32 = 60;

/// Objects of every kind, with work in flight.
struct Objects {
    device: Device,
    stream: Stream,
    event: Event,
    buffer: Arc<DeviceBuffer>,
    pinned: PinnedBuffer,
    pool: BufferPool<DeviceBuffer>,
    /// Held only, so that the child drops it.
    _on_loan: PooledBuffer<DeviceBuffer>,
}

impl Objects {
    fn new(device: &Device) -> Objects {
        let stream = Stream::new(device).unwrap();
        let pool = BufferPool::<DeviceBuffer>::new(device, 4096, 2);
        drop([(); 2].map(|()| pool.acquire(&stream).unwrap()));
        let mut on_loan = pool.acquire(&stream).unwrap();
        on_loan.busy_until(stream.record().unwrap());
        Objects {
            device: device.clone(),
            event: stream.record().unwrap(),
            buffer: upload(&stream, &pattern(4096)),
            pinned: PinnedBuffer::new(device, 4096).unwrap(),
            pool,
            _on_loan: on_loan,
            stream,
        }
    }

    /// The kind of error that each use gives; `None` where it gave none.
    fn uses(&mut self) -> Vec<(&'static str, Option<ErrorKind>)> {
        fn kind<T>(result: hip_core::Result<T>) -> Option<ErrorKind> {
            result.err().map(|error| error.kind())
        }
        let (device, stream) = (&self.device, &self.stream);
        let value = MemsetValue::U8(1);
        let mut fence = FenceData::new();
        fence.push(self.buffer.clone());
        let mut behind = FenceData::new();
        behind.push(self.buffer.clone());
        vec![
            ("bind", kind(device.bind())),
            ("memory_info", kind(device.memory_info())),
            ("device.synchronize", kind(device.synchronize())),
            ("Stream::new", kind(Stream::new(device))),
            ("DeviceBuffer::new", kind(DeviceBuffer::new(device, 16))),
            ("PinnedBuffer::new", kind(PinnedBuffer::new(device, 16))),
            ("record", kind(stream.record())),
            ("record_timed", kind(stream.record_timed())),
            ("stream.synchronize", kind(stream.synchronize())),
            ("is_idle", kind(stream.is_idle())),
            ("fill", kind(stream.fill(&self.buffer, 0, 16, value))),
            ("launch_host_func", kind(stream.launch_host_func(|| ()))),
            ("keep_alive", kind(stream.keep_alive(fence))),
            (
                "release_after",
                kind(behind.release_after([self.event.clone()])),
            ),
            ("is_done", kind(self.event.is_done())),
            ("event.synchronize", kind(self.event.synchronize())),
            ("acquire", kind(self.pool.acquire(stream))),
            ("acquire_for_cpu", kind(self.pool.acquire_for_cpu())),
            ("write", kind(self.pinned.write(0, &[1]))),
        ]
    }
}

/// Runs `child` in a fork of this process, which ends when it returns; gives how it ended.
fn in_child(child: impl FnOnce() -> Result<(), String>) -> libc::c_int {
    // SAFETY: the child runs `child` and ends without returning. The C library makes its heap
    // usable in the child; what else `child` uses is what is tested.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        // SAFETY: a child that hangs is ended by the signal.
        unsafe { libc::alarm(LIMIT) };
        let outcome = catch_unwind(AssertUnwindSafe(child));
        let said = match outcome {
            Ok(Ok(())) => String::new(),
            Ok(Err(text)) => format!("in the child: {text}\n"),
            Err(_) => "the child panicked\n".to_owned(),
        };
        // SAFETY: the text is valid for its length; `_exit` runs no handler of the parent's.
        unsafe {
            libc::write(2, said.as_ptr().cast(), said.len());
            libc::_exit(if said.is_empty() { 0 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: `status` is writable; the child is ours and is waited for once.
    assert_eq!(unsafe { libc::waitpid(pid, &mut status, 0) }, pid);
    status
}

fn expect_refused(objects: &mut Objects) -> Result<(), String> {
    for (name, kind) in objects.uses() {
        if kind != Some(ErrorKind::NotInitialized) {
            return Err(format!("{name} gave {kind:?}"));
        }
    }
    let error = objects.stream.record().map(drop).unwrap_err().to_string();
    match error.contains("forked") {
        true => Ok(()),
        false => Err(format!("no clear words: {error}")),
    }
}

/// The selector of the vendor under test, with which a parent's device was opened.
fn reopened() -> Result<(), String> {
    let wanted = std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".to_owned());
    let selector: DeviceSelector = wanted.parse().map_err(|error| format!("{error}"))?;
    match Device::open(&selector).map_err(|error| error.kind()) {
        Err(ErrorKind::NotInitialized) => Ok(()),
        other => Err(format!("opening the parent's device again gave {other:?}")),
    }
}

/// The CPU through a runtime that the parent never had.
fn fresh_host() -> Result<(), String> {
    let fresh = || -> hip_core::Result<bool> {
        let selector = DeviceSelector::Vendor(Vendor::Host);
        let device = hip_core::open_device(&Runtime::new(Default::default()), &selector)?;
        let stream = Stream::new(&device)?;
        // Large enough to be spread over the threads that the parent had.
        let bytes = pattern(3 << 20);
        Ok(read_back(&stream, &upload(&stream, &bytes)) == bytes)
    };
    match fresh() {
        Ok(true) => Ok(()),
        other => Err(format!("a fresh Host gave {other:?}")),
    }
}

#[test]
fn a_child_is_told_and_its_parent_unharmed() {
    let Some(device) = device() else { return };
    let mut objects = Objects::new(&device);
    // Threads that hold this crate's locks most of the time.
    let stop = Arc::new(AtomicBool::new(false));
    let busy: Vec<_> = (0..4)
        .map(|_| {
            let (device, stop, pool) = (device.clone(), stop.clone(), objects.pool.clone());
            std::thread::spawn(move || {
                let stream = Stream::new(&device).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    let mut buffer = pool.acquire(&stream).unwrap();
                    buffer.busy_until(stream.record().unwrap());
                    let mut fence = FenceData::new();
                    fence.push(buffer);
                    stream.keep_alive(fence).unwrap();
                    stream.synchronize().unwrap();
                }
            })
        })
        .collect();
    for round in 0..20 {
        let dropped = Objects::new(&device);
        let status = in_child(|| {
            expect_refused(&mut objects)?;
            drop(dropped);
            reopened()?;
            match round {
                0..10 => fresh_host(),
                _ => Ok(()),
            }
        });
        assert_eq!(status, 0, "round {round}: a signal or an exit code");
    }
    stop.store(true, Ordering::Relaxed);
    busy.into_iter().for_each(|thread| thread.join().unwrap());
    let failed: Vec<_> = objects
        .uses()
        .into_iter()
        .filter(|(_, kind)| kind.is_some())
        .collect();
    assert_eq!(failed, []);
    objects.stream.synchronize().unwrap();
    let after = upload(&objects.stream, &pattern(5000));
    assert_eq!(read_back(&objects.stream, &after), pattern(5000));
    drop(objects);
    while device.statistics().fences_pending > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_child_may_start_another_program_or_exit() {
    let Some(device) = device() else { return };
    let objects = Objects::new(&device);
    let status = in_child(|| {
        let arguments = [c"true".as_ptr(), std::ptr::null()];
        // SAFETY: the list ends with null. Returns only if there is no such program.
        unsafe { libc::execvp(c"true".as_ptr(), arguments.as_ptr()) };
        Err("true was not started".to_owned())
    });
    assert_eq!(status, 0);
    // With every exit handler of the process.
    // SAFETY: other threads of this program register no handlers meanwhile.
    let status = in_child(|| unsafe { libc::exit(0) });
    assert_eq!(status, 0);
    objects.stream.synchronize().unwrap();
}

/// The variable that tells a test that it is the child of its own.
const CHILD: &str = "HIP_TEST_EXIT_CHILD";

/// Runs the test `name` alone in another process, where it finds [`CHILD`] set; the process must
/// end by itself and well.
fn alone(name: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(LIMIT.into());
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{name}: the process does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success(), "{name}: {status}");
}

/// Enqueues what takes a while: on the CPU some hundred milliseconds, on a GPU a few.
fn keep_busy(stream: &Stream) {
    let size = 64 << 20;
    let buffer = Arc::new(DeviceBuffer::new(stream.device(), size).unwrap());
    for value in 0..40 {
        stream
            .fill(&buffer, 0, size, MemsetValue::U8(value))
            .unwrap();
    }
    if stream.device().vendor() == Vendor::Host {
        assert!(!stream.is_idle().unwrap(), "the work is in flight");
    }
}

/// Each way for a process to end, with work in flight and objects alive.
macro_rules! ends {
    ($($name:ident => $end:expr;)*) => {
        $(#[test]
        fn $name() {
            let Some(device) = device() else { return };
            if std::env::var_os(CHILD).is_none() {
                return alone(stringify!($name));
            }
            let objects = Objects::new(&device);
            keep_busy(&objects.stream);
            let end: fn(Objects) = $end;
            end(objects);
        })*
    };
}

/// Keeps a device busy and objects alive from a thread that nobody joins.
fn detach(objects: Objects) {
    let (started, is_started) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        loop {
            let mut fence = FenceData::new();
            fence.push(DeviceBuffer::new(&objects.device, 4096).unwrap());
            // At the very end of a process a driver may refuse: then there is nothing to do.
            if objects.stream.keep_alive(fence).is_err() {
                return;
            }
            let _ = started.send(());
        }
    });
    is_started.recv().unwrap();
}

ends! {
    main_may_return_with_work_in_flight => |objects| {
        let stream = objects.stream.clone();
        let mut fence = FenceData::new();
        fence.push(objects);
        stream.keep_alive(fence).unwrap();
    };
    main_may_return_with_objects_for_ever => |objects| {
        static FOR_EVER: OnceLock<Objects> = OnceLock::new();
        assert!(FOR_EVER.set(objects).is_ok());
    };
    a_process_may_exit_with_work_in_flight => |_objects| std::process::exit(0);
    a_process_may_exit_with_objects_in_locals => |objects| {
        thread_local! {
            static HELD: std::cell::RefCell<Option<Objects>> = const {
                std::cell::RefCell::new(None)
            };
        }
        HELD.set(Some(objects));
        std::process::exit(0)
    };
    main_may_return_under_a_detached_thread => detach;
    a_process_may_exit_under_a_detached_thread => |objects| {
        detach(objects);
        std::process::exit(0)
    };
}
