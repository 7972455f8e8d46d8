mod function;
mod functions;
mod image;
mod lifetime;

use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, OnceLock};

use hip_core::{Device, Stream};
use hip_dispatch::{ErrorKind, ImageKind, ModuleHandle, ModuleImage, StreamHandle};

use crate::cache::{self, Cache};
use crate::compile::{Compiled, compile_in};
use crate::error::RefusedError;
use crate::image::{ImageError, ImageFormat, KernelInfo};
use crate::{Error, KernelArgs, KernelSource, LaunchConfig, Prebuilt, Result};
pub use function::Function;
use function::State;
use functions::Functions;
use lifetime::Users;

/// A loaded module: kernels of one device. Cheap to clone.
///
/// With the last clone, and the last [`Function`], it is unloaded: at once if the streams that it was
/// launched on are idle, else by the device's completion worker when they are done. So nobody needs
/// to keep a module for the sake of a launch.
#[derive(Clone)]
pub struct KernelModule(Arc<Inner>);

struct Inner {
    device: Device,
    handle: ModuleHandle,
    name: String,
    /// What the image says of its kernels; `None` where it cannot be read.
    kernels: Option<Vec<KernelInfo>>,
    /// Kernels of the text that no name finds, where the image says.
    nameless: Vec<String>,
    functions: Functions,
    users: Users,
    /// What a launch without a stream is enqueued on, under an identity of this module's.
    default_stream: OnceLock<Stream>,
}

/// An image ready for the driver, and what is known of it.
struct Loadable<'a> {
    name: &'a str,
    image: ModuleImage<'a>,
    kernels: Option<Vec<KernelInfo>>,
    nameless: Vec<String>,
}

