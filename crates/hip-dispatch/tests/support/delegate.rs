//! Backends for tests that change a few calls of another backend and pass the rest on.
//!
//! The type that uses these macros has `fn before(&self, call: &'static str) -> Result<()>`, whose
//! error is the call's, and `fn inner(&self) -> &dyn Backend`. A release that fails is passed on
//! all the same, as a driver that reports an old failure from `cuMemFree` has freed the memory.

/// Everything but streams and events, and what a vendor is.
macro_rules! delegate_memory_and_modules {
    () => {
        delegate_calls! {
            fn primary_context_retain(ordinal: u32) -> ContextHandle;
            fn mem_get_info() -> MemoryInfo;
            fn mem_alloc(bytes: usize) -> DevicePtr;
            fn mem_alloc_pitch(width: usize, height: usize, element: u32) -> (DevicePtr, usize);
            fn host_alloc(bytes: usize, flags: HostAllocFlags) -> NonNull<u8>;
        }
        delegate_unsafe_calls! {
            fn context_push(context: ContextHandle) -> ContextGuardToken;
            fn memcpy_htod(
                dst: DevicePtr, src: *const u8, bytes: usize, stream: Option<StreamHandle>
            ) -> ();
            fn memcpy_dtoh(
                dst: *mut u8, src: DevicePtr, bytes: usize, stream: Option<StreamHandle>
            ) -> ();
            fn memcpy_dtod(
                dst: DevicePtr, src: DevicePtr, bytes: usize, stream: Option<StreamHandle>
            ) -> ();
            fn memcpy_2d(copy: &Memcpy2D, stream: Option<StreamHandle>) -> ();
            fn memset(
                dst: DevicePtr, value: MemsetValue, count: usize, stream: Option<StreamHandle>
            ) -> ();
            fn memset_2d(
                dst: DevicePtr, stride: usize, value: u8, width: usize, height: usize,
                stream: Option<StreamHandle>
            ) -> ();
            fn module_load(image: ModuleImage<'_>) -> ModuleHandle;
            fn module_get_function(module: ModuleHandle, name: &CStr) -> FunctionHandle;
            fn launch_kernel(
                function: FunctionHandle, config: &LaunchConfig, stream: StreamHandle,
                args: &mut [*mut c_void]
            ) -> ();
            fn function_attributes(function: FunctionHandle) -> hip_dispatch::FunctionAttributes;
            fn allow_dynamic_shared_memory(function: FunctionHandle, bytes: u32) -> ();
            fn occupancy(function: FunctionHandle, threads: u32, shared: u32) -> u32;
            fn suggested_block_size(
                function: FunctionHandle, shared: u32
            ) -> hip_dispatch::SuggestedBlockSize;
        }
        delegate_releases! {
            fn mem_free(ptr: DevicePtr);
            fn host_free(ptr: NonNull<u8>);
            fn module_unload(module: ModuleHandle);
            fn primary_context_release(ordinal: u32);
        }

        fn context_pop(&self, token: ContextGuardToken) -> Result<()> {
            let said = self.before("context_pop");
            self.inner().context_pop(token).and(said)
        }
    };
}

/// What a vendor is.
macro_rules! delegate_identity {
    () => {
        fn libraries(&self) -> Vec<LoadedLibrary> {
            self.inner().libraries()
        }

        fn missing_symbols(&self) -> Vec<&'static str> {
            self.inner().missing_symbols()
        }

        fn image_kind(&self) -> ImageKind {
            self.inner().image_kind()
        }

        delegate_calls! {
            fn versions() -> Versions;
        }
    };
}

/// Streams and events.
macro_rules! delegate_queues {
    () => {
        delegate_calls! {
            fn context_synchronize() -> ();
            fn stream_create(flags: StreamFlags, priority: i32) -> StreamHandle;
            fn event_create(flags: EventFlags) -> EventHandle;
        }
        delegate_unsafe_calls! {
            fn stream_synchronize(stream: StreamHandle) -> ();
            fn stream_query(stream: StreamHandle) -> bool;
            fn stream_wait_event(stream: StreamHandle, event: EventHandle) -> ();
            fn launch_host_func(stream: StreamHandle, function: HostFn, data: *mut c_void) -> ();
            fn event_record(event: EventHandle, stream: StreamHandle) -> ();
            fn event_query(event: EventHandle) -> bool;
            fn event_synchronize(event: EventHandle) -> ();
            fn event_elapsed_time(start: EventHandle, end: EventHandle) -> f32;
        }
        delegate_releases! {
            fn stream_destroy(stream: StreamHandle);
            fn event_destroy(event: EventHandle);
        }
    };
}

macro_rules! delegate_calls {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        $(fn $name(&self, $($arg: $type),*) -> Result<$out> {
            self.before(stringify!($name))?;
            self.inner().$name($($arg),*)
        })*
    };
}

macro_rules! delegate_unsafe_calls {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        $(unsafe fn $name(&self, $($arg: $type),*) -> Result<$out> {
            self.before(stringify!($name))?;
            // SAFETY: the caller's promise is the inner backend's.
            unsafe { self.inner().$name($($arg),*) }
        })*
    };
}

macro_rules! delegate_releases {
    ($(fn $name:ident($arg:ident: $type:ty);)*) => {
        $(unsafe fn $name(&self, $arg: $type) -> Result<()> {
            let said = self.before(stringify!($name));
            // SAFETY: the caller's promise is the inner backend's.
            unsafe { self.inner().$name($arg) }.and(said)
        })*
    };
}
