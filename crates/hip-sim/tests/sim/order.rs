//! The checker: silent where work is ordered, and not where it is not.

use std::ffi::c_void;
use std::ptr::NonNull;

use hip_dispatch::{
    Backend, DevicePtr, EventFlags, EventHandle, HostAllocFlags, MemsetValue, StreamFlags,
    StreamHandle,
};

use crate::lab::context_call;
use crate::lab::{ALL, Lab};

/// Two streams, an event and memory.
struct Scene<'a> {
    lab: &'a Lab,
    streams: [StreamHandle; 2],
    event: EventHandle,
    block: DevicePtr,
    pinned: NonNull<u8>,
}

const BYTES: usize = 4096;

impl<'a> Scene<'a> {
    fn new(lab: &'a Lab, flags: StreamFlags) -> Scene<'a> {
        let backend = &lab.backend;
        let block = backend.mem_alloc(BYTES).unwrap();
        let pinned = backend.host_alloc(BYTES, HostAllocFlags::PORTABLE).unwrap();
        // SAFETY: the memory has the bytes.
        unsafe { pinned.write_bytes(3, BYTES) };
        Scene {
            streams: [0; 2].map(|_| backend.stream_create(flags, 0).unwrap()),
            event: backend.event_create(EventFlags::DISABLE_TIMING).unwrap(),
            block,
            pinned,
            lab,
        }
    }

    fn backend(&self) -> &dyn Backend {
        &*self.lab.backend
    }

    fn write(&self, stream: Option<StreamHandle>) {
        self.fill(0, BYTES, stream);
    }

    fn fill(&self, offset: usize, bytes: usize, stream: Option<StreamHandle>) {
        let (to, value) = (self.block.offset(offset), MemsetValue::U8(1));
        // SAFETY: the block is alive and large enough.
        unsafe { self.backend().memset(to, value, bytes, stream) }.unwrap();
    }

    fn read(&self, stream: Option<StreamHandle>) {
        let (to, from) = (self.pinned.as_ptr(), self.block);
        // SAFETY: as above, and so is the pinned memory.
        unsafe { self.backend().memcpy_dtoh(to, from, BYTES, stream) }.unwrap();
    }

    fn record(&self, stream: StreamHandle) {
        // SAFETY: both are alive.
        unsafe { self.backend().event_record(self.event, stream) }.unwrap();
    }

    fn wait(&self, stream: StreamHandle) {
        // SAFETY: both are alive.
        unsafe { self.backend().stream_wait_event(stream, self.event) }.unwrap();
    }

    fn host(&self, write: bool) -> i32 {
        self.lab
            .library
            .host_access(self.pinned.as_ptr(), BYTES, write)
    }
}

#[derive(Clone, Copy)]
enum Step {
    /// The device writes or reads memory, on a stream.
    Write(usize),
    Read(usize),
    Record(usize),
    Wait(usize),
    SyncStream(usize),
    SyncEvent,
    SyncContext,
    Query,
}
use Step::{Query, Read, Record, SyncContext, SyncEvent, SyncStream, Wait, Write};

impl Scene<'_> {
    fn play(&self, steps: &[Step]) -> u64 {
        let before = self.lab.library.races();
        for step in steps {
            let streams = self.streams;
            // SAFETY: everything is alive.
            unsafe {
                match *step {
                    Write(stream) => self.write(Some(streams[stream])),
                    Read(stream) => self.read(Some(streams[stream])),
                    Record(stream) => self.record(streams[stream]),
                    Wait(stream) => self.wait(streams[stream]),
                    SyncStream(stream) => {
                        self.backend().stream_synchronize(streams[stream]).unwrap()
                    }
                    SyncEvent => self.backend().event_synchronize(self.event).unwrap(),
                    SyncContext => self.backend().context_synchronize().unwrap(),
                    Query => while !self.backend().event_query(self.event).unwrap() {},
                }
            }
        }
        let found = self.lab.library.races() - before;
        // A scene begins where the last one is over.
        self.backend().context_synchronize().unwrap();
        found
    }
}

#[test]
fn what_is_not_waited_for_is_found() {
    for name in ALL {
        let lab = Lab::new(name);
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        let cases: [(&[Step], u64); 14] = [
            (&[Write(0), Read(0), Write(0)], 0),
            (&[Write(0), Read(1)], 1),
            (&[Write(0), Write(1)], 1),
            (&[Read(0), Write(1)], 1),
            (&[Write(0), Record(0), Wait(1), Read(1)], 0),
            // The event was recorded too early, waited for too late or by the wrong stream.
            (&[Record(0), Write(0), Wait(1), Read(1)], 1),
            (&[Write(0), Record(0), Read(1), Wait(1)], 1),
            (&[Write(0), Record(0), Wait(0), Read(1)], 1),
            // A wait is for the record of its moment.
            (&[Record(0), Wait(1), Write(0), Record(0), Read(1)], 1),
            (&[Write(0), SyncStream(0), Read(1)], 0),
            (&[Write(0), SyncStream(1), Read(1)], 1),
            (&[Write(0), Record(0), SyncEvent, Read(1)], 0),
            (&[Write(0), Record(0), Query, Read(1)], 0),
            (&[Write(0), SyncContext, Read(1)], 0),
        ];
        for (index, (steps, races)) in cases.into_iter().enumerate() {
            assert_eq!(scene.play(steps), races, "{name}, case {index}");
        }
        assert_eq!(lab.library.unproven(), 0);
    }
}

