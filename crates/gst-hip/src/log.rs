//! The libraries' `tracing` events as GST_DEBUG messages: category `hip` and one for each crate
//! (`hip-core`, `hip-dispatch`, …), at the level of the same name.

use std::fmt::{self, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use gst::log::DebugLogger;
use gst::{DebugCategory, DebugColorFlags, DebugLevel, glib};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};

/// Crates whose events come out, by the first part of a target, and their categories.
const CRATES: [(&str, &str); 8] = [
    ("hip_dispatch", "hip-dispatch"),
    ("hip_core", "hip-core"),
    ("hip_rtc", "hip-rtc"),
    ("hip_interop", "hip-interop"),
    ("hip_video", "hip-video"),
    ("gst_hip", "hip"),
    ("gst_elements", "hip"),
    ("gsthip", "hip"),
];

static CATEGORIES: LazyLock<Vec<DebugCategory>> = LazyLock::new(|| {
    let describe = |(target, name): &(&str, &str)| {
        let description = format!("Messages of {target}");
        DebugCategory::new(name, DebugColorFlags::empty(), Some(&description))
    };
    CRATES.iter().map(describe).collect()
});

/// Sends `tracing` events to GST_DEBUG, unless this copy of `tracing` already has a global
/// subscriber. Gives whether they go there now. Calling it again changes nothing.
pub fn install() -> bool {
    static INSTALLED: LazyLock<bool> =
        LazyLock::new(|| tracing::subscriber::set_global_default(GstSubscriber::default()).is_ok());
    *INSTALLED
}

/// The category of a target; `None` for other people's.
fn category(target: &str) -> Option<DebugCategory> {
    let krate = target.split("::").next().unwrap_or(target);
    let index = CRATES.iter().position(|(name, _)| *name == krate)?;
    CATEGORIES.get(index).copied()
}

fn level(level: &Level) -> DebugLevel {
    match *level {
        Level::ERROR => DebugLevel::Error,
        Level::WARN => DebugLevel::Warning,
        Level::INFO => DebugLevel::Info,
        Level::DEBUG => DebugLevel::Debug,
        _ => DebugLevel::Trace,
    }
}

/// Forwards events; spans are counted but not shown.
#[derive(Default)]
struct GstSubscriber {
    spans: AtomicU64,
}

impl Subscriber for GstSubscriber {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match category(metadata.target()) {
            // A threshold may change while the process runs.
            Some(_) => Interest::sometimes(),
            None => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let wanted = |category: DebugCategory| category.above_threshold(level(metadata.level()));
        category(metadata.target()).is_some_and(wanted)
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let Some(category) = category(metadata.target()) else {
            return;
        };
        let mut text = Text::default();
        event.record(&mut text);
        let file = glib::GString::from(metadata.file().unwrap_or_default().replace('\0', ""));
        category.log(
            None::<&glib::Object>,
            level(metadata.level()),
            file.as_gstr(),
            metadata.target(),
            metadata.line().unwrap_or_default(),
            format_args!("{}{}", text.message, text.fields),
        );
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        // An id is never 0.
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// An event as text: its message, then ` name=value` for each field.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail. GStreamer's text ends at a zero byte.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{}", value.replace('\0', "\\0")));
    }
}
