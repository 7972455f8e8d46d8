use hip_dispatch::rtc::RtcSource;

/// A kernel text and the headers it includes, all in memory.
///
/// `&str` converts into one without headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelSource<'a> {
    /// What the compiler calls the text in its messages.
    pub name: &'a str,
    /// CUDA/HIP C++; its kernels are `extern "C" __global__`, so that they are found by name.
    pub text: &'a str,
    /// Name as in `#include "name"` and text of each header.
    pub headers: Vec<(&'a str, &'a str)>,
}

impl<'a> KernelSource<'a> {
    /// A text without headers, called `kernel.cu`.
    pub fn new(text: &'a str) -> KernelSource<'a> {
        KernelSource {
            name: "kernel.cu",
            text,
            headers: Vec::new(),
        }
    }

    /// Gives the text a name for messages.
    pub fn named(mut self, name: &'a str) -> KernelSource<'a> {
        self.name = name;
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &'a str, text: &'a str) -> KernelSource<'a> {
        self.headers.push((name, text));
        self
    }

    /// As a vendor's compiler takes it.
    pub(crate) fn as_rtc(&self) -> RtcSource<'_> {
        RtcSource {
            name: self.name,
            text: self.text,
            headers: &self.headers,
        }
    }
}

impl<'a> From<&'a str> for KernelSource<'a> {
    fn from(text: &'a str) -> KernelSource<'a> {
        KernelSource::new(text)
    }
}
