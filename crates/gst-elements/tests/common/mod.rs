//! What the element tests share.

#![allow(dead_code, unreachable_pub)] // every test binary uses another part

use std::sync::Once;

use gst::prelude::*;
use gst_hip::{Device, DeviceSelector, HipAllocator};
use hip_oracle::{FrameInfo, Image, Rng};

/// Widths and heights that hit every kind of edge.
pub const SIZES: [usize; 11] = [1, 2, 3, 5, 15, 16, 17, 319, 321, 1079, 1081];

/// Starts GStreamer and registers the plugin.
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        gst::init().expect("GStreamer starts");
        gsthip::plugin_register_static().expect("the plugin registers");
    });
}

/// The device that the tests run on: `HIP_TEST_VENDOR`'s, `host` by default. `None`, and a line
/// that says why, if there is none.
pub fn test_device() -> Option<Device> {
    init();
    let name = vendor();
    let selector: DeviceSelector = name.parse().expect("HIP_TEST_VENDOR names a vendor");
    match gst_hip::env::open_device(&selector) {
        Ok(device) => Some(device),
        Err(error) => {
            // Set by whoever has seen the device: then its absence is a failure.
            assert!(std::env::var_os("HIP_TEST_REQUIRE").is_none(), "{error}");
            println!("skipped: no device for HIP_TEST_VENDOR={name}: {error}");
            None
        }
    }
}

/// The name of the vendor that the tests run on.
pub fn vendor() -> String {
    std::env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".into())
}

/// A launch line with `vendor=` set on every element of ours: a `!`-separated line in which
/// they are written by their bare names.
pub fn launch_line(line: &str) -> String {
    let vendor = vendor();
    let elements = line
        .split(" ! ")
        .map(|element| match element.split_once(' ') {
            _ if !element.starts_with("hip") => element.to_owned(),
            Some((name, rest)) => format!("{name} vendor={vendor} {rest}"),
            None => format!("{element} vendor={vendor}"),
        });
    elements.collect::<Vec<_>>().join(" ! ")
}

/// A harness round a launch line, and a bus that gets its messages.
pub fn harness(line: &str) -> (gst_check::Harness, gst::Bus) {
    let harness = gst_check::Harness::new_parse(&launch_line(line));
    let bus = gst::Bus::new();
    harness
        .element()
        .expect("the harness has an element")
        .set_bus(Some(&bus));
    (harness, bus)
}

/// Caps of frames of the oracle's, in system memory.
pub fn caps_of(info: &FrameInfo) -> gst::Caps {
    let text = format!(
        "video/x-raw,format={},width={},height={},framerate=30/1{}",
        info.format.name(),
        info.width,
        info.height,
        colour_fields(info)
    );
    text.parse().expect("valid caps")
}

/// The same caps in device memory.
pub fn hip_caps_of(info: &FrameInfo) -> gst::Caps {
    let text = caps_of(info).to_string();
    text.replacen("video/x-raw", "video/x-raw(memory:HIPMemory)", 1)
        .parse()
        .expect("valid caps")
}

fn colour_fields(info: &FrameInfo) -> String {
    use hip_oracle::{ChromaSite, Family, Matrix, Range};
    let range = match info.range {
        Range::Full => 1,
        Range::Limited => 2,
    };
    let light = format!("{}:{}", transfer_number(info), primaries_number(info));
    if info.format.family() == Family::Rgb {
        return format!(",colorimetry=(string){range}:1:{light}");
    }
    let matrix = match info.matrix {
        Matrix::Fcc => 2,
        Matrix::Bt709 => 3,
        Matrix::Bt601 => 4,
        Matrix::Smpte240m => 5,
        Matrix::Bt2020 => 6,
    };
    let site = match info.site {
        ChromaSite::Left => "mpeg2",
        ChromaSite::Centre => "jpeg",
        ChromaSite::TopLeft => "cosited",
        ChromaSite::Top => "v-cosited",
        other => panic!("GStreamer has no name for {other:?}"),
    };
    format!(",colorimetry=(string){range}:{matrix}:{light},chroma-site={site}")
}

