//! The two programs as a person starts them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use gst::prelude::*;

/// A built program: beside this test as Cargo says, or in the folder that the bundle names.
fn program(name: &str, built: &str) -> Command {
    let path = env::var_os("HIP_PROGRAMS").map_or_else(
        || PathBuf::from(built),
        |folder| Path::new(&folder).join(name),
    );
    let mut command = Command::new(path);
    command.env_remove("GST_HIP_DEVICE");
    command
}

fn demo() -> Command {
    program("hip-demo", env!("CARGO_BIN_EXE_hip-demo"))
}

fn info() -> Command {
    program("hip-info", env!("CARGO_BIN_EXE_hip-info"))
}

fn clip() -> PathBuf {
    env::var_os("HIP_ASSETS")
        .map_or_else(
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets"),
            PathBuf::from,
        )
        .join("big-buck-bunny.webm")
}

/// The vendor whose device the tests are for.
fn vendor() -> String {
    env::var("HIP_TEST_VENDOR").unwrap_or_else(|_| "host".to_owned())
}

/// A folder that goes away with the value.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = env::temp_dir().join(format!("hip-demo-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// Runs the demo, which must fail with exit code 1 and say `part`.
fn fails_with(command: &mut Command, part: &str) {
    let output = command.output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{stdout}{stderr}");
    assert!(stderr.contains(part), "expected '{part}' in: {stderr}");
    assert_eq!(stdout, "");
}

/// Every frame of a file, as `format`: width, height, rows without padding.
fn frames(file: &Path, format: &str) -> Vec<(u32, u32, Vec<u8>)> {
    gst::init().unwrap();
    let description = format!(
        "filesrc name=file ! decodebin ! videoconvert ! video/x-raw,format={format} ! \
         appsink name=frames sync=false"
    );
    let pipeline = gst::parse::launch(&description)
        .unwrap()
        .downcast::<gst::Pipeline>()
        .unwrap();
    pipeline
        .by_name("file")
        .unwrap()
        .set_property("location", file);
    let sink = pipeline
        .by_name("frames")
        .unwrap()
        .downcast::<gst_app::AppSink>()
        .unwrap();
    pipeline.set_state(gst::State::Playing).unwrap();
    let mut frames = Vec::new();
    while let Ok(sample) = sink.pull_sample() {
        let structure = sample.caps().unwrap().structure(0).unwrap().to_owned();
        let number = |name| u32::try_from(structure.get::<i32>(name).unwrap()).unwrap();
        let data = sample.buffer().unwrap().map_readable().unwrap().to_vec();
        frames.push((number("width"), number("height"), data));
    }
    pipeline.set_state(gst::State::Null).unwrap();
    frames
}

/// Mean of the red, green and blue bytes over a rectangle of an RGBA picture.
fn mean(data: &[u8], width: u32, x: std::ops::Range<u32>, y: std::ops::Range<u32>) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for row in y.clone() {
        for column in x.clone() {
            let at = 4 * (row * width + column) as usize;
            for (sum, &byte) in sums.iter_mut().zip(&data[at..at + 3]) {
                *sum += f64::from(byte);
            }
        }
    }
    sums.map(|sum| sum / f64::from(x.len() as u32 * y.len() as u32))
}

/// I420 without row padding, BT.601 limited range (ITU-R BT.601-7 §2.5), as RGBA; each chroma sample
/// serves its four pixels, which leaves the means of areas as they are.
fn bt601_to_rgba(data: &[u8], width: u32, height: u32) -> Vec<u8> {
    let (width, height) = (width as usize, height as usize);
    let (luma, chroma) = data.split_at(width * height);
    let (blue, red) = chroma.split_at(chroma.len() / 2);
    let mut rgba = Vec::with_capacity(4 * width * height);
    for row in 0..height {
        for column in 0..width {
            let at = (row / 2) * (width / 2) + column / 2;
            let y = (f64::from(luma[row * width + column]) - 16.0) / 219.0;
            let cb = (f64::from(blue[at]) - 128.0) / 224.0;
            let cr = (f64::from(red[at]) - 128.0) / 224.0;
            let r = y + 2.0 * (1.0 - 0.299) * cr;
            let b = y + 2.0 * (1.0 - 0.114) * cb;
            let g = (y - 0.299 * r - 0.114 * b) / (1.0 - 0.299 - 0.114);
            // The cast saturates.
            rgba.extend([r, g, b, 1.0].map(|value| (255.0 * value).round() as u8));
        }
    }
    rgba
}

