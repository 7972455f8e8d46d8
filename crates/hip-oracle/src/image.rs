//! Frames in bytes.

use crate::colour::nearest_code;
use crate::format::{Component, ComponentInfo, Number};
use crate::half;
use crate::info::FrameInfo;
use crate::rng::Rng;

/// How planes are laid out in their buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Bytes added to each row after its samples. A stride is then rounded up to whole words
    /// (2 bytes for `P010_10LE`, 4 for `v210`).
    pub row_padding: usize,
    /// Whole rows before the first and after the last row of samples.
    pub guard_rows: usize,
    /// Further bytes before the first row, so that it need not start on a round address.
    /// Rounded up to whole words too.
    pub lead_bytes: usize,
}

impl Layout {
    /// Some layout with up to 40 bytes of padding and lead and one to three guard rows.
    pub const fn random(rng: &mut Rng) -> Self {
        Self {
            row_padding: rng.between(0, 40),
            guard_rows: rng.between(1, 3),
            lead_bytes: rng.between(0, 40),
        }
    }
}

/// One plane of a frame, in a buffer of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// The buffer: bytes before the samples, rows at every stride, bytes after them.
    pub data: Vec<u8>,
    /// Index in `data` of the first byte of the first row.
    pub offset: usize,
    /// Bytes from one row to the next.
    pub stride: usize,
    /// Bytes of a row that hold samples, at most the stride.
    pub row_bytes: usize,
    /// Rows.
    pub rows: usize,
}

impl Plane {
    /// Whether byte `index` of `data` belongs to a sample.
    pub const fn is_sample_byte(&self, index: usize) -> bool {
        if index < self.offset {
            return false;
        }
        let (row, column) = (
            (index - self.offset) / self.stride,
            (index - self.offset) % self.stride,
        );
        row < self.rows && column < self.row_bytes
    }
}

/// A frame: what it is, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// What the frame is.
    pub info: FrameInfo,
    /// The planes, as many as the format has.
    pub planes: Vec<Plane>,
}

impl Image {
    /// A frame of zero bytes without padding.
    pub fn new(info: FrameInfo) -> Self {
        Self::with_layout(info, Layout::default())
    }

    /// A frame of zero bytes, its planes all laid out as `layout` says.
    pub fn with_layout(info: FrameInfo, layout: Layout) -> Self {
        let planes = info.format.info().planes.iter().enumerate();
        let strides: Vec<usize> = planes
            .map(|(index, plane)| {
                (info.row_bytes(index) + layout.row_padding).next_multiple_of(plane.word_bytes)
            })
            .collect();
        Self::with_strides(info, &strides, layout.guard_rows, layout.lead_bytes)
    }

    /// A frame of zero bytes with the given stride for each plane, `guard_rows` and `lead_bytes`
    /// as in [`Layout`].
    ///
    /// # Panics
    /// If there are not as many strides as planes, or one is too short for a row.
    pub fn with_strides(
        info: FrameInfo,
        strides: &[usize],
        guard_rows: usize,
        lead_bytes: usize,
    ) -> Self {
        let format = info.format.info();
        assert_eq!(
            strides.len(),
            format.planes.len(),
            "{} takes one stride a plane",
            info.format.name()
        );
        let planes = strides.iter().enumerate().map(|(plane, &stride)| {
            let row_bytes = info.row_bytes(plane);
            assert!(
                stride >= row_bytes,
                "plane {plane}: {stride} bytes hold no row"
            );
            let rows = info.plane_size(plane).1;
            let lead = lead_bytes.next_multiple_of(format.planes[plane].word_bytes);
            let offset = lead + guard_rows * stride;
            let data = vec![0; offset + (rows + guard_rows) * stride];
            Plane {
                data,
                offset,
                stride,
                row_bytes,
                rows,
            }
        });
        Self {
            info,
            planes: planes.collect(),
        }
    }

    /// A copy of a frame that lies elsewhere: the bytes of each plane from its first row, and its
    /// stride in bytes.
    ///
    /// # Panics
    /// If there are not as many planes as the format has, or one is too short for its rows.
    pub fn from_planes(info: FrameInfo, planes: &[(&[u8], usize)]) -> Self {
        let strides: Vec<usize> = planes.iter().map(|&(_, stride)| stride).collect();
        let mut image = Self::with_strides(info, &strides, 0, 0);
        for (plane, &(bytes, stride)) in image.planes.iter_mut().zip(planes) {
            for row in 0..plane.rows {
                let row = row * stride..row * stride + plane.row_bytes;
                plane.data[row.clone()].copy_from_slice(&bytes[row]);
            }
        }
        image
    }

    /// Samples `(to a row, rows)` of a component.
    ///
    /// # Panics
    /// If the format has no such component.
    pub fn component_size(&self, component: Component) -> (usize, usize) {
        self.info.samples(self.location(component))
    }