impl KernelModule {
    /// Compiles a text and loads the result. What was compiled before, by this process or another,
    /// comes from the cache, and no compiler is opened ([`crate::cache`]).
    ///
    /// See [`crate::compile`] for options and headers. Kernels are found by name if they are
    /// `extern "C" __global__`.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let device = hip_core::Device::open(&hip_core::DeviceSelector::Auto)?;
    /// let module = hip_rtc::KernelModule::from_source(
    ///     &device,
    ///     r#"extern "C" __global__ void fill(float *out, float value, unsigned count) {
    ///            unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    ///            if (i < count) out[i] = value;
    ///        }"#,
    ///     &["--use_fast_math"],
    /// )?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`crate::compile`], or the driver refuses the result.
    pub fn from_source<'a>(
        device: &Device,
        source: impl Into<KernelSource<'a>>,
        options: &[&str],
    ) -> Result<KernelModule> {
        KernelModule::from_source_in(cache::global(), device, source, options)
    }

    /// As [`KernelModule::from_source`], with a cache of one's own.
    ///
    /// # Errors
    /// As [`KernelModule::from_source`].
    pub fn from_source_in<'a>(
        cache: &Cache,
        device: &Device,
        source: impl Into<KernelSource<'a>>,
        options: &[&str],
    ) -> Result<KernelModule> {
        let source = source.into();
        let compiled = compile_in(cache, device, &source, options)?;
        KernelModule::from_image(device, source.name, &compiled.image)
            .map_err(|error| refused(device, &compiled, error))
    }

    /// Loads an image: PTX text or a CUBIN on NVIDIA, a code object or a clang offload bundle on AMD,
    /// a shared object that [`crate::host`] made on Host.
    ///
    /// # Errors
    /// The image is of another kind than the device takes, is cut off, or is not for its
    /// architecture.
    ///
    /// # Safety
    /// An image is code: it comes from where the caller trusts it to. (A host object runs in this
    /// process as soon as it is loaded.)
    pub unsafe fn from_binary(device: &Device, image: &[u8]) -> Result<KernelModule> {
        KernelModule::from_image(device, "an image", image)
    }

    /// Loads the image that fits the device. No compiler library is opened; NVIDIA's driver
    /// compiles the PTX and keeps the result in its own cache.
    ///
    /// # Errors
    /// There is no image for the device's architecture, or the driver refuses it.
    pub fn from_prebuilt(device: &Device, prebuilt: &Prebuilt) -> Result<KernelModule> {
        let no_image = |device: String| Error::NoImage {
            module: prebuilt.name.to_owned(),
            device,
            have: prebuilt.architectures(),
        };
        match device.backend().image_kind() {
            ImageKind::Cuda => {
                KernelModule::from_image(device, prebuilt.name, &prebuilt.ptx.inflate()?)
            }
            ImageKind::AmdCodeObject => {
                let object = prebuilt
                    .code_object(&device.info().architecture)
                    .ok_or_else(|| no_image(device.info().to_string()))?;
                KernelModule::from_image(device, prebuilt.name, &object.image.inflate()?)
            }
            ImageKind::Host => KernelModule::load(
                device,
                Loadable {
                    name: prebuilt.name,
                    image: ModuleImage::HostTable((prebuilt.host)()),
                    kernels: None,
                    nameless: Vec::new(),
                },
            ),
            other => Err(no_image(format!("{} ({other:?})", device.info()))),
        }
    }

    /// Checks an image and loads it.
    fn from_image(device: &Device, name: &str, bytes: &[u8]) -> Result<KernelModule> {
        let format = image::check(device, bytes)?;
        let kernels = match crate::image::kernels(bytes) {
            Ok(kernels) => Some(kernels),
            Err(error @ ImageError::Truncated { .. }) => return Err(error.into()),
            Err(error) => {
                tracing::debug!(%name, %error, "arguments of launches are not checked");
                None
            }
        };
        let text;
        let image = match format {
            ImageFormat::Ptx => {
                text = image::ptx_text(name, bytes)?;
                ModuleImage::Ptx(&text)
            }
            ImageFormat::HostObject => ModuleImage::HostObject(bytes),
            _ => ModuleImage::Binary(bytes),
        };
        let loadable = Loadable {
            name,
            image,
            kernels,
            nameless: image::nameless(format, bytes),
        };
        KernelModule::load(device, loadable)
    }

    fn load(device: &Device, loadable: Loadable<'_>) -> Result<KernelModule> {
        let Loadable {
            name,
            image,
            kernels,
            nameless,
        } = loadable;
        let _bound = device.bind()?;
        tracing::debug!(%name, ?image, device = %device.info(), "loading module");
        // SAFETY: PTX is NUL-terminated, a binary is as long as its header tells, a table is of this
        // process; what they do was vouched for by whoever gave them, or was compiled just now.
        let handle = unsafe { device.backend().module_load(image) }?;
        Ok(KernelModule(Arc::new(Inner {
            device: device.clone(),
            handle,
            name: name.to_owned(),
            kernels,
            nameless,
            functions: Functions::default(),
            users: Users::default(),
            default_stream: OnceLock::new(),
        })))
    }

    /// The device it is loaded on.
    #[inline]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The kernels and what they take; `None` where the image does not say (a prebuilt table of
    /// Host's).
    pub fn functions(&self) -> Option<&[KernelInfo]> {
        self.0.kernels.as_deref()
    }

    /// The kernel `name`.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.0.device.check_process("function")?;
        Ok(Function::new(self.clone(), self.lookup(name)?.clone()))
    }

    /// Enqueues a launch of the kernel `name` on `stream` (`None`: the default stream), without
    /// dynamic shared memory; see [`KernelModule::launch_config`] for that.
    ///
    /// # Safety
    /// As [`Function::launch`].
    ///
    /// # Errors
    /// As [`KernelModule::function`] and [`Function::launch`].
    #[inline]
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
        // SAFETY: the caller's.
        unsafe { self.launch_config(name, stream, &config, args) }
    }

    /// As [`KernelModule::launch`], with dynamic shared memory.
    ///
    /// # Safety
    /// As [`Function::launch`].
    ///
    /// # Errors
    /// As [`KernelModule::function`] and [`Function::launch`].
    #[inline]
    pub unsafe fn launch_config(
        &self,
        name: &str,
        stream: Option<&Stream>,
        config: &LaunchConfig,
        args: &KernelArgs,
    ) -> Result<()> {
        let state = self.lookup(name)?;
        // SAFETY: the caller's.
        unsafe { function::launch(self, state, stream, config, args) }
    }

    /// A name that was looked up before costs a comparison or a few, and no lock.
    #[inline]
    fn lookup(&self, name: &str) -> Result<&Arc<State>> {
        match self.0.functions.get(name) {
            Some(state) => Ok(state),
            None => self.find(name),
        }
    }

    /// Asks the driver for a kernel.
    #[cold]
    fn find(&self, name: &str) -> Result<&Arc<State>> {
        let inner = &self.0;
        let kernels = inner.kernels.as_deref().unwrap_or_default();
        let c_name =
            CString::new(name).map_err(|_| Error::Nul(format!("the kernel name {name:?}")))?;
        let _bound = inner.device.bind()?;
        let backend = inner.device.backend();
        // SAFETY: the module is loaded in the bound context.
        let found = unsafe { backend.module_get_function(inner.handle, &c_name) };
        let handle = found.map_err(|error| match error.kind {
            ErrorKind::NotFound => Error::FunctionNotFound {
                module: inner.name.clone(),
                name: name.to_owned(),
                hint: image::hint(kernels, &inner.nameless, name),
            },
            _ => error.into(),
        })?;
        let info = kernels.iter().find(|kernel| kernel.name == name);
        Ok(inner.functions.keep(State::new(name, handle, info)))
    }

    /// The stream that a launch goes to.
    #[inline]
    fn stream<'a>(&'a self, stream: Option<&'a Stream>) -> &'a Stream {
        match stream {
            Some(stream) => stream,
            None => self.0.default_stream.get_or_init(|| {
                // SAFETY: the default stream is always there, in every context.
                unsafe { Stream::from_foreign(&self.0.device, StreamHandle::NULL, Box::new(())) }
            }),
        }
    }
}

/// What the driver said of a fresh image, with the versions that explain it.
fn refused(device: &Device, compiled: &Compiled, error: Error) -> Error {
    match error {
        Error::Core(source) if source.kind() == ErrorKind::InvalidImage => {
            Error::Refused(Box::new(RefusedError {
                product: compiled.format,
                compiler: compiled.compiler.clone(),
                architecture: device.info().architecture.clone(),
                driver: device.backend().versions().map_or(0, |v| v.driver),
                source,
            }))
        }
        other => other,
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let module = lifetime::Loaded {
            device: self.device.clone(),
            handle: self.handle,
            name: std::mem::take(&mut self.name),
        };
        self.users.release(module);
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
