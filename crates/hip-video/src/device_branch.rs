//! Tests of the kernels' device branches without a GPU: compiled as host code, they give what the
//! host's branches give, which the oracle has judged. What a device compiler makes of them is for a
//! run of `tests/conversion` on a device to show.

use std::ffi::c_void;

use hip_core::DevicePtr;
use hip_dispatch::host::HostLaunch;
use hip_oracle::Rng;

use crate::colour::{ChromaSite, Matrix, Range};
use crate::description::FrameDescription;
use crate::format::PixelFormat;
use crate::frame::PlaneView;
use crate::geometry::Rect;
use crate::host::tests::largest_difference;
use crate::host::{HostLevel, host_kernels_at};
use crate::params::{ConvertParams, Layout, Method, Plan};
use crate::work::choose_kernel;

/// Code values by which the two may differ: only where the compiler fuses multiplications and
/// additions can they round differently.
const ROUNDING: std::ops::RangeInclusive<u16> =
    0..=if cfg!(target_arch = "x86_64") { 0 } else { 1 };

unsafe extern "C" {
    fn hip_video_device_branch(
        number: u32,
        params: *const ConvertParams,
        grid: *const u32,
        block: *const u32,
    );
}

/// A frame in memory of its own, filled with noise.
pub(crate) struct Frame {
    pub(crate) words: Vec<u64>,
    pub(crate) planes: [PlaneView; 4],
}

impl Frame {
    /// Strides and addresses are aligned to 16 bytes or as little as the format allows.
    pub(crate) fn new(frame: &FrameDescription, rng: &mut Rng) -> Frame {
        let mut start = 64;
        let mut planes = [PlaneView::NONE; 4];
        let count = frame.format.info().planes.len();
        for (plane, view) in planes.iter_mut().enumerate().take(count) {
            let unit = rng.pick(&[frame.format.sample_bytes(), 4, 16]);
            let row = frame.format.row_bytes(plane, frame.width as usize);
            let stride = (row + rng.between(0, 9)).next_multiple_of(unit);
            start += rng.between(0, 3) * unit;
            *view = PlaneView {
                ptr: DevicePtr(start as u64),
                stride: stride as i32,
            };
            start += stride * frame.format.rows(plane, frame.height as usize);
            start = (start + 16).next_multiple_of(16);
        }
        let mut words: Vec<u64> = (0..start / 8 + 16).map(|_| rng.next_u64()).collect();
        let base = (words.as_mut_ptr() as u64).next_multiple_of(16);
        for plane in &mut planes[..count] {
            plane.ptr.0 += base;
        }
        Frame { words, planes }
    }
}

fn random_frame(
    format: PixelFormat,
    (width, height): (usize, usize),
    rng: &mut Rng,
) -> FrameDescription {
    const SITES: [ChromaSite; 6] = [
        ChromaSite::Left,
        ChromaSite::Centre,
        ChromaSite::TopLeft,
        ChromaSite::Top,
        ChromaSite::BottomLeft,
        ChromaSite::Bottom,
    ];
    FrameDescription {
        matrix: rng.pick(&[Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020]),
        range: rng.pick(&[Range::Limited, Range::Full]),
        site: rng.pick(&SITES),
        ..FrameDescription::new(format, width as u32, height as u32)
    }
}

/// A conversion with borders, half of them without scaling.
pub(crate) fn random_plan(input: PixelFormat, output: PixelFormat, rng: &mut Rng) -> Plan {
    let even = |value: usize, subsampled: bool| if subsampled { value & !1 } else { value };
    let (width, height) = (rng.between(1, 40), rng.between(1, 9));
    let (new_width, new_height) = if rng.between(0, 1) == 0 {
        (width, height)
    } else {
        (rng.between(1, 40), rng.between(1, 9))
    };
    let x = even(rng.between(0, 9), output.is_subsampled());
    let y = even(rng.between(0, 5), output.is_subsampled());
    let size = (
        x + new_width + rng.between(0, 9),
        y + new_height + rng.between(0, 5),
    );
    let (left, top) = (2 * rng.between(0, 4), 2 * rng.between(0, 2));
    let source_size = (
        left + width + rng.between(0, 5),
        top + height + rng.between(0, 5),
    );
    let rect = |x: usize, y: usize, width: usize, height: usize| Rect {
        x: x as u32,
        y: y as u32,
        width: width as u32,
        height: height as u32,
    };
    Plan {
        input: random_frame(input, source_size, rng),
        output: random_frame(output, size, rng),
        src_rect: rect(left, top, width, height),
        dst_rect: rect(x, y, new_width, new_height),
        method: rng.pick(&[Method::Bilinear, Method::Nearest]),
        layouts: [input, output].map(|format| Layout::of(format).expect("one of the seven")),
    }
}

/// The formats that have kernels of their own.
pub(crate) fn seven() -> impl Iterator<Item = PixelFormat> {
    PixelFormat::ALL
        .into_iter()
        .filter(|format| Layout::of(*format).is_some())
}

#[test]
fn device_branches_give_what_host_branches_give() {
    let host = host_kernels_at(HostLevel::Baseline).expect("always there");
    let mut rng = Rng::new(41);
    for input in seven() {
        for output in seven() {
            for _ in 0..60 {
                let plan = random_plan(input, output, &mut rng);
                let (number, config) = choose_kernel(&plan);
                let source = Frame::new(&plan.input, &mut rng);
                let mut target = Frame::new(&plan.output, &mut rng);
                let before = target.words.clone();
                let mut params = plan.params();
                params.set_source(&plan, &source.planes);
                params.set_destination(&target.planes);
                let (grid, block) = (config.grid_dim, config.block_dim);
                let launch = HostLaunch {
                    grid_dim: grid,
                    block_dim: block,
                    shared_mem_bytes: 0,
                };
                let args = [(&raw const params).cast::<c_void>()];
                let blocks = u64::from(grid[0]) * u64::from(grid[1]);
                // SAFETY: the kernel takes one `ConvertParams`; both frames have every row.
                unsafe { (host[number].function)(args.as_ptr(), &launch, 0, blocks) };
                let expected = target.words.clone();
                target.words.copy_from_slice(&before);
                // SAFETY: as above; the number is one of the table's.
                unsafe {
                    hip_video_device_branch(number as u32, &params, grid.as_ptr(), block.as_ptr());
                }
                let worst = largest_difference(&expected, &target.words, output);
                assert!(ROUNDING.contains(&worst), "differs by {worst}: {plan:?}");
                assert_ne!(expected, before, "nothing was written: {plan:?}");
            }
        }
    }
}
