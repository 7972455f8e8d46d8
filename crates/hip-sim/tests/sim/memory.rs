//! Memory: bytes go where they should.

use hip_dispatch::{CopyEnd, DevicePtr, HostAllocFlags, Memcpy2D, MemsetValue};

use crate::lab::{ALL, Lab, Library, pattern};

#[test]
fn bytes_go_up_across_and_down() {
    for name in ALL {
        let lab = Lab::new(name);
        let backend = &lab.backend;
        let stream = lab.stream();
        let bytes = pattern(10_007);
        let mut back = vec![0; bytes.len()];
        let [a, b] = [0; 2].map(|_| backend.mem_alloc(bytes.len()).unwrap());
        for stream in [None, Some(stream)] {
            back.fill(0);
            // SAFETY: the places have the bytes, and are used no more once the stream is done.
            unsafe {
                backend
                    .memcpy_htod(a, bytes.as_ptr(), bytes.len(), stream)
                    .unwrap();
                backend
                    .memset(b, MemsetValue::U16(0x1234), 5003, stream)
                    .unwrap();
                backend
                    .memcpy_dtod(b.offset(7), a.offset(7), 10_000, stream)
                    .unwrap();
                backend
                    .memcpy_dtoh(back.as_mut_ptr(), b, bytes.len(), stream)
                    .unwrap();
                if let Some(stream) = stream {
                    backend.stream_synchronize(stream).unwrap();
                }
            }
            assert_eq!(
                (&back[..6], back[6]),
                (&[0x34, 0x12, 0x34, 0x12, 0x34, 0x12][..], 0x34)
            );
            assert_eq!(back[7..], bytes[7..], "{name}");
        }
        assert_eq!((lab.library.live(0), lab.library.live(1)), (2, 20_014));
        // SAFETY: everything is done, and used no more.
        unsafe {
            backend.mem_free(a).unwrap();
            backend.mem_free(b).unwrap();
            backend.stream_destroy(stream).unwrap();
        }
        assert_eq!([0, 1, 4].map(|what| lab.library.live(what)), [0; 3]);
        assert_eq!(lab.library.races(), 0);
    }
}

#[test]
fn rows_are_copied_and_filled() {
    for name in ALL {
        let lab = Lab::new(name);
        let backend = &lab.backend;
        let (width, height) = (50, 9);
        let (device, stride) = backend.mem_alloc_pitch(width, height, 4).unwrap();
        assert_eq!(stride, if name == "nvidia" { 512 } else { 256 });
        let mut bytes = pattern(64 * height);
        let mut back = vec![0; width * height];
        let up = Memcpy2D {
            dst: CopyEnd::Device(device),
            dst_stride: stride,
            src: CopyEnd::Host(bytes.as_mut_ptr()),
            src_stride: 64,
            width_bytes: width,
            height,
        };
        let host = CopyEnd::Host(back.as_mut_ptr());
        let down = Memcpy2D {
            dst: host,
            dst_stride: width,
            src: up.dst,
            src_stride: stride,
            ..up
        };
        // SAFETY: the places have the rows.
        unsafe {
            backend.memcpy_2d(&up, None).unwrap();
            backend
                .memset_2d(device.offset(2 * stride + 3), stride, 0xaa, 5, 4, None)
                .unwrap();
            backend.memcpy_2d(&down, None).unwrap();
            backend.mem_free(device).unwrap();
        }
        for y in 0..height {
            for x in 0..width {
                let filled = (2..6).contains(&y) && (3..8).contains(&x);
                let expected = if filled { 0xaa } else { bytes[64 * y + x] };
                assert_eq!(back[width * y + x], expected, "{name} {x} {y}");
            }
        }
    }
}

/// `hip_Memcpy2D` with the numbers of ROCm 5 is wrong on 6, and the other way round.
#[test]
fn memory_types_are_the_versions_own() {
    type Copy = unsafe extern "C" fn(*const hip_sim::abi::Memcpy2D) -> i32;
    for (name, [host, device]) in [("amd5", [0, 1]), ("amd6", [1, 2]), ("amd7", [1, 2])] {
        let lab = Lab::new(name);
        let memory = lab.backend.mem_alloc(64).unwrap();
        let mut bytes = [5_u8; 64];
        let copy = |src_type, dst_type| {
            let rows = hip_sim::abi::Memcpy2D {
                src_x_bytes: 0,
                src_y: 0,
                src_memory_type: src_type,
                src_host: bytes.as_ptr().cast(),
                src_device: 0,
                src_array: std::ptr::null_mut(),
                src_pitch: 8,
                dst_x_bytes: 0,
                dst_y: 0,
                dst_memory_type: dst_type,
                dst_host: std::ptr::null_mut(),
                dst_device: memory.0,
                dst_array: std::ptr::null_mut(),
                dst_pitch: 8,
                width_bytes: 8,
                height: 8,
            };
            // SAFETY: the documented signature and struct; both places have the rows.
            unsafe { lab.library.function::<Copy>("hipMemcpyParam2D")(&rows) }
        };
        assert_eq!(copy(host, device), 0, "{name}");
        assert_eq!(
            copy(1 - host, 3 - device),
            1,
            "{name}: the other versions' numbers"
        );
        bytes.fill(0);
        // SAFETY: both places have the bytes; the block is not used afterwards.
        unsafe {
            lab.backend
                .memcpy_dtoh(bytes.as_mut_ptr(), memory, 64, None)
                .unwrap();
            lab.backend.mem_free(memory).unwrap();
        }
        assert_eq!(bytes, [5; 64]);
    }
}

#[test]
fn memory_has_an_end() {
    let lab = Lab::with("amd7", &[("HIP_SIM_MEMORY", "1000000")]);
    let backend = &lab.backend;
    let block = backend.mem_alloc(600_000).unwrap();
    let info = backend.mem_get_info().unwrap();
    assert_eq!((info.free, info.total), (400_000, 1_000_000));
    assert_eq!(backend.mem_alloc(400_001).unwrap_err().code, 2);
    let pinned = backend
        .host_alloc(2_000_000, HostAllocFlags::PORTABLE)
        .unwrap();
    // SAFETY: allocated above, not used.
    unsafe {
        backend.mem_free(block).unwrap();
        backend.host_free(pinned).unwrap();
    }
    let all = backend.mem_alloc(1_000_000).unwrap();
    // SAFETY: as above.
    unsafe { backend.mem_free(all) }.unwrap();
}

/// What the C API says of nothing, which `hip-dispatch` never asks for.
#[test]
fn no_bytes_are_an_error_on_nvidia_and_null_on_amd() {
    type Malloc = unsafe extern "C" fn(*mut u64, usize) -> i32;
    type Free = unsafe extern "C" fn(u64) -> i32;
    for (name, malloc, free, codes) in [
        ("amd6", "hipMalloc", "hipFree", [0, 0]),
        ("nvidia", "cuMemAlloc_v2", "cuMemFree_v2", [1, 1]),
    ] {
        let lab = Lab::new(name);
        let library: &Library = &lab.library;
        let mut address = DevicePtr(77).0;
        // SAFETY: the documented signatures, and a writable place.
        let found = unsafe {
            let malloc = library.function::<Malloc>(malloc);
            [malloc(&mut address, 0), library.function::<Free>(free)(0)]
        };
        assert_eq!(found, codes, "{name}");
        assert_eq!(address, if name == "nvidia" { 77 } else { 0 });
    }
}
