//! Kernels on memory that another copy of the crate made: the plugin's, loaded as a file.

use std::path::PathBuf;

use gst::prelude::*;
use gst_hip::{HipStream, KernelError};

use crate::common::{Way, alloc, cpu_read, eventually, ours, test_device, vendor};
use crate::kernel::{add_args, launch_add, memory_error, module};

const FILE: &str = "libgsthip.so";

/// The plugin: in `GST_PLUGIN_PATH`, or beside this program, where Cargo builds it.
fn plugin() -> Option<PathBuf> {
    let given = std::env::var_os("GST_PLUGIN_PATH").unwrap_or_default();
    let own = std::env::current_exe().ok()?.parent()?.to_owned();
    let mut folders = std::env::split_paths(&given).chain([own]);
    folders.find_map(|folder| Some(folder.join(FILE)).filter(|file| file.is_file()))
}

/// A frame that the plugin uploaded, and its pipeline.
fn uploaded() -> (gst::Pipeline, gst::Buffer) {
    let line = format!(
        "videotestsrc num-buffers=1 pattern=gradient ! video/x-raw,format=RGBA,width=64,height=16 \
         ! hipupload vendor={} ! appsink name=sink",
        vendor()
    );
    let pipeline = gst::parse::launch(&line).unwrap();
    let pipeline = pipeline.downcast::<gst::Pipeline>().unwrap();
    let sink = pipeline.by_name("sink").unwrap();
    let sink = sink.downcast::<gst_app::AppSink>().unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let sample = sink.pull_sample().expect("a frame");
    let buffer = sample.buffer_owned().expect("a sample has a buffer");
    (pipeline, buffer)
}

#[test]
fn another_copys_memory_is_an_argument_like_any_other() {
    // Says why, if there is no device.
    if test_device().is_none() {
        return;
    }
    let Some(file) = plugin() else {
        println!("skipped: no {FILE} in GST_PLUGIN_PATH or beside this program");
        return;
    };
    gst::Plugin::load_file(&file).unwrap();
    let (pipeline, buffer) = uploaded();
    let memory = buffer.peek_memory(0);
    let remote = ours(memory);
    assert!(!remote.is_own(), "the plugin is linked into this program");
    // This copy's device for the same context.
    let device = remote.device().clone();
    let Some(module) = module(&device) else {
        return;
    };
    let (one, two) = (
        HipStream::new(&device).unwrap(),
        HipStream::new(&device).unwrap(),
    );
    let size = memory.size();
    let sink = alloc(&device, Way::Device, size);
    let before = cpu_read(memory);
    let args = add_args(memory, &sink, 3);
    launch_add(&module, &one, size, &args).unwrap();
    // In place: two accesses of one launch to one memory.
    launch_add(&module, &two, size, &add_args(memory, memory, 9)).unwrap();
    let plus = |value: u8| -> Vec<u8> { before.iter().map(|b| b.wrapping_add(value)).collect() };
    assert!(cpu_read(&sink) == plus(3), "read too late");
    assert!(cpu_read(memory) == plus(9), "not written");

    // The arguments hold neither the buffer nor its memory, which its pool frees.
    drop(buffer);
    pipeline.set_state(gst::State::Null).unwrap();
    drop(pipeline);
    eventually("the memory is freed", || {
        let again = launch_add(&module, &one, size, &args);
        matches!(&again, Err(error @ KernelError::Memory(_))
            if memory_error(error).to_string().contains("freed"))
    });
}
