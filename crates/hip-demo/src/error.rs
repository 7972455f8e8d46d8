use std::io;
use std::path::PathBuf;

/// Why the demo could not do what was asked; the text is for the person who asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The command line is wrong.
    #[error("{0}\nhip-demo --help says more")]
    Usage(String),
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The result would be written over the input.
    #[error("{} is the input; choose another --output", .0.display())]
    OverInput(PathBuf),
    /// GStreamer itself doesn't start.
    #[error("GStreamer does not start: {0}")]
    Init(String),
    /// The plugin is nowhere.
    #[error("the hip plugin was not found; set GST_PLUGIN_PATH to its folder (looked in: {0})")]
    NoPlugin(String),
    /// Another plugin of the same name is in the way.
    #[error("{0} comes from another hip plugin; set GST_PLUGIN_PATH to this one's folder")]
    ForeignPlugin(String),
    /// An element of GStreamer's own is missing.
    #[error("GStreamer element '{element}' is missing; it is part of {package}")]
    MissingElement {
        /// Factory name.
        element: &'static str,
        /// Debian package.
        package: &'static str,
    },
    /// Nothing installed decodes the input.
    #[error("{}: no decoder for it is installed (missing: {missing}); on Debian they come with \
             gstreamer1.0-libav and gstreamer1.0-plugins-bad", input.display())]
    MissingDecoder {
        /// The input.
        input: PathBuf,
        /// GStreamer's words for what is missing.
        missing: String,
    },
    /// The input can't be read as a media file.
    #[error("{}: {message}", input.display())]
    Undecodable {
        /// The input.
        input: PathBuf,
        /// GStreamer's words.
        message: String,
    },
    /// The input holds no video.
    #[error("{}: no video in it", .0.display())]
    NoVideo(PathBuf),
    /// An element reported an error.
    #[error("{element}: {message}")]
    Pipeline {
        /// The element's name.
        element: String,
        /// Its words.
        message: String,
    },
    /// The pipeline can't be put together.
    #[error("the pipeline can't be built: {0}")]
    Build(String),
}
