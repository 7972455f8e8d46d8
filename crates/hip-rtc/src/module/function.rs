use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use hip_core::{Device, Stream};
use hip_dispatch::{ErrorKind, FunctionAttributes, FunctionHandle, SuggestedBlockSize};
use smallvec::SmallVec;

use super::KernelModule;
use crate::args::{ADDRESS, Addresses, INLINE_ARGS, Slot};
use crate::image::{KernelInfo, Param};
use crate::{Error, KernelArgs, LaunchConfig, Result};

/// A kernel of a module, which it keeps loaded. Cheap to clone.
#[derive(Clone)]
pub struct Function {
    module: KernelModule,
    state: Arc<State>,
}

/// What is known of a kernel.
pub(super) struct State {
    name: Box<str>,
    handle: FunctionHandle,
    /// `None` where the image does not say.
    params: Option<Params>,
    /// Dynamic shared memory that launches may ask for without more ado, in bytes.
    allowed_shared: AtomicU32,
}

/// A kernel's parameters, to be compared with arguments fast.
struct Params {
    list: Vec<Param>,
    wanted: SmallVec<[Wanted; INLINE_ARGS]>,
}

/// What an argument's size must be.
#[derive(Clone, Copy)]
struct Wanted {
    /// Bytes, with [`ADDRESS`].
    size: u32,
    /// Which bits of it count: all, or all but [`ADDRESS`] where the image does not tell.
    mask: u32,
}

impl Wanted {
    #[inline]
    fn is(self, slot: Slot) -> bool {
        (slot.size ^ self.size) & self.mask == 0
    }
}

impl From<&Param> for Wanted {
    fn from(param: &Param) -> Wanted {
        let bytes = u32::try_from(param.size).unwrap_or(!ADDRESS) & !ADDRESS;
        let (address, mask) = match param.pointer {
            Some(true) => (ADDRESS, u32::MAX),
            Some(false) => (0, u32::MAX),
            None => (0, !ADDRESS),
        };
        Wanted {
            size: bytes | address,
            mask,
        }
    }
}

impl Params {
    fn new(list: &[Param]) -> Params {
        Params {
            wanted: list.iter().map(Wanted::from).collect(),
            list: list.to_vec(),
        }
    }

    #[inline]
    fn accept(&self, slots: &[Slot]) -> bool {
        let mut pairs = self.wanted.iter().zip(slots);
        slots.len() == self.wanted.len() && pairs.all(|(wanted, slot)| wanted.is(*slot))
    }

    /// What does not fit.
    #[cold]
    fn explain(&self, slots: &[Slot]) -> String {
        if slots.len() != self.wanted.len() {
            return format!("it takes {}, not {}", self.wanted.len(), slots.len());
        }
        let describe = |size: u32| match (size & ADDRESS != 0, size & !ADDRESS) {
            (true, _) => "an address".to_owned(),
            (false, 1) => "1 byte".to_owned(),
            (false, bytes) => format!("{bytes} bytes"),
        };
        let mut pairs = self.wanted.iter().zip(slots).enumerate();
        let wrong = pairs.find(|(_, (wanted, slot))| !wanted.is(**slot));
        wrong.map_or_else(String::new, |(index, (wanted, slot))| {
            let (wanted, given) = (describe(wanted.size), describe(slot.size));
            format!("parameter {index} is {wanted}, the argument is {given}")
        })
    }
}

impl State {
    pub(super) fn new(name: &str, handle: FunctionHandle, info: Option<&KernelInfo>) -> State {
        State {
            name: name.into(),
            handle,
            params: info.map(|info| Params::new(&info.params)),
            allowed_shared: AtomicU32::new(0),
        }
    }

    #[inline]
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    #[cold]
    fn misfit(&self, params: &Params, args: &KernelArgs) -> Error {
        Error::Arguments {
            kernel: self.name.to_string(),
            why: params.explain(args.slots()),
        }
    }
}

impl Function {
    pub(super) fn new(module: KernelModule, state: Arc<State>) -> Function {
        Function { module, state }
    }

    /// The module it belongs to.
    pub fn module(&self) -> &KernelModule {
        &self.module
    }

    /// What it was looked up by.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// What it takes; `None` where the image does not say.
    pub fn params(&self) -> Option<&[Param]> {
        self.state.params.as_ref().map(|params| &params.list[..])
    }

    /// What it was compiled to (`cuFuncGetAttribute`, `hipFuncGetAttribute`).
    ///
    /// # Errors
    /// The vendor's library does not have the call, or it fails.
    pub fn attributes(&self) -> Result<FunctionAttributes> {
        attributes(self.module.device(), self.state.handle)
    }

    /// How many blocks one multiprocessor holds at a time
    /// (`…OccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    /// The vendor's library does not have the call, or it fails.
    pub fn occupancy(&self, block_threads: u32, dynamic_shared_bytes: u32) -> Result<u32> {
        let device = self.module.device();
        let _bound = device.bind()?;
        // SAFETY: the function is of a module loaded in the bound context.
        Ok(unsafe {
            device
                .backend()
                .occupancy(self.state.handle, block_threads, dynamic_shared_bytes)
        }?)
    }