/// The clip comes out whole, at the size asked for, with bars where the shapes differ, and
/// in the colours that BT.601 gives the clip. (GStreamer 1.22's own converter is no reference: its
/// fast path from I420 is up to four code values too dark.)
#[test]
fn the_clip_comes_out_right() {
    let scratch = Scratch::new("clip");
    // 640x360 in 320x240: the picture is 320x180, with bars of 30 rows above and below.
    let output = demo()
        .args(["--device", &vendor(), "--size", "320x240", "--input"])
        .arg(clip())
        .arg("--output")
        .arg(&scratch.0)
        .output()
        .unwrap();
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(
        stdout.contains("640x360 I420, 25 frames/s -> 320x240"),
        "{stdout}"
    );
    assert!(stdout.contains("132 frames in"), "{stdout}");
    for element in ["hipupload", "hipconvertscale", "hipdownload"] {
        let line = stdout
            .lines()
            .find(|line| line.trim_start().starts_with(element));
        let line = line.unwrap_or_else(|| panic!("no {element} in: {stdout}"));
        assert!(line.contains(&vendor()), "{line}");
    }

    let video = frames(&scratch.0.join("hip-demo.webm"), "I420");
    assert_eq!(video.len(), 132);
    assert!(
        video
            .iter()
            .all(|(width, height, _)| (*width, *height) == (320, 240))
    );

    let picture = frames(&scratch.0.join("hip-demo.png"), "RGBA");
    let [(320, 240, picture)] = &picture[..] else {
        panic!("not one picture of 320x240")
    };
    for bar in [0..30, 210..240] {
        assert_eq!(
            mean(picture, 320, 0..320, bar),
            [0.0; 3],
            "the bars are black"
        );
    }
    // The middle frame of 132. Halving averages, so areas keep their means.
    let source = frames(&clip(), "I420");
    let (width, height, source) = &source[66];
    let source = bt601_to_rgba(source, *width, *height);
    for (column, row) in [(0, 0), (1, 0), (3, 0), (0, 1), (1, 1), (2, 2), (3, 3)] {
        let top = 30 + 45 * row;
        let columns = 80 * column..80 * (column + 1);
        let area = mean(picture, 320, columns, top..top + 45);
        let expected = mean(
            &source,
            *width,
            160 * column..160 * (column + 1),
            90 * row..90 * (row + 1),
        );
        for (got, want) in area.into_iter().zip(expected) {
            assert!(
                (got - want).abs() < 1.0,
                "area {column},{row}: {area:?}, not {expected:?}"
            );
        }
    }
}

#[test]
fn quiet_is_silent() {
    let scratch = Scratch::new("quiet");
    let output = demo()
        .args([
            "--quiet",
            "--size",
            "64x36",
            "--device",
            &vendor(),
            "--input",
        ])
        .arg(clip())
        .arg("--output")
        .arg(&scratch.0)
        .output()
        .unwrap();
    assert_eq!(texts(&output), (String::new(), String::new()));
    assert!(output.status.success());
    assert!(scratch.0.join("hip-demo.png").is_file());
}

#[test]
fn what_cannot_be_done_is_said() {
    let scratch = Scratch::new("errors");
    let missing = scratch.0.join("missing.webm");
    fails_with(
        demo().arg("--input").arg(&missing),
        "missing.webm: No such file",
    );
    let text = scratch.0.join("text.webm");
    fs::write(
        &text,
        "This is no video, however long one looks at it.\n".repeat(100),
    )
    .unwrap();
    fails_with(
        demo()
            .arg("--input")
            .arg(&text)
            .arg("--output")
            .arg(&scratch.0),
        "text.webm: ",
    );
    fails_with(
        demo()
            .args(["--device", "nvidia:99", "--input"])
            .arg(clip())
            .arg("--output")
            .arg(&scratch.0),
        "nvidia",
    );
    assert!(
        !scratch.0.join("hip-demo.webm").exists(),
        "a file that was not finished stays"
    );

    let own = scratch.0.join("hip-demo.webm");
    fs::copy(clip(), &own).unwrap();
    fails_with(
        demo()
            .arg("--input")
            .arg(&own)
            .arg("--output")
            .arg(&scratch.0),
        "is the input",
    );

    let output = demo().arg("--frob").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("--frob"));
}

#[test]
fn info_reports_every_vendor() {
    let output = info().output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stderr}");
    for part in ["libcuda.so.1", "libamdhip64.so", "chosen (auto): "] {
        assert!(stdout.contains(part), "no '{part}' in: {stdout}");
    }
    let output = info().args(["--vendor", &vendor()]).output().unwrap();
    assert!(output.status.success(), "{}", texts(&output).0);
    let output = info().args(["--device", "nvidia:99"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(texts(&output).0.to_lowercase().contains("nvidia"));
}
