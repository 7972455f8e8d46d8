//! Bytes and bits of a row that belong to no sample: the unused bits of a word, the `x` of
//! `RGBx`, and samples of pixels beyond the right edge.

use std::fmt;

use crate::image::Image;

/// A byte whose bits outside the samples are not what they have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaddingFault {
    /// Index of the plane.
    pub plane: usize,
    /// The row in the plane.
    pub row: usize,
    /// Bytes from the start of the row.
    pub column: usize,
    /// The byte as it has to be, samples taken for 0.
    pub expected: u8,
    /// The byte as it is, samples taken for 0.
    pub found: u8,
}

impl fmt::Display for PaddingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "plane {}, row {}, byte {}: {:#04x} outside the samples, not {:#04x}",
            self.plane, self.row, self.column, self.found, self.expected
        )
    }
}

impl Image {
    /// Sets all bits of the rows to what they have to be where all samples are 0: 0, and 255 in
    /// the `x` bytes.
    pub fn clear_samples(&mut self) {
        let info = self.info;
        for (plane, layout) in self.planes.iter_mut().zip(&info.format.info().planes) {
            for row in 0..plane.rows {
                let start = plane.offset + row * plane.stride;
                let row = &mut plane.data[start..start + plane.row_bytes];
                row.fill(0);
                for group in row.chunks_mut(layout.group_bytes) {
                    layout.filler.iter().for_each(|&byte| group[byte] = 255);
                }
            }
        }
    }

    /// The first byte of a row with wrong bits outside the samples.
    pub fn padding_fault(&self) -> Option<PaddingFault> {
        let mut expected = Image::new(self.info);
        expected.clear_samples();
        let mut found = self.clone();
        for location in &self.info.format.info().components {
            let (width, height) = self.info.samples(location);
            for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                found.set_code_at(location, x, y, 0);
            }
        }
        let planes = expected.planes.iter().zip(&found.planes).enumerate();
        for (number, (expected, found)) in planes {
            for (row, column) in
                (0..found.rows).flat_map(|row| (0..found.row_bytes).map(move |x| (row, x)))
            {
                let expected = expected.data[expected.offset + row * expected.stride + column];
                let found = found.data[found.offset + row * found.stride + column];
                if expected != found {
                    return Some(PaddingFault {
                        plane: number,
                        row,
                        column,
                        expected,
                        found,
                    });
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::format::Format;
    use crate::image::Image;
    use crate::info::FrameInfo;
    use crate::rng::Rng;

    #[test]
    fn every_bit_is_either_sample_or_padding() {
        for format in Format::ALL {
            let info = FrameInfo::new(format, 7, 3);
            let mut image = Image::new(info);
            image.clear_samples();
            assert_eq!(image.padding_fault(), None, "{format:?}");
            let samples = |image: &Image| -> Vec<u32> {
                let components = format.info().components.iter();
                components
                    .flat_map(|location| {
                        let (width, height) = info.samples(location);
                        (0..width * height).map(move |i| (location, i % width, i / width))
                    })
                    .map(|(location, x, y)| image.code(location.component, x, y))
                    .collect()
            };
            let before = samples(&image);
            for plane in 0..image.planes.len() {
                for bit in 0..image.planes[plane].data.len() * 8 {
                    image.planes[plane].data[bit / 8] ^= 1 << (bit % 8);
                    let is_sample = samples(&image) != before;
                    assert_eq!(
                        image.padding_fault().is_none(),
                        is_sample,
                        "{format:?} {bit}"
                    );
                    image.planes[plane].data[bit / 8] ^= 1 << (bit % 8);
                }
            }
        }
    }

    #[test]
    fn a_fault_says_where() {
        let mut image = Image::new(FrameInfo::new(Format::Rgbx, 2, 2));
        image.fill_random(&mut Rng::new(1));
        let bytes = &mut image.planes[0].data;
        (bytes[3], bytes[7], bytes[11], bytes[15]) = (255, 255, 255, 0x7f);
        let fault = image.padding_fault().expect("a wrong x");
        assert_eq!((fault.plane, fault.row, fault.column), (0, 1, 7));
        assert_eq!((fault.expected, fault.found), (255, 0x7f));
    }
}