    /// The little-endian word in which sample (`x`, `y`) of a component is stored, with everything
    /// else that it holds.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn word(&self, component: Component, x: usize, y: usize) -> u32 {
        self.word_at(self.location(component), x, y)
    }

    /// The code value of sample (`x`, `y`) of a component; the bits of a floating-point sample.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn code(&self, component: Component, x: usize, y: usize) -> u32 {
        self.code_at(self.location(component), x, y)
    }

    /// The code value of sample (`x`, `y`) of a component as a number; what a floating-point sample
    /// stands for.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn value(&self, component: Component, x: usize, y: usize) -> f64 {
        self.value_at(self.location(component), x, y)
    }

    /// Stores a code value, or the bits of a floating-point sample, and changes no other bit.
    ///
    /// # Panics
    /// If there is no such component or sample, or the code needs more bits than a sample has.
    pub fn set_code(&mut self, component: Component, x: usize, y: usize, code: u32) {
        self.set_code_at(self.location(component), x, y, code);
    }

    /// Stores the sample nearest to a code value, or to the value of a floating-point sample.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn set_value(&mut self, component: Component, x: usize, y: usize, value: f64) {
        self.set_value_at(self.location(component), x, y, value);
    }

    /// Stores the word in which a sample lies, with everything else that it holds.
    ///
    /// # Panics
    /// If there is no such component or sample.
    pub fn set_word(&mut self, component: Component, x: usize, y: usize, word: u32) {
        self.set_word_at(self.location(component), x, y, word);
    }

    pub(crate) fn value_at(&self, location: &ComponentInfo, x: usize, y: usize) -> f64 {
        let code = self.code_at(location, x, y);
        match location.number {
            Number::Bits(_) => f64::from(code),
            Number::F16 => half::to_f64(code as u16),
            Number::F32 => f64::from(f32::from_bits(code)),
        }
    }

    pub(crate) fn set_value_at(&mut self, location: &ComponentInfo, x: usize, y: usize, v: f64) {
        let code = match location.number {
            Number::Bits(_) => nearest_code(location.number, v) as u32,
            Number::F16 => u32::from(half::from_f64(v)),
            Number::F32 => (v as f32).to_bits(),
        };
        self.set_code_at(location, x, y, code);
    }

    pub(crate) fn code_at(&self, location: &ComponentInfo, x: usize, y: usize) -> u32 {
        let shift = location.slots[x % location.slots.len()].shift;
        self.word_at(location, x, y) >> shift & mask(location.number)
    }

    pub(crate) fn set_code_at(&mut self, location: &ComponentInfo, x: usize, y: usize, code: u32) {
        let mask = mask(location.number);
        assert!(
            code <= mask,
            "{code} is no code of {:?}",
            self.info.format.name()
        );
        let shift = location.slots[x % location.slots.len()].shift;
        let others = self.word_at(location, x, y) & !(mask << shift);
        self.set_word_at(location, x, y, others | code << shift);
    }

    fn word_at(&self, location: &ComponentInfo, x: usize, y: usize) -> u32 {
        let (start, bytes) = self.word_range(location, x, y);
        let bytes = &self.planes[location.plane].data[start..start + bytes];
        let whole = bytes.iter().rev();
        whole.fold(0, |word, &byte| word << 8 | u32::from(byte))
    }

    fn set_word_at(&mut self, location: &ComponentInfo, x: usize, y: usize, word: u32) {
        let (start, bytes) = self.word_range(location, x, y);
        let target = &mut self.planes[location.plane].data[start..start + bytes];
        target.copy_from_slice(&word.to_le_bytes()[..bytes]);
    }

    pub(crate) fn location(&self, component: Component) -> &'static ComponentInfo {
        let format = self.info.format;
        match format.component(component) {
            Some(location) => location,
            None => panic!("{} has no component {component:?}", format.name()),
        }
    }

    /// The index of the first byte of a sample's word in its plane, and the word's length.
    fn word_range(&self, location: &ComponentInfo, x: usize, y: usize) -> (usize, usize) {
        let (width, height) = self.info.samples(location);
        assert!(
            x < width && y < height,
            "sample ({x}, {y}) of {:?} in {width}×{height}",
            location.component
        );
        let plane = &self.planes[location.plane];
        let layout = &self.info.format.info().planes[location.plane];
        let (group, slot) = (x / location.slots.len(), x % location.slots.len());
        let row = plane.offset + y * plane.stride;
        (
            row + group * layout.group_bytes + location.slots[slot].byte,
            layout.word_bytes,
        )
    }
}

/// The bits of a sample, all set.
const fn mask(number: Number) -> u32 {
    u32::MAX >> (32 - number.bits())
}
