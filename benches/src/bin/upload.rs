//! How near `hipupload` and `hipdownload` come to what the link can do.
//!
//! A source pushes prefilled buffers of the pinned pool that `hipupload` offers; the limit is measured
//! in the same run, with copies of the same size back to back.

use gst_video::VideoInfo;
use hip_benches::{
    BenchSource, Direction, Frames, Memory, Options, Rate, Result, Table, link_rate,
};

fn main() -> Result<()> {
    let options = Options::from_args("Measures uploads and downloads against the link.")?;
    let device = options.open()?;
    let info = VideoInfo::builder(gst_video::VideoFormat::Nv12, options.width, options.height)
        .fps(gst::Fraction::new(60, 1))
        .build()?;
    let (caps, size) = (info.to_caps()?, info.size());
    println!(
        "frames: NV12 {}x{}, {size} bytes\n",
        options.width, options.height
    );

    let limit = |direction| link_rate(&device, direction, size, options.duration);
    let (up, down, both) = (
        limit(Direction::Up)?,
        limit(Direction::Down)?,
        limit(Direction::Both)?,
    );
    let mut table = Table::new(&["what", "frames/s", "GB/s", "of the limit"]);
    table.row(row("link: up", &up, None));
    table.row(row("link: down", &down, None));
    table.row(row("link: up and down at once, each", &both, None));

    let pipeline = |memory, elements: &str| {
        let source = BenchSource::new(&device, &caps, memory, options.duration);
        Frames::measure(&device, &source, elements).map(|frames| frames.rate)
    };
    for (name, memory, elements, limit) in [
        (
            "hipupload, its pinned pool",
            Memory::Offered,
            "hipupload",
            &up,
        ),
        (
            "hipupload, ordinary memory",
            Memory::Ordinary,
            "hipupload",
            &up,
        ),
        (
            "hipupload ! hipdownload, each way",
            Memory::Offered,
            "hipupload ! hipdownload",
            &both,
        ),
    ] {
        let rate = pipeline(memory, elements)?;
        table.row(row(name, &rate, Some(limit)));
    }
    table.print();
    Ok(())
}

fn row(name: &str, rate: &Rate, limit: Option<&Rate>) -> Vec<String> {
    let gigabytes = rate.gigabytes_per_second();
    let ratio = limit.map(|limit| 100.0 * gigabytes / limit.gigabytes_per_second());
    vec![
        name.to_owned(),
        format!("{:.1}", rate.per_second()),
        format!("{gigabytes:.2}"),
        ratio.map_or_else(String::new, |ratio| format!("{ratio:.1} %")),
    ]
}
