//! Where the rows of a frame lie in a buffer's memories.

use hip_video::PixelFormat;
use smallvec::SmallVec;

use super::error::Error;

/// One entry a plane.
pub(crate) type Planes<T> = SmallVec<[T; 4]>;

/// What a plane holds, whatever its stride.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlaneShape {
    /// Bytes of a row that hold samples.
    pub(crate) row_bytes: usize,
    /// Rows.
    pub(crate) rows: usize,
}

/// The shapes of a frame's planes, from the format alone.
pub(crate) fn plane_shapes(info: &gst_video::VideoInfo) -> Planes<PlaneShape> {
    if let Some(format) = PixelFormat::from_gst(info.format()) {
        // The table knows what GStreamer's components do not tell: groups of pixels (v210, YUY2).
        let (width, height) = (info.width() as usize, info.field_height() as usize);
        let shape = |plane| PlaneShape {
            row_bytes: format.row_bytes(plane, width),
            rows: format.rows(plane, height),
        };
        return (0..format.info().planes.len()).map(shape).collect();
    }
    let mut shapes = Planes::from_elem(
        PlaneShape {
            row_bytes: 0,
            rows: 0,
        },
        info.n_planes() as usize,
    );
    for component in 0..info.n_components() as u8 {
        let Some(shape) = shapes.get_mut(info.comp_plane(component) as usize) else {
            continue;
        };
        // Interleaved components of one plane can differ in size (YUY2): the largest counts.
        let row = info.comp_width(component) as usize * info.comp_pstride(component) as usize;
        shape.row_bytes = shape.row_bytes.max(row);
        shape.rows = shape.rows.max(info.comp_height(component) as usize);
    }
    shapes
}

/// Where a plane starts in its buffer, and how far its rows are apart; negative for pictures
/// that are stored bottom row first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlanePlace {
    pub(crate) offset: usize,
    pub(crate) stride: isize,
}

impl PlanePlace {
    /// The bytes of the buffer that the plane's rows span, or `None` where they cannot exist.
    pub(crate) fn range(&self, shape: &PlaneShape) -> Option<std::ops::Range<usize>> {
        let last = isize::try_from(shape.rows.checked_sub(1)?).ok()?;
        let other = self
            .offset
            .checked_add_signed(last.checked_mul(self.stride)?)?;
        let end = self.offset.max(other).checked_add(shape.row_bytes)?;
        Some(self.offset.min(other)..end)
    }
}

/// The places of the planes of a frame in `buffer`: its `GstVideoMeta` if it has one, else the
/// layout of `info`. Every plane is checked to lie inside the buffer.
///
/// # Errors
/// The buffer is empty or too small, or its meta is of another kind of frame.
pub(crate) fn plane_places(
    buffer: &gst::BufferRef,
    info: &gst_video::VideoInfo,
    shapes: &[PlaneShape],
) -> Result<Planes<PlanePlace>, Error> {
    if buffer.size() == 0 {
        return Err(Error::input("the buffer is empty: 0 bytes"));
    }
    let places: Planes<PlanePlace> = match buffer.meta::<gst_video::VideoMeta>() {
        Some(meta) => {
            check_meta(&meta, info)?;
            zip_places(meta.offset(), meta.stride())
        }
        None => zip_places(info.offset(), info.stride()),
    };
    for (index, (place, shape)) in places.iter().zip(shapes).enumerate() {
        let stride = place.stride;
        if shape.rows > 1 && stride.unsigned_abs() < shape.row_bytes {
            return Err(Error::input(format!(
                "plane {index} has a stride of {stride} bytes for rows of {}",
                shape.row_bytes
            )));
        }
        match place.range(shape) {
            Some(range) if range.end <= buffer.size() => {}
            range => {
                let needed =
                    range.map_or("more than can be addressed".into(), |r| r.end.to_string());
                return Err(Error::input(format!(
                    "the buffer has {} bytes, too few for {} {}x{}: plane {index} needs {needed}",
                    buffer.size(),
                    info.format(),
                    info.width(),
                    info.height(),
                )));
            }
        }
    }
    Ok(places)
}

fn zip_places(offsets: &[usize], strides: &[i32]) -> Planes<PlanePlace> {
    let place = |(&offset, &stride)| PlanePlace {
        offset,
        stride: stride as isize,
    };
    offsets.iter().zip(strides).map(place).collect()
}

