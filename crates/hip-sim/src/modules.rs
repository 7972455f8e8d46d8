//! Modules, functions and launches.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use hip_dispatch::{Backend, Host, LaunchConfig, ModuleImage};
use hip_rtc::image::{KernelInfo, Param};

use crate::code::{self, Result};
use crate::image::carried::Carried;
use crate::image::{self, Image, Refusal};
use crate::kernels::{self, CarriedKernel, Kernel};
use crate::sim::{Sim, thread};
use crate::state::{Function, Module, number};

/// Blocks in x, y, z, at most.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];
/// Threads of a block in x, y, z, and of a whole block, at most.
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
const MAX_THREADS: u64 = 1024;
/// `…LaunchFailure`, which AMD says at once of a block larger than the kernel was compiled for.
const LAUNCH_FAILURE: i32 = 719;

/// The arguments of a launch as the vendors take them.
#[derive(Debug, Clone, Copy)]
pub enum Args {
    /// The address of each.
    Pointers(*mut *mut c_void),
    /// All in one place, of so many bytes.
    Buffer(*const u8, usize),
}

impl Sim {
    /// Loads a module; a refusal says why in words.
    ///
    /// # Safety
    /// `data` is an image of the vendor's as [`image::cuda`] or [`image::amd`] want it.
    pub unsafe fn module_load(&self, data: *const c_void) -> Result<usize, Refusal> {
        let plain = |code| Refusal::new(code, String::new());
        let context = self.current().map_err(plain)?;
        if data.is_null() {
            return Err(plain(code::INVALID_VALUE));
        }
        let architecture = self.architecture();
        // SAFETY: the caller's promise.
        let image = unsafe {
            match self.profile.is_amd() {
                true => image::amd(data, architecture),
                false => image::cuda(data, architecture, self.profile.version),
            }
        };
        let loaded = image.and_then(|image| {
            let kernels = kernels_of(&image)?;
            let host_image = match &image.carried {
                Some(carried) => ModuleImage::HostObject(&carried.object),
                None => ModuleImage::HostTable(kernels::table()),
            };
            // SAFETY: a table of this process, or a whole object that describes its kernels as
            // the image does, as `hip_rtc::host` made it.
            let handle = self.on_host(context, |host| unsafe { host.module_load(host_image) });
            Ok((handle.map_err(plain)?, kernels))
        });
        let (handle, kernels) = loaded.inspect_err(|refusal| {
            self.record
                .calls
                .line(&format!("!\tmodule refused: {}", refusal.text));
        })?;
        let kernels = kernels
            .into_iter()
            .map(|kernel| (Arc::new(kernel), None))
            .collect();
        let key = number(handle.as_raw());
        self.state().modules.insert(
            key,
            Module {
                context,
                handle,
                kernels,
            },
        );
        Ok(key)
    }

    /// Unloads a module.
    pub fn module_unload(&self, module: usize) -> Result<()> {
        let mut state = self.state();
        let removed = state.modules.remove(&module).ok_or(code::INVALID_HANDLE)?;
        state
            .functions
            .retain(|_, function| function.module != module);
        drop(state);
        // SAFETY: it was in the table, so it is alive, and is unloaded once.
        self.on_host(removed.context, |host| unsafe {
            host.module_unload(removed.handle)
        })
    }

    /// Looks a kernel up.
    pub fn module_get_function(&self, module: usize, name: &CStr) -> Result<usize> {
        let mut state = self.state();
        let state = &mut *state;
        let found = state.modules.get_mut(&module).ok_or(code::INVALID_HANDLE)?;
        let text = name.to_str().map_err(|_| code::NOT_FOUND)?;
        let index = found
            .kernels
            .iter()
            .position(|(kernel, _)| kernel.info.name == text);
        let (kernel, known) = &mut found.kernels[index.ok_or(code::NOT_FOUND)?];
        if let Some(function) = known {
            return Ok(*function);
        }
        let (context, module_handle) = (found.context, found.handle);
        // SAFETY: the module is in the table, so it is alive.
        let handle = self.on_host(context, |host| unsafe {
            host.module_get_function(module_handle, name)
        });
        let handle = handle.inspect_err(|_| {
            self.record.complain(&format!(
                "{text} is in the image, but there is no host build of it"
            ));
        })?;
        let key = number(handle.as_raw());
        *known = Some(key);
        let kernel = kernel.clone();
        state.functions.insert(
            key,
            Function {
                context,
                module,
                kernel,
                handle,
                most_shared: None,
            },
        );
        Ok(key)
    }