/// GStreamer's number of the transfer function, of those that tests use.
fn transfer_number(info: &FrameInfo) -> u32 {
    use hip_oracle::Transfer;
    match info.transfer {
        Transfer::Bt709 => 5,
        Transfer::Srgb => 7,
        Transfer::Gamma28 => 8,
        Transfer::Pq => 14,
        Transfer::Hlg => 15,
        other => panic!("no test uses {other:?}"),
    }
}

/// GStreamer's number of the primaries, of those that tests use.
fn primaries_number(info: &FrameInfo) -> u32 {
    use hip_oracle::Primaries;
    match info.primaries {
        Primaries::Bt709 => 1,
        Primaries::Smpte170m => 4,
        Primaries::Bt2020 => 7,
        other => panic!("no test uses {other:?}"),
    }
}

/// How a frame is stored in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// Ordinary memory, GStreamer's own layout.
    Plain,
    /// Ordinary memory, a stride of its own for each plane, and gaps between planes.
    Padded,
    /// One ordinary memory a plane, padded.
    MemoryPerPlane,
    /// Pinned memory of ours, padded in another way than the device likes.
    Pinned,
    /// Ordinary memory, the last row first.
    BottomUp,
    /// Pinned memory of ours, the last row first, which no DMA turns round.
    PinnedBottomUp,
}

impl Storage {
    fn is_bottom_up(self) -> bool {
        matches!(self, Storage::BottomUp | Storage::PinnedBottomUp)
    }
}

impl Storage {
    /// All of them.
    pub const ALL: [Storage; 6] = [
        Storage::Plain,
        Storage::Padded,
        Storage::MemoryPerPlane,
        Storage::Pinned,
        Storage::BottomUp,
        Storage::PinnedBottomUp,
    ];
}

/// A frame with random bytes in every sample.
pub fn random_image(info: FrameInfo, seed: u64) -> Image {
    let mut image = Image::new(info);
    let mut rng = Rng::new(seed);
    for plane in &mut image.planes {
        for chunk in plane.data.chunks_mut(8) {
            let bytes = rng.next_u64().to_le_bytes();
            chunk.copy_from_slice(&bytes[..chunk.len()]);
        }
    }
    image
}

/// Puts an image into a buffer.
pub fn buffer_of(image: &Image, storage: Storage, device: &Device) -> gst::Buffer {
    let info = gst_video::VideoInfo::from_caps(&caps_of(&image.info)).expect("video caps");
    let padded = storage != Storage::Plain;
    let (mut strides, mut offsets, mut size) = (Vec::new(), Vec::new(), 0);
    for (index, plane) in image.planes.iter().enumerate() {
        let stride = match padded {
            true => (plane.row_bytes + 6 + 10 * index).next_multiple_of(2),
            false => info.stride()[index] as usize,
        };
        let start = if padded {
            size + 14
        } else {
            info.offset()[index]
        };
        strides.push(stride as i32);
        offsets.push(start);
        size = start + stride * plane.rows;
    }
    let size = if padded { size } else { info.size() };
    let mut bytes = vec![0xa5; size];
    for (index, plane) in image.planes.iter().enumerate() {
        for row in 0..plane.rows {
            let from = plane.offset + row * plane.stride;
            let to_row = if storage.is_bottom_up() {
                plane.rows - 1 - row
            } else {
                row
            };
            let to = offsets[index] + to_row * strides[index] as usize;
            bytes[to..to + plane.row_bytes]
                .copy_from_slice(&plane.data[from..from + plane.row_bytes]);
        }
    }
    let mut buffer = memories_of(bytes, &offsets, storage, device);
    let writable = buffer.get_mut().expect("a new buffer");
    writable.set_pts(gst::ClockTime::ZERO);
    writable.set_duration(gst::ClockTime::SECOND);
    if storage.is_bottom_up() {
        for (index, plane) in image.planes.iter().enumerate() {
            offsets[index] += (plane.rows - 1) * strides[index] as usize;
            strides[index] = -strides[index];
        }
    }
    if padded {
        gst_video::VideoMeta::add_full(
            writable,
            gst_video::VideoFrameFlags::empty(),
            info.format(),
            info.width(),
            info.height(),
            &offsets,
            &strides,
        )
        .expect("a video meta");
    }
    buffer
}