/// How a test proves that it would notice: the library leaves one wait out.
#[test]
fn a_wait_that_is_left_out_is_found() {
    for name in ALL {
        let lab = Lab::new(name);
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        lab.library
            .fail("cuStreamWaitEvent:2=0,hipStreamWaitEvent:2=0");
        let steps = [Write(0), Record(0), Wait(1), Read(1)];
        let races = [0; 3].map(|_| scene.play(&steps));
        assert_eq!(races, [0, 1, 0], "{name}");
    }
}

#[test]
fn two_reads_race_only_where_they_write() {
    let lab = Lab::new("nvidia");
    let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
    // Both read the block, and both write the pinned memory.
    assert_eq!(scene.play(&[Read(0), Read(1)]), 1);
    let text = lab.library.last_finding();
    assert!(text.contains("race: cuMemcpyDtoHAsync on stream"), "{text}");
    assert!(
        text.contains("not ordered after: cuMemcpyDtoHAsync on stream"),
        "{text}"
    );
    let start = format!("writes {:#x}..", scene.pinned.as_ptr().addr());
    assert_eq!(text.matches(&start).count(), 2, "{text}");
}

#[test]
fn parts_of_a_block_are_told_apart() {
    let lab = Lab::new("amd6");
    let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
    scene.fill(0, 100, Some(scene.streams[0]));
    scene.fill(100, 100, Some(scene.streams[1]));
    assert_eq!(lab.library.races(), 0);
    // Columns of the same rows.
    for (stream, left) in scene.streams.into_iter().zip([0, 32]) {
        let to = scene.block.offset(1024 + left);
        // SAFETY: the rows are in the block.
        unsafe { scene.backend().memset_2d(to, 64, 0, 32, 10, Some(stream)) }.unwrap();
    }
    assert_eq!(lab.library.races(), 0);
    scene.fill(99, 2, Some(scene.streams[0]));
    assert_eq!(lab.library.races(), 1);
}

/// The null stream orders itself with streams that do not say that they are not blocking.
#[test]
fn the_null_stream_orders_blocking_streams() {
    for name in ALL {
        for (flags, races) in [(StreamFlags::empty(), 0), (StreamFlags::NON_BLOCKING, 2)] {
            let lab = Lab::new(name);
            let scene = Scene::new(&lab, flags);
            scene.write(Some(scene.streams[0]));
            scene.write(Some(StreamHandle::NULL));
            scene.write(Some(scene.streams[1]));
            assert_eq!(lab.library.races(), races, "{name} {flags:?}");
        }
    }
}

/// Of the calls without a stream, copies that touch the host block; fills do not.
#[test]
fn a_call_that_blocks_is_over() {
    for (blocks, races) in [(true, 0), (false, 1)] {
        let lab = Lab::new("nvidia");
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        if blocks {
            scene.read(None);
        } else {
            scene.write(None);
        }
        scene.write(Some(scene.streams[0]));
        assert_eq!(lab.library.races(), races);
    }
}

#[test]
fn the_programs_own_accesses_are_checked() {
    for name in ALL {
        let lab = Lab::new(name);
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        assert_eq!(scene.host(true), 0);
        scene.write(Some(scene.streams[0]));
        scene.read(Some(scene.streams[0]));
        assert_eq!((scene.host(false), lab.library.races()), (1, 1), "{name}");
        // SAFETY: the stream is alive.
        unsafe { scene.backend().stream_synchronize(scene.streams[0]) }.unwrap();
        assert_eq!((scene.host(false), lab.library.races()), (0, 1), "{name}");
        // What the program wrote is there when it enqueues what reads it, and not the other way.
        assert_eq!(scene.host(true), 0);
        let (to, from) = (scene.block, scene.pinned.as_ptr());
        // SAFETY: both have the bytes.
        unsafe {
            scene
                .backend()
                .memcpy_htod(to, from, BYTES, Some(scene.streams[0]))
        }
        .unwrap();
        assert_eq!(
            (scene.host(false), lab.library.races()),
            (0, 1),
            "{name}: two reads"
        );
        assert_eq!((scene.host(true), lab.library.races()), (1, 2), "{name}");
        assert_eq!(lab.library.host_access(scene.block.as_ptr(), 1, false), -1);
        assert_eq!(lab.library.host_access([0_u8].as_ptr(), 1, false), -1);
    }
}

