//! Modules: tables of kernels of this process, or shared objects.

use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::{Arc, Mutex};

use super::device::MAX_THREADS_PER_BLOCK;
use super::launch::{HostKernel, HostKernelFn};
use super::object::{Loaded, Object};
use super::registry::next_id;
use super::{Host, code, fail, lock};
use crate::{FunctionHandle, HipError, ModuleHandle, ModuleImage, Result};

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

impl Host {
    /// # Safety
    /// A shared object is what `hip-rtc` built.
    pub(super) unsafe fn load_module(
        &self,
        call: &'static str,
        image: ModuleImage<'_>,
    ) -> Result<ModuleHandle> {
        let device = self.current(call)?.ordinal;
        let module = match image {
            ModuleImage::HostTable(table) => Module::from_table(device, table),
            // SAFETY: the caller's promise.
            ModuleImage::HostObject(bytes) => unsafe { Module::from_object(device, bytes) },
            _ => Err(format!(
                "the CPU takes its own functions or a shared object of such, not {image:?}"
            )),
        };
        let module = module.map_err(|text| fail(call, code::INVALID_IMAGE, text))?;
        Ok(ModuleHandle::from_raw(
            self.modules.insert(next_id(), Arc::new(module)),
        ))
    }

    pub(super) fn unload_module(&self, call: &'static str, handle: ModuleHandle) -> Result<()> {
        self.current(call)?;
        let module = self.modules.remove(handle.as_raw());
        let module = module.ok_or_else(|| no_module(call))?;
        let functions = lock(&module.functions);
        for id in functions.iter().flatten() {
            self.functions.remove(std::ptr::without_provenance_mut(*id));
        }
        Ok(())
    }

    pub(super) fn find_function(
        &self,
        call: &'static str,
        module: ModuleHandle,
        name: &CStr,
    ) -> Result<FunctionHandle> {
        self.current(call)?;
        let module = self.modules.get(module.as_raw());
        let module = module.ok_or_else(|| no_module(call))?;
        let named = |name: &str| module.kernels.iter().position(|kernel| kernel.name == name);
        let index = name.to_str().ok().and_then(named).ok_or_else(|| {
            let text = format!("the module has no kernel named {}", name.to_string_lossy());
            fail(call, code::NOT_FOUND, text)
        })?;
        let mut functions = lock(&module.functions);
        let id = *functions[index].get_or_insert_with(|| {
            let id = next_id();
            let function = Function {
                device: module.device,
                kernel: module.kernels[index].clone(),
            };
            self.functions.insert(id, Arc::new(function));
            id
        });
        let handle = std::ptr::without_provenance_mut(id);
        Ok(FunctionHandle::from_raw(handle))
    }
}

fn no_module(call: &'static str) -> HipError {
    fail(call, code::INVALID_HANDLE, "the handle is no live module")
}
