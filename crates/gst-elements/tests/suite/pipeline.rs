//! Whole pipelines: sharing, choice of device, and what the bus says.

use std::sync::{Arc, Mutex};

use crate::common::{
    Storage, buffer_of, caps_of, image_of, init, launch_line, message_text, random_image,
    test_device,
};
use gst::prelude::*;
use hip_oracle::{Format, FrameInfo, Method, Rect};

/// Runs a pipeline to its end; gives the first error, if there is one.
fn run(pipeline: &gst::Pipeline) -> Result<(), String> {
    let bus = pipeline.bus().unwrap();
    let started = pipeline.set_state(gst::State::Playing);
    let ends = [gst::MessageType::Eos, gst::MessageType::Error];
    let message = match started {
        Ok(_) => bus.timed_pop_filtered(gst::ClockTime::from_seconds(60), &ends),
        Err(_) => bus.pop_filtered(&[gst::MessageType::Error]),
    };
    let result = match message.as_ref().map(|message| message.view()) {
        Some(gst::MessageView::Eos(_)) => Ok(()),
        Some(gst::MessageView::Error(error)) => Err(error.error().to_string()),
        _ => Err("no end and no error".into()),
    };
    pipeline.set_state(gst::State::Null).unwrap();
    result
}

fn pipeline(line: &str) -> gst::Pipeline {
    gst::parse::launch(line).unwrap().downcast().unwrap()
}

/// Gives every buffer that arrives at an `appsink`.
fn collect(pipeline: &gst::Pipeline, sink: &str) -> Arc<Mutex<Vec<gst::Buffer>>> {
    let buffers = Arc::new(Mutex::new(Vec::new()));
    let sink: gst_app::AppSink = pipeline.by_name(sink).unwrap().downcast().unwrap();
    let target = buffers.clone();
    let callbacks = gst_app::AppSinkCallbacks::builder().new_sample(move |sink| {
        let sample = sink.pull_sample().map_err(|_| gst::FlowError::Eos)?;
        target.lock().unwrap().extend(sample.buffer_owned());
        Ok(gst::FlowSuccess::Ok)
    });
    sink.set_callbacks(callbacks.build());
    buffers
}

#[test]
fn branches_of_a_tee_share_frames() {
    let Some(device) = test_device() else { return };
    let input = FrameInfo::new(Format::Nv12, 64, 48);
    let small = FrameInfo::new(Format::Rgba, 32, 24);
    let large = FrameInfo::new(Format::I420, 80, 60);
    let branch = |info: &FrameInfo, name: &str| {
        let caps = crate::common::hip_caps_of(info);
        format!(
            "t. ! queue ! {} ! {caps} ! {} ! appsink sync=false name={name}",
            launch_line("hipconvertscale"),
            launch_line("hipdownload")
        )
    };
    let line = format!(
        "appsrc name=src format=time caps=\"{}\" ! {} ! tee name=t {} {}",
        caps_of(&input),
        launch_line("hipupload"),
        branch(&small, "small"),
        branch(&large, "large")
    );
    let pipeline = pipeline(&line);
    let outputs = [
        (small, collect(&pipeline, "small")),
        (large, collect(&pipeline, "large")),
    ];
    let source: gst_app::AppSrc = pipeline.by_name("src").unwrap().downcast().unwrap();
    let images: Vec<_> = (0..12).map(|seed| random_image(input, seed)).collect();
    for image in &images {
        source
            .push_buffer(buffer_of(image, Storage::Padded, &device))
            .unwrap();
    }
    source.end_of_stream().unwrap();
    run(&pipeline).unwrap();
    for (info, buffers) in outputs {
        let buffers = buffers.lock().unwrap();
        assert_eq!(buffers.len(), images.len());
        for (index, (buffer, image)) in buffers.iter().zip(&images).enumerate() {
            let (all, whole) = (Rect::full(&input), Rect::full(&info));
            let expected = hip_oracle::convert(image, all, &info, whole, Method::Bilinear);
            let report = hip_oracle::compare(&expected, &image_of(buffer, info));
            report
                .check(1.0)
                .unwrap_or_else(|why| panic!("frame {index} of {info:?}: {why}"));
        }
    }
}

#[test]
fn elements_share_one_device_and_say_which() {
    let Some(device) = test_device() else { return };
    let line = launch_line(
        "videotestsrc num-buffers=3 ! hipupload name=u ! hipconvertscale ! hipdownload name=d ! fakesink",
    );
    let pipeline = pipeline(&line);
    assert_eq!(
        pipeline
            .by_name("u")
            .unwrap()
            .property::<Option<String>>("device-info"),
        None
    );
    pipeline.set_state(gst::State::Paused).unwrap();
    let (result, ..) = pipeline.state(gst::ClockTime::from_seconds(60));
    result.unwrap();
    for name in ["u", "d"] {
        let info: Option<String> = pipeline.by_name(name).unwrap().property("device-info");
        let info = info.expect("a device is in use");
        assert!(info.starts_with(&device.info().to_string()), "{info}");
    }
    let announced = pipeline
        .bus()
        .unwrap()
        .iter()
        .filter(|message| message.type_() == gst::MessageType::HaveContext)
        .count();
    assert_eq!(announced, 1, "only the first element opens the device");
    pipeline.set_state(gst::State::Null).unwrap();
}