/// A host function runs where its stream is.
#[test]
fn host_functions_are_part_of_their_stream() {
    type Access = extern "C" fn(*const c_void, usize, i32) -> i32;
    struct Data {
        access: Access,
        address: usize,
        result: std::sync::mpsc::Sender<i32>,
    }
    unsafe extern "C" fn touch(data: *mut c_void) {
        // SAFETY: the box leaked below, once.
        let data = unsafe { Box::from_raw(data.cast::<Data>()) };
        let address = std::ptr::without_provenance(data.address);
        data.result.send((data.access)(address, BYTES, 0)).unwrap();
    }
    for name in ALL {
        let lab = Lab::new(name);
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        scene.read(Some(scene.streams[0]));
        let found = scene.streams.map(|stream| {
            // SAFETY: the extension's signature.
            let access = unsafe { lab.library.function::<Access>("hipSimHostAccess") };
            let (result, receiver) = std::sync::mpsc::channel();
            let address = scene.pinned.as_ptr().addr();
            let data = Box::into_raw(Box::new(Data {
                access,
                address,
                result,
            }));
            // SAFETY: the function takes the box, once.
            unsafe { scene.backend().launch_host_func(stream, touch, data.cast()) }.unwrap();
            receiver.recv().unwrap()
        });
        assert_eq!(found, [0, 1], "{name}: the second stream did not wait");
    }
}

/// Another thread saw the work finished; whether this one was told cannot be seen.
#[test]
fn what_threads_tell_each_other_is_unproven() {
    for (strict, expected) in [("0", (0, 1)), ("1", (1, 0))] {
        let lab = Lab::with("nvidia", &[("HIP_SIM_STRICT", strict)]);
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        scene.write(Some(scene.streams[0]));
        let (backend, context) = (lab.backend.clone(), lab.context);
        let stream = scene.streams[0];
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let token = context_call!(backend.context_push(context)).unwrap();
                // SAFETY: the stream is alive.
                unsafe { backend.stream_synchronize(stream) }.unwrap();
                backend.context_pop(token).unwrap();
            });
        });
        scene.write(Some(scene.streams[1]));
        assert_eq!((lab.library.races(), lab.library.unproven()), expected);
    }
}

/// Streams come and go; what is known of those that are gone stays right.
#[test]
fn many_streams_later_a_race_is_still_one() {
    let lab = Lab::new("nvidia");
    let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
    let gone = lab.stream();
    scene.write(Some(gone));
    // SAFETY: alive until here; its work is still done.
    unsafe { lab.backend.stream_destroy(gone) }.unwrap();
    for _ in 0..600 {
        let stream = lab.stream();
        scene.record(scene.streams[0]);
        // SAFETY: both are alive; the stream is not used afterwards.
        unsafe {
            lab.backend.stream_wait_event(stream, scene.event).unwrap();
            lab.backend.stream_destroy(stream).unwrap();
        }
    }
    assert_eq!(scene.play(&[Write(0)]), 1);
    assert_eq!(scene.play(&[Write(1)]), 0);
}

#[test]
fn a_destroyed_streams_work_is_waited_for_with_the_context() {
    for (wait, races) in [(true, 0), (false, 1)] {
        let lab = Lab::new("amd7");
        let scene = Scene::new(&lab, StreamFlags::NON_BLOCKING);
        let gone = lab.stream();
        scene.write(Some(gone));
        // SAFETY: alive until here; its work is still done.
        unsafe { lab.backend.stream_destroy(gone) }.unwrap();
        if wait {
            lab.backend.context_synchronize().unwrap();
        }
        scene.write(Some(scene.streams[0]));
        assert_eq!(lab.library.races(), races);
    }
}

/// The environment is stronger than the file beside the library.
#[test]
fn a_race_can_end_the_process() {
    use std::os::unix::process::ExitStatusExt;
    let program = std::env::current_exe().unwrap();
    let run = |test: &str| {
        let mut command = std::process::Command::new(&program);
        command.args(["--exact", test]).env("HIP_SIM_ABORT", "1");
        command.output().unwrap()
    };
    let racing = run("order::parts_of_a_block_are_told_apart");
    assert_eq!(racing.status.signal(), Some(libc::SIGABRT), "{racing:?}");
    let text = String::from_utf8_lossy(&racing.stderr);
    assert!(
        text.contains("hip-sim: race: hipMemsetD8Async on stream"),
        "{text}"
    );
    assert!(
        run("launches::kernels_give_what_the_host_gives")
            .status
            .success()
    );
}
