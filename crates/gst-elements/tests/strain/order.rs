//! Order under strain: frames are written again at once, read late, on other streams, by several
//! readers, while caps change and seeks flush. No frame is torn, and the stand-ins' checker finds
//! nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use gst::prelude::*;
use gst_hip::{Copy2D, Device, DeviceFrame, HipAllocator, MemoryKind, Stream};
use hip_oracle::{Format, FrameInfo, Image, Rng};

use crate::common::{
    Storage, buffer_of, caps_of, first_difference, hip_caps_of, image_of, launch_line, test_device,
    vendor,
};
use crate::frames::{
    Arrivals, STEP, converted, fill, number_of, picture, pipeline, pool_of_two, source, stamp,
    wait_for_end,
};
use crate::process::{Part, alone};
use crate::sim::Sim;

/// Microseconds that a stand-in's kernels and copies take longer.
const SLOW: (&str, &str) = ("HIP_SIM_SLOW", "700");

/// Enqueues a copy of a frame between two buffers of ours, as an application would.
fn copy(
    stream: &Stream,
    source: &gst::BufferRef,
    target: &mut gst::BufferRef,
    info: &FrameInfo,
    before: impl FnOnce(),
) {
    let video = gst_video::VideoInfo::from_caps(&caps_of(info)).unwrap();
    let from = DeviceFrame::read_for_copy(source, &video, stream).unwrap();
    let to = DeviceFrame::write_for_copy(target, &video, stream).unwrap();
    before();
    for (from, to) in from.planes().iter().zip(to.planes()) {
        let copy = Copy2D {
            dst: to.end(),
            dst_stride: to.stride,
            src: from.end(),
            src_stride: from.stride,
            width_bytes: from.row_bytes,
            height: from.height as usize,
        };
        // SAFETY: `DeviceFrame` checked that every row of both planes lies inside its memory and
        // orders other accesses behind the event given to `finish`.
        unsafe { stream.copy_2d_raw(&copy) }.unwrap();
    }
    let event = stream.record().unwrap();
    from.finish(&event).unwrap();
    to.finish(&event).unwrap();
}

/// A reader with a stream of its own that is late, and lets go of the buffer before it has read it.
fn read_late(
    pipeline: &gst::Pipeline,
    device: &Device,
    info: FrameInfo,
) -> Arc<Mutex<Vec<(u64, gst::Buffer)>>> {
    let read = Arc::new(Mutex::new(Vec::new()));
    let sink: gst_app::AppSink = pipeline.by_name("late").unwrap().downcast().unwrap();
    let (stream, layout) = (Stream::new(device).unwrap(), caps_of(&info));
    let size = gst_video::VideoInfo::from_caps(&layout).unwrap().size();
    let (device, target) = (device.clone(), read.clone());
    let take = move |sample: gst::Sample| {
        let buffer = sample.buffer().unwrap();
        let memory = HipAllocator::alloc_pinned(&device, size).unwrap();
        let mut copied = gst::Buffer::new();
        copied.get_mut().unwrap().append_memory(memory);
        copy(&stream, buffer, copied.get_mut().unwrap(), &info, || {
            let late = || std::thread::sleep(Duration::from_micros(1500));
            stream.launch_host_func(late).unwrap();
        });
        target.lock().unwrap().push((number_of(buffer), copied));
    };
    let callbacks = gst_app::AppSinkCallbacks::builder().new_sample(move |sink| {
        take(sink.pull_sample().map_err(|_| gst::FlowError::Eos)?);
        Ok(gst::FlowSuccess::Ok)
    });
    sink.set_callbacks(callbacks.build());
    read
}

