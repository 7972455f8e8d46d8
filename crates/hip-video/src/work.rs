//! Which kernel does a conversion, and with what argument.

use std::sync::{Arc, OnceLock};

use hip_core::{Device, DeviceBuffer, LaunchConfig};
use hip_rtc::{Function, KernelArg, KernelArgs};

use crate::any::{AnyPlan, Field};
use crate::converter::Conversion;
use crate::error::Result;
use crate::frame::PlaneView;
use crate::kernels::Kernels;
use crate::params::{ConvertParams, Layout, Plan, tile};
use crate::prebuilt::{ANY, CONVERT};
use crate::same::Same;

/// The kernels that can do a conversion.
pub(crate) struct Work {
    /// `same.cu`, for frames that allow it.
    same: Option<(Same, Function)>,
    /// For all others; where there is `same`, not made before the first frame that needs it.
    others: OnceLock<Others>,
}

enum Others {
    /// `convert.cu`.
    Few(Box<Few>),
    /// `any.cu`.
    Any(Box<Any>),
}

struct Few {
    plan: Plan,
    params: ConvertParams,
    launch: LaunchConfig,
    function: Function,
}

struct Any {
    /// The whole frame's, or one for each field, and where its tables begin.
    plans: Vec<(AnyPlan, usize)>,
    /// On the device.
    tables: Arc<DeviceBuffer>,
    function: Function,
}

/// Enqueues a launch.
type Enqueue<'a> = dyn FnMut(&Function, &LaunchConfig, &KernelArgs) -> Result<()> + 'a;

impl Work {
    /// Loads what a conversion needs.
    pub(crate) fn new(kernels: &Kernels, conversion: &Conversion) -> Result<Work> {
        // A thread of the CPU gains nothing by a tile in registers: `convert.cu` has loops for it.
        let in_step = kernels.device().info().warp_size > 1;
        let same = match Same::new(conversion).filter(|_| in_step) {
            Some(same) => Some((same, kernels.get(same.prebuilt())?)),
            None => None,
        };
        let work = Work {
            same,
            others: OnceLock::new(),
        };
        if work.same.is_none() {
            work.others(kernels, conversion)?;
        }
        Ok(work)
    }

    fn others(&self, kernels: &Kernels, conversion: &Conversion) -> Result<&Others> {
        if let Some(others) = self.others.get() {
            return Ok(others);
        }
        let made = Others::new(kernels, conversion)?;
        // Two threads may get here; what the loser made is dropped unused.
        Ok(self.others.get_or_init(|| made))
    }

    /// Enqueues the launches for these planes, which were checked: one, or one for each field.
    pub(crate) fn enqueue(
        &self,
        kernels: &Kernels,
        conversion: &Conversion,
        source: &[PlaneView; 4],
        destination: &[PlaneView; 4],
        enqueue: &mut Enqueue<'_>,
    ) -> Result<()> {
        if let Some((same, function)) = &self.same
            && let Some(params) = same.params(source, destination)
        {
            return enqueue(function, &same.launch(), &args_of(params));
        }
        match self.others(kernels, conversion)? {
            Others::Few(few) => {
                let mut params = few.params;
                params.set_source(&few.plan, source);
                params.set_destination(destination);
                enqueue(&few.function, &few.launch, &args_of(params))
            }
            Others::Any(any) => {
                let plans = any.plans.iter().filter(|(plan, _)| !plan.is_empty());
                plans.into_iter().try_for_each(|(plan, start)| {
                    let image = any.tables.as_raw().offset(*start);
                    let params = plan.params(conversion, image, source, destination);
                    enqueue(&any.function, &plan.launch(), &args_of(params))
                })
            }
        }
    }

    /// Device memory that launches read.
    pub(crate) fn tables(&self) -> Option<Arc<DeviceBuffer>> {
        match self.others.get()? {
            Others::Few(_) => None,
            Others::Any(any) => Some(any.tables.clone()),
        }
    }
}

/// The kernels here take one argument.
fn args_of(params: impl KernelArg) -> KernelArgs {
    let mut args = KernelArgs::new();
    args.add(params);
    args
}

impl Others {
    fn new(kernels: &Kernels, conversion: &Conversion) -> Result<Others> {
        let Some(plan) = conversion.plan() else {
            return Ok(Others::Any(Box::new(Any::new(kernels, conversion)?)));
        };
        let (number, launch) = choose_kernel(&plan);
        Ok(Others::Few(Box::new(Few {
            params: plan.params(),
            launch,
            function: kernels.get(&CONVERT[number])?,
            plan,
        })))
    }
}

