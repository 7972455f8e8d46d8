//! The libraries' events come out of GStreamer's log. One test: the log is the process's.

use std::sync::{Arc, Mutex};

use gst::DebugLevel;

type Lines = Arc<Mutex<Vec<(String, DebugLevel, String)>>>;

fn capture() -> Lines {
    let lines = Lines::default();
    let sink = lines.clone();
    gst::log::remove_default_log_function();
    gst::log::add_log_function(move |category, level, _, _, _, _, message| {
        if category.name().starts_with("hip") {
            let text = message
                .get()
                .map(|text| text.to_string())
                .unwrap_or_default();
            sink.lock()
                .unwrap()
                .push((category.name().to_owned(), level, text));
        }
    });
    lines
}

#[test]
fn events_are_log_messages_of_their_crates_category() {
    gst::init().unwrap();
    let lines = capture();
    gst::log::set_active(true);
    gst::log::set_default_threshold(DebugLevel::None);
    gst::log::set_threshold_for_name("hip*", DebugLevel::Info);
    assert!(gst_hip::log::install());
    assert!(gst_hip::log::install(), "a second call changes nothing");

    tracing::warn!(target: "hip_core::stream", answer = 42, text = "a\0b", "something {}", "odd");
    tracing::info!(target: "hip_dispatch", "found");
    tracing::error!(target: "gst_hip::memory", "bad");
    tracing::debug!(target: "hip_core", "below the threshold");
    tracing::error!(target: "somebody_else", "not ours");
    gst::log::set_threshold_for_name("hip*", DebugLevel::Debug);
    for _ in 0..2 {
        tracing::debug!(target: "hip_video::kernels", "the threshold has moved");
    }
    let _span = tracing::error_span!(target: "hip_core", "spans are allowed").entered();

    let lines = lines.lock().unwrap();
    let lines: Vec<_> = lines
        .iter()
        .map(|(c, l, t)| (c.as_str(), *l, t.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            (
                "hip-core",
                DebugLevel::Warning,
                "something odd answer=42 text=a\\0b"
            ),
            ("hip-dispatch", DebugLevel::Info, "found"),
            ("hip", DebugLevel::Error, "bad"),
            ("hip-video", DebugLevel::Debug, "the threshold has moved"),
            ("hip-video", DebugLevel::Debug, "the threshold has moved"),
        ]
    );
}