fn memories_of(
    bytes: Vec<u8>,
    offsets: &[usize],
    storage: Storage,
    device: &Device,
) -> gst::Buffer {
    match storage {
        Storage::MemoryPerPlane => {
            let mut buffer = gst::Buffer::new();
            let writable = buffer.get_mut().expect("a new buffer");
            // The bytes before the first plane belong to its memory.
            let mut ends: Vec<usize> = offsets[1..].to_vec();
            ends.push(bytes.len());
            let mut start = 0;
            for end in ends {
                writable.append_memory(gst::Memory::from_slice(bytes[start..end].to_vec()));
                start = end;
            }
            buffer
        }
        Storage::Pinned | Storage::PinnedBottomUp => {
            let memory = HipAllocator::alloc_pinned(device, bytes.len()).expect("pinned memory");
            let mut map = memory.into_mapped_memory_writable().expect("a CPU map");
            map.copy_from_slice(&bytes);
            let mut buffer = gst::Buffer::new();
            buffer
                .get_mut()
                .expect("a new buffer")
                .append_memory(map.into_memory());
            buffer
        }
        _ => gst::Buffer::from_slice(bytes),
    }
}

/// The image in a system-memory buffer, read as any GStreamer element reads it.
pub fn image_of(buffer: &gst::BufferRef, info: FrameInfo) -> Image {
    use gst_video::prelude::*;
    let video = gst_video::VideoInfo::from_caps(&caps_of(&info)).expect("video caps");
    let frame = gst_video::VideoFrameRef::from_buffer_ref_readable(buffer, &video)
        .expect("the buffer holds the frame");
    let mut image = Image::new(info);
    for (index, plane) in image.planes.iter_mut().enumerate() {
        let data = frame.plane_data(index as u32).expect("the plane is there");
        let stride = frame.plane_stride()[index] as usize;
        for row in 0..plane.rows {
            let to = plane.offset + row * plane.stride;
            plane.data[to..to + plane.row_bytes]
                .copy_from_slice(&data[row * stride..row * stride + plane.row_bytes]);
        }
    }
    image
}

/// The plane and row in which two images first differ.
pub fn first_difference(a: &Image, b: &Image) -> Option<(usize, usize)> {
    assert_eq!(a.info, b.info);
    a.planes
        .iter()
        .zip(&b.planes)
        .enumerate()
        .find_map(|(index, (a, b))| {
            let row = |image: &hip_oracle::Plane, row: usize| {
                let start = image.offset + row * image.stride;
                image.data[start..start + image.row_bytes].to_vec()
            };
            (0..a.rows)
                .find(|&y| row(a, y) != row(b, y))
                .map(|y| (index, y))
        })
}

/// The first message of a kind on the bus, as text: what it says, and its debug part.
pub fn message_text(bus: &gst::Bus, kind: gst::MessageType) -> Option<String> {
    let message = bus.pop_filtered(&[kind])?;
    let (error, debug) = match message.view() {
        gst::MessageView::Error(error) => (error.error(), error.debug()),
        gst::MessageView::Warning(warning) => (warning.error(), warning.debug()),
        _ => return None,
    };
    Some(format!("{error} ({})", debug.unwrap_or_default()))
}

/// The pool that upstream gets from an allocation query, configured as upstream does it.
pub fn offered_pool(harness: &gst_check::Harness, caps: &gst::Caps) -> gst_hip::HipBufferPool {
    let mut query = gst::query::Allocation::new(Some(caps), true);
    let pad = harness.srcpad().expect("the harness pushes");
    assert!(
        pad.peer_query(query.query_mut()),
        "the allocation query is answered"
    );
    assert!(
        query
            .find_allocation_meta::<gst_video::VideoMeta>()
            .is_some()
    );
    let (pool, size, min, max) = query.allocation_pools().next().expect("a pool is offered");
    let pool = pool.expect("a pool is offered");
    for option in [
        gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str(),
        gst_video::BUFFER_POOL_OPTION_VIDEO_ALIGNMENT.as_str(),
    ] {
        assert!(pool.has_option(option), "{option}");
    }
    assert!(min >= 3, "three frames in flight");
    let mut config = pool.config();
    config.set_params(Some(caps), size, min, max);
    config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
    pool.set_config(config).unwrap();
    pool.downcast().expect("the pool is ours")
}
