//! A source that pushes buffers as fast as they are taken, without touching their bytes.

use std::time::{Duration, Instant};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::ObjectSubclassIsExt;
use hip_core::Device;

use crate::{ROTATION, Rate, Result};

/// Where the source's frames are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Memory {
    /// In the pool that downstream offers.
    #[default]
    Offered,
    /// In ordinary memory.
    Ordinary,
}

glib::wrapper! {
    /// Pushes a rotation of prefilled buffers for some time, then ends.
    pub struct BenchSource(ObjectSubclass<imp::BenchSource>)
        @extends gst_base::PushSrc, gst_base::BaseSrc, gst::Element, gst::Object;
}

impl BenchSource {
    /// A source of frames of `caps` for at least `duration` after the first few.
    pub fn new(device: &Device, caps: &gst::Caps, memory: Memory, duration: Duration) -> Self {
        let source: BenchSource = glib::Object::new();
        source
            .imp()
            .setup(device.clone(), caps.clone(), memory, duration);
        source
    }
}

/// What a run of a pipeline came to.
#[derive(Debug, Clone, Copy)]
pub struct Frames {
    /// Frames and their bytes, without the first few.
    pub rate: Rate,
}

impl Frames {
    /// Runs `source ! elements ! fakesink` to its end, and the device's work to its.
    ///
    /// # Errors
    /// The pipeline reports one.
    pub fn measure(device: &Device, source: &BenchSource, elements: &str) -> Result<Frames> {
        let pipeline = gst::Pipeline::new();
        let line = format!("{elements} ! fakesink sync=false");
        let rest = gst::parse::bin_from_description(&line, true)?;
        // The bin's elements take this device whatever others there are.
        pipeline.set_context(&gst_hip::HipContext::new(device).to_gst());
        pipeline.add_many([source.upcast_ref::<gst::Element>(), rest.upcast_ref()])?;
        source.link(&rest)?;
        let bus = pipeline.bus().ok_or("a pipeline without a bus")?;
        pipeline.set_state(gst::State::Playing)?;
        let ends = [gst::MessageType::Eos, gst::MessageType::Error];
        let message = bus.timed_pop_filtered(gst::ClockTime::NONE, &ends);
        device.synchronize()?;
        let end = Instant::now();
        pipeline.set_state(gst::State::Null)?;
        if let Some(gst::MessageView::Error(error)) = message.as_ref().map(|m| m.view()) {
            return Err(format!("{}: {}", error.error(), error.debug().unwrap_or_default()).into());
        }
        let (start, count, bytes) = source.imp().counted().ok_or("too few frames")?;
        let seconds = end.duration_since(start).as_secs_f64();
        Ok(Frames {
            rate: Rate {
                bytes,
                count,
                seconds,
            },
        })
    }
}

mod imp {
    use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

    use gst::subclass::prelude::*;
    use gst_base::prelude::*;
    use gst_base::subclass::base_src::CreateSuccess;
    use gst_base::subclass::prelude::*;
    use gst_video::VideoInfo;

    use super::*;

    /// Frames before the count begins: every buffer of the rotation has then been used twice.
    const WARM_UP: u64 = 2 * ROTATION as u64;

    #[derive(Debug)]
    struct Setup {
        device: Device,
        caps: gst::Caps,
        memory: Memory,
        duration: Duration,
    }

    #[derive(Debug, Default)]
    struct Progress {
        frames: u64,
        start: Option<Instant>,
        /// Memories that were filled, by address.
        filled: Vec<usize>,
    }

    #[derive(Debug, Default)]
    pub struct BenchSource {
        setup: OnceLock<Setup>,
        progress: Mutex<Progress>,
    }

    impl BenchSource {
        pub(super) fn setup(
            &self,
            device: Device,
            caps: gst::Caps,
            memory: Memory,
            duration: Duration,
        ) {
            // Called once, by `BenchSource::new`.
            let _ = self.setup.set(Setup {
                device,
                caps,
                memory,
                duration,
            });
        }

        /// When the count began, frames and bytes since.
        pub(super) fn counted(&self) -> Option<(Instant, u64, u64)> {
            let progress = self.lock();
            let count = progress
                .frames
                .checked_sub(WARM_UP)
                .filter(|count| *count > 0)?;
            let info = VideoInfo::from_caps(&self.setup.get()?.caps).ok()?;
            Some((progress.start?, count, count * info.size() as u64))
        }

