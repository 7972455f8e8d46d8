use std::sync::{Arc, LazyLock, Mutex};

use gst::glib;
use gst::prelude::*;
use gst::subclass::prelude::*;
use gst_base::prelude::*;
use gst_base::subclass::prelude::*;
use gst_hip::MemoryKind;

use super::base::{Abilities, HipConvertBaseClass};
use super::conversion::{Conversion, Frames};
use super::options::Options;
use super::placement::Placement;
use super::source::Source;
use super::{caps as possible, direction, fixate, metas, navigation};
use crate::common::caps;
use crate::common::device::DeviceSlot;
use crate::common::error::Error;
use crate::common::formats::Formats;
use crate::common::import::ImportSlot;
use crate::common::pool::{self, PoolLayout};
use crate::common::{CAT, element, lock};

/// What a conversion depends on besides the caps.
type Wanted = (Options, Source);

/// What the caps in use mean.
#[derive(Debug, Default)]
struct State {
    frames: Option<Arc<Frames>>,
    /// For the frame in hand.
    wanted: Option<Wanted>,
    /// Made anew when what is wanted changes.
    ready: Option<(Wanted, Arc<Conversion>)>,
}

/// The elements' parts.
#[derive(Debug, Default)]
pub struct HipConvertBase {
    device: DeviceSlot,
    import: ImportSlot,
    settings: Mutex<Options>,
    state: Mutex<State>,
}

impl HipConvertBase {
    fn abilities(&self) -> Abilities {
        self.obj().class().as_ref().abilities
    }

    fn options(&self) -> Options {
        *lock(&self.settings)
    }

    /// Sets a property of an element's own.
    pub(crate) fn set_option(&self, value: &glib::Value, pspec: &glib::ParamSpec) {
        // Bound first: a message must not be posted with the settings locked.
        let result = lock(&self.settings).set_property(value, pspec);
        if let Some(Err(refused)) = result {
            gst::element_imp_warning!(self, gst::ResourceError::Settings, ("{}", refused.0));
        }
    }

    /// Reads a property of an element's own.
    pub(crate) fn option(&self, pspec: &glib::ParamSpec) -> glib::Value {
        lock(&self.settings)
            .property(pspec)
            .unwrap_or_else(|| pspec.default_value().clone())
    }

    /// Takes note of what the frame in hand wants done. If that makes the difference between nothing to do
    /// and something, or between caps, negotiation is asked for.
    fn prepare(&self, buffer: &gst::BufferRef) -> Result<(), Error> {
        let options = self.options();
        let state = lock(&self.state);
        let Some(frames) = state.frames.clone() else {
            return Ok(());
        };
        let before = state.wanted;
        drop(state);
        let wanted = (options, frames.source(buffer)?);
        if before == Some(wanted) {
            return Ok(());
        }
        lock(&self.state).wanted = Some(wanted);
        let turned = before.is_some_and(|(old, _)| old.orientation() != options.orientation());
        let passthrough = match frames.need_nothing(&options, &wanted.1) {
            Ok(passthrough) => passthrough,
            // Negotiation finds the same and refuses.
            Err(error) => {
                gst::debug!(CAT, imp = self, "the caps no longer do: {}", error);
                self.obj().reconfigure_src();
                return Ok(());
            }
        };
        let changed = self.obj().is_passthrough() != passthrough;
        self.obj().set_passthrough(passthrough);
        if changed || turned {
            self.obj().reconfigure_src();
        }
        if changed {
            // What upstream learned from its allocation query was of the other case.
            self.obj().reconfigure_sink();
        }
        Ok(())
    }

