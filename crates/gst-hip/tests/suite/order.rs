//! Order on the device: streams wait for each other, threads do not.

use crate::common;
use crate::common::{DEVICE_WAYS, Gate, Way, alloc, cpu_read, cpu_write, live, ours, test_device};
use gst_hip::Stream;

const SIZE: usize = 4096;

#[test]
fn a_reader_waits_on_the_device_for_the_writer() {
    for way in DEVICE_WAYS {
        // A device each: the other's memory may still be on its way out, and be waited for.
        let Some(device) = test_device() else { return };
        let (writer, reader) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let (memory, sink) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
        common::device_fill(&memory, &writer, 1);
        let gate = Gate::close(&writer);
        common::device_fill(&memory, &writer, 2);
        let before = device.statistics();
        common::device_copy(&sink, &memory, &reader);
        // The thread got here although nothing could run yet.
        assert!(
            !reader.is_idle().unwrap(),
            "{way:?}: the reader did not wait"
        );
        let after = device.statistics();
        assert_eq!(after.event_waits, before.event_waits);
        assert_eq!(after.stream_waits, before.stream_waits);
        gate.open();
        assert!(cpu_read(&sink) == [2; SIZE], "{way:?}");
    }
}

#[test]
fn a_writer_waits_on_the_device_for_every_reader() {
    let Some(device) = test_device() else { return };
    let stream = || Stream::new(&device).unwrap();
    // More readers than an allocation keeps without allocating.
    let (writer, readers) = (stream(), [(); 6].map(|()| stream()));
    for way in DEVICE_WAYS {
        let memory = alloc(&device, way, SIZE);
        common::device_fill(&memory, &writer, 1);
        let sinks: Vec<_> = readers.iter().map(|_| alloc(&device, way, SIZE)).collect();
        let gates: Vec<_> = readers.iter().map(Gate::close).collect();
        for (sink, reader) in sinks.iter().zip(&readers) {
            common::device_copy(sink, &memory, reader);
        }
        common::device_fill(&memory, &writer, 2);
        assert!(
            !writer.is_idle().unwrap(),
            "{way:?}: the writer did not wait"
        );
        gates.into_iter().for_each(Gate::open);
        for sink in &sinks {
            assert!(
                cpu_read(sink) == [1; SIZE],
                "{way:?}: overwritten while it was read"
            );
        }
        assert!(cpu_read(&memory) == [2; SIZE], "{way:?}");
    }
}

/// Threads that share a stream can end their accesses in another order than they recorded.
#[test]
fn an_access_that_ends_late_takes_nothing_back() {
    let Some(device) = test_device() else { return };
    let stream = || Stream::new(&device).unwrap();
    let (shared, writer) = (stream(), stream());
    for way in DEVICE_WAYS {
        for first_writes in [false, true] {
            let (memory, sink) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
            common::device_fill(&memory, &shared, 1);
            let first = match first_writes {
                true => ours(&memory).begin_write(&shared),
                false => ours(&memory).begin_read(&shared),
            };
            let first = first.unwrap();
            let early = shared.record().unwrap();
            let gate = Gate::close(&shared);
            common::device_copy(&sink, &memory, &shared);
            first.finish(&early).unwrap();
            common::device_fill(&memory, &writer, 2);
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert!(
                !writer.is_idle().unwrap(),
                "{way:?}: the writer did not wait"
            );
            gate.open();
            assert!(
                cpu_read(&sink) == [1; SIZE],
                "{way:?}: overwritten while it was read"
            );
        }
    }
}

#[test]
fn an_upload_is_seen_by_every_stream() {
    let Some(device) = test_device() else { return };
    let (first, second) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    for way in DEVICE_WAYS {
        let mut memory = alloc(&device, way, SIZE);
        let (one, two) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
        common::device_fill(&memory, &second, 9);
        cpu_write(&mut memory, &[6; SIZE]);
        let gate = Gate::close(&first);
        // The first reader's stream uploads; the second has to wait for that.
        let before = device.statistics().copies_htod;
        common::device_copy(&one, &memory, &first);
        common::device_copy(&two, &memory, &second);
        let uploads = device.statistics().copies_htod - before;
        assert_eq!(
            uploads,
            u64::from(!ours(&memory).is_host_addressable()),
            "{way:?}"
        );
        gate.open();
        assert!(cpu_read(&two) == [6; SIZE], "{way:?}");
        assert!(cpu_read(&one) == [6; SIZE], "{way:?}");
    }
}