    /// Enqueues a launch.
    ///
    /// # Safety
    /// `args` are as many as the kernel takes by its image, and as large; addresses among them
    /// are valid for what the kernel does until the work is done.
    pub unsafe fn launch(
        &self,
        function: usize,
        config: &LaunchConfig,
        stream: usize,
        args: Args,
    ) -> Result<()> {
        let context = self.current()?;
        let mut state = self.state();
        let on = state.on(context, Some(stream))?;
        let found = state
            .functions
            .get(&function)
            .ok_or(code::INVALID_HANDLE)?
            .clone();
        if found.context != context {
            return Err(code::INVALID_HANDLE);
        }
        let kernel = &found.kernel;
        let most_shared = found.most_shared.unwrap_or(self.profile.shared_memory);
        check_shape(self.profile.is_amd(), &kernel.info, most_shared, config)?;
        // SAFETY: the caller's promise.
        let mut values = unsafe { read_args(&kernel.info.params, args) }?;
        let config = self.host_config(kernel, config)?;
        let touched = kernels::touches(&state, context, kernel, &values);
        let touched = match touched {
            Ok(touched) => touched,
            Err(address) => {
                // The launch is accepted; what it did to the context is seen later.
                state.contexts[context].failed = Some(code::ILLEGAL_ADDRESS);
                drop(state);
                self.record.complain(&format!(
                    "{} was given {address:#x}, which is no memory of its context",
                    kernel.info.name
                ));
                return Ok(());
            }
        };
        let name = crate::calls::thread_name();
        let moment = state.moment(context, on, thread(), &name);
        let what: Arc<str> = format!("kernel {}", kernel.info.name).into();
        let mut findings = Vec::new();
        for touch in touched {
            findings.extend(state.access(touch.block, touch.area, touch.write, &moment, &what));
        }
        let mut pointers: Vec<_> = values
            .iter_mut()
            .map(|value| value.as_mut_ptr().cast::<c_void>())
            .collect();
        // SAFETY: the values have the sizes of Host's kernel, checked above, and Host copies them
        // before it returns; what they point to is in live blocks or vouched for by the caller.
        let work = |host: &Host, stream| unsafe {
            host.launch_kernel(found.handle, &config, stream, &mut pointers)
        };
        self.finish(state, context, on, &moment, findings, work)
    }

    /// The launch as Host is to make it.
    ///
    /// # Errors
    /// The image and the host build do not take the same arguments, or Host has less shared
    /// memory than the kernel needs.
    fn host_config(&self, kernel: &Kernel, config: &LaunchConfig) -> Result<LaunchConfig> {
        let most = self.host_shared_memory;
        if kernel.carried.is_some() {
            if config.shared_mem_bytes <= most {
                return Ok(*config);
            }
            let text = format!(
                "{} wants {} bytes of shared memory, and its host build can have {most}",
                kernel.info.name, config.shared_mem_bytes
            );
            self.record.complain(&text);
            return Err(code::INVALID_VALUE);
        }
        self.check_host_build(&kernel.info)?;
        // The kernels of this workspace use none, so what is more than Host has is not missed.
        Ok(LaunchConfig {
            shared_mem_bytes: config.shared_mem_bytes.min(most),
            ..*config
        })
    }

    fn check_host_build(&self, kernel: &KernelInfo) -> Result<()> {
        let built = kernels::table()
            .iter()
            .find(|built| built.name == kernel.name);
        let sizes: Vec<usize> = kernel.params.iter().map(|param| param.size).collect();
        if built.is_some_and(|built| built.arg_sizes == sizes) {
            return Ok(());
        }
        let expected = built.map(|built| built.arg_sizes);
        let text = format!(
            "{} takes {sizes:?} bytes by its image, {expected:?} here",
            kernel.name
        );
        self.record.complain(&text);
        Err(code::INVALID_VALUE)
    }
}

