//! The decoding half: any file to raw video on one pad.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use gst::prelude::*;

use crate::DemoError;
use crate::pipeline::make;

/// Name of the message posted when a file turns out to hold no video.
pub(crate) const NO_VIDEO: &str = "hip-demo-no-video";

/// Adds `filesrc ! decodebin` to the pipeline. The first video stream goes to `sink`'s
/// sink pad; other streams are thrown away, without a decoder being looked for.
pub(crate) fn add(
    pipeline: &gst::Pipeline,
    input: &Path,
    sink: &gst::Element,
) -> Result<(), DemoError> {
    let source = make("filesrc", "source")?;
    source.set_property("location", input);
    let decoder = make("decodebin", "decoder")?;
    pipeline
        .add_many([&source, &decoder])
        .map_err(|e| DemoError::Build(e.to_string()))?;
    source
        .link(&decoder)
        .map_err(|e| DemoError::Build(e.to_string()))?;

    decoder.connect("autoplug-continue", false, |values| {
        // Decode video; a stream of anything else is exposed as it is, to be thrown away.
        let caps = values[2].get::<gst::Caps>().ok();
        let name = caps
            .as_ref()
            .and_then(|caps| caps.structure(0))
            .map(|s| s.name().as_str());
        let other = name.is_some_and(|name| {
            ["audio/", "text/", "subpicture/", "closedcaption/"]
                .iter()
                .any(|kind| name.starts_with(kind))
        });
        Some((!other).to_value())
    });
    connect_pads(pipeline, &decoder, sink);
    Ok(())
}

fn connect_pads(pipeline: &gst::Pipeline, decoder: &gst::Element, sink: &gst::Element) {
    let has_video = std::sync::Arc::new(AtomicBool::new(false));
    let (weak_pipeline, weak_sink, seen) =
        (pipeline.downgrade(), sink.downgrade(), has_video.clone());
    decoder.connect_pad_added(move |decoder, pad| {
        let (Some(pipeline), Some(sink)) = (weak_pipeline.upgrade(), weak_sink.upgrade()) else {
            return;
        };
        let is_video = pad
            .current_caps()
            .unwrap_or_else(|| pad.query_caps(None))
            .iter()
            .any(|structure| structure.name().starts_with("video/x-raw"));
        let linked = if is_video && !seen.swap(true, Ordering::SeqCst) {
            sink.static_pad("sink")
                .map_or(Err(gst::PadLinkError::Refused), |to| pad.link(&to))
                .err()
                .map(|error| format!("decoded video can't be taken: {error:?}"))
        } else {
            discard(&pipeline, pad).err().map(|error| error.to_string())
        };
        if let Some(problem) = linked {
            gst::element_error!(decoder, gst::CoreError::Negotiation, ("{problem}"));
        }
    });
    decoder.connect_no_more_pads(move |decoder| {
        if !has_video.load(Ordering::SeqCst) {
            let message = gst::message::Application::builder(gst::Structure::new_empty(NO_VIDEO))
                .src(decoder)
                .build();
            // Refused only by a bus that is going away, and nobody listens then.
            let _ = decoder.post_message(message);
        }
    });
}

/// Sends a stream nowhere.
fn discard(pipeline: &gst::Pipeline, pad: &gst::Pad) -> Result<(), gst::glib::BoolError> {
    let sink = gst::ElementFactory::make("fakesink")
        .property("sync", false)
        .property("async", false)
        .build()?;
    pipeline.add(&sink)?;
    sink.sync_state_with_parent()?;
    let to = sink
        .static_pad("sink")
        .ok_or_else(|| gst::glib::bool_error!("fakesink has no pad"))?;
    pad.link(&to)
        .map_err(|error| gst::glib::bool_error!("{error:?}"))?;
    Ok(())
}
