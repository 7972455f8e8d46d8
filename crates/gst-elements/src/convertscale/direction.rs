//! How the picture is turned: GStreamer's `GstVideoDirection` interface and its values.

use gst::glib;
use gst::glib::translate::*;
use gst::subclass::prelude::*;
use gst_video::VideoOrientationMethod as Direction;
use gst_video::ffi;
use hip_video::Orientation;

glib::wrapper! {
    /// The interface with the property `video-direction`.
    pub struct VideoDirection(Interface<ffi::GstVideoDirection, ffi::GstVideoDirectionInterface>);

    match fn {
        type_ => || ffi::gst_video_direction_get_type(),
    }
}

// SAFETY: the interface has no functions, only a property, which every implementer of ours overrides.
unsafe impl<T: ObjectSubclass> IsImplementable<T> for VideoDirection {}

/// The orientation that a direction means: none for `auto`, which a tag decides, and for `custom`,
/// which nothing says what it is.
pub(super) fn orientation(direction: Direction) -> Option<Orientation> {
    Some(match direction {
        Direction::Identity => Orientation::Identity,
        Direction::_90r => Orientation::Right90,
        Direction::_180 => Orientation::Turn180,
        Direction::_90l => Orientation::Left90,
        Direction::Horiz => Orientation::Horizontal,
        Direction::Vert => Orientation::Vertical,
        Direction::UlLr => Orientation::UpperLeftLowerRight,
        Direction::UrLl => Orientation::UpperRightLowerLeft,
        _ => return None,
    })
}

/// What the tags that came last say, of the stream and of all streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tagged {
    stream: Option<Orientation>,
    global: Option<Orientation>,
}

impl Tagged {
    /// Takes note of tags; `false` if they say nothing of the orientation.
    pub(super) fn update(&mut self, tags: &gst::TagListRef) -> bool {
        let Some(orientation) = of_tags(tags) else {
            return false;
        };
        match tags.scope() {
            gst::TagScope::Global => self.global = Some(orientation),
            _ => self.stream = Some(orientation),
        }
        true
    }

    /// Another stream begins, of which nothing is known yet.
    pub(super) fn start_stream(&mut self) {
        self.stream = None;
    }

    /// The stream's own tag counts before one of all streams.
    pub(super) fn orientation(&self) -> Orientation {
        self.stream.or(self.global).unwrap_or_default()
    }
}

/// What an `image-orientation` tag says, if there is one.
fn of_tags(tags: &gst::TagListRef) -> Option<Orientation> {
    Direction::from_tag(tags).and_then(orientation)
}

/// The tag event without the turn that was made.
pub(super) fn turned(event: &gst::event::Tag) -> gst::Event {
    let mut tags = event.tag_owned();
    tags.make_mut()
        .add::<gst::tags::ImageOrientation>(&"rotate-0", gst::TagMergeMode::Replace);
    gst::event::Tag::builder(tags)
        .seqnum(event.seqnum())
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_the_stream_count_before_those_of_all() {
        gst::init().unwrap();
        let tags = |scope, orientation: &str| {
            let mut tags = gst::TagList::new();
            let list = tags.get_mut().unwrap();
            list.set_scope(scope);
            list.add::<gst::tags::ImageOrientation>(&orientation, gst::TagMergeMode::Replace);
            tags
        };
        let mut tagged = Tagged::default();
        assert_eq!(tagged.orientation(), Orientation::Identity);
        assert!(!tagged.update(&gst::TagList::new()));
        assert!(tagged.update(&tags(gst::TagScope::Stream, "rotate-90")));
        assert!(tagged.update(&tags(gst::TagScope::Global, "rotate-180")));
        assert_eq!(tagged.orientation(), Orientation::Right90);
        tagged.start_stream();
        assert_eq!(tagged.orientation(), Orientation::Turn180);
    }

    #[test]
    fn every_direction_but_auto_and_custom_is_an_orientation() {
        let directions = [
            Direction::Identity,
            Direction::_90r,
            Direction::_180,
            Direction::_90l,
            Direction::Horiz,
            Direction::Vert,
            Direction::UlLr,
            Direction::UrLl,
        ];
        assert_eq!(
            directions.map(|d| orientation(d).unwrap()),
            Orientation::ALL
        );
        assert_eq!(orientation(Direction::Auto), None);
        assert_eq!(orientation(Direction::Custom), None);
    }
}