/// The kernels of an image with what is known of the host build that it carries.
fn kernels_of(image: &Image) -> Result<Vec<Kernel>, Refusal> {
    let Some(carried) = &image.carried else {
        let plain = |info: &KernelInfo| Kernel {
            info: info.clone(),
            carried: None,
        };
        return Ok(image.kernels.iter().map(plain).collect());
    };
    let built = hip_rtc::host::kernels_of_object(&carried.object).unwrap_or_default();
    let kernel = |info: &KernelInfo| {
        let found = built.iter().find(|built| built.name == info.name);
        let found = found.filter(|built| same_sizes(&built.params, &info.params));
        let found = found.ok_or_else(|| {
            let text = format!("the host build that is carried lacks {}", info.name);
            Refusal::new(code::INVALID_IMAGE, text)
        })?;
        Ok(Kernel {
            info: info.clone(),
            carried: Some(carried_kernel(found, carried)),
        })
    };
    image.kernels.iter().map(kernel).collect()
}

fn same_sizes(built: &[Param], told: &[Param]) -> bool {
    let sizes = |params: &[Param]| params.iter().map(|param| param.size).collect::<Vec<_>>();
    sizes(built) == sizes(told)
}

fn carried_kernel(built: &KernelInfo, carried: &Carried) -> CarriedKernel {
    let reads = carried.reads.iter().find(|(name, _)| *name == built.name);
    CarriedKernel {
        pointers: built.params.iter().map(|param| param.pointer).collect(),
        reads: reads.map(|(_, places)| places.clone()).unwrap_or_default(),
    }
}

/// Refuses what a device cannot launch.
fn check_shape(
    amd: bool,
    kernel: &KernelInfo,
    most_shared: u32,
    config: &LaunchConfig,
) -> Result<()> {
    let (grid, block) = (config.grid_dim, config.block_dim);
    let over = |sizes: [u32; 3], most: [u32; 3]| {
        sizes
            .iter()
            .zip(most)
            .any(|(size, most)| *size == 0 || *size > most)
    };
    let threads = block.iter().map(|size| u64::from(*size)).product::<u64>();
    let too_much_shared = config.shared_mem_bytes > most_shared;
    if over(grid, MAX_GRID) || over(block, MAX_BLOCK) || threads > MAX_THREADS || too_much_shared {
        return Err(code::INVALID_VALUE);
    }
    match kernel.max_threads {
        Some(most) if threads > u64::from(most) && amd => Err(LAUNCH_FAILURE),
        Some(most) if threads > u64::from(most) => Err(code::INVALID_VALUE),
        _ => Ok(()),
    }
}

/// Copies the arguments out.
///
/// # Safety
/// They are as many as the parameters and as large.
unsafe fn read_args(params: &[Param], args: Args) -> Result<Vec<Vec<u8>>> {
    let end = params
        .iter()
        .map(|param| param.offset + param.size)
        .max()
        .unwrap_or(0);
    let source = |index: usize, param: &Param| match args {
        Args::Pointers(array) if array.is_null() => None,
        // SAFETY: the caller's promise: there are as many addresses as parameters.
        Args::Pointers(array) => unsafe { array.add(index).read() }
            .cast_const()
            .cast::<u8>()
            .into(),
        Args::Buffer(_, size) if size < end => None,
        Args::Buffer(start, _) => Some(start.wrapping_add(param.offset)),
    };
    let value = |(index, param): (usize, &Param)| {
        let from = source(index, param)
            .filter(|from| !from.is_null())
            .ok_or(code::INVALID_VALUE)?;
        // SAFETY: the caller's promise: the argument is as large as the parameter.
        Ok(unsafe { std::slice::from_raw_parts(from, param.size) }.to_vec())
    };
    params.iter().enumerate().map(value).collect()
}
