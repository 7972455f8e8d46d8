//! Bytes that nobody may touch.
//!
//! Everything in a plane's buffer that belongs to no sample (row padding, guard rows, lead
//! bytes) is filled with a pattern that depends on the seed, the plane and the position, so
//! that bytes moved from elsewhere are noticed as well as bytes overwritten.

use crate::image::Image;
use crate::rng::mix;

/// A byte outside the samples that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CanaryFault {
    /// Index of the plane.
    pub plane: usize,
    /// Index in the plane's `data`.
    pub index: usize,
    /// The row of samples it follows or lies in; negative before the first one.
    pub row: isize,
    /// Bytes from the start of that row.
    pub column: isize,
    /// The byte that was put there.
    pub expected: u8,
    /// The byte found.
    pub found: u8,
}

/// The byte of the pattern at `index` of plane `plane`.
fn pattern(seed: u64, plane: usize, index: usize) -> u8 {
    mix(seed ^ mix((plane as u64) << 48 ^ index as u64)) as u8
}

impl Image {
    /// Fills every byte outside the samples with the pattern of `seed`.
    pub fn fill_canaries(&mut self, seed: u64) {
        for (number, plane) in self.planes.iter_mut().enumerate() {
            for index in 0..plane.data.len() {
                if !plane.is_sample_byte(index) {
                    plane.data[index] = pattern(seed, number, index);
                }
            }
        }
    }

    /// Checks that the pattern of `seed` is intact.
    ///
    /// # Errors
    /// The first byte that differs, in the order of planes and addresses.
    pub fn check_canaries(&self, seed: u64) -> Result<(), CanaryFault> {
        for (number, plane) in self.planes.iter().enumerate() {
            for (index, &found) in plane.data.iter().enumerate() {
                let expected = pattern(seed, number, index);
                if !plane.is_sample_byte(index) && found != expected {
                    let distance = index as isize - plane.offset as isize;
                    let row = distance.div_euclid(plane.stride as isize);
                    let column = distance.rem_euclid(plane.stride as isize);
                    return Err(CanaryFault {
                        plane: number,
                        index,
                        row,
                        column,
                        expected,
                        found,
                    });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Format;
    use crate::image::Layout;
    use crate::info::FrameInfo;
    use crate::rng::Rng;

    #[test]
    fn every_byte_is_either_sample_or_canary() {
        let mut rng = Rng::new(21);
        for format in Format::ALL {
            let info = FrameInfo::new(format, rng.between(1, 5), rng.between(1, 5));
            let layout = Layout {
                row_padding: 3,
                guard_rows: 1,
                lead_bytes: 5,
            };
            let mut image = Image::with_layout(info, layout);
            image.fill_canaries(9);
            assert_eq!(image.check_canaries(9), Ok(()));
            assert!(image.check_canaries(10).is_err());
            for plane in 0..image.planes.len() {
                let mut canaries = 0;
                for index in 0..image.planes[plane].data.len() {
                    image.planes[plane].data[index] ^= 1;
                    let fault = image.check_canaries(9).err();
                    assert_eq!(fault.is_none(), image.planes[plane].is_sample_byte(index));
                    if let Some(fault) = fault {
                        assert_eq!((fault.plane, fault.index), (plane, index));
                        canaries += 1;
                    }
                    image.planes[plane].data[index] ^= 1;
                }
                let samples = info.row_bytes(plane) * info.plane_size(plane).1;
                assert_eq!(canaries + samples, image.planes[plane].data.len());
            }
        }
    }

    #[test]
    fn samples_and_canaries_do_not_overlap() {
        for format in Format::ALL {
            let info = FrameInfo::new(format, 5, 3);
            let mut rng = Rng::new(22);
            let mut image = Image::with_layout(info, Layout::random(&mut rng));
            image.fill_canaries(1);
            image.fill_random(&mut rng);
            assert_eq!(image.check_canaries(1), Ok(()), "{format:?}");
            let before = image.clone();
            image.fill_canaries(2);
            for component in format.info().components.iter().map(|c| c.component) {
                let (width, height) = image.component_size(component);
                for (x, y) in (0..height).flat_map(|y| (0..width).map(move |x| (x, y))) {
                    assert_eq!(image.word(component, x, y), before.word(component, x, y));
                }
            }
        }
    }

    #[test]
    fn a_fault_says_where() {
        let info = FrameInfo::new(Format::Nv12, 4, 4);
        let mut image = Image::with_strides(info, &[6, 7], 1, 0);
        image.fill_canaries(3);
        image.planes[1].data[7 + 7 + 5] ^= 0x80;
        let fault = image.check_canaries(3).expect_err("a byte was changed");
        assert_eq!((fault.plane, fault.row, fault.column), (1, 1, 5));
        assert_eq!(fault.found, fault.expected ^ 0x80);
        image.fill_canaries(3);
        image.planes[0].data[2] ^= 1;
        let fault = image.check_canaries(3).expect_err("a byte was changed");
        assert_eq!((fault.plane, fault.row, fault.column), (0, -1, 2));
    }
}
