//! What a frame costs once a stream runs: vendor calls that enqueue, and nothing else.
//!
//! On a stand-in the call log says which functions each thread called for 200 frames; elsewhere
//! the device's own counters have to do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};

use gst::prelude::*;
use gst_hip::{Device, Statistics};
use hip_oracle::{Format, FrameInfo};

use crate::common::{Storage, buffer_of, caps_of, launch_line, random_image, test_device};
use crate::frames::{PATIENCE, pipeline, source, wait_for_end};
use crate::process::{Folder, Part};
use crate::sim::Sim;

/// Frames until a stream runs.
const WARM_UP: u64 = 10;
/// Frames that are counted after that.
const COUNTED: u64 = 200;

/// How the streaming thread's name starts: GStreamer names it after the source's pad.
const STREAMING: &str = "src:src";

/// What may be called for every frame: what makes a context current, and what enqueues.
const ENQUEUES: [&str; 17] = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpy2DAsync_v2",
    "cuLaunchKernel",
    "cuEventRecord",
    "cuStreamWaitEvent",
    "hipGetDevice",
    "hipSetDevice",
    "hipMemcpyHtoDAsync",
    "hipMemcpyDtoHAsync",
    "hipMemcpyParam2DAsync",
    "hipModuleLaunchKernel",
    "hipEventRecord",
    "hipStreamWaitEvent",
];
/// Asks without waiting; in a loop it would be waiting.
const QUERIES: [&str; 2] = ["cuEventQuery", "hipEventQuery"];
/// Waits for one event.
const WAITS: [&str; 2] = ["cuEventSynchronize", "hipEventSynchronize"];

/// How frames come to the upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// In the pinned buffers that it offers.
    Pooled,
    /// In ordinary memory.
    Ordinary,
}

/// Whether the device has done a frame's work before the next one comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    KeepsUp,
    IsBehind,
}

/// A stream to be counted.
#[derive(Debug, Clone, Copy)]
struct Case {
    source: Source,
    /// Frames are downloaded, and read by the CPU at the sink.
    download: bool,
    pace: Pace,
}

/// What counters said at a frame.
#[derive(Debug, Clone, Copy)]
struct Mark {
    statistics: Statistics,
    /// The number of the last call.
    call: u64,
}

/// What was counted.
struct Costs {
    marks: [Mark; 2],
    /// Calls between them by function; `None` where there is no log.
    calls: Option<BTreeMap<String, u64>>,
}

impl Costs {
    fn of(&self, names: &[&str]) -> u64 {
        let calls = self.calls.iter().flatten();
        calls
            .filter(|(name, _)| names.contains(&name.as_str()))
            .map(|(_, count)| count)
            .sum()
    }

    /// Nothing was made, freed, or waited for as a whole; waiting for events is the caller's to
    /// judge.
    fn check(&self) {
        let [first, last] = &self.marks.map(|mark| mark.statistics);
        let made = |s: &Statistics| {
            [
                s.device_allocations,
                s.pinned_allocations,
                s.events_created,
                s.streams_live,
                s.stream_waits,
            ]
        };
        assert_eq!(made(last), made(first));
        assert_eq!(last.launches - first.launches, COUNTED, "a kernel a frame");
        let Some(calls) = &self.calls else { return };
        println!("calls for {COUNTED} frames: {calls:?}");
        assert!(
            calls.values().sum::<u64>() >= 5 * COUNTED,
            "the log is there"
        );
        let known = [&ENQUEUES[..], &QUERIES, &WAITS].concat();
        let others = calls.keys().filter(|name| !known.contains(&name.as_str()));
        assert_eq!(others.collect::<Vec<_>>(), [""; 0]);
        assert!(self.of(&QUERIES) <= COUNTED, "more queries than frames");
    }

    /// Waits for events on the thread.
    fn event_waits(&self) -> u64 {
        let [first, last] = &self.marks.map(|mark| mark.statistics);
        let counted = last.event_waits - first.event_waits;
        if self.calls.is_some() {
            assert_eq!(
                self.of(&WAITS),
                counted,
                "the counters count what was called"
            );
        }
        counted
    }
}

/// The streaming thread's calls after number `from`, to `to`, by function.
fn read_log(log: &Path, from: u64, to: u64) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(log).expect("the stand-in's log");
    let mut calls = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let &[number, on, name, _code] = &fields[..] else {
            continue;
        };
        let counted = number.parse().is_ok_and(|n: u64| n > from && n <= to);
        if counted && on.starts_with(STREAMING) {
            *calls.entry(name.to_owned()).or_default() += 1;
        }
    }
    calls
}

