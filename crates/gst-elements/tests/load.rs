//! Loading the plugin, and looking at its elements, opens no vendor's library.
//!
//! The proof is a library that leaves a file behind when it is opened. It needs a C compiler; the
//! test is skipped, with a line that says so, where there is none.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use gst::prelude::*;

/// The variables that name the only library tried for each vendor.
const NAMES: [&str; 2] = ["GST_HIP_CUDA_LIBNAME", "GST_HIP_AMDHIP_LIBNAME"];
/// Tells the child that it is one, and where the mark would be.
const MARK: &str = "GST_HIP_TEST_MARK";

/// Builds a library whose constructor creates the file that `GST_HIP_TEST_MARK` names.
fn build_tell_tale(folder: &Path) -> Option<PathBuf> {
    let source = folder.join("tell_tale.c");
    let library = folder.join("libtell_tale.so");
    let text = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n\
         __attribute__((constructor)) static void opened(void) {{\n\
         FILE *file = fopen(getenv(\"{MARK}\"), \"w\");\n\
         if (file) fclose(file);\n}}\n"
    );
    std::fs::write(&source, text).ok()?;
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source);
    match compiler.status() {
        Ok(status) if status.success() => Some(library),
        other => {
            println!("skipped: no library could be built with cc: {other:?}");
            None
        }
    }
}

#[test]
fn no_vendor_library_is_opened_before_a_device_is_wanted() {
    if let Some(mark) = std::env::var_os(MARK) {
        return child(Path::new(&mark));
    }
    let folder = std::env::temp_dir().join(format!("gst-hip-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    if let Some(library) = build_tell_tale(&folder) {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "no_vendor_library_is_opened_before_a_device_is_wanted",
        ]);
        child.arg("--nocapture").env(MARK, folder.join("opened"));
        for name in NAMES {
            child.env(name, &library);
        }
        let output = child.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// In a process of its own, whose environment names the library for both vendors.
fn child(mark: &Path) {
    common::init();
    for name in [
        "hipupload",
        "hipdownload",
        "hipconvertscale",
        "hipconvert",
        "hipscale",
    ] {
        let factory = gst::ElementFactory::find(name).expect("the element is registered");
        assert_eq!(factory.rank(), gst::Rank::NONE);
        let element = factory.create().build().unwrap();
        for property in element.list_properties().iter() {
            let _ = element.property_value(property.name());
        }
        element.set_state(gst::State::Ready).unwrap();
        element.set_state(gst::State::Null).unwrap();
        assert!(!mark.exists(), "{name} opened a vendor's library");
    }
    // The proof works: the library does tell when it is opened.
    let element = gst::ElementFactory::make("hipupload").build().unwrap();
    element.set_property_from_str("vendor", "nvidia");
    assert!(element.set_state(gst::State::Paused).is_err());
    element.set_state(gst::State::Null).unwrap();
    assert!(mark.exists(), "the library was not opened at all");
    falls_back_with_one_warning();
}

/// The libraries are there and are no vendor's: Host serves, and one warning says why.
fn falls_back_with_one_warning() {
    let line =
        "videotestsrc num-buffers=2 ! hipupload name=u ! hipconvertscale ! hipdownload ! fakesink";
    let pipeline: gst::Pipeline = gst::parse::launch(line).unwrap().downcast().unwrap();
    pipeline.set_state(gst::State::Paused).unwrap();
    pipeline.state(gst::ClockTime::from_seconds(60)).0.unwrap();
    let bus = pipeline.bus().unwrap();
    let warning = common::message_text(&bus, gst::MessageType::Warning).expect("a warning");
    assert!(warning.contains("libtell_tale.so"), "{warning}");
    assert_eq!(
        common::message_text(&bus, gst::MessageType::Warning),
        None,
        "one is enough"
    );
    assert_eq!(common::message_text(&bus, gst::MessageType::Error), None);
    let info: Option<String> = pipeline.by_name("u").unwrap().property("device-info");
    let info = info.unwrap();
    assert!(
        info.starts_with("host:0") && info.contains("libtell_tale.so"),
        "{info}"
    );
    pipeline.set_state(gst::State::Null).unwrap();
}
