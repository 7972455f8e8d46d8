//! Modules: tables of kernels of this process.

use std::sync::Mutex;

use super::launch::HostKernel;

/// A loaded table, in one device's context.
pub(super) struct Module {
    pub(super) device: u32,
    pub(super) kernels: &'static [HostKernel],
    /// The function id of each kernel that was looked up, so that a kernel has one handle.
    pub(super) functions: Mutex<Vec<Option<usize>>>,
}

/// A kernel of a loaded module.
pub(super) struct Function {
    pub(super) device: u32,
    pub(super) kernel: HostKernel,
}

impl Module {
    /// Checks a table; an error says what is wrong.
    pub(super) fn new(device: u32, kernels: &'static [HostKernel]) -> Result<Self, String> {
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
            kernels,
            functions: Mutex::new(vec![None; kernels.len()]),
        })
    }
}