/// Runs a stream and counts; the stand-in logs to `log`.
fn run(case: Case, log: &Path) -> Option<Costs> {
    let device = test_device()?;
    let sim = Sim::of(&device).map(Arc::new);
    let info = FrameInfo::new(Format::Nv12, 320, 180);
    let frames = WARM_UP + COUNTED;
    let first = match case.source {
        Source::Pooled => format!(
            "videotestsrc num-buffers={frames} name=src ! {}",
            caps_of(&info)
        ),
        Source::Ordinary => format!(
            "appsrc name=src format=time block=true max-buffers=1 caps=\"{}\"",
            caps_of(&info)
        ),
    };
    let download = match case.download {
        true => format!("! {}", launch_line("hipdownload")),
        false => String::new(),
    };
    let line = format!(
        "{first} ! {} ! {} ! video/x-raw(memory:HIPMemory),format=RGBA,width=160,height=90 \
         {download} ! fakesink name=sink sync=false enable-last-sample=false",
        launch_line("hipupload"),
        launch_line("hipconvertscale"),
    );
    let pipeline = pipeline(&line);
    let asked = watch(&pipeline, &device, sim.clone(), case);
    pipeline.set_state(gst::State::Playing).unwrap();
    if case.source == Source::Ordinary {
        let src = source(&pipeline, "src");
        let image = random_image(info, 1);
        let device = device.clone();
        std::thread::spawn(move || {
            for _ in 0..frames {
                src.push_buffer(buffer_of(&image, Storage::Plain, &device))
                    .unwrap();
            }
            src.end_of_stream().unwrap();
        });
    }
    let marks = serve(&device, &asked);
    wait_for_end(&pipeline);
    pipeline.set_state(gst::State::Null).unwrap();
    let calls = sim.map(|sim| {
        sim.check_order();
        read_log(log, marks[0].call, marks[1].call)
    });
    Some(Costs { marks, calls })
}

/// What the streaming thread asks of the test's thread.
enum Ask {
    /// Let the device finish, and say so.
    Finish(mpsc::Sender<()>),
    /// Keep this.
    Keep(Mark),
}

/// Notes the counters at the frames that begin and end the count, where they arrive.
fn watch(
    pipeline: &gst::Pipeline,
    device: &Device,
    sim: Option<Arc<Sim>>,
    case: Case,
) -> mpsc::Receiver<Ask> {
    let (ask, asked) = mpsc::sync_channel(1);
    let frames = AtomicU64::new(0);
    let device = device.clone();
    let sink = pipeline.by_name("sink").unwrap();
    let pad = sink.static_pad("sink").unwrap();
    pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
        if let Some(gst::PadProbeData::Buffer(buffer)) = &info.data
            && case.download
        {
            assert_eq!(buffer.map_readable().unwrap().len(), buffer.size());
        }
        let frame = 1 + frames.fetch_add(1, Ordering::SeqCst);
        if frame == WARM_UP || frame == WARM_UP + COUNTED {
            let call = sim.as_ref().map_or(0, |sim| sim.total());
            let statistics = device.statistics();
            ask.send(Ask::Keep(Mark { statistics, call })).unwrap();
        }
        if case.pace == Pace::KeepsUp && frame < WARM_UP + COUNTED {
            let (done, is_done) = mpsc::channel();
            ask.send(Ask::Finish(done)).unwrap();
            is_done.recv().unwrap();
        }
        gst::PadProbeReturn::Ok
    });
    asked
}

/// Does what the streaming thread asks, until both marks are there.
fn serve(device: &Device, asked: &mpsc::Receiver<Ask>) -> [Mark; 2] {
    let mut first = None;
    loop {
        match (asked.recv_timeout(PATIENCE).expect("frames arrive"), first) {
            (Ask::Finish(done), _) => {
                device.synchronize().unwrap();
                done.send(()).unwrap();
            }
            (Ask::Keep(mark), None) => first = Some(mark),
            (Ask::Keep(mark), Some(first)) => return [first, mark],
        }
    }
}

/// Runs a case in a process of its own, whose stand-in keeps a log, and judges there.
fn alone(test: &'static str, slow: &str, case: Case, judge: impl FnOnce(&Costs)) {
    const LOG: &str = "HIP_SIM_LOG";
    let part = Part { test, words: "" };
    if part.is_here() {
        let log = std::env::var_os(LOG).expect("set for this process");
        if let Some(costs) = run(case, Path::new(&log)) {
            costs.check();
            judge(&costs);
        }
        return;
    }
    let folder = Folder::new();
    let log = folder.file("calls");
    let log = log.to_str().expect("a path of letters");
    let outcome = part.run(2 * PATIENCE, &[(LOG, log), ("HIP_SIM_SLOW", slow)]);
    println!("{}", outcome.text);
    assert!(outcome.is_success(), "{:?}", outcome.status);
}

#[test]
fn frames_in_the_offered_buffers_cost_no_wait() {
    let case = Case {
        source: Source::Pooled,
        download: false,
        pace: Pace::KeepsUp,
    };
    let test = "steady::frames_in_the_offered_buffers_cost_no_wait";
    alone(test, "0", case, |costs| assert_eq!(costs.event_waits(), 0));
}

#[test]
fn frames_in_ordinary_memory_cost_no_wait() {
    let case = Case {
        source: Source::Ordinary,
        download: false,
        pace: Pace::KeepsUp,
    };
    let test = "steady::frames_in_ordinary_memory_cost_no_wait";
    alone(test, "0", case, |costs| assert_eq!(costs.event_waits(), 0));
}

#[test]
fn a_cpu_map_at_the_end_waits_for_one_event_a_frame() {
    let case = Case {
        source: Source::Pooled,
        download: true,
        pace: Pace::KeepsUp,
    };
    let test = "steady::a_cpu_map_at_the_end_waits_for_one_event_a_frame";
    alone(test, "0", case, |costs| {
        assert_eq!(costs.event_waits(), COUNTED)
    });
}

/// A source that is faster than the device is held up where it writes a frame that the device still
/// reads, by one event; there are no more buffers for it.
#[test]
fn a_device_that_is_behind_holds_the_source_up_by_one_event() {
    let case = Case {
        source: Source::Pooled,
        download: false,
        pace: Pace::IsBehind,
    };
    let test = "steady::a_device_that_is_behind_holds_the_source_up_by_one_event";
    alone(test, "1500", case, |costs| {
        assert!(costs.event_waits() <= COUNTED)
    });
}
