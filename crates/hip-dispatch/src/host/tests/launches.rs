//! Modules and launches.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::host::{HostKernel, HostLaunch};
use crate::{FunctionHandle, LaunchConfig, ModuleHandle, ModuleImage};

// SAFETY (of the blocks below): handles and addresses come from the backend and are alive where
// a test does not say that they are not; memory outlives the work on it; arguments are what the
// kernels below take.
macro_rules! api {
    ($call:expr) => {
        // SAFETY: see above.
        unsafe { $call }
    };
}

/// Arguments: counters (one a block), and how much is added to each.
unsafe extern "C" fn count_blocks(
    args: *const *const c_void,
    launch: *const HostLaunch,
    first: u64,
    end: u64,
) {
    // SAFETY: the table entry says that these are the arguments, and the launches below give a
    // counter for each block.
    unsafe {
        let counters = (*args).cast::<*const AtomicU32>().read();
        let step = (*args.add(1)).cast::<u32>().read();
        let [x, y, z] = (*launch).grid_dim.map(u64::from);
        assert!(first < end && end <= x * y * z);
        for block in first..end {
            (*counters.add(block as usize)).fetch_add(step, Ordering::Relaxed);
        }
    }
}

const MANY: usize = 70;

/// Arguments: where to, and 70 numbers of 16 bytes, whose sum it writes.
unsafe extern "C" fn sum_many(args: *const *const c_void, _: *const HostLaunch, _: u64, _: u64) {
    // SAFETY: the table entry says that these are the arguments.
    unsafe {
        let sum = (1..=MANY)
            .map(|index| (*args.add(index)).cast::<u128>().read())
            .sum();
        (*args).cast::<*mut u128>().read().write(sum);
    }
}

/// Arguments: where to, and one structure of 600 bytes that is copied there.
unsafe extern "C" fn copy_large(args: *const *const c_void, _: *const HostLaunch, _: u64, _: u64) {
    // SAFETY: as above.
    unsafe {
        (*args)
            .cast::<*mut [u8; 600]>()
            .read()
            .write((*args.add(1)).cast::<[u8; 600]>().read())
    }
}

static TABLE: [HostKernel; 3] = [
    HostKernel {
        name: "count_blocks",
        function: count_blocks,
        arg_sizes: &[8, 4],
    },
    HostKernel {
        name: "sum_many",
        function: sum_many,
        arg_sizes: &SUM_SIZES,
    },
    HostKernel {
        name: "copy_large",
        function: copy_large,
        arg_sizes: &[8, 600],
    },
];

static SUM_SIZES: [usize; MANY + 1] = {
    let mut sizes = [16; MANY + 1];
    sizes[0] = 8;
    sizes
};

fn load(host: &Host) -> (ModuleHandle, FunctionHandle, FunctionHandle, FunctionHandle) {
    let module = api!(host.module_load(ModuleImage::HostTable(&TABLE))).unwrap();
    let [count, sum, copy] = [c"count_blocks", c"sum_many", c"copy_large"]
        .map(|name| api!(host.module_get_function(module, name)).unwrap());
    (module, count, sum, copy)
}

fn config(grid_dim: [u32; 3], block_dim: [u32; 3]) -> LaunchConfig {
    LaunchConfig {
        grid_dim,
        block_dim,
        shared_mem_bytes: 0,
    }
}

fn address<T>(value: &mut T) -> *mut c_void {
    std::ptr::from_mut(value).cast()
}

#[test]
fn every_block_runs_exactly_once() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let (_, count, ..) = load(&host);
    let grids: &[([u32; 3], [u32; 3])] = &[
        ([1, 1, 1], [1, 1, 1]),
        ([7, 3, 2], [1, 1, 1]),
        ([1, 1, 1], [1024, 1, 1]),
        ([17, 1, 1], [32, 32, 1]),
        ([33, 65, 3], [16, 16, 2]),
        ([10007, 1, 1], [1, 1, 1]),
    ];
    for (grid, block) in grids.iter().take(if cfg!(miri) { 4 } else { 6 }) {
        let blocks = grid.iter().product::<u32>() as usize;
        let counters: Vec<AtomicU32> = (0..blocks).map(|_| AtomicU32::new(0)).collect();
        for on in [stream, StreamHandle::NULL] {
            let (mut to, mut step) = (counters.as_ptr(), 3u32);
            let mut args = [address(&mut to), address(&mut step)];
            api!(host.launch_kernel(count, &config(*grid, *block), on, &mut args)).unwrap();
            api!(host.stream_synchronize(on)).unwrap();
        }
        let wrong = counters
            .iter()
            .position(|count| count.load(Ordering::Relaxed) != 6);
        assert_eq!(wrong, None, "{grid:?} {block:?}");
    }
}

