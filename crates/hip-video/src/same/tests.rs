//! `same.cu` gives what `convert.cu` gives.

use hip_oracle::Rng;

use super::Same;
use crate::any::tests::run;
use crate::colour::{ChromaSite, Matrix, Range};
use crate::converter::{Conversion, ConverterConfig};
use crate::description::FrameDescription;
use crate::device_branch::seven;
use crate::format::PixelFormat;
use crate::frame::PlaneView;
use crate::geometry::Rect;
use crate::host::tests::largest_difference;
use crate::host::{HostLevel, host_kernels_at};
use crate::params::{Layout, Method, Plan};
use crate::work::choose_kernel;
use hip_core::DevicePtr;

/// A frame whose planes and strides are aligned to 16 bytes, filled with noise.
fn frame(description: &FrameDescription, rng: &mut Rng) -> (Vec<u64>, [PlaneView; 4]) {
    let mut planes = [PlaneView::NONE; 4];
    let mut start = 16_usize;
    let format = description.format;
    for (plane, view) in planes
        .iter_mut()
        .enumerate()
        .take(format.info().planes.len())
    {
        let row = format.row_bytes(plane, description.width as usize);
        let stride = (row + rng.between(0, 40)).next_multiple_of(16);
        *view = PlaneView {
            ptr: DevicePtr(start as u64),
            stride: stride as i32,
        };
        start += stride * format.rows(plane, description.height as usize);
    }
    let mut words: Vec<u64> = (0..start / 8 + 8).map(|_| rng.next_u64()).collect();
    let base = (words.as_mut_ptr() as u64).next_multiple_of(16);
    for view in planes.iter_mut().filter(|view| view.stride != 0) {
        view.ptr.0 += base;
    }
    (words, planes)
}

fn described(format: PixelFormat, size: (u32, u32), rng: &mut Rng) -> FrameDescription {
    use ChromaSite::{Bottom, BottomLeft, Centre, Left, Top, TopLeft};
    FrameDescription {
        matrix: rng.pick(&[Matrix::Bt601, Matrix::Bt709, Matrix::Bt2020]),
        range: rng.pick(&[Range::Limited, Range::Full]),
        site: rng.pick(&[Left, Centre, TopLeft, Top, BottomLeft, Bottom]),
        ..FrameDescription::new(format, size.0, size.1)
    }
}

fn conversion(plan: &Plan) -> Conversion {
    let mut config = ConverterConfig::new(plan.input, plan.output);
    config.method = plan.method;
    config.check().expect("possible")
}

#[test]
fn same_gives_what_the_few_give() {
    let host = host_kernels_at(HostLevel::Baseline).expect("always there");
    let mut rng = Rng::new(99);
    let mut entries = std::collections::BTreeSet::new();
    for input in seven() {
        for output in seven() {
            for _ in 0..40 {
                let size = (16 * rng.between(1, 5) as u32, rng.between(1, 9) as u32);
                let plan = Plan {
                    input: described(input, size, &mut rng),
                    output: described(output, size, &mut rng),
                    src_rect: Rect::of_size(size.0, size.1),
                    dst_rect: Rect::of_size(size.0, size.1),
                    method: rng.pick(&[Method::Bilinear, Method::Nearest]),
                    layouts: [input, output].map(|f| Layout::of(f).expect("one of the seven")),
                };
                let Some(same) = Same::new(&conversion(&plan)) else {
                    continue;
                };
                let source = frame(&plan.input, &mut rng);
                let mut target = frame(&plan.output, &mut rng);
                let before = target.0.clone();
                let (number, launch) = choose_kernel(&plan);
                let mut params = plan.params();
                params.set_source(&plan, &source.1);
                params.set_destination(&target.1);
                run(&host[number], launch, &params);
                let expected = target.0.clone();
                target.0.copy_from_slice(&before);
                let name = same.prebuilt().name;
                entries.insert(name);
                let kernel = host.iter().find(|kernel| kernel.name == name);
                let params = same.params(&source.1, &target.1).expect("aligned");
                run(kernel.expect("in the table"), same.launch(), &params);
                let worst = largest_difference(&expected, &target.0, output);
                assert!(worst <= 1, "{name} differs by {worst}: {plan:?}");
            }
        }
    }
    assert_eq!(entries.len(), crate::prebuilt::SAME.len(), "{entries:?}");
}

#[test]
fn what_is_not_aligned_is_left_to_others() {
    let mut rng = Rng::new(3);
    let of = |format| FrameDescription::new(format, 64, 8);
    let plan = |width: u32| Plan {
        input: FrameDescription {
            width,
            ..of(PixelFormat::Nv12)
        },
        output: FrameDescription {
            width,
            ..of(PixelFormat::Rgba)
        },
        src_rect: Rect::of_size(width, 8),
        dst_rect: Rect::of_size(width, 8),
        method: Method::Bilinear,
        layouts: [PixelFormat::Nv12, PixelFormat::Rgba].map(|f| Layout::of(f).expect("known")),
    };
    assert!(Same::new(&conversion(&plan(62))).is_none());
    let same = Same::new(&conversion(&plan(64))).expect("a multiple of the tile");
    let (source, target) = (
        frame(&plan(64).input, &mut rng),
        frame(&plan(64).output, &mut rng),
    );
    assert!(same.params(&source.1, &target.1).is_some());
    let mut moved = source.1;
    moved[1].ptr.0 += 8;
    assert!(same.params(&moved, &target.1).is_none());
    let mut odd = target.1;
    odd[0].stride += 8;
    assert!(same.params(&source.1, &odd).is_none());
}