#[test]
fn overwriting_uploads_nothing() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &[6; SIZE]);
        let before = device.statistics().copies_htod;
        let access = ours(&memory).begin_overwrite(&stream).unwrap();
        common::enqueue_fill(&access, &stream, 7);
        access.finish(&stream.record().unwrap()).unwrap();
        assert_eq!(device.statistics().copies_htod, before, "{way:?}");
        assert!(cpu_read(&memory) == [7; SIZE], "{way:?}");
    }
}

#[test]
fn an_access_that_is_only_dropped_is_waited_for_all_the_same() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    for way in DEVICE_WAYS {
        let memory = alloc(&device, way, SIZE);
        let gate = Gate::close(&stream);
        let access = ours(&memory).begin_write(&stream).unwrap();
        common::enqueue_fill(&access, &stream, 5);
        drop(access);
        let waited = common::waits_for_gate(gate, || assert!(cpu_read(&memory) == [5; SIZE]));
        assert!(waited, "{way:?}");
    }
}

#[test]
fn an_event_of_another_stream_does_not_end_an_access() {
    let Some(device) = test_device() else { return };
    let (stream, other) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
    let memory = alloc(&device, Way::Device, SIZE);
    let gate = Gate::close(&stream);
    let access = ours(&memory).begin_write(&stream).unwrap();
    common::enqueue_fill(&access, &stream, 5);
    assert!(access.finish(&other.record().unwrap()).is_err());
    // It ended with an event of its own stream.
    let waited = common::waits_for_gate(gate, || assert!(cpu_read(&memory) == [5; SIZE]));
    assert!(waited);
}

#[test]
fn memory_dropped_with_work_in_flight_lives_until_it_is_done() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let before = live(&device);
    for way in DEVICE_WAYS {
        let sink = alloc(&device, way, SIZE);
        let mut memory = alloc(&device, way, SIZE);
        cpu_write(&mut memory, &[3; SIZE]);
        let gate = Gate::close(&stream);
        common::device_copy(&sink, &memory, &stream);
        let held = live(&device);
        drop(memory);
        assert_eq!(
            live(&device)[..4],
            held[..4],
            "{way:?}: freed under the copy"
        );
        gate.open();
        assert!(cpu_read(&sink) == [3; SIZE], "{way:?}");
        drop(sink);
        common::eventually("the memory is freed", || live(&device) == before);
    }
}

#[test]
fn a_steady_state_makes_no_events_and_allocates_nothing() {
    for way in DEVICE_WAYS {
        // A device each: the other's memory may still be on its way out, and be waited for.
        let Some(device) = test_device() else { return };
        let (one, two) = (Stream::new(&device).unwrap(), Stream::new(&device).unwrap());
        let (memory, sink) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
        let mut frame = |value| {
            common::device_fill(&memory, &one, value);
            common::device_copy(&sink, &memory, &two);
            assert!(cpu_read(&sink) == [value; SIZE]);
        };
        (0..5).for_each(&mut frame);
        let before = device.statistics();
        (5..50).for_each(&mut frame);
        let after = device.statistics();
        assert_eq!(after.events_created, before.events_created, "{way:?}");
        assert_eq!(
            after.device_allocations, before.device_allocations,
            "{way:?}"
        );
        assert_eq!(
            after.pinned_allocations, before.pinned_allocations,
            "{way:?}"
        );
        assert_eq!(after.stream_waits, before.stream_waits, "{way:?}");
        assert_eq!(after.event_waits - before.event_waits, 45, "{way:?}");
    }
}

/// A callback runs on the completion worker, which must not wait for itself.
#[test]
fn a_callback_that_finds_no_room_is_told_so() {
    let Some(device) = test_device() else { return };
    let stream = Stream::new(&device).unwrap();
    let (told, answer) = std::sync::mpsc::channel();
    let mut fence = gst_hip::FenceData::new();
    let of = device.clone();
    fence.on_complete(move || {
        let refused = gst_hip::HipAllocator::alloc_device(&of, 1 << 60).is_err();
        // A test that gave up does not listen any more.
        let _ = told.send(refused);
    });
    stream.keep_alive(fence).unwrap();
    let patience = std::time::Duration::from_secs(20);
    assert_eq!(answer.recv_timeout(patience), Ok(true));
}
