//! PTX text of kernels without code.

use std::fmt::Write;

use hip_rtc::image::{KernelInfo, Param};

use crate::image::carried::Carried;

/// The text by a compiler of a CUDA version, for `compute_<number><suffix>`.
pub(super) fn write(
    version: (i32, i32),
    number: u32,
    suffix: &str,
    kernels: &[KernelInfo],
    carried: &Carried,
) -> String {
    // Each release of CUDA has a PTX version of its own, four majors behind.
    let (major, minor) = (version.0 - 4, version.1);
    let mut text = format!(
        "//\n// Made by hip-sim, which stands in for NVRTC {}.{}.\n//\n\n.version {major}.{minor}\n\
         .target sm_{number}{suffix}\n.address_size 64\n",
        version.0, version.1
    );
    for kernel in kernels {
        let params: Vec<String> = kernel
            .params
            .iter()
            .enumerate()
            .map(|(index, param)| declaration(&kernel.name, index, param))
            .collect();
        let limit = kernel
            .max_threads
            .map(|most| format!("\n.maxntid {most}, 1, 1"));
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n.visible .entry {}(\n{}\n){}\n{{\n\tret;\n}}\n",
            kernel.name,
            params.join(",\n"),
            limit.unwrap_or_default()
        );
    }
    text.push('\n');
    text + &carried.to_comments()
}

/// One parameter: an address, or bytes at the alignment that puts them where they are.
fn declaration(kernel: &str, index: usize, param: &Param) -> String {
    let name = format!("{kernel}_param_{index}");
    if param.pointer == Some(true) {
        return format!("\t.param .u64 .ptr .align 1 {name}");
    }
    // The largest power of two that the place is a multiple of, as far as types go.
    let align = match param.offset {
        0 => 16,
        offset => 1 << offset.trailing_zeros().min(4),
    };
    let align = if param.align > 1 { param.align } else { align };
    format!("\t.param .align {align} .b8 {name}[{}]", param.size)
}
