//! Which frames become the still picture.

use gst::ClockTime;
use gst::prelude::*;

/// Chooses frames for the still: the first, and the first one past the middle. The last one
/// chosen is the picture, so a clip that is shorter than it says still gives one.
///
/// Where the duration is unknown (a raw stream), frames 1, 2, 4, 8, ... are chosen: the last of
/// these lies in the clip's second half.
#[derive(Debug, Default)]
pub(crate) struct Chooser {
    seen: u64,
    middle_done: bool,
}

impl Chooser {
    /// Whether the next frame, at `time`, is chosen from a clip of this duration.
    pub(crate) fn choose(&mut self, time: Option<ClockTime>, duration: Option<ClockTime>) -> bool {
        self.seen += 1;
        match (time, duration) {
            (Some(time), Some(duration)) => {
                let middle = !self.middle_done && time >= duration / 2;
                self.middle_done |= middle;
                middle || self.seen == 1
            }
            _ => self.seen.is_power_of_two(),
        }
    }
}

/// Lets only the frames through `pad` that [`Chooser`] chooses.
pub(crate) fn thin_out(pad: &gst::Pad) {
    let chooser = std::sync::Mutex::new(Chooser::default());
    pad.add_probe(gst::PadProbeType::BUFFER, move |pad, info| {
        let time = info.buffer().and_then(|buffer| buffer.pts());
        let duration = pad
            .peer()
            .and_then(|peer| peer.query_duration::<ClockTime>());
        let chosen = chooser
            .lock()
            .is_ok_and(|mut chooser| chooser.choose(time, duration));
        // Not `Drop`: before GStreamer 1.24 it complains of the buffer that the binding has freed.
        if chosen {
            gst::PadProbeReturn::Ok
        } else {
            gst::PadProbeReturn::Handled
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(frames: u64, duration: Option<ClockTime>) -> Vec<u64> {
        let mut chooser = Chooser::default();
        (0..frames)
            .filter(|&frame| chooser.choose(Some(ClockTime::from_mseconds(40 * frame)), duration))
            .collect()
    }

    #[test]
    fn first_and_middle() {
        assert_eq!(chosen(100, Some(ClockTime::from_seconds(4))), [0, 50]);
        assert_eq!(chosen(1, Some(ClockTime::from_mseconds(40))), [0]);
        // The clip ends before its middle.
        assert_eq!(chosen(10, Some(ClockTime::from_seconds(4))), [0]);
    }

    #[test]
    fn powers_of_two_without_a_duration() {
        assert_eq!(chosen(20, None), [0, 1, 3, 7, 15]);
    }
}
