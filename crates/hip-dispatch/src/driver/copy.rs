//! 2D copies as the vendors' structure describes them.

use std::ffi::c_void;

use super::table::RawMemcpy2D;
use super::{Dialect, Driver};
use crate::{CopyEnd, Memcpy2D};

impl<D: Dialect> Driver<D> {
    pub(super) fn raw_copy(&self, copy: &Memcpy2D) -> RawMemcpy2D {
        let (host_type, device_type) = self.dialect.memory_types();
        let split = |end| match end {
            CopyEnd::Host(ptr) => (host_type, ptr.cast::<c_void>(), 0),
            CopyEnd::Device(ptr) => (device_type, std::ptr::null_mut(), ptr.0),
        };
        let (src_memory_type, src_host, src_device) = split(copy.src);
        let (dst_memory_type, dst_host, dst_device) = split(copy.dst);
        RawMemcpy2D {
            src_x_bytes: 0,
            src_y: 0,
            src_memory_type,
            src_host,
            src_device,
            src_array: std::ptr::null_mut(),
            src_pitch: copy.src_stride,
            dst_x_bytes: 0,
            dst_y: 0,
            dst_memory_type,
            dst_host,
            dst_device,
            dst_array: std::ptr::null_mut(),
            dst_pitch: copy.dst_stride,
            width_bytes: copy.width_bytes,
            height: copy.height,
        }
    }
}
