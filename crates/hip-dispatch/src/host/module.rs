//! Modules: tables of kernels of this process, or shared objects.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use super::device::MAX_THREADS_PER_BLOCK;
use super::launch::{HostKernel, HostKernelFn};
use super::object::{Loaded, Object};

/// A kernel that can be launched. Whoever holds it keeps its code loaded.
pub(super) struct Kernel {
    pub(super) name: Cow<'static, str>,
    pub(super) function: HostKernelFn,
    /// Bytes of each argument.
    pub(super) arg_sizes: Cow<'static, [usize]>,
    /// From `__launch_bounds__`.
    pub(super) max_threads: Option<u32>,
    _code: Option<Arc<Object>>,
}

/// A loaded module, in one device's context.
pub(super) struct Module {
    pub(super) device: u32,
    pub(super) kernels: Vec<Arc<Kernel>>,
    /// The function id of each kernel that was looked up, so that a kernel has one handle.
    pub(super) functions: Mutex<Vec<Option<usize>>>,
}

/// A kernel of a loaded module.
pub(super) struct Function {
    pub(super) device: u32,
    pub(super) kernel: Arc<Kernel>,
}

impl From<&HostKernel> for Kernel {
    fn from(kernel: &HostKernel) -> Kernel {
        Kernel {
            name: Cow::Borrowed(kernel.name),
            function: kernel.function,
            arg_sizes: Cow::Borrowed(kernel.arg_sizes),
            max_threads: None,
            _code: None,
        }
    }
}

impl Function {
    /// The most threads of a block.
    pub(super) fn max_threads(&self) -> u32 {
        let limit = self.kernel.max_threads.unwrap_or(MAX_THREADS_PER_BLOCK);
        limit.min(MAX_THREADS_PER_BLOCK)
    }
}

impl Module {
    /// Checks a table; an error says what is wrong.
    pub(super) fn from_table(device: u32, table: &'static [HostKernel]) -> Result<Self, String> {
        Module::new(device, table.iter().map(Kernel::from).collect())
    }

    /// Loads a shared object; an error says what is wrong.
    ///
    /// # Safety
    /// As [`Object::load`].
    pub(super) unsafe fn from_object(device: u32, image: &[u8]) -> Result<Self, String> {
        // SAFETY: the caller's promise.
        let (object, loaded) = unsafe { Object::load(image) }?;
        let kernel = |Loaded { kernel, run }| Kernel {
            name: Cow::Owned(kernel.name),
            function: run,
            arg_sizes: kernel.params.iter().map(|param| param.size).collect(),
            max_threads: kernel.max_threads,
            _code: Some(object.clone()),
        };
        Module::new(device, loaded.into_iter().map(kernel).collect())
    }

    fn new(device: u32, kernels: Vec<Kernel>) -> Result<Self, String> {
        for (index, kernel) in kernels.iter().enumerate() {
            if kernel.name.is_empty() {
                return Err(format!("kernel {index} of the table has no name"));
            }
            if kernels[..index]
                .iter()
                .any(|other| other.name == kernel.name)
            {
                return Err(format!("the table has two kernels named {}", kernel.name));
            }
        }
        Ok(Module {
            device,
            functions: Mutex::new(vec![None; kernels.len()]),
            kernels: kernels.into_iter().map(Arc::new).collect(),
        })
    }
}
