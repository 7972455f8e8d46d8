//! Streams and events: what is asynchronous, what waits for what, and what a fault does.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use super::*;
use crate::host::LiveObjects;
use crate::host::stream::Work;

// SAFETY (of the blocks below): handles and addresses come from the backend and are alive where
// a test does not say that they are not; memory outlives the work on it.
macro_rules! api {
    ($call:expr) => {
        // SAFETY: see above.
        unsafe { $call }
    };
}

/// Enqueues a job that may panic, as only this crate's own work can.
fn enqueue_job(host: &Host, stream: StreamHandle, job: impl FnOnce() + Send + 'static) {
    let target = host.target("test", stream).unwrap();
    target.enqueue(Work::Test(Box::new(job))).unwrap();
}

#[test]
fn work_is_asynchronous_and_in_order() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let gate = hold(&host, stream);
    let seen = Arc::new(Mutex::new(Vec::new()));
    for index in 0..100 {
        let seen = seen.clone();
        call(&host, stream, move || seen.lock().unwrap().push(index));
    }
    // The calls returned although the stream is held, and nothing ran.
    assert!(seen.lock().unwrap().is_empty());
    assert!(!api!(host.stream_query(stream)).unwrap());
    drop(gate);
    api!(host.stream_synchronize(stream)).unwrap();
    assert!(api!(host.stream_query(stream)).unwrap());
    assert_eq!(*seen.lock().unwrap(), (0..100).collect::<Vec<_>>());
    api!(host.stream_destroy(stream)).unwrap();
}

#[test]
fn copies_happen_when_the_stream_gets_there() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let (a, b) = (host.mem_alloc(1000).unwrap(), host.mem_alloc(1000).unwrap());
    fill(&host, a, 1, 1000, None);
    fill(&host, b, 2, 1000, None);
    let gate = hold(&host, stream);
    api!(host.memcpy_dtod(b, a, 500, Some(stream))).unwrap();
    assert_eq!(read(&host, b, 1000), vec![2; 1000]);
    // What the source holds when the stream gets there is what is copied.
    fill(&host, a, 3, 1000, None);
    drop(gate);
    api!(host.stream_synchronize(stream)).unwrap();
    assert_eq!(read(&host, b, 500), vec![3; 500]);
    assert_eq!(read(&host, b.offset(500), 500), vec![2; 500]);
    api!(host.mem_free(a)).unwrap();
    api!(host.mem_free(b)).unwrap();
    api!(host.stream_destroy(stream)).unwrap();
    assert_eq!(
        host.live(),
        LiveObjects {
            contexts: 1,
            ..LiveObjects::default()
        }
    );
}

#[test]
fn events_order_streams() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (first, second) = (new_stream(&host), new_stream(&host));
    let event = new_event(&host);
    let done = Arc::new(AtomicBool::new(false));
    let gate = hold(&host, first);
    let flag = done.clone();
    call(&host, first, move || flag.store(true, Ordering::Relaxed));
    api!(host.event_record(event, first)).unwrap();
    api!(host.stream_wait_event(second, event)).unwrap();
    let (sender, receiver) = channel();
    call(&host, second, move || {
        sender.send(done.load(Ordering::Relaxed)).unwrap()
    });
    assert!(!api!(host.event_query(event)).unwrap());
    assert!(!api!(host.stream_query(second)).unwrap());
    assert!(receiver.try_recv().is_err());
    drop(gate);
    assert!(receiver.recv().unwrap());
    api!(host.event_synchronize(event)).unwrap();
    assert!(api!(host.event_query(event)).unwrap());
}

#[test]
fn a_wait_is_for_the_record_of_its_moment() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (quick, held, waiting) = (new_stream(&host), new_stream(&host), new_stream(&host));
    let event = new_event(&host);
    // Never recorded: nothing to wait for.
    api!(host.stream_wait_event(waiting, event)).unwrap();
    api!(host.stream_synchronize(waiting)).unwrap();
    // A later record on a held stream does not matter to an earlier wait.
    let first_gate = hold(&host, quick);
    api!(host.event_record(event, quick)).unwrap();
    api!(host.stream_wait_event(waiting, event)).unwrap();
    let gate = hold(&host, held);
    api!(host.event_record(event, held)).unwrap();
    drop(first_gate);
    api!(host.stream_synchronize(waiting)).unwrap();
    assert!(!api!(host.event_query(event)).unwrap());
    // And an earlier record that is not done is waited for, although a later one is.
    api!(host.stream_wait_event(waiting, event)).unwrap();
    api!(host.event_record(event, quick)).unwrap();
    api!(host.event_synchronize(event)).unwrap();
    assert!(api!(host.event_query(event)).unwrap());
    assert!(!api!(host.stream_query(waiting)).unwrap());
    drop(gate);
    api!(host.stream_synchronize(waiting)).unwrap();
}

