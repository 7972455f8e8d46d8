use std::collections::HashMap;
use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use hip_core::{Device, Stream};
use hip_dispatch::{
    ErrorKind, FunctionHandle, ImageKind, LaunchConfig, ModuleHandle, ModuleImage, StreamHandle,
};

use crate::{Error, KernelArgs, Prebuilt, Result};

/// A loaded module: kernels of one device. Cheap to clone; unloaded with the last clone, and
/// whoever enqueues a launch keeps one until the work is done.
#[derive(Clone)]
pub struct KernelModule(Arc<Inner>);

struct Inner {
    device: Device,
    handle: ModuleHandle,
    name: String,
    functions: RwLock<HashMap<String, FunctionHandle>>,
}

/// A kernel of a module, which it keeps loaded.
#[derive(Clone)]
pub struct Function {
    module: KernelModule,
    handle: FunctionHandle,
}

impl KernelModule {
    /// Loads the image that fits the device. No compiler library is opened; NVIDIA's driver
    /// compiles the PTX and keeps the result in its own cache.
    ///
    /// # Errors
    /// There is no image for the device's architecture, or the driver refuses it.
    pub fn from_prebuilt(device: &Device, prebuilt: &Prebuilt) -> Result<KernelModule> {
        match device.backend().image_kind() {
            ImageKind::Cuda => {
                let text = CString::new(prebuilt.ptx.inflate()?)
                    .map_err(|_| Error::Nul(format!("the PTX of {}", prebuilt.name)))?;
                KernelModule::load(device, prebuilt.name, ModuleImage::Ptx(&text))
            }
            ImageKind::AmdCodeObject => {
                let architecture = &device.info().architecture;
                let object = prebuilt.code_object(architecture).ok_or_else(|| {
                    let (module, device) = (prebuilt.name.to_owned(), device.info().to_string());
                    Error::NoImage {
                        module,
                        device,
                        have: prebuilt.architectures(),
                    }
                })?;
                KernelModule::load(
                    device,
                    prebuilt.name,
                    ModuleImage::Binary(&object.image.inflate()?),
                )
            }
            ImageKind::HostTable => {
                let table = ModuleImage::HostTable((prebuilt.host)());
                KernelModule::load(device, prebuilt.name, table)
            }
            other => Err(Error::NoImage {
                module: prebuilt.name.to_owned(),
                device: format!("{} ({other:?})", device.info()),
                have: prebuilt.architectures(),
            }),
        }
    }

    fn load(device: &Device, name: &str, image: ModuleImage<'_>) -> Result<KernelModule> {
        let _bound = device.bind()?;
        tracing::debug!(%name, ?image, device = %device.info(), "loading module");
        // SAFETY: PTX is NUL-terminated, a binary is an ELF file whose header tells its size, and
        // a table is of this process; all were built with the crate that holds them.
        let handle = unsafe { device.backend().module_load(image) }?;
        Ok(KernelModule(Arc::new(Inner {
            device: device.clone(),
            handle,
            name: name.to_owned(),
            functions: RwLock::default(),
        })))
    }

