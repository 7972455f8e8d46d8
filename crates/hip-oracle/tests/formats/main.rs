//! The layouts of the formats, against bytes written by hand and against GStreamer.

mod bytes;
mod gstreamer;