#[test]
fn arguments_are_copied_before_the_launch_returns() {
    let host = Host::new(1);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let (_, count, sum, copy) = load(&host);
    let counter = AtomicU32::new(0);
    let mut total = 0u128;
    let mut large = [0u8; 600];
    let gate = hold(&host, stream);
    {
        let (mut to, mut step) = (&raw const counter, 5u32);
        let mut args = [address(&mut to), address(&mut step)];
        api!(host.launch_kernel(count, &config([1; 3], [1; 3]), stream, &mut args)).unwrap();
        (to, step) = (std::ptr::null(), 1000);
        assert!(to.is_null() && step == 1000);

        let mut numbers: Vec<u128> = (0..MANY as u128).map(|number| number << 64 | 1).collect();
        let mut to = &raw mut total;
        let mut args = vec![address(&mut to)];
        args.extend(numbers.iter_mut().map(address));
        api!(host.launch_kernel(sum, &config([1; 3], [1; 3]), stream, &mut args)).unwrap();
        numbers.fill(0);

        let mut block: [u8; 600] = std::array::from_fn(|index| (index % 251) as u8);
        let mut to = &raw mut large;
        let mut args = [address(&mut to), address(&mut block)];
        api!(host.launch_kernel(copy, &config([1; 3], [1; 3]), stream, &mut args)).unwrap();
        block.fill(0);
        assert_eq!(block[1], 0);
    }
    assert_eq!(counter.load(Ordering::Relaxed), 0);
    drop(gate);
    api!(host.stream_synchronize(stream)).unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 5);
    let many = MANY as u128;
    assert_eq!(total, (many * (many - 1) / 2) << 64 | many);
    assert!(
        large
            .iter()
            .enumerate()
            .all(|(index, byte)| usize::from(*byte) == index % 251)
    );
}

#[test]
fn wrong_launches_are_refused() {
    let host = Host::new(2);
    let _current = enter(&host, 0);
    let stream = new_stream(&host);
    let (module, count, ..) = load(&host);
    let counter = AtomicU32::new(0);
    let (mut to, mut step) = (&raw const counter, 1u32);
    let good = [address(&mut to), address(&mut step)];
    let launch = |config: LaunchConfig, args: &[*mut c_void], on| {
        api!(host.launch_kernel(count, &config, on, &mut args.to_vec()))
    };
    let one = config([1; 3], [1; 3]);
    for wrong in [
        config([0, 1, 1], [1; 3]),
        config([1; 3], [1, 0, 1]),
        config([1; 3], [1025, 1, 1]),
        config([1, 65536, 1], [1; 3]),
        LaunchConfig {
            shared_mem_bytes: 1 << 20,
            ..one
        },
    ] {
        assert_eq!(
            launch(wrong, &good, stream).unwrap_err().code,
            1,
            "{wrong:?}"
        );
    }
    let wrong = launch(one, &good[..1], stream).unwrap_err();
    assert_eq!(wrong.kind, ErrorKind::InvalidValue);
    assert!(wrong.text.contains("count_blocks"), "{}", wrong.text);
    let null = [good[0], std::ptr::null_mut()];
    assert_eq!(kind(launch(one, &null, stream)), ErrorKind::InvalidValue);
    {
        let _second = enter(&host, 1);
        let other = new_stream(&host);
        assert_eq!(kind(launch(one, &good, other)), ErrorKind::InvalidHandle);
        api!(host.stream_destroy(other)).unwrap();
    }
    launch(one, &good, stream).unwrap();
    // A launch in flight outlives its module; a function does not.
    api!(host.module_unload(module)).unwrap();
    assert_eq!(kind(launch(one, &good, stream)), ErrorKind::InvalidHandle);
    assert_eq!(
        kind(api!(host.module_unload(module))),
        ErrorKind::InvalidHandle
    );
    api!(host.stream_synchronize(stream)).unwrap();
    assert_eq!(counter.load(Ordering::Relaxed), 1);
}

#[test]
fn modules_are_tables_of_named_kernels() {
    static TWINS: [HostKernel; 2] = [HostKernel {
        name: "twin",
        function: count_blocks,
        arg_sizes: &[],
    }; 2];
    let host = Host::new(1);
    let _current = enter(&host, 0);
    for image in [
        ModuleImage::Ptx(c".version 7.0"),
        ModuleImage::Binary(&[0x7f, b'E', b'L', b'F']),
        ModuleImage::HostTable(&TWINS),
    ] {
        let error = api!(host.module_load(image)).unwrap_err();
        assert_eq!(
            (error.kind, error.code),
            (ErrorKind::InvalidImage, 200),
            "{image:?}"
        );
    }
    let (module, count, sum, _) = load(&host);
    assert_ne!(count, sum);
    assert_eq!(
        api!(host.module_get_function(module, c"count_blocks")).unwrap(),
        count
    );
    let missing = api!(host.module_get_function(module, c"count")).unwrap_err();
    assert_eq!((missing.kind, missing.code), (ErrorKind::NotFound, 500));
    assert!(missing.text.contains("count"));
    assert_eq!(host.live().modules, 1);
    api!(host.module_unload(module)).unwrap();
    assert_eq!(host.live().modules, 0);
    let dead = api!(host.module_get_function(module, c"count_blocks"));
    assert_eq!(kind(dead), ErrorKind::InvalidHandle);
}
