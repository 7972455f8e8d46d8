//! Pools of frames, own and offered.

use gst::prelude::*;
use gst_hip::{HipBufferPool, MemoryKind};
use gst_video::VideoInfo;
use hip_core::Device;

use super::error::Error;

/// Buffers that a pool of ours starts with: three frames in flight, and one being filled.
pub(crate) const MIN_BUFFERS: u32 = 4;

/// How a pool's frames are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PoolLayout {
    /// As the device likes it; buffers carry a `GstVideoMeta`.
    Device,
    /// As GStreamer lays frames out without a `GstVideoMeta`, for who does not read one.
    Default,
}

/// A pool of frames, configured and not yet active.
///
/// # Errors
/// The caps describe no frame that a pool can hold.
pub(crate) fn new_pool(
    device: &Device,
    kind: MemoryKind,
    caps: &gst::Caps,
    info: &VideoInfo,
    layout: PoolLayout,
) -> Result<HipBufferPool, Error> {
    let pool = HipBufferPool::new(device, kind);
    configure(&pool, caps, info.size() as u32, MIN_BUFFERS, 0, layout)?;
    Ok(pool)
}

/// Configures a pool of ours.
fn configure(
    pool: &HipBufferPool,
    caps: &gst::Caps,
    size: u32,
    min: u32,
    max: u32,
    layout: PoolLayout,
) -> Result<(), Error> {
    let mut config = pool.config();
    config.set_params(Some(caps), size, min, max);
    if layout == PoolLayout::Device {
        config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_ref());
    }
    pool.set_config(config)
        .map_err(|error| Error::gst(format!("a pool of {caps} cannot be set up: {error}")))
}

/// What a pool's configuration says: bytes of a buffer, least and most buffers.
fn params(pool: &HipBufferPool) -> (u32, u32, u32) {
    pool.config()
        .params()
        .map_or((0, 0, 0), |(_, size, min, max)| (size, min, max))
}

/// Puts the pool for our output into the answered allocation query: the peer's if it is one of
/// ours for this device and kind, else a new one.
///
/// # Errors
/// The query has no usable caps, or no pool can be set up.
pub(crate) fn decide(
    query: &mut gst::query::Allocation,
    device: &Device,
    kind: MemoryKind,
    layout: PoolLayout,
) -> Result<(), Error> {
    let (caps, info) = caps_of(query)?;
    let offered = query.allocation_pools().find_map(|(pool, size, min, max)| {
        let pool = pool?.downcast::<HipBufferPool>().ok()?;
        let of_device = pool.device().is_ok_and(|of| of == *device);
        let fits = of_device && pool.kind() == kind && !pool.is_active();
        (fits && (max == 0 || max >= MIN_BUFFERS)).then_some((pool, size, min, max))
    });
    let taken = offered.and_then(|(pool, size, min, max)| {
        let (size, min) = (size.max(info.size() as u32), min.max(MIN_BUFFERS));
        configure(&pool, &caps, size, min, max, layout).ok()?;
        Some(pool)
    });
    let pool = match taken {
        Some(pool) => pool,
        None => new_pool(device, kind, &caps, &info, layout)?,
    };
    let (size, min, max) = params(&pool);
    if query.allocation_pools().next().is_some() {
        query.set_nth_allocation_pool(0, Some(&pool), size, min, max);
    } else {
        query.add_allocation_pool(Some(&pool), size, min, max);
    }
    Ok(())
}

/// Offers upstream a pool of ours for what it is about to send.
///
/// # Errors
/// The query has no usable caps, or no pool can be set up.
pub(crate) fn propose(
    query: &mut gst::query::Allocation,
    device: &Device,
    kind: MemoryKind,
) -> Result<(), Error> {
    let (caps, info) = caps_of(query)?;
    let (_, need_pool) = query.get_owned();
    // Who brings a pool of its own still wants to know that layouts other than the default do.
    if query
        .find_allocation_meta::<gst_video::VideoMeta>()
        .is_none()
    {
        query.add_allocation_meta::<gst_video::VideoMeta>(None);
    }
    if need_pool {
        let pool = new_pool(device, kind, &caps, &info, PoolLayout::Device)?;
        let (size, min, max) = params(&pool);
        query.add_allocation_pool(Some(&pool), size, min, max);
    }
    Ok(())
}

/// Takes all metas out of an allocation query.
pub(crate) fn remove_metas(query: &mut gst::query::Allocation) {
    while query.allocation_metas().next().is_some() {
        query.remove_nth_allocation_meta(0);
    }
}

fn caps_of(query: &gst::query::Allocation) -> Result<(gst::Caps, VideoInfo), Error> {
    let (caps, _) = query.get_owned();
    let caps = caps.ok_or_else(|| Error::gst("the allocation query has no caps"))?;
    let info = super::caps::video_info(&caps)?;
    Ok((caps, info))
}

/// A buffer from an own pool, which is started if it is not.
///
/// # Errors
/// There is no memory, or the pool is flushing.
pub(crate) fn acquire(pool: &HipBufferPool) -> Result<gst::Buffer, Error> {
    if !pool.is_active() {
        pool.set_active(true)
            .map_err(|error| Error::gst(format!("a buffer pool cannot be started: {error}")))?;
    }
    pool.acquire_buffer(None).map_err(|flow| match flow {
        gst::FlowError::Flushing => Error::Flushing,
        flow => Error::gst(format!("no buffer from the pool: {flow}")),
    })
}

/// An own pool that is stopped when its owner drops it.
#[derive(Debug)]
pub(crate) struct OwnPool(pub(crate) HipBufferPool);

impl Drop for OwnPool {
    fn drop(&mut self) {
        // Fails only if the pool was never started.
        let _ = self.0.set_active(false);
    }
}
