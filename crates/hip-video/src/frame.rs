//! Frames as the kernels see them: planes, never memory objects.

use hip_core::DevicePtr;

use crate::description::FrameDescription;
use crate::error::{Error, Result};

/// One plane: the address of its first sample, and bytes from row to row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneView {
    /// Device address of the first sample of the first row.
    pub ptr: DevicePtr,
    /// Bytes from one row to the next; negative for rows stored bottom up.
    pub stride: i32,
}

impl PlaneView {
    /// No plane.
    pub const NONE: PlaneView = PlaneView {
        ptr: DevicePtr(0),
        stride: 0,
    };
}

/// A frame to read. Planes that the format lacks are ignored.
#[derive(Debug, Clone, Copy)]
pub struct FrameView {
    planes: [PlaneView; 4],
}

/// A frame to write. Planes that the format lacks are ignored.
#[derive(Debug)]
pub struct FrameViewMut {
    planes: [PlaneView; 4],
}

fn padded(planes: &[PlaneView]) -> [PlaneView; 4] {
    let mut all = [PlaneView::NONE; 4];
    for (to, from) in all.iter_mut().zip(planes) {
        *to = *from;
    }
    all
}

impl FrameView {
    /// A frame of up to four planes; more are ignored.
    ///
    /// # Safety
    /// Every row of every plane (as many bytes and rows as the format and size of the conversion
    /// ask for) is memory that the device can read, and stays so, written by nobody, until every
    /// conversion enqueued with this view is done.
    pub unsafe fn new(planes: &[PlaneView]) -> FrameView {
        FrameView {
            planes: padded(planes),
        }
    }

    pub(crate) fn planes(&self) -> &[PlaneView; 4] {
        &self.planes
    }
}

impl FrameViewMut {
    /// A frame of up to four planes; more are ignored.
    ///
    /// # Safety
    /// As for [`FrameView::new`], for writing: until every conversion enqueued with this view is
    /// done nothing else reads or writes the rows, and they overlap neither each other nor the
    /// source of the conversion.
    pub unsafe fn new(planes: &[PlaneView]) -> FrameViewMut {
        FrameViewMut {
            planes: padded(planes),
        }
    }

    pub(crate) fn planes(&self) -> &[PlaneView; 4] {
        &self.planes
    }
}

/// Checks what can be checked of a frame's planes.
pub(crate) fn check_planes(
    side: &'static str,
    planes: &[PlaneView; 4],
    frame: &FrameDescription,
    interlaced: bool,
) -> Result<()> {
    let format = frame.format;
    for (plane, view) in planes.iter().enumerate().take(format.info().planes.len()) {
        let PlaneView { ptr, stride } = *view;
        let refuse = |why| Err(Error::InvalidPlane { side, plane, why });
        if ptr.0 == 0 {
            return refuse("there is none");
        }
        if (stride.unsigned_abs() as usize) < format.row_bytes(plane, frame.width as usize) {
            return refuse("the stride is shorter than a row");
        }
        if interlaced && stride.checked_mul(2).is_none() {
            return refuse("twice the stride is beyond 32 bits");
        }
        let unit = format.sample_bytes() as u64;
        if !ptr.0.is_multiple_of(unit) || !u64::from(stride.unsigned_abs()).is_multiple_of(unit) {
            return refuse("samples do not lie at multiples of their size");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::PixelFormat;

    fn check(format: PixelFormat, planes: &[(u64, i32)]) -> Result<()> {
        let planes: Vec<PlaneView> = planes
            .iter()
            .map(|(ptr, stride)| PlaneView {
                ptr: DevicePtr(*ptr),
                stride: *stride,
            })
            .collect();
        let frame = FrameDescription::new(format, 5, 4);
        check_planes("source", &padded(&planes), &frame, false)
    }

    fn why(result: Result<()>) -> (usize, &'static str) {
        match result {
            Err(Error::InvalidPlane { plane, why, .. }) => (plane, why),
            other => panic!("expected a refusal, got {other:?}"),
        }
    }

    #[test]
    fn planes_are_checked() {
        assert!(check(PixelFormat::Nv12, &[(0x1001, 5), (0x2003, -6)]).is_ok());
        assert_eq!(
            why(check(PixelFormat::Nv12, &[(1, 5)])),
            (1, "there is none")
        );
        assert_eq!(why(check(PixelFormat::Nv12, &[(1, 5), (1, 5)])).0, 1);
        assert_eq!(
            why(check(PixelFormat::Rgba, &[(4, 19)])).1,
            "the stride is shorter than a row"
        );
        assert!(check(PixelFormat::P010Le, &[(2, 10), (4, 12)]).is_ok());
        assert_eq!(why(check(PixelFormat::P010Le, &[(2, 10), (5, 12)])).0, 1);
        assert_eq!(why(check(PixelFormat::P010Le, &[(2, 11), (4, 12)])).0, 0);
    }
}