fn check_meta(meta: &gst_video::VideoMeta, info: &gst_video::VideoInfo) -> Result<(), Error> {
    let planes = meta.n_planes() == info.n_planes();
    if planes
        && meta.format() == info.format()
        && meta.width() >= info.width()
        && meta.height() >= info.height()
    {
        return Ok(());
    }
    Err(Error::input(format!(
        "the buffer's video meta says {} {}x{}, its caps {} {}x{}",
        meta.format(),
        meta.width(),
        meta.height(),
        info.format(),
        info.width(),
        info.height(),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(format: &str, width: u32, height: u32) -> gst_video::VideoInfo {
        gst::init().unwrap();
        gst_video::VideoInfo::builder(format.parse().unwrap(), width, height)
            .build()
            .unwrap()
    }

    #[test]
    fn shapes_come_from_the_format() {
        let check = |format: &str, expected: &[(usize, usize)]| {
            let found: Vec<_> = plane_shapes(&info(format, 5, 3))
                .iter()
                .map(|shape| (shape.row_bytes, shape.rows))
                .collect();
            assert_eq!(found, expected, "{format}");
        };
        check("NV12", &[(5, 3), (6, 2)]);
        check("I420", &[(5, 3), (3, 2), (3, 2)]);
        check("P010_10LE", &[(10, 3), (12, 2)]);
        check("RGBA", &[(20, 3)]);
        check("RGB", &[(15, 3)]);
        check("RGBP", &[(5, 3), (5, 3), (5, 3)]);
        check("YUY2", &[(12, 3)]);
        check("NV24", &[(5, 3), (10, 3)]);
        check("Y42B", &[(5, 3), (3, 3), (3, 3)]);
        check("v210", &[(16, 3)]);
        check("Y410", &[(20, 3)]);
        check("A420_10LE", &[(10, 3), (6, 2), (6, 2), (10, 3)]);
        // Copied without being converted.
        check("AYUV64", &[(40, 3)]);
    }

    #[test]
    fn ranges_of_both_directions() {
        let shape = PlaneShape {
            row_bytes: 5,
            rows: 3,
        };
        assert_eq!(
            PlanePlace {
                offset: 4,
                stride: 8
            }
            .range(&shape),
            Some(4..25)
        );
        assert_eq!(
            PlanePlace {
                offset: 16,
                stride: -8
            }
            .range(&shape),
            Some(0..21)
        );
        assert_eq!(
            PlanePlace {
                offset: 15,
                stride: -8
            }
            .range(&shape),
            None
        );
    }

    #[test]
    fn buffers_too_small_are_refused() {
        let info = info("NV12", 16, 16);
        let shapes = plane_shapes(&info);
        let place = |size| {
            let buffer = gst::Buffer::with_size(size).unwrap();
            plane_places(&buffer, &info, &shapes)
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert!(place(0).unwrap_err().contains("0 bytes"));
        assert!(place(383).unwrap_err().contains("plane 1 needs 384"));
        assert_eq!(place(384), Ok(()));
    }

    #[test]
    fn metas_that_lie_are_refused() {
        let info = info("RGBA", 16, 4);
        let shapes = plane_shapes(&info);
        let place = |format: &str, offset, stride| {
            let mut buffer = gst::Buffer::with_size(256).unwrap();
            let format = format.parse().unwrap();
            gst_video::VideoMeta::add_full(
                buffer.get_mut().unwrap(),
                gst_video::VideoFrameFlags::empty(),
                format,
                16,
                4,
                &[offset],
                &[stride],
            )
            .unwrap();
            plane_places(&buffer, &info, &shapes)
                .map(|_| ())
                .map_err(|e| e.to_string())
        };
        assert_eq!(place("RGBA", 0, 64), Ok(()));
        assert!(
            place("RGBA", 4, 64)
                .unwrap_err()
                .contains("plane 0 needs 260")
        );
        assert!(place("RGBA", 0, 60).unwrap_err().contains("stride of 60"));
        assert!(
            place("BGRA", 0, 64)
                .unwrap_err()
                .contains("video meta says BGRA")
        );
    }
}