impl Any {
    fn new(kernels: &Kernels, conversion: &Conversion) -> Result<Any> {
        let fields: &[Field] = match conversion.interlaced {
            true => &Field::BOTH,
            false => &[Field::WHOLE],
        };
        let mut plans = Vec::new();
        let mut size = 0;
        for field in fields {
            let plan = AnyPlan::new(conversion, *field);
            let start = size;
            size += plan.image_size();
            plans.push((plan, start));
        }
        let light = plans.iter().any(|(plan, _)| plan.light);
        let device = kernels.device();
        let tables = DeviceBuffer::new(device, size)?;
        for (plan, start) in &plans {
            let address = tables.as_raw().offset(*start);
            upload(device, address, &plan.image(address))?;
        }
        Ok(Any {
            tables: Arc::new(tables),
            function: kernels.get(&ANY[usize::from(light)])?,
            plans,
        })
    }
}

/// Copies to the device; the copy is done when this returns.
fn upload(device: &Device, address: hip_core::DevicePtr, bytes: &[u8]) -> Result<()> {
    let _bound = device.bind()?;
    let from = bytes.as_ptr();
    // SAFETY: the caller just made the memory, as large, and the call returns when the copy is done.
    let copied = unsafe {
        device
            .backend()
            .memcpy_htod(address, from, bytes.len(), None)
    };
    Ok(copied.map_err(hip_core::Error::from)?)
}

/// A launch in which each thread has a tile of a picture, in blocks of so many threads.
pub(crate) fn covering(size: [u32; 2], tile: [u32; 2], block: [u32; 2]) -> LaunchConfig {
    let blocks = |axis: usize| size[axis].div_ceil(tile[axis]).div_ceil(block[axis]);
    LaunchConfig::new([blocks(0), blocks(1), 1], [block[0], block[1], 1])
}

/// Threads of a block.
const BLOCK: u32 = 256;
/// Pixels of a row that a block covers in every kernel.
const BLOCK_WIDTH: u32 = 128;

/// The number of a conversion's entry point in [`crate::prebuilt::CONVERT`], and the shape of its
/// launch.
pub(crate) fn choose_kernel(plan: &Plan) -> (usize, LaunchConfig) {
    let unscaled = plan.is_unscaled();
    let family = match plan.layouts[1] {
        Layout::Yuv420Pairs | Layout::Yuv420Planes if plan.output.format.info().depth == 8 => 0,
        Layout::Yuv420Pairs | Layout::Yuv420Planes => 1,
        Layout::Packed { .. } => 2,
        Layout::Planar => 3,
    };
    let yuv = plan.output.format.is_yuv();
    let rows = if yuv {
        tile::ROWS_YUV420
    } else {
        tile::ROWS_RGB
    };
    let columns = match (unscaled, yuv) {
        (true, _) => tile::UNSCALED,
        (false, true) => tile::SCALED_YUV420,
        (false, false) => tile::SCALED_RGB,
    };
    let across = BLOCK_WIDTH / columns;
    let size = [plan.output.width, plan.output.height];
    let launch = covering(size, [columns, rows], [across, BLOCK / across]);
    (2 * family + usize::from(unscaled), launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::converter::ConverterConfig;
    use crate::description::FrameDescription;
    use crate::format::PixelFormat;

    #[test]
    fn numbers_name_the_right_entry_points() {
        let names = |input: PixelFormat, output, height| {
            let config = ConverterConfig::new(
                FrameDescription::new(input, 300, 200),
                FrameDescription::new(output, 300, height),
            );
            let (number, launch) = choose_kernel(
                &config
                    .check()
                    .expect("possible")
                    .plan()
                    .expect("a kernel of its own"),
            );
            assert_eq!(launch.block_dim[0] * launch.block_dim[1], BLOCK);
            CONVERT[number].name
        };
        for input in PixelFormat::ALL
            .into_iter()
            .filter(|f| Layout::of(*f).is_some())
        {
            assert_eq!(
                names(input, PixelFormat::I420, 200),
                "convert_yuv420_8_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::Nv12, 100),
                "convert_yuv420_8_scaled"
            );
            assert_eq!(
                names(input, PixelFormat::P010Le, 200),
                "convert_yuv420_16_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::P010Le, 201),
                "convert_yuv420_16_scaled"
            );
            assert_eq!(
                names(input, PixelFormat::Rgb, 200),
                "convert_packed_8_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::Bgra, 199),
                "convert_packed_8_scaled"
            );
            assert_eq!(
                names(input, PixelFormat::Rgbp, 200),
                "convert_planar_8_unscaled"
            );
            assert_eq!(
                names(input, PixelFormat::Rgbp, 1),
                "convert_planar_8_scaled"
            );
        }
    }
}
