//! `any.cu` gives what `convert.cu` gives, for what both can do.

use std::ffi::c_void;

use hip_core::DevicePtr;
use hip_dispatch::host::{HostKernel, HostLaunch};
use hip_oracle::Rng;

use super::{AnyPlan, Field};
use crate::converter::ConverterConfig;
use crate::device_branch::{Frame, random_plan, seven};
use crate::host::tests::largest_difference;
use crate::host::{HostLevel, host_kernels_at};
use crate::prebuilt::ANY;
use crate::work::choose_kernel;

pub(crate) fn run<T>(kernel: &HostKernel, config: hip_core::LaunchConfig, params: &T) {
    let (grid, block) = (config.grid_dim, config.block_dim);
    let launch = HostLaunch {
        grid_dim: grid,
        block_dim: block,
        shared_mem_bytes: 0,
    };
    let args = [std::ptr::from_ref(params).cast::<c_void>()];
    let blocks = u64::from(grid[0]) * u64::from(grid[1]);
    // SAFETY: the kernel takes one `T`, whose planes have every row.
    unsafe { (kernel.function)(args.as_ptr(), &launch, 0, blocks) };
}

#[test]
fn any_gives_what_the_few_give() {
    let host = host_kernels_at(HostLevel::Baseline).expect("always there");
    let plain = host
        .iter()
        .find(|kernel| kernel.name == ANY[0].name)
        .expect("in the table");
    let mut rng = Rng::new(77);
    for input in seven() {
        for output in seven() {
            for _ in 0..30 {
                let plan = random_plan(input, output, &mut rng);
                let mut config = ConverterConfig::new(plan.input, plan.output);
                config.src_rect = Some(plan.src_rect.into());
                config.dst_rect = Some(plan.dst_rect.into());
                config.method = plan.method;
                let conversion = config.check().expect("possible");
                let (number, launch) = choose_kernel(&plan);
                let source = Frame::new(&plan.input, &mut rng);
                let mut target = Frame::new(&plan.output, &mut rng);
                let before = target.words.clone();
                let mut params = plan.params();
                params.set_source(&plan, &source.planes);
                params.set_destination(&target.planes);
                run(&host[number], launch, &params);
                let expected = target.words.clone();
                target.words.copy_from_slice(&before);
                let any = AnyPlan::new(&conversion, Field::WHOLE);
                assert!(!any.light);
                // The image holds its own address.
                let room = vec![0_u128; any.image_size() / 16];
                let tables = DevicePtr(room.as_ptr() as u64);
                let image = any.image(tables);
                // SAFETY: as many bytes as the room has.
                unsafe {
                    (room.as_ptr() as *mut u8).copy_from_nonoverlapping(image.as_ptr(), image.len())
                };
                let params = any.params(&conversion, tables, &source.planes, &target.planes);
                run(plain, any.launch(), &params);
                let worst = largest_difference(&expected, &target.words, output);
                assert!(worst <= 1, "differs by {worst}: {plan:?}");
            }
        }
    }
}
