use gst::prelude::*;

/// Why a frame was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What came in is not what its caps say.
    #[error("{0}")]
    Input(String),
    /// A device call failed.
    #[error(transparent)]
    Device(#[from] hip_core::Error),
    /// Device memory cannot be used.
    #[error(transparent)]
    Memory(#[from] gst_hip::Error),
    /// Device memory of a frame cannot be used.
    #[error(transparent)]
    Frame(#[from] gst_hip::FrameError),
    /// A conversion cannot be set up or launched.
    #[error(transparent)]
    Convert(#[from] hip_video::Error),
    /// GStreamer refused something.
    #[error("{0}")]
    Gst(String),
    /// The element was stopped meanwhile.
    #[error("the element is flushing")]
    Flushing,
}

impl Error {
    pub(crate) fn input(text: impl Into<String>) -> Error {
        Error::Input(text.into())
    }

    pub(crate) fn gst(text: impl Into<String>) -> Error {
        Error::Gst(text.into())
    }

    /// Posts the error on the bus and gives the flow return that goes with it.
    pub(crate) fn post(&self, element: &impl IsA<gst::Element>) -> gst::FlowError {
        match self {
            Error::Flushing => return gst::FlowError::Flushing,
            Error::Input(text) => {
                gst::element_error!(element, gst::StreamError::Format, ("{}", text));
            }
            Error::Device(error) => {
                let kind = error.kind();
                if kind == hip_core::ErrorKind::OutOfMemory {
                    gst::element_error!(element, gst::ResourceError::NoSpaceLeft, ("{}", error));
                } else {
                    gst::element_error!(element, gst::LibraryError::Failed, ("{}", error));
                }
            }
            Error::Memory(error) => {
                gst::element_error!(element, gst::LibraryError::Failed, ("{}", error));
            }
            Error::Frame(error) => {
                gst::element_error!(element, gst::StreamError::Failed, ("{}", error));
            }
            Error::Convert(error) => {
                gst::element_error!(element, gst::LibraryError::Failed, ("{}", error));
            }
            Error::Gst(text) => {
                gst::element_error!(element, gst::StreamError::Failed, ("{}", text));
            }
        }
        gst::FlowError::Error
    }
}