    /// What converts the frame in hand.
    fn conversion(&self) -> Result<Arc<Conversion>, Error> {
        let state = lock(&self.state);
        let frames = state.frames.clone().zip(state.wanted);
        let (frames, wanted) = frames.ok_or_else(|| Error::gst("no caps yet"))?;
        let current = state
            .ready
            .as_ref()
            .filter(|(made_for, _)| *made_for == wanted);
        if let Some((_, conversion)) = current {
            return Ok(conversion.clone());
        }
        drop(state);
        let (device, _) = self.device.in_use()?;
        let conversion = Arc::new(frames.conversion(&device, &wanted.0, &wanted.1)?);
        let old = lock(&self.state)
            .ready
            .replace((wanted, conversion.clone()));
        drop(old);
        Ok(conversion)
    }

    fn convert(&self, input: &gst::BufferRef, output: &mut gst::BufferRef) -> Result<(), Error> {
        let (_, stream) = self.device.in_use()?;
        self.conversion()?.convert(&stream, input, output)
    }

    fn set_frames(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), Error> {
        let frames = Frames::new(incaps, outcaps)?;
        let options = self.options();
        // Renegotiation of the output alone comes between a frame's arrival and its conversion.
        let same_input = |old: &Arc<Frames>| old.input == frames.input;
        let state = lock(&self.state);
        let in_hand = state
            .wanted
            .filter(|_| state.frames.as_ref().is_some_and(same_input));
        drop(state);
        let source = in_hand.map_or_else(|| Source::whole(&frames.input), |(_, source)| source);
        let passthrough = frames.need_nothing(&options, &source)?;
        self.import.set_caps(incaps, &frames.input);
        let state = State {
            frames: Some(Arc::new(frames)),
            wanted: Some((options, source)),
            ready: None,
        };
        let old = std::mem::replace(&mut *lock(&self.state), state);
        drop(old);
        if !passthrough {
            // What cannot be converted is refused now, not at the first frame.
            self.conversion()?;
        }
        self.obj().set_passthrough(passthrough);
        Ok(())
    }

    /// Where the picture of the caps in use comes to lie.
    fn placement(&self) -> Option<Placement> {
        let state = lock(&self.state);
        let (frames, (options, _)) = state.frames.as_ref().zip(state.wanted)?;
        Some(frames.placement(&options, &Source::whole(&frames.input)))
    }

    /// Goes by the stream's tags, and gives the event for downstream, where the turn is made already.
    fn tagged(&self, event: &gst::event::Tag) -> Option<gst::Event> {
        let mut settings = lock(&self.settings);
        let says_so = settings.tagged.update(event.tag());
        let turns = settings.direction == gst_video::VideoOrientationMethod::Auto;
        drop(settings);
        (says_so && turns).then(|| direction::turned(event))
    }
}

#[glib::object_subclass]
impl ObjectSubclass for HipConvertBase {
    const NAME: &'static str = "GstHipRsConvertBase";
    const ABSTRACT: bool = true;
    type Type = super::HipConvertBase;
    type ParentType = gst_base::BaseTransform;
    type Class = HipConvertBaseClass;
}

impl ObjectImpl for HipConvertBase {
    element::property_glue!();
}

impl GstObjectImpl for HipConvertBase {}

impl ElementImpl for HipConvertBase {
    fn pad_templates() -> &'static [gst::PadTemplate] {
        static TEMPLATES: LazyLock<Vec<gst::PadTemplate>> = LazyLock::new(|| {
            let caps = Formats::Converted.hip_caps();
            element::pad_templates(&caps, &caps)
        });
        &TEMPLATES
    }

    element::context_glue!();
}

impl BaseTransformImpl for HipConvertBase {
    // The same caps are no reason to do nothing: alpha may be set, or the picture be turned.
    const PASSTHROUGH_ON_SAME_CAPS: bool = false;
    element::transform_glue!();

    fn stop(&self) -> Result<(), gst::ErrorMessage> {
        let state = std::mem::take(&mut *lock(&self.state));
        drop(state);
        lock(&self.settings).tagged = Options::default().tagged;
        self.import.clear();
        self.device.close();
        Ok(())
    }