#[test]
fn what_is_destroyed_finishes_its_work() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (stream, other) = (new_stream(&host), new_stream(&host));
    let event = new_event(&host);
    let (sender, receiver) = channel();
    let gate = hold(&host, stream);
    call(&host, stream, move || sender.send(5).unwrap());
    api!(host.event_record(event, stream)).unwrap();
    api!(host.stream_wait_event(other, event)).unwrap();
    api!(host.event_destroy(event)).unwrap();
    api!(host.stream_destroy(stream)).unwrap();
    assert_eq!(
        kind(api!(host.stream_query(stream))),
        ErrorKind::InvalidHandle
    );
    assert_eq!(
        kind(api!(host.event_query(event))),
        ErrorKind::InvalidHandle
    );
    assert!(!api!(host.stream_query(other)).unwrap());
    drop(gate);
    // The context still waits for the destroyed stream.
    host.context_synchronize().unwrap();
    assert_eq!(receiver.try_recv(), Ok(5));
    assert!(api!(host.stream_query(other)).unwrap());
}

#[test]
fn the_backend_may_go_before_its_work() {
    let host = Host::new(1);
    let current = enter(&host, 0);
    let stream = new_stream(&host);
    let gate = hold(&host, stream);
    let (sender, receiver) = channel();
    call(&host, stream, move || sender.send(6).unwrap());
    drop(current);
    drop(host);
    drop(gate);
    assert_eq!(receiver.recv(), Ok(6));
}

#[test]
fn freeing_waits_for_every_stream() {
    let host = Host::new(2);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let memory = host.mem_alloc(64).unwrap();
    let gate = hold(&host, stream);
    fill(&host, memory, 1, 64, Some(stream));
    let done = Arc::new(AtomicBool::new(false));
    let flag = done.clone();
    call(&host, stream, move || flag.store(true, Ordering::Relaxed));
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        let host = &host;
        scope.spawn(move || {
            // Another device's context: freeing waits for all of them.
            let _current = enter(host, 1);
            sender.send(()).unwrap();
            api!(host.mem_free(memory)).unwrap();
            assert!(
                done.load(Ordering::Relaxed),
                "freed under the stream's hands"
            );
        });
        receiver.recv().unwrap();
        drop(gate);
    });
    assert_eq!(host.live().allocations, 0);
}

#[test]
fn the_null_stream_waits_for_blocking_streams_only() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (blocking, free) = (
        host.stream_create(StreamFlags::empty(), 0).unwrap(),
        new_stream(&host),
    );
    let memory = host.mem_alloc(4).unwrap();
    let never = hold(&host, free);
    let gate = hold(&host, blocking);
    fill(&host, memory, 1, 4, Some(blocking));
    assert!(!api!(host.stream_query(StreamHandle::NULL)).unwrap());
    std::thread::scope(|scope| {
        scope.spawn(|| drop(gate));
        // Returns although `free` is held, and its work is done.
        fill(&host, memory, 2, 2, Some(StreamHandle::NULL));
    });
    assert_eq!(read(&host, memory, 4), [2, 2, 1, 1]);
    let (sender, receiver) = channel();
    call(&host, StreamHandle::NULL, move || {
        sender.send(std::thread::current().id()).unwrap()
    });
    assert_ne!(receiver.try_recv().unwrap(), std::thread::current().id());
    let event = new_event(&host);
    api!(host.event_record(event, StreamHandle::NULL)).unwrap();
    assert!(api!(host.event_query(event)).unwrap());
    api!(host.stream_synchronize(StreamHandle::NULL)).unwrap();
    assert!(api!(host.stream_query(StreamHandle::NULL)).unwrap());
    assert!(!api!(host.stream_query(free)).unwrap());
    drop(never);
    api!(host.mem_free(memory)).unwrap();
}

