//! One element between upload and download, and what the oracle says of its frames.

#![allow(unreachable_pub)] // as tests/common has it

use hip_oracle::{Conversion, Format, FrameInfo, Image, RealImage};

use crate::common::{
    Storage, buffer_of, caps_of, harness, image_of, message_text, random_image, test_device,
};

/// The formats of the oracle's that are GStreamer's too, as far as the running one knows them.
pub fn formats() -> impl Iterator<Item = Format> {
    Format::ALL.into_iter().filter(|format| {
        let known = gst_video::VideoFormat::from_string(format.name());
        known != gst_video::VideoFormat::Unknown
    })
}

/// 8-bit formats may be one code value off, others two.
pub fn tolerance(format: Format) -> f64 {
    if format.depth() > 8 { 2.0 } else { 1.0 }
}

pub fn check_image(output: &Image, expected: &RealImage, case: &str) {
    let report = hip_oracle::compare(expected, output);
    if let Err(why) = report.check(tolerance(output.info.format)) {
        panic!("{case}: {why}");
    }
}

/// The same caps with more fields, or with others.
pub fn with(caps: gst::Caps, fields: &str) -> gst::Caps {
    format!("{caps}{fields}").parse().expect("valid caps")
}

/// `hipupload ! ELEMENT ! hipdownload`.
pub struct Chain {
    pub harness: gst_check::Harness,
    pub bus: gst::Bus,
    pub device: gst_hip::Device,
}

impl Chain {
    /// `None`, and a line that says why, without a device.
    pub fn new(element: &str) -> Option<Chain> {
        let device = test_device()?;
        let (harness, bus) = harness(&format!("hipupload ! {element} ! hipdownload"));
        Some(Chain {
            harness,
            bus,
            device,
        })
    }

    /// Sets the caps of both ends, with square pixels, so that no shape is kept by oblong ones.
    pub fn set(&mut self, input: &FrameInfo, output: &FrameInfo) {
        const SQUARE: &str = ",pixel-aspect-ratio=1/1";
        self.harness.set_sink_caps(with(caps_of(output), SQUARE));
        self.harness.set_src_caps(with(caps_of(input), SQUARE));
    }

    /// The element of a factory, to set properties of.
    pub fn element(&mut self, factory: &str) -> gst::Element {
        self.harness.find_element(factory).expect("it is there")
    }

    /// Sends a frame through.
    pub fn send(&mut self, buffer: gst::Buffer) -> gst::Buffer {
        if let Err(flow) = self.harness.push(buffer) {
            let text = message_text(&self.bus, gst::MessageType::Error);
            panic!("{flow:?}: {text:?}");
        }
        self.harness.pull().expect("a frame comes out")
    }

    /// Sends a picture through.
    pub fn convert(&mut self, input: &Image, output: FrameInfo) -> Image {
        let buffer = buffer_of(input, Storage::Plain, &self.device);
        image_of(&self.send(buffer), output)
    }
}

/// Checks that an element does to a random picture what a conversion of the oracle's says.
pub fn check(element: &str, expected: &Conversion) {
    let Some(mut chain) = Chain::new(element) else {
        return;
    };
    chain.set(&expected.source, &expected.destination);
    check_frame(&mut chain, expected, element);
}

/// The same with a chain that has its caps.
pub fn check_frame(chain: &mut Chain, expected: &Conversion, case: &str) {
    let input = random_image(expected.source, 11);
    let found = chain.convert(&input, expected.destination);
    check_image(&found, &expected.convert(&input), case);
}