    /// The block size that fills the device best, and how many blocks do
    /// (`…OccupancyMaxPotentialBlockSize`).
    ///
    /// # Errors
    /// The vendor's library does not have the call, or it fails.
    pub fn suggested_block_size(&self, dynamic_shared_bytes: u32) -> Result<SuggestedBlockSize> {
        let device = self.module.device();
        let _bound = device.bind()?;
        // SAFETY: the function is of a module loaded in the bound context.
        Ok(unsafe {
            device
                .backend()
                .suggested_block_size(self.state.handle, dynamic_shared_bytes)
        }?)
    }

    /// Enqueues a launch on `stream` (`None`: the default stream). The thread does not wait, and the
    /// arguments may be changed or dropped afterwards; memory among them stays its owner's to keep.
    ///
    /// # Safety
    /// The arguments fit the kernel's parameters in order and type, of which their number, sizes and
    /// which are addresses is checked where the image tells ([`Function::params`]); every address
    /// among them is valid for what the kernel does, and stays so until the work is done.
    ///
    /// # Errors
    /// The arguments do not fit, memory or the stream is another device's, a dimension is 0 or
    /// beyond the device's limits, or the driver refuses the launch.
    #[inline]
    pub unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        config: &LaunchConfig,
        args: &KernelArgs,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { launch(&self.module, &self.state, stream, config, args) }
    }
}

/// See [`Function::launch`].
pub(super) unsafe fn launch(
    module: &KernelModule,
    state: &State,
    stream: Option<&Stream>,
    config: &LaunchConfig,
    args: &KernelArgs,
) -> Result<()> {
    let device = module.device();
    check_launch(device, state, config)?;
    if let Some(params) = &state.params
        && !params.accept(args.slots())
    {
        return Err(state.misfit(params, args));
    }
    args.check_device(device)?;
    let stream = module.stream(stream);
    if stream.device() != device {
        return Err(foreign_stream(device, stream));
    }
    let mut enqueue = Enqueue {
        module,
        state,
        stream,
        config,
        addresses: args.addresses(),
    };
    if args.memories().is_empty() {
        // SAFETY: the caller vouches for the arguments, which outlive the call.
        return unsafe { enqueue.now() };
    }
    // SAFETY: as above.
    unsafe { enqueue.with_memories(args) }
}

#[cold]
fn foreign_stream(device: &Device, stream: &Stream) -> Error {
    hip_core::Error::DeviceMismatch {
        what: "the stream",
        found: stream.device().info().to_string(),
        expected: device.info().to_string(),
    }
    .into()
}

/// A launch whose arguments have been checked.
struct Enqueue<'a> {
    module: &'a KernelModule,
    state: &'a State,
    stream: &'a Stream,
    config: &'a LaunchConfig,
    addresses: Addresses,
}

impl Enqueue<'_> {
    /// # Safety
    /// The addresses are of values that fit the kernel.
    #[inline]
    unsafe fn now(&mut self) -> Result<()> {
        let device = self.module.device();
        // Before the launch: a module dropped by another thread meanwhile must see the stream.
        self.module.0.users.note(self.stream)?;
        // SAFETY: module and stream are alive and of the device's context, which the device keeps;
        // the caller vouches for the arguments.
        unsafe {
            device.backend().launch_on_stream(
                device.as_raw_context(),
                self.state.handle,
                self.config,
                self.stream.as_raw(),
                &mut self.addresses,
            )
        }?;
        device.count_launch();
        Ok(())
    }

    /// # Safety
    /// As [`Enqueue::now`], but for the memories' addresses.
    unsafe fn with_memories(&mut self, args: &KernelArgs) -> Result<()> {
        // Here and not in `args`, which other threads may launch with.
        let mut found: SmallVec<[hip_core::DevicePtr; 4]> =
            smallvec::smallvec![hip_core::DevicePtr::NULL; args.memories().len()];
        // SAFETY: the caller's.
        unsafe { self.nest(args, 0, &mut found) }.map(drop)
    }

    /// Opens the memories from number `index` on, one inside the other, and launches inside the last.
    ///
    /// # Safety
    /// As [`Enqueue::with_memories`]; `found` has room for every memory's address.
    unsafe fn nest(
        &mut self,
        args: &KernelArgs,
        index: usize,
        found: &mut [hip_core::DevicePtr],
    ) -> Result<hip_core::Event> {
        let Some((_, memory)) = args.memories().get(index) else {
            for ((argument, _), address) in args.memories().iter().zip(found.iter_mut()) {
                self.addresses[*argument as usize] = std::ptr::from_mut(address).cast();
            }
            // SAFETY: the caller's; the memories are open and their addresses set.
            unsafe { self.now() }?;
            return Ok(self.stream.record()?);
        };
        let stream = self.stream;
        memory.access(stream, &mut |address| {
            found[index] = address;
            // SAFETY: the caller's.
            unsafe { self.nest(args, index + 1, found) }
        })
    }
}