/// A consumer that takes either memory gets what the element is for.
#[test]
fn download_downloads_unless_device_memory_is_wanted() {
    if test_device().is_none() {
        return;
    }
    let hip = "video/x-raw(memory:HIPMemory)";
    for (rest, on_device) in [
        ("fakesink".to_owned(), false),
        (format!("{hip} ! fakesink"), true),
        ("hipupload ! fakesink".to_owned(), true),
    ] {
        let line = format!("videotestsrc num-buffers=1 ! hipupload ! hipdownload name=d ! {rest}");
        let pipeline = pipeline(&launch_line(&line));
        pipeline.set_state(gst::State::Paused).unwrap();
        pipeline.state(gst::ClockTime::from_seconds(60)).0.unwrap();
        let pad = pipeline.by_name("d").unwrap().static_pad("src").unwrap();
        let caps = pad.current_caps().unwrap();
        let features = caps.features(0).unwrap();
        assert_eq!(features.contains("memory:HIPMemory"), on_device, "{rest}");
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn an_application_can_give_the_device() {
    let Some(device) = test_device() else { return };
    init();
    let element = gst::ElementFactory::make("hipupload").build().unwrap();
    element.set_context(&gst_hip::HipContext::new(&device).to_gst());
    let bus = gst::Bus::new();
    element.set_bus(Some(&bus));
    element.set_state(gst::State::Paused).unwrap();
    let info: Option<String> = element.property("device-info");
    assert!(info.unwrap().starts_with(&device.info().to_string()));
    let announced =
        bus.pop_filtered(&[gst::MessageType::HaveContext, gst::MessageType::NeedContext]);
    assert!(
        announced.is_none(),
        "nobody is asked when the device is given"
    );
    element.set_state(gst::State::Null).unwrap();
}

#[test]
fn every_pattern_source_format_reaches_a_sink() {
    if test_device().is_none() {
        return;
    }
    for format in crate::lab::formats() {
        let line = format!(
            "videotestsrc num-buffers=5 ! videoconvert ! video/x-raw,format={},width=321,height=241 ! hipupload ! \
             hipconvertscale ! video/x-raw(memory:HIPMemory),width=100,height=75 ! hipdownload ! \
             videoconvert ! fakesink",
            format.name()
        );
        run(&pipeline(&launch_line(&line))).unwrap();
    }
}

#[test]
fn without_a_vendor_it_runs() {
    init();
    let pipeline =
        pipeline("videotestsrc num-buffers=3 ! hipupload name=u ! hipdownload ! fakesink");
    run(&pipeline).unwrap();
}

/// The error of an element that cannot have its device, and how many errors there are.
fn start_error(line: &str) -> (String, usize) {
    let pipeline = pipeline(line);
    let bus = pipeline.bus().unwrap();
    assert!(pipeline.set_state(gst::State::Paused).is_err(), "{line}");
    let text = message_text(&bus, gst::MessageType::Error).expect("an error on the bus");
    let more = bus
        .iter()
        .filter(|m| m.type_() == gst::MessageType::Error)
        .count();
    pipeline.set_state(gst::State::Null).unwrap();
    (text, 1 + more)
}

#[test]
fn a_missing_vendor_is_one_clear_error() {
    init();
    for (vendor, library, selector) in [
        (
            "amd",
            "libamdhip64",
            gst_hip::DeviceSelector::Vendor(gst_hip::Vendor::Amd),
        ),
        (
            "nvidia",
            "libcuda",
            gst_hip::DeviceSelector::Vendor(gst_hip::Vendor::Nvidia),
        ),
    ] {
        let there = gst_hip::env::open_device(&selector).is_ok();
        if there {
            println!("skipped: this machine has a device of {vendor}");
            continue;
        }
        for element in [
            "hipupload",
            "hipupload ! hipdownload",
            "hipupload ! hipconvertscale",
        ] {
            let line = format!("videotestsrc ! {element} vendor={vendor} ! fakesink");
            let (text, errors) = start_error(&line);
            assert!(text.contains(library), "{text}");
            assert_eq!(errors, 1, "{text}");
        }
    }
}

#[test]
fn a_missing_device_is_one_clear_error() {
    init();
    for (properties, part) in [
        ("vendor=host device-id=4711", "host:4711"),
        (
            "device=GPU-00112233-4455-6677-8899-aabbccddeeff",
            "GPU-00112233",
        ),
        ("device=voodoo", "names no device"),
        ("device=host:0 vendor=amd", "cannot be combined"),
    ] {
        let (text, errors) =
            start_error(&format!("videotestsrc ! hipupload {properties} ! fakesink"));
        assert!(text.contains(part), "{text}");
        assert_eq!(errors, 1, "{text}");
    }
}

#[test]
fn after_an_error_another_device_can_be_set() {
    init();
    let element = gst::ElementFactory::make("hipupload")
        .property("device", "host:4711")
        .build()
        .unwrap();
    assert!(element.set_state(gst::State::Paused).is_err());
    element.set_state(gst::State::Null).unwrap();
    element.set_property("device", "host:0");
    element.set_state(gst::State::Paused).unwrap();
    element.set_state(gst::State::Null).unwrap();
}
