//! Faults on demand, the log and the counters.

use hip_dispatch::{EventFlags, MemsetValue};

use crate::lab::{ALL, Lab, Library, code};

#[test]
fn the_nth_call_fails_and_the_next_does_not() {
    let lab = Lab::with(
        "nvidia",
        &[("HIP_SIM_FAIL", "cuMemAlloc_v2:2, cuEventCreate:1=709")],
    );
    let alloc = || {
        lab.backend
            .mem_alloc(16)
            .map_or_else(|error| error.code, |_| 0)
    };
    assert_eq!([0; 3].map(|_| alloc()), [0, 2, 0]);
    let error = lab.backend.event_create(EventFlags::empty()).unwrap_err();
    assert_eq!(
        (error.code, &*error.text),
        (709, "CUDA_ERROR_CONTEXT_IS_DESTROYED, context is destroyed")
    );
    lab.backend.event_create(EventFlags::empty()).unwrap();
    assert_eq!((lab.library.live(0), lab.library.live(5)), (2, 1));
}

#[test]
fn faults_can_be_for_one_thread_and_for_ever() {
    let lab = Lab::new("amd7");
    lab.library.fail("hipMalloc:1+:unlucky");
    lab.backend.mem_alloc(16).unwrap();
    let backend = lab.backend.clone();
    let thread = std::thread::Builder::new().name("an unlucky one".into());
    let codes = thread
        .spawn(move || [0; 2].map(|_| code(backend.mem_alloc(16))))
        .unwrap();
    assert_eq!(codes.join().unwrap(), [2, 2]);
    assert_eq!(lab.library.calls("hipMalloc"), 3);
    assert_eq!(lab.library.calls_on("hipMalloc", "unlucky"), 2);
    lab.library.fail("");
    lab.backend.mem_alloc(16).unwrap();
}

/// As a driver that passes on an earlier error, a call that gives back does so and fails.
#[test]
fn what_is_context_call_is_gone_even_if_the_call_fails() {
    for name in ALL {
        let lab = Lab::new(name);
        let (block, stream) = (lab.backend.mem_alloc(16).unwrap(), lab.stream());
        lab.library
            .fail("hipFree:1,cuMemFree_v2:1,hipStreamDestroy:1,cuStreamDestroy_v2:1");
        // SAFETY: both are alive and not used afterwards.
        let codes = unsafe {
            [
                code(lab.backend.mem_free(block)),
                code(lab.backend.stream_destroy(stream)),
            ]
        };
        assert_eq!(codes, [999, 999]);
        assert_eq!((lab.library.live(0), lab.library.live(4)), (0, 0), "{name}");
    }
}

#[test]
fn a_lost_device_stays_lost() {
    for (name, lost, usual) in [
        ("amd5", "3", 719),
        ("nvidia", "4", 46),
        ("nvidia", "4=719", 719),
    ] {
        let lab = Lab::with(name, &[("HIP_SIM_LOST", lost)]);
        // On NVIDIA the context was one call, on AMD it is none that needs the device.
        let block = lab.backend.mem_alloc(16).unwrap();
        let stream = lab.stream();
        assert_eq!(code(lab.backend.mem_alloc(16)), usual, "{name}");
        // SAFETY: both are alive and not used afterwards.
        let codes = unsafe {
            [
                code(lab.backend.stream_synchronize(stream)),
                code(lab.backend.stream_destroy(stream)),
                code(lab.backend.mem_free(block)),
            ]
        };
        assert_eq!(codes, [usual; 3], "{name}");
        assert_eq!((lab.library.live(0), lab.library.live(4)), (0, 0), "{name}");
        assert_eq!(lab.backend.device_count().unwrap(), 1);
        std::mem::forget(lab);
    }
}

/// The device's own clock says how long: a sleep is never shorter than asked for.
#[test]
fn a_slow_device_takes_its_time() {
    for name in ALL {
        let lab = Lab::with(name, &[("HIP_SIM_SLOW", "3000")]);
        let (block, stream) = (lab.backend.mem_alloc(16).unwrap(), lab.stream());
        let [start, end] = [0; 2].map(|_| lab.backend.event_create(EventFlags::empty()).unwrap());
        // SAFETY: everything is alive.
        let milliseconds = unsafe {
            lab.backend.event_record(start, stream).unwrap();
            for _ in 0..3 {
                lab.backend
                    .memset(block, MemsetValue::U8(0), 16, Some(stream))
                    .unwrap();
            }
            lab.backend.event_record(end, stream).unwrap();
            lab.backend.event_synchronize(end).unwrap();
            lab.backend.event_elapsed_time(start, end).unwrap()
        };
        assert!(milliseconds >= 9.0, "{name}: {milliseconds}");
    }
}

#[test]
fn the_log_has_a_line_for_each_call() {
    let folder = crate::lab::Folder::new();
    let file = folder.path().join("log");
    let log = file.to_str().unwrap();
    let lab = Lab::with(
        "amd6",
        &[("HIP_SIM_LOG", log), ("HIP_SIM_FAIL", "hipMalloc:2")],
    );
    let backend = lab.backend.clone();
    let thread = std::thread::Builder::new().name("logged".into());
    let run = move || {
        backend.mem_alloc(16).unwrap();
        backend.mem_alloc(16).unwrap_err();
    };
    thread.spawn(run).unwrap().join().unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split('\t').collect())
        .collect();
    assert_eq!(
        lines[0][2..],
        ["hipRuntimeGetVersion", "0"],
        "the loader's first call"
    );
    let logged: Vec<_> = lines.iter().filter(|line| line[1] == "logged").collect();
    let [first, second] = &logged[..] else {
        panic!("two calls: {logged:?}")
    };
    assert_eq!(
        (&first[2..], &second[2..]),
        (&["hipMalloc", "0"][..], &["hipMalloc", "2"][..])
    );
    let numbers = [first, second].map(|line| line[0].parse::<u64>().unwrap());
    assert_eq!(numbers[1], numbers[0] + 1);
}

#[test]
fn every_library_has_a_state_of_its_own() {
    let labs = [0; 2].map(|_| Library::load("amd7", &[]));
    for library in &labs {
        library.backend().mem_alloc(16).unwrap();
        assert_eq!((library.live(0), library.calls("hipMalloc")), (1, 1));
    }
}
