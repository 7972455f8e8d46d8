//! Kernels on GStreamer's memory: order between streams, and what arguments keep from nobody.

use gst::prelude::*;
use gst_hip::{HipBufferPool, HipKernelArgs, HipStream, MemoryKind};

use crate::common::{
    self, DEVICE_WAYS, Gate, Way, alloc, cpu_read, cpu_write, eventually, live, test_device,
};
use crate::kernel::{add_args, launch_add, module};

const SIZE: usize = 4096;

#[test]
fn a_launch_waits_on_the_device_for_earlier_work() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = || HipStream::new(&device).unwrap();
    let (writer, reader) = (stream(), stream());
    for way in DEVICE_WAYS {
        let (memory, sink) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
        let args = add_args(&memory, &sink, 1);
        let gate = Gate::close(&writer);
        common::device_fill(&memory, &writer, 5);
        let before = device.statistics();
        launch_add(&module, &reader, SIZE, &args).unwrap();
        assert!(
            !reader.is_idle().unwrap(),
            "{way:?}: the launch did not wait"
        );
        let after = device.statistics();
        assert_eq!(after.event_waits, before.event_waits);
        assert_eq!(after.stream_waits, before.stream_waits);
        gate.open();
        assert!(cpu_read(&sink) == [6; SIZE], "{way:?}");
    }
}

#[test]
fn later_work_waits_on_the_device_for_a_launch() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = || HipStream::new(&device).unwrap();
    let (launcher, writer) = (stream(), stream());
    for way in DEVICE_WAYS {
        let (mut memory, sink) = (alloc(&device, way, SIZE), alloc(&device, way, SIZE));
        cpu_write(&mut memory, &[1; SIZE]);
        let gate = Gate::close(&launcher);
        launch_add(&module, &launcher, SIZE, &add_args(&memory, &sink, 1)).unwrap();
        common::device_fill(&memory, &writer, 9);
        assert!(
            !writer.is_idle().unwrap(),
            "{way:?}: the writer did not wait"
        );
        gate.open();
        assert!(cpu_read(&sink) == [2; SIZE], "{way:?}");
        assert!(cpu_read(&memory) == [9; SIZE], "{way:?}");
    }
}

#[test]
fn launches_that_read_do_not_wait_for_each_other() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = || HipStream::new(&device).unwrap();
    let (held, free) = (stream(), stream());
    let memory = alloc(&device, Way::Device, SIZE);
    let sinks = [(); 2].map(|()| alloc(&device, Way::Device, SIZE));
    common::device_fill(&memory, &held, 3);
    // NVIDIA's driver loads a kernel at its first launch, and may wait for the device to do it.
    launch_add(&module, &held, SIZE, &add_args(&memory, &sinks[0], 1)).unwrap();
    held.try_synchronize().unwrap();
    let gate = Gate::close(&held);
    launch_add(&module, &held, SIZE, &add_args(&memory, &sinks[0], 1)).unwrap();
    launch_add(&module, &free, SIZE, &add_args(&memory, &sinks[1], 2)).unwrap();
    free.try_synchronize().unwrap();
    assert!(
        !held.is_idle().unwrap(),
        "the second reader waited for the first"
    );
    gate.open();
    assert!(cpu_read(&sinks[0]) == [4; SIZE]);
    assert!(cpu_read(&sinks[1]) == [5; SIZE]);
}

#[test]
fn a_buffer_among_the_arguments_goes_back_to_its_pool() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let pool = HipBufferPool::new(&device, MemoryKind::Device);
    let caps = gst::Caps::new_empty_simple("application/x-tensor");
    pool.configure(&caps, SIZE as u32, 1, 1).unwrap();
    pool.set_active(true).unwrap();
    let allocated = device.statistics().device_allocations;
    let mut kept = Vec::new();
    for round in 0..5_u8 {
        let mut buffer = pool.acquire_buffer(None).unwrap();
        let mut args = HipKernelArgs::new();
        args.add_memory(buffer.peek_memory(0), 0).unwrap();
        args.add_memory(buffer.peek_memory(0), 0).unwrap();
        args.add(SIZE as u32);
        args.add(1_u8);
        kept.push(args);
        let writable = buffer.get_mut().unwrap();
        let memory = writable
            .peek_memory_mut(0)
            .expect("memory that nobody else refers to");
        memory.map_writable().unwrap().fill(round);
        // The arguments of earlier rounds are of the same memory.
        for args in &kept {
            launch_add(&module, &stream, SIZE, args).unwrap();
        }
        assert!(cpu_read(buffer.peek_memory(0)) == vec![round + kept.len() as u8; SIZE]);
    }
    assert_eq!(device.statistics().device_allocations, allocated);
    pool.set_active(false).unwrap();
}

#[test]
fn memory_dropped_behind_a_launch_lives_until_it_is_done() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let stream = HipStream::new(&device).unwrap();
    let before = live(&device);
    let sink = alloc(&device, Way::Device, SIZE);
    let mut memory = alloc(&device, Way::Device, SIZE);
    cpu_write(&mut memory, &[3; SIZE]);
    let args = add_args(&memory, &sink, 4);
    let gate = Gate::close(&stream);
    launch_add(&module, &stream, SIZE, &args).unwrap();
    let held = live(&device);
    drop(memory);
    assert_eq!(live(&device), held, "freed under the kernel");
    gate.open();
    assert!(cpu_read(&sink) == [7; SIZE]);
    drop(sink);
    // The arguments keep nothing.
    eventually("the memory is freed", || live(&device) == before);
    drop(args);
}

#[test]
fn a_steady_state_makes_no_events_and_waits_for_nothing() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    let (one, two) = (
        HipStream::new(&device).unwrap(),
        HipStream::new(&device).unwrap(),
    );
    let (memory, sink) = (
        alloc(&device, Way::Device, SIZE),
        alloc(&device, Way::Device, SIZE),
    );
    let frame = |value: u8| {
        common::device_fill(&memory, &one, value);
        launch_add(&module, &two, SIZE, &add_args(&memory, &sink, 1)).unwrap();
        assert!(cpu_read(&sink) == [value + 1; SIZE]);
    };
    (0..5).for_each(frame);
    let before = device.statistics();
    (5..50).for_each(frame);
    let after = device.statistics();
    assert_eq!(after.events_created, before.events_created);
    assert_eq!(after.device_allocations, before.device_allocations);
    assert_eq!(after.stream_waits, before.stream_waits);
    // The CPU map at the end of each frame.
    assert_eq!(after.event_waits - before.event_waits, 45);
}

/// Memory is added, launched with and freed by threads that know nothing of each other.
#[test]
fn threads_share_memory_and_free_it() {
    let Some(device) = test_device() else { return };
    let Some(module) = module(&device) else {
        return;
    };
    for _ in 0..20 {
        let memory = alloc(&device, Way::Device, 64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (device, module, memory) = (&device, &module, memory.clone());
                scope.spawn(move || {
                    let stream = HipStream::new(device).unwrap();
                    let sink = alloc(device, Way::Device, 64);
                    let args = add_args(&memory, &sink, 1);
                    launch_add(module, &stream, 64, &args).unwrap();
                    drop(memory);
                    // Whoever comes late finds the memory freed, or not yet: no crash either way.
                    let again = launch_add(module, &stream, 64, &args);
                    assert!(
                        again.is_ok() || format!("{again:?}").contains("Freed"),
                        "{again:?}"
                    );
                    assert!(stream.synchronize());
                });
            }
            drop(memory);
        });
    }
}