#[test]
fn elapsed_time_needs_two_finished_records() {
    let host = Host::new(2);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let (start, end) = (new_event(&host), new_event(&host));
    let elapsed = |start, end| api!(host.event_elapsed_time(start, end));
    assert_eq!(kind(elapsed(start, end)), ErrorKind::InvalidHandle);
    api!(host.event_record(start, stream)).unwrap();
    let gate = hold(&host, stream);
    api!(host.event_record(end, stream)).unwrap();
    assert_eq!(kind(elapsed(start, end)), ErrorKind::NotReady);
    drop(gate);
    api!(host.event_synchronize(end)).unwrap();
    let forward = elapsed(start, end).unwrap();
    assert!(forward > 0.0);
    assert_eq!(elapsed(end, start).unwrap(), -forward);
    let silent = host.event_create(EventFlags::DISABLE_TIMING).unwrap();
    api!(host.event_record(silent, stream)).unwrap();
    api!(host.event_synchronize(silent)).unwrap();
    assert_eq!(kind(elapsed(start, silent)), ErrorKind::InvalidHandle);
    let _other = enter(&host, 1);
    let foreign = new_event(&host);
    assert_eq!(kind(elapsed(start, foreign)), ErrorKind::InvalidHandle);
}

#[test]
fn a_fault_sticks_and_passes_on_without_hanging_anyone() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (faulty, dependent, healthy) = (new_stream(&host), new_stream(&host), new_stream(&host));
    let (event, later) = (new_event(&host), new_event(&host));
    let memory = host.mem_alloc(8).unwrap();
    fill(&host, memory, 7, 8, None);
    let gate = hold(&host, faulty);
    enqueue_job(&host, faulty, || panic!("a fault on purpose"));
    fill(&host, memory, 8, 8, Some(faulty));
    let (sender, receiver) = channel();
    call(&host, faulty, move || sender.send(()).unwrap());
    api!(host.event_record(event, faulty)).unwrap();
    api!(host.stream_wait_event(dependent, event)).unwrap();
    fill(&host, memory, 9, 8, Some(dependent));
    drop(gate);
    for stream in [faulty, dependent] {
        for _ in 0..2 {
            let result = api!(host.stream_synchronize(stream));
            assert_eq!(result.unwrap_err().code, 719);
        }
        assert_eq!(
            kind(api!(host.stream_query(stream))),
            ErrorKind::LaunchFailure
        );
        assert_eq!(
            kind(api!(host.event_record(later, stream))),
            ErrorKind::LaunchFailure
        );
        let set = api!(host.memset(memory, MemsetValue::U8(1), 8, Some(stream)));
        assert_eq!(kind(set), ErrorKind::LaunchFailure);
    }
    // Work behind the fault was skipped, except for the call, which is made exactly once.
    assert_eq!(read(&host, memory, 8), vec![7; 8]);
    assert_eq!(receiver.recv(), Ok(()));
    assert!(receiver.recv().is_err());
    assert_eq!(
        kind(api!(host.event_synchronize(event))),
        ErrorKind::LaunchFailure
    );
    assert_eq!(
        kind(api!(host.event_query(event))),
        ErrorKind::LaunchFailure
    );
    assert_eq!(kind(host.context_synchronize()), ErrorKind::LaunchFailure);
    // A record that was refused left the event as it was; other streams go on.
    assert!(api!(host.event_query(later)).unwrap());
    fill(&host, memory, 6, 8, Some(healthy));
    api!(host.stream_synchronize(healthy)).unwrap();
    assert_eq!(read(&host, memory, 8), vec![6; 8]);
    api!(host.stream_destroy(faulty)).unwrap();
    api!(host.stream_destroy(dependent)).unwrap();
    api!(host.mem_free(memory)).unwrap();
}

#[test]
fn a_failed_stream_still_waits_for_others_before_its_records() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let (slow, failing) = (new_stream(&host), new_stream(&host));
    let (read, wrote) = (new_event(&host), new_event(&host));
    let (gate, fail) = (hold(&host, slow), hold(&host, failing));
    api!(host.event_record(read, slow)).unwrap();
    enqueue_job(&host, failing, || panic!("work that fails"));
    api!(host.stream_wait_event(failing, read)).unwrap();
    api!(host.event_record(wrote, failing)).unwrap();
    drop(fail);
    std::thread::sleep(std::time::Duration::from_millis(200));
    // It stands for the slow stream's work too, which is not over.
    assert!(!api!(host.event_query(wrote)).unwrap());
    drop(gate);
    assert!(api!(host.event_synchronize(wrote)).is_err());
}