/// A producer with two frames of device memory, as fast as it gets them back, and two readers of
/// each: a converter, and one that is late.
fn two_frames_go_round() -> Option<Sim> {
    const FRAMES: u64 = 120;
    let device = test_device()?;
    let sim = Sim::of(&device).map(Arc::new);
    let info = FrameInfo::new(Format::Nv12, 96, 64);
    let small = FrameInfo::new(Format::Rgba, 50, 38);
    let line = format!(
        "appsrc name=src format=time block=true max-buffers=1 caps=\"{}\" ! tee name=t \
         t. ! queue ! {} ! {} ! {} ! appsink name=small sync=false \
         t. ! queue ! appsink name=late sync=false enable-last-sample=false",
        hip_caps_of(&info),
        launch_line("hipconvertscale add-borders=false"),
        hip_caps_of(&small),
        launch_line("hipdownload"),
    );
    let pipeline = pipeline(&line);
    let expected = move |number| converted(&picture(info, number), small);
    let arrivals = Arrivals::at(&pipeline, "small", small, sim.clone(), expected);
    let late = read_late(&pipeline, &device, info);
    let pool = pool_of_two(&device, MemoryKind::Device, &hip_caps_of(&info));
    let (src, stream) = (source(&pipeline, "src"), Stream::new(&device).unwrap());
    pipeline.set_state(gst::State::Playing).unwrap();
    for number in 0..FRAMES {
        let uploaded = buffer_of(&picture(info, number), Storage::Pinned, &device);
        let mut frame = pool.acquire_buffer(None).unwrap();
        let writable = frame.get_mut().unwrap();
        stamp(writable, number);
        copy(&stream, &uploaded, writable, &info, || ());
        src.push_buffer(frame).unwrap();
    }
    src.end_of_stream().unwrap();
    wait_for_end(&pipeline);
    pipeline.set_state(gst::State::Null).unwrap();
    pool.set_active(false).unwrap();
    let all: Vec<u64> = (0..FRAMES).collect();
    assert_eq!(arrivals.numbers(), all);
    let late = std::mem::take(&mut *late.lock().unwrap());
    assert_eq!(
        late.iter().map(|(number, _)| *number).collect::<Vec<_>>(),
        all
    );
    for (number, buffer) in late {
        let difference = first_difference(&picture(info, number), &image_of(&buffer, info));
        assert_eq!(difference, None, "frame {number}: plane and row");
    }
    sim.and_then(Arc::into_inner)
}

#[test]
fn a_pool_of_two_is_never_torn() {
    alone("order::a_pool_of_two_is_never_torn", &[SLOW], || {
        if let Some(sim) = two_frames_go_round() {
            sim.check_order();
        }
    });
}

/// The checker is no ornament: with one wait left out it speaks up.
#[test]
fn a_wait_that_is_missing_is_noticed() {
    let wait = match vendor().as_str() {
        "nvidia" => "cuStreamWaitEvent",
        "amd" => "hipStreamWaitEvent",
        vendor => return println!("skipped: {vendor} has no stand-in"),
    };
    let part = Part {
        test: "order::a_wait_that_is_missing_is_noticed",
        words: "",
    };
    if part.is_here() {
        // Torn frames may fail the comparison before the count is looked at.
        let result = std::panic::catch_unwind(two_frames_go_round);
        match test_device().and_then(|device| Sim::or_skip(&device)) {
            Some(sim) => println!("races: {}", sim.races()),
            None => println!("no stand-in: {}", result.is_ok()),
        }
        return;
    }
    let missing: String = (1..9).map(|n| format!("{wait}:{}=0,", 7 * n)).collect();
    let faults = ("HIP_SIM_FAIL", missing.as_str());
    let variables = [SLOW, faults, ("HIP_SIM_ABORT", "0")];
    let outcome = part.run(Duration::from_secs(120), &variables);
    let races = outcome.text.split_once("races: ");
    let races = races.and_then(|(_, rest)| rest.lines().next());
    match races {
        None if outcome.text.contains("no stand-in") => println!("{}", outcome.text),
        races => {
            let races: Option<u64> = races.and_then(|races| races.parse().ok());
            assert!(races.is_some_and(|races| races > 0), "{}", outcome.text);
        }
    }
}

/// Frames of the long stream.
const LONG: u64 = 150;
/// Frames until the caps change.
const RUN: u64 = 12;

/// What frame `number` is made of.
fn kind_of(number: u64) -> FrameInfo {
    match number / RUN % 3 {
        0 => FrameInfo::new(Format::Nv12, 96, 64),
        1 => FrameInfo::new(Format::I420, 77, 49),
        _ => FrameInfo::new(Format::Rgba, 64, 80),
    }
}