fn attributes(device: &Device, function: FunctionHandle) -> Result<FunctionAttributes> {
    let _bound = device.bind()?;
    // SAFETY: the function is of a module loaded in the bound context.
    Ok(unsafe { device.backend().function_attributes(function) }?)
}

/// What every vendor refuses is refused here, with words.
#[inline]
fn check_launch(device: &Device, state: &State, config: &LaunchConfig) -> Result<()> {
    let (grid, block) = (config.grid_dim, config.block_dim);
    let limits = &device.info().limits;
    let threads = block
        .iter()
        .fold(1_u64, |product, n| product.saturating_mul(u64::from(*n)));
    let most = limits.max_grid_dim;
    // A dimension of 0 wraps to the largest.
    let fits = |dim: usize| grid[dim].wrapping_sub(1) < most[dim];
    if fits(0)
        && fits(1)
        && fits(2)
        && threads.wrapping_sub(1) < u64::from(limits.max_threads_per_block)
        && config.shared_mem_bytes <= state.allowed_shared.load(Ordering::Relaxed)
    {
        return Ok(());
    }
    allow_or_explain(device, state, config)
}

/// Gets leave for more dynamic shared memory than before, or says why the launch is not possible.
#[cold]
fn allow_or_explain(device: &Device, state: &State, config: &LaunchConfig) -> Result<()> {
    let (grid, block) = (config.grid_dim, config.block_dim);
    let limits = &device.info().limits;
    let refuse = |why: String| Err(Error::InvalidLaunch { grid, block, why });
    let threads = block
        .iter()
        .fold(1_u64, |product, n| product.saturating_mul(u64::from(*n)));
    if grid.contains(&0) || block.contains(&0) {
        return refuse("a dimension is 0".to_owned());
    }
    if threads > u64::from(limits.max_threads_per_block) {
        return refuse(format!(
            "a block has at most {} threads",
            limits.max_threads_per_block
        ));
    }
    if (0..3).any(|dim| grid[dim] > limits.max_grid_dim[dim]) {
        return refuse(format!(
            "a grid has at most {:?} blocks",
            limits.max_grid_dim
        ));
    }
    let dynamic = config.shared_mem_bytes;
    let fixed = match attributes(device, state.handle) {
        Ok(attributes) => attributes.shared_bytes,
        // A library without the call: the driver will say what does not fit.
        Err(error) if error.kind() == ErrorKind::Unsupported => 0,
        Err(error) => return Err(error),
    };
    let wanted = u64::from(dynamic) + u64::from(fixed);
    if wanted > u64::from(limits.max_shared_memory_per_block_optin) {
        return refuse(format!(
            "a block has at most {} bytes of shared memory, and this one wants {dynamic} and {fixed} of \
             its own",
            limits.max_shared_memory_per_block_optin
        ));
    }
    if wanted > u64::from(limits.max_shared_memory_per_block) {
        let _bound = device.bind()?;
        let backend = device.backend();
        // SAFETY: the function is of a module loaded in the bound context.
        unsafe { backend.allow_dynamic_shared_memory(state.handle, dynamic) }?;
    }
    state.allowed_shared.fetch_max(dynamic, Ordering::Relaxed);
    Ok(())
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} of {:?})", self.state.name, self.module)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Add = fn(&mut KernelArgs);

    fn params(list: &[(usize, Option<bool>)]) -> Params {
        let param = |(size, pointer): &(usize, Option<bool>)| Param {
            offset: 0,
            size: *size,
            align: 1,
            pointer: *pointer,
        };
        Params::new(&list.iter().map(param).collect::<Vec<_>>())
    }

    #[test]
    fn arguments_are_compared_with_parameters() {
        let params = params(&[(8, Some(true)), (4, Some(false)), (8, None)]);
        let args = |all: &[Add]| {
            let mut args = KernelArgs::new();
            all.iter().for_each(|add| add(&mut args));
            args
        };
        let (address, byte, four, eight): (Add, Add, Add, Add) = (
            |args| args.add(hip_core::DevicePtr(1)),
            |args| args.add(1_u8),
            |args| args.add(1_u32),
            |args| args.add(1_u64),
        );
        assert!(params.accept(args(&[address, four, eight]).slots()));
        assert!(params.accept(args(&[address, four, address]).slots()));
        let wrong = [
            (args(&[address, four]), "it takes 3, not 2"),
            (
                args(&[eight, four, eight]),
                "parameter 0 is an address, the argument is 8 bytes",
            ),
            (
                args(&[address, eight, eight]),
                "parameter 1 is 4 bytes, the argument is 8 bytes",
            ),
            (
                args(&[address, four, byte]),
                "parameter 2 is 8 bytes, the argument is 1 byte",
            ),
        ];
        for (args, why) in wrong {
            assert!(!params.accept(args.slots()));
            assert_eq!(params.explain(args.slots()), why);
        }
    }
}
