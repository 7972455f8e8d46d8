//! A module on a Host device, and launches of it over memory of this process.

use std::ffi::{CString, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

use hip_dispatch::{
    Backend, ContextGuardToken, Host, LaunchConfig, ModuleHandle, ModuleImage, StreamFlags,
    StreamHandle,
};
use hip_rtc::KernelSource;
use hip_rtc::host::{self, HostBuild};

/// A loaded module with a stream; unloaded when dropped.
pub(crate) struct Rig {
    pub(crate) host: Arc<Host>,
    pub(crate) module: ModuleHandle,
    pub(crate) stream: StreamHandle,
    token: ContextGuardToken,
}

/// What a launch needs beyond its name: one block of `x` threads.
pub(crate) fn block(x: u32) -> LaunchConfig {
    grid(1, x)
}

/// `blocks` blocks of `threads` threads.
pub(crate) fn grid(blocks: u32, threads: u32) -> LaunchConfig {
    LaunchConfig {
        grid_dim: [blocks, 1, 1],
        block_dim: [threads, 1, 1],
        shared_mem_bytes: 0,
    }
}

/// The address of an argument, which has to live until the launch is enqueued.
pub(crate) struct Arg<'a>(*mut c_void, PhantomData<&'a ()>);

/// See [`Arg`].
pub(crate) fn arg<T>(value: &T) -> Arg<'_> {
    Arg(std::ptr::from_ref(value).cast_mut().cast(), PhantomData)
}

pub(crate) fn compile(text: &str) -> HostBuild {
    host::compile(&KernelSource::new(text), &[]).unwrap_or_else(|error| panic!("{error}"))
}

impl Rig {
    pub(crate) fn new(text: &str) -> Rig {
        Rig::load(&compile(text))
    }

    pub(crate) fn load(build: &HostBuild) -> Rig {
        let host = Host::new(1);
        let context = host.primary_context_retain(0).unwrap();
        // SAFETY: the context was just retained, and is released by `drop`.
        let token = unsafe { host.context_push(context) }.unwrap();
        // SAFETY: the object was just built.
        let module = unsafe { host.module_load(ModuleImage::HostObject(&build.object)) }.unwrap();
        Rig {
            stream: host.stream_create(StreamFlags::NON_BLOCKING, 0).unwrap(),
            host,
            module,
            token,
        }
    }

    /// Enqueues a launch.
    pub(crate) fn enqueue(
        &self,
        name: &str,
        config: LaunchConfig,
        args: &[Arg<'_>],
    ) -> hip_dispatch::Result<()> {
        let name = CString::new(name).unwrap();
        // SAFETY: the module is alive.
        let function = unsafe { self.host.module_get_function(self.module, &name) }?;
        let mut args: Vec<*mut c_void> = args.iter().map(|arg| arg.0).collect();
        // SAFETY: the tests pass what their kernels take, and memory that outlives the launch.
        unsafe {
            self.host
                .launch_kernel(function, &config, self.stream, &mut args)
        }
    }

    /// Waits for what was enqueued.
    pub(crate) fn finish(&self) -> hip_dispatch::Result<()> {
        // SAFETY: the stream is alive.
        unsafe { self.host.stream_synchronize(self.stream) }
    }

    /// Launches, and waits.
    pub(crate) fn run(&self, name: &str, config: LaunchConfig, args: &[Arg<'_>]) {
        self.enqueue(name, config, args).unwrap();
        self.finish().unwrap();
    }

    pub(crate) fn unload(&self) {
        // SAFETY: nothing but enqueued work uses the module.
        unsafe { self.host.module_unload(self.module) }.unwrap();
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // A test may have unloaded the module, or made the stream fail.
        // SAFETY: a handle that is gone is an error.
        let _ = unsafe { self.host.module_unload(self.module) };
        // SAFETY: as above.
        let _ = unsafe { self.host.stream_destroy(self.stream) };
        let _ = self.host.context_pop(self.token);
        // SAFETY: retained by `new`.
        let _ = unsafe { self.host.primary_context_release(0) };
    }
}