        fn lock(&self) -> std::sync::MutexGuard<'_, Progress> {
            self.progress.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Fills a buffer that is new. A map for writing waits until the device has read the
        /// buffer's last contents: no more frames are in flight than there are buffers.
        fn prepare(&self, buffer: &mut gst::BufferRef) -> Result<(), gst::FlowError> {
            let address = buffer.peek_memory(0).as_ptr() as usize;
            let mut map = buffer.map_writable().map_err(|_| gst::FlowError::Error)?;
            let mut progress = self.lock();
            if !progress.filled.contains(&address) {
                for (index, byte) in map.iter_mut().enumerate() {
                    *byte = (index % 251) as u8;
                }
                progress.filled.push(address);
            }
            Ok(())
        }
    }

    #[glib::object_subclass]
    impl ObjectSubclass for BenchSource {
        const NAME: &'static str = "GstHipRsBenchSource";
        type Type = super::BenchSource;
        type ParentType = gst_base::PushSrc;
    }

    impl ObjectImpl for BenchSource {
        fn constructed(&self) {
            self.parent_constructed();
            self.obj().set_format(gst::Format::Time);
        }
    }
    impl GstObjectImpl for BenchSource {}

    impl ElementImpl for BenchSource {
        fn pad_templates() -> &'static [gst::PadTemplate] {
            static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
                let caps = gst::Caps::new_empty_simple("video/x-raw");
                let (direction, presence) = (gst::PadDirection::Src, gst::PadPresence::Always);
                gst::PadTemplate::new("src", direction, presence, &caps)
                    .into_iter()
                    .collect()
            });
            &TEMPLATES
        }
    }

    impl BaseSrcImpl for BenchSource {
        fn caps(&self, filter: Option<&gst::Caps>) -> Option<gst::Caps> {
            let caps = &self.setup.get()?.caps;
            Some(filter.map_or_else(|| caps.clone(), |filter| filter.intersect(caps)))
        }

        fn decide_allocation(
            &self,
            query: &mut gst::query::Allocation,
        ) -> Result<(), gst::LoggableError> {
            let failed = |text: &str| gst::loggable_error!(gst::CAT_RUST, "{}", text);
            let setup = self.setup.get().ok_or_else(|| failed("not set up"))?;
            let offered = query
                .allocation_pools()
                .find_map(|(pool, size, ..)| Some((pool?, size)));
            let (pool, size) = match (setup.memory, offered) {
                (Memory::Offered, Some(offered)) => offered,
                (Memory::Offered, None) => return Err(failed("downstream offers no pool")),
                (Memory::Ordinary, _) => {
                    let info = VideoInfo::from_caps(&setup.caps)
                        .map_err(|_| failed("the caps describe no frame"))?;
                    (gst::BufferPool::new(), info.size() as u32)
                }
            };
            let buffers = ROTATION as u32;
            let mut config = pool.config();
            config.set_params(Some(&setup.caps), size, buffers, buffers);
            if setup.memory == Memory::Offered {
                config.add_option(gst_video::BUFFER_POOL_OPTION_VIDEO_META.as_str());
            }
            pool.set_config(config)
                .map_err(|_| failed("the pool cannot be configured"))?;
            if query.allocation_pools().next().is_some() {
                query.set_nth_allocation_pool(0, Some(&pool), size, buffers, buffers);
            } else {
                query.add_allocation_pool(Some(&pool), size, buffers, buffers);
            }
            Ok(())
        }
    }

    impl PushSrcImpl for BenchSource {
        fn create(
            &self,
            _buffer: Option<&mut gst::BufferRef>,
        ) -> Result<CreateSuccess, gst::FlowError> {
            let setup = self.setup.get().ok_or(gst::FlowError::NotNegotiated)?;
            let pool = self
                .obj()
                .buffer_pool()
                .ok_or(gst::FlowError::NotNegotiated)?;
            let (frames, start) = {
                let progress = self.lock();
                (progress.frames, progress.start)
            };
            if start.is_some_and(|start| start.elapsed() >= setup.duration) {
                return Err(gst::FlowError::Eos);
            }
            if frames == WARM_UP {
                setup
                    .device
                    .synchronize()
                    .map_err(|_| gst::FlowError::Error)?;
                self.lock().start = Some(Instant::now());
            }
            let mut buffer = pool.acquire_buffer(None)?;
            self.prepare(buffer.get_mut().ok_or(gst::FlowError::Error)?)?;
            self.lock().frames += 1;
            Ok(CreateSuccess::NewBuffer(buffer))
        }
    }
}