    fn sink_event(&self, event: gst::Event) -> bool {
        if !element::check_caps_event(self.obj().upcast_ref(), &event) {
            return false;
        }
        let event = match event.view() {
            gst::EventView::StreamStart(_) => {
                lock(&self.settings).tagged.start_stream();
                event
            }
            gst::EventView::Tag(tag) => self.tagged(tag).unwrap_or(event),
            _ => event,
        };
        self.parent_sink_event(event)
    }

    fn src_event(&self, event: gst::Event) -> bool {
        let moved = match event.type_() {
            gst::EventType::Navigation => self
                .placement()
                .and_then(|placement| navigation::in_source(&event, &placement)),
            _ => None,
        };
        self.parent_src_event(moved.unwrap_or(event))
    }

    fn transform_caps(
        &self,
        _direction: gst::PadDirection,
        caps: &gst::Caps,
        filter: Option<&gst::Caps>,
    ) -> Option<gst::Caps> {
        let possible = possible::transform_caps(caps, self.abilities(), &self.options());
        Some(caps::filtered(possible, filter))
    }

    fn fixate_caps(
        &self,
        direction: gst::PadDirection,
        caps: &gst::Caps,
        others: gst::Caps,
    ) -> gst::Caps {
        let turned = self.options().orientation().swaps_axes();
        let fixed = fixate::fixate(direction, caps, turned, others);
        gst::debug!(CAT, imp = self, "{} becomes {}", caps, fixed);
        fixed
    }

    fn set_caps(&self, incaps: &gst::Caps, outcaps: &gst::Caps) -> Result<(), gst::LoggableError> {
        self.set_frames(incaps, outcaps).map_err(|error| {
            let _ = error.post(&*self.obj());
            gst::loggable_error!(CAT, "{} to {}: {}", incaps, outcaps, error)
        })
    }

    fn propose_allocation(
        &self,
        decide_query: Option<&gst::query::Allocation>,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        self.parent_propose_allocation(decide_query, query)?;
        if decide_query.is_none() {
            return Ok(());
        }
        if query
            .find_allocation_meta::<gst_video::VideoCropMeta>()
            .is_none()
        {
            query.add_allocation_meta::<gst_video::VideoCropMeta>(None);
        }
        element::propose_pool(&self.device, query, MemoryKind::Device)
    }

    fn decide_allocation(
        &self,
        query: &mut gst::query::Allocation,
    ) -> Result<(), gst::LoggableError> {
        // Metas that downstream understands are about other pixels than upstream's.
        pool::remove_metas(query);
        element::decide_pool(&self.device, query, MemoryKind::Device, PoolLayout::Device)
    }

    fn submit_input_buffer(
        &self,
        is_discont: bool,
        buffer: gst::Buffer,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        let element = self.obj();
        let buffer = element::localise(element.upcast_ref(), &self.import, &self.device, buffer)?;
        if let Err(error) = self.prepare(&buffer) {
            return Err(error.post(&*element));
        }
        self.parent_submit_input_buffer(is_discont, buffer)
    }

    fn transform_meta<'a>(
        &self,
        output: &mut gst::BufferRef,
        meta: gst::MetaRef<'a, gst::Meta>,
        _input: &'a gst::BufferRef,
    ) -> bool {
        let state = lock(&self.state);
        let Some((frames, (options, source))) = state.frames.clone().zip(state.wanted) else {
            return false;
        };
        drop(state);
        let placement = frames.placement(&options, &source);
        metas::transform(&frames, &placement, output, &meta)
    }

    fn transform(
        &self,
        input: &gst::Buffer,
        output: &mut gst::BufferRef,
    ) -> Result<gst::FlowSuccess, gst::FlowError> {
        match self.convert(input, output) {
            Ok(()) => Ok(gst::FlowSuccess::Ok),
            Err(error) => Err(error.post(&*self.obj())),
        }
    }
}