/// Sends frames from `next` on as fast as it can, each kind out of a pool of two pinned buffers;
/// after the last one the end of the stream, until `next` is set back.
fn feed(
    device: &Device,
    src: gst_app::AppSrc,
    next: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
) -> JoinHandle<()> {
    let kinds: Vec<(gst::Caps, _)> = (0..3)
        .map(|kind| {
            let caps = caps_of(&kind_of(kind * RUN));
            let pool = pool_of_two(device, MemoryKind::Pinned, &caps);
            (caps, pool)
        })
        .collect();
    let pictures: Vec<Image> = (0..LONG).map(|n| picture(kind_of(n), n)).collect();
    std::thread::spawn(move || {
        while !stop.load(Ordering::SeqCst) {
            let number = next.load(Ordering::SeqCst);
            if number > LONG {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            // A seek that comes between is obeyed: the number is then another.
            let change = |from, to| {
                next.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst)
                    .is_ok()
            };
            let sent = if number == LONG {
                change(number, number + 1).then(|| src.end_of_stream().is_ok())
            } else {
                let (caps, pool) = &kinds[(number / RUN % 3) as usize];
                let mut buffer = pool.acquire_buffer(None).unwrap();
                let picture = &pictures[number as usize];
                fill(buffer.get_mut().unwrap(), picture, number);
                let sample = gst::Sample::builder().buffer(&buffer).caps(caps).build();
                drop(buffer);
                change(number, number + 1).then(|| src.push_sample(&sample).is_ok())
            };
            if sent == Some(false) {
                // Refused while a seek flushes, or before the start: once more, a little later.
                change(number + 1, number);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        for (_, pool) in kinds {
            pool.set_active(false).unwrap();
        }
    })
}

fn branch(info: &FrameInfo, name: &str) -> String {
    format!(
        "t. ! queue max-size-buffers=3 ! {} ! {} ! {} ! appsink name={name} sync=false",
        launch_line("hipconvertscale add-borders=false"),
        hip_caps_of(info),
        launch_line("hipdownload")
    )
}

/// Everything that arrived comes in runs of one number after another, and the last run ends with
/// the last frame.
fn check_numbers(numbers: &[u64], seeks: usize) {
    assert_eq!(numbers.last(), Some(&(LONG - 1)));
    let jumps = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1);
    let jumps = jumps.count();
    assert!(
        jumps <= 2 * seeks,
        "{jumps} jumps with {seeks} seeks: {numbers:?}"
    );
}

/// A tee to two sizes, caps that change every few frames, flushing seeks, the end, and once more.
#[test]
fn caps_seeks_and_restarts_tear_nothing() {
    alone(
        "order::caps_seeks_and_restarts_tear_nothing",
        &[SLOW],
        || {
            let Some(device) = test_device() else { return };
            let sim = Sim::of(&device).map(Arc::new);
            let small = FrameInfo::new(Format::Rgba, 40, 30);
            let large = FrameInfo::new(Format::I420, 110, 70);
            let line = format!(
                "appsrc name=src stream-type=seekable format=time block=true max-buffers=2 ! {} ! \
             tee name=t {} {}",
                launch_line("hipupload"),
                branch(&small, "small"),
                branch(&large, "large"),
            );
            let pipeline = pipeline(&line);
            let arrivals = [(small, "small"), (large, "large")].map(|(info, name)| {
                let expected: Vec<_> = (0..LONG)
                    .map(|number| converted(&picture(kind_of(number), number), info))
                    .collect();
                let expected = move |number: u64| expected[number as usize].clone();
                Arrivals::at(&pipeline, name, info, sim.clone(), expected)
            });
            let (next, stop) = (
                Arc::new(AtomicU64::new(0)),
                Arc::new(AtomicBool::new(false)),
            );
            let src = source(&pipeline, "src");
            src.set_duration(STEP * LONG);
            let seek_to = next.clone();
            let callbacks = gst_app::AppSrcCallbacks::builder().seek_data(move |_, position| {
                seek_to.store(position / STEP.nseconds(), Ordering::SeqCst);
                true
            });
            src.set_callbacks(callbacks.build());
            let feeder = feed(&device, src, next.clone(), stop.clone());
            for round in 0..3 {
                next.store(0, Ordering::SeqCst);
                pipeline.set_state(gst::State::Playing).unwrap();
                let seeks = seek_about(&pipeline, &arrivals, round);
                wait_for_end(&pipeline);
                pipeline.set_state(gst::State::Ready).unwrap();
                for arrivals in &arrivals {
                    check_numbers(&arrivals.numbers(), seeks);
                }
            }
            stop.store(true, Ordering::SeqCst);
            pipeline.set_state(gst::State::Null).unwrap();
            feeder.join().unwrap();
            if let Some(sim) = sim {
                sim.check_order();
            }
        },
    );
}

/// Seeks here and there, each after some frames at both sinks; gives how often.
fn seek_about(pipeline: &gst::Pipeline, arrivals: &[Arrivals; 2], round: u64) -> usize {
    let mut rng = Rng::new(7 + round);
    let seeks = 6;
    for seek in 0..seeks {
        for arrivals in arrivals {
            arrivals.wait_for(arrivals.count() + 4 + seek);
        }
        let target = STEP * (rng.next_u64() % (LONG - 30));
        let flags = gst::SeekFlags::FLUSH | gst::SeekFlags::ACCURATE;
        pipeline.seek_simple(flags, target).unwrap();
    }
    seeks
}
