//! Numbers mean the same whatever the decimal point of the process's locale.

use hip_core::Stream;
use hip_rtc::{KernelArgs, KernelSource};

use crate::elsewhere::elsewhere;
use crate::support::{read_back, upload};
use crate::{TestCache, device_with_compiler, module};

#[test]
fn a_decimal_comma_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    elsewhere(
        "decimal_comma::decimal_comma",
        &crate::locale::environment(folder.path()),
    );
}

#[test]
#[ignore = "run by a_decimal_comma_changes_nothing"]
fn decimal_comma() {
    if !crate::locale::enter() {
        return;
    }
    let Some(device) = device_with_compiler() else {
        return;
    };
    let text = "extern \"C\" __global__ void k(float *out) { out[0] = 0.5f * FACTOR + 1.5e-1f; }";
    let module = module(&device, text, &["-DFACTOR=0.25f"]);
    let stream = Stream::new(&device).unwrap();
    let output = upload(&stream, &[0; 4]);
    let mut args = KernelArgs::new();
    args.add_buffer(&output, 0).unwrap();
    // SAFETY: the argument is the kernel's, and the buffer lives until the stream is done.
    unsafe { module.launch("k", Some(&stream), [1, 1, 1], [1, 1, 1], &args) }.unwrap();
    let result = f32::from_le_bytes(read_back(&stream, &output).try_into().unwrap());
    assert!((result - 0.275).abs() < 1e-6, "{result}");
    // A message's numbers and names are read as well.
    let source = KernelSource::new("int x = missing_name;").named("broken.cu");
    let error = hip_rtc::compile_in(&TestCache::new().cache, &device, &source, &[]).unwrap_err();
    assert!(error.to_string().contains("missing_name"), "{error}");
}