    /// The device it is loaded on.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The kernel `name`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn function(&self, name: &str) -> Result<Function> {
        let handle = self.lookup(name)?;
        Ok(Function {
            module: self.clone(),
            handle,
        })
    }

    /// Enqueues a launch of the kernel `name` on `stream` (`None`: the default stream).
    ///
    /// # Safety
    /// As [`Function::launch`].
    ///
    /// # Errors
    /// As [`KernelModule::function`] and [`Function::launch`].
    pub unsafe fn launch(
        &self,
        name: &str,
        stream: Option<&Stream>,
        grid_dim: [u32; 3],
        block_dim: [u32; 3],
        args: &KernelArgs,
    ) -> Result<()> {
        let config = LaunchConfig {
            grid_dim,
            block_dim,
            shared_mem_bytes: 0,
        };
        let handle = self.lookup(name)?;
        // SAFETY: the caller's.
        unsafe { self.launch_handle(handle, stream, &config, args) }
    }

    fn lookup(&self, name: &str) -> Result<FunctionHandle> {
        self.0.device.check_process("function")?;
        let known = self
            .0
            .functions
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = known.get(name) {
            return Ok(*handle);
        }
        drop(known);
        let c_name =
            CString::new(name).map_err(|_| Error::Nul(format!("the kernel name {name:?}")))?;
        let _bound = self.0.device.bind()?;
        // SAFETY: the module is loaded in the bound context.
        let found = unsafe {
            self.0
                .device
                .backend()
                .module_get_function(self.0.handle, &c_name)
        };
        let handle = found.map_err(|error| match error.kind {
            ErrorKind::NotFound => Error::FunctionNotFound {
                module: self.0.name.clone(),
                name: name.to_owned(),
            },
            _ => error.into(),
        })?;
        let mut known = self
            .0
            .functions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        known.insert(name.to_owned(), handle);
        Ok(handle)
    }

    /// See [`Function::launch`].
    unsafe fn launch_handle(
        &self,
        function: FunctionHandle,
        stream: Option<&Stream>,
        config: &LaunchConfig,
        args: &KernelArgs,
    ) -> Result<()> {
        let device = &self.0.device;
        check_launch(device, config)?;
        if let Some(stream) = stream
            && stream.device() != device
        {
            return Err(hip_core::Error::DeviceMismatch {
                what: "the stream",
                found: stream.device().info().to_string(),
                expected: device.info().to_string(),
            }
            .into());
        }
        let mut addresses = args.addresses();
        let stream = stream.map_or(StreamHandle::NULL, Stream::as_raw);
        let _bound = device.bind()?;
        // SAFETY: module and stream are alive and of the bound context; the addresses point into
        // `args`, which outlives the call; the caller vouches for the arguments.
        unsafe {
            device
                .backend()
                .launch_kernel(function, config, stream, &mut addresses)
        }?;
        device.count_launch();
        Ok(())
    }
}

/// What every vendor refuses is refused here, with words.
fn check_launch(device: &Device, config: &LaunchConfig) -> Result<()> {
    let (grid, block) = (config.grid_dim, config.block_dim);
    let limits = &device.info().limits;
    let threads: u64 = block.iter().map(|n| u64::from(*n)).product();
    let fits = grid
        .iter()
        .zip(limits.max_grid_dim)
        .all(|(blocks, most)| *blocks <= most);
    let why = if grid.contains(&0) || block.contains(&0) {
        "a dimension is 0".to_owned()
    } else if threads > u64::from(limits.max_threads_per_block) {
        format!(
            "a block has at most {} threads",
            limits.max_threads_per_block
        )
    } else if !fits {
        format!("a grid has at most {:?} blocks", limits.max_grid_dim)
    } else {
        return Ok(());
    };
    Err(Error::InvalidLaunch { grid, block, why })
}

impl Function {
    /// The module it belongs to.
    pub fn module(&self) -> &KernelModule {
        &self.module
    }

    /// Enqueues a launch on `stream` (`None`: the default stream).
    ///
    /// # Safety
    /// The arguments fit the kernel's parameters in number, order and type; every address among
    /// them is valid for what the kernel does, and stays so until the work is done.
    ///
    /// # Errors
    /// A dimension is 0 or beyond the device's limits, the stream belongs to another device, or
    /// the driver refuses the launch.
    pub unsafe fn launch(
        &self,
        stream: Option<&Stream>,
        config: &LaunchConfig,
        args: &KernelArgs,
    ) -> Result<()> {
        // SAFETY: the caller's.
        unsafe { self.module.launch_handle(self.handle, stream, config, args) }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some(_bound) = self.device.bind_to_release() else {
            return;
        };
        // SAFETY: loaded in this context, unloaded once.
        if let Err(error) = unsafe { self.device.backend().module_unload(self.handle) } {
            tracing::warn!(%error, module = %self.name, "module not unloaded");
        }
    }
}

impl fmt::Debug for KernelModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "KernelModule({} on {})",
            self.0.name,
            self.0.device.info()
        )
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({:?} of {:?})", self.handle, self.module)
    }
}
