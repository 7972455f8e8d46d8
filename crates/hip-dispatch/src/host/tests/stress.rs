//! Many threads at once.

use super::*;
use crate::host::{HostKernel, HostLaunch, LiveObjects};
use crate::{LaunchConfig, ModuleImage};

// SAFETY (of the blocks below): handles and addresses come from the backend and are alive;
// memory outlives the work on it.
macro_rules! api {
    ($call:expr) => {
        // SAFETY: see above.
        unsafe { $call }
    };
}

const THREADS: u32 = 8;
const ROUNDS: u32 = if cfg!(miri) { 2 } else { 60 };
const BLOCKS: u32 = if cfg!(miri) { 8 } else { 96 };
const BLOCK: u32 = 64;
const BYTES: usize = (BLOCKS * BLOCK) as usize;

/// Arguments: bytes, one a thread of the launch, and what is added to each.
unsafe extern "C" fn add(
    args: *const *const c_void,
    launch: *const HostLaunch,
    first: u64,
    end: u64,
) {
    // SAFETY: the table entry says that these are the arguments, and the launch below has as
    // many threads as there are bytes.
    unsafe {
        let bytes = (*args).cast::<*mut u8>().read();
        let amount = (*args.add(1)).cast::<u8>().read();
        let block = u64::from((*launch).block_dim[0]);
        for index in first * block..end * block {
            let byte = bytes.add(index as usize);
            byte.write(byte.read().wrapping_add(amount));
        }
    }
}

static TABLE: [HostKernel; 1] = [HostKernel {
    name: "add",
    function: add,
    arg_sizes: &[8, 1],
}];

/// One thread's life: upload, hand over by an event, launch, hand back, download, free.
fn hammer(host: &Arc<Host>, thread: u32) {
    let _current = enter(host, thread % 2);
    let module = api!(host.module_load(ModuleImage::HostTable(&TABLE))).unwrap();
    let function = api!(host.module_get_function(module, c"add")).unwrap();
    let (copies, compute) = (new_stream(host), new_stream(host));
    let (uploaded, computed) = (new_event(host), new_event(host));
    for round in 0..ROUNDS {
        let seed = (thread * 31 + round) as u8;
        let source: Vec<u8> = (0..BYTES)
            .map(|index| seed.wrapping_add(index as u8))
            .collect();
        let mut result = vec![0u8; BYTES];
        let memory = host.mem_alloc(BYTES).unwrap();
        api!(host.memcpy_htod(memory, source.as_ptr(), BYTES, Some(copies))).unwrap();
        api!(host.event_record(uploaded, copies)).unwrap();
        api!(host.stream_wait_event(compute, uploaded)).unwrap();
        let (mut pointer, mut amount) = (memory.as_ptr(), 13u8);
        let mut args = [(&raw mut pointer).cast(), (&raw mut amount).cast()];
        let config = LaunchConfig {
            grid_dim: [BLOCKS, 1, 1],
            block_dim: [BLOCK, 1, 1],
            shared_mem_bytes: 0,
        };
        api!(host.launch_kernel(function, &config, compute, &mut args)).unwrap();
        api!(host.event_record(computed, compute)).unwrap();
        api!(host.stream_wait_event(copies, computed)).unwrap();
        api!(host.memcpy_dtoh(result.as_mut_ptr(), memory, BYTES, Some(copies))).unwrap();
        if round % 2 == 0 {
            api!(host.stream_synchronize(copies)).unwrap();
            api!(host.mem_free(memory)).unwrap();
        } else {
            // Freeing waits for the work by itself.
            api!(host.mem_free(memory)).unwrap();
        }
        let right = |(from, to): (&u8, &u8)| from.wrapping_add(13) == *to;
        assert!(
            source.iter().zip(&result).all(right),
            "thread {thread}, round {round}"
        );
    }
    api!(host.event_destroy(uploaded)).unwrap();
    api!(host.event_destroy(computed)).unwrap();
    api!(host.stream_destroy(copies)).unwrap();
    api!(host.stream_destroy(compute)).unwrap();
    api!(host.module_unload(module)).unwrap();
}

#[test]
fn many_threads_share_two_devices_and_leave_nothing() {
    let host = Host::new(2);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let host = &host;
            scope.spawn(move || hammer(host, thread));
        }
    });
    assert_eq!(host.live(), LiveObjects::default());
}

#[test]
fn one_event_recorded_and_waited_for_by_many_threads() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let event = new_event(&host);
    let streams: Vec<_> = (0..4).map(|_| new_stream(&host)).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS as usize {
            let (host, streams) = (&host, &streams);
            scope.spawn(move || {
                let _current = enter(host, 0);
                for round in 0..(ROUNDS as usize * 5) {
                    let stream = streams[(thread + round) % streams.len()];
                    if round % 2 == 0 {
                        api!(host.event_record(event, stream)).unwrap();
                    } else {
                        api!(host.stream_wait_event(stream, event)).unwrap();
                    }
                }
            });
        }
    });
    host.context_synchronize().unwrap();
    assert!(api!(host.event_query(event)).unwrap());
}
