//! Which interlaced frames can be converted: field by field, each with whole rows of chroma of its own.

use hip_video::PixelFormat;

use super::caps::formats;

const MODE: &str = "interlace-mode";

/// What the height of an interlaced frame has to be a multiple of. Where a chroma row serves several rows of
/// luma, GStreamer stores as many chroma rows for one field as for the other: frames of 486 rows, for one,
/// have 244 rows of 4:2:0 chroma, one more than `hip-video` knows of.
pub(super) fn height_step(format: PixelFormat) -> u32 {
    match format.info().subsampling[1] {
        1 => 1,
        rows => 2 * rows as u32,
    }
}

/// What of a structure can be converted, progressive frames and others apart. An interlace mode that is not given
/// means any, and in caps that are `fixed` progressive. Where `turned` says so, rows become columns, and a
/// field has none.
pub(super) fn convertible(
    structure: &gst::StructureRef,
    fixed: bool,
    turned: bool,
) -> Vec<gst::Structure> {
    let mut parts = Vec::new();
    parts.extend(restricted(structure, MODE, "progressive"));
    if !turned && (!fixed || structure.has_field(MODE)) {
        // Not `fields`, two pictures in a buffer one below the other.
        let modes = gst::List::new(["interleaved", "mixed"]);
        let interlaced = restricted(structure, MODE, modes);
        parts.extend(interlaced.into_iter().flat_map(whole_fields));
    }
    parts
}

/// What of a structure has a field of this value, or one of these; `None` if nothing has.
fn restricted(
    structure: &gst::StructureRef,
    name: &str,
    value: impl Into<gst::glib::Value> + Send,
) -> Option<gst::Structure> {
    let caps = |structure| {
        let mut caps = gst::Caps::new_empty();
        caps.make_mut().append_structure(structure);
        caps
    };
    let mut other = gst::Structure::new_empty(structure.name());
    other.set(name, value);
    let both = caps(structure.to_owned()).intersect(&caps(other));
    both.structure(0).map(|structure| structure.to_owned())
}

/// The rows that the height of such a structure's frames has to be a multiple of.
pub(super) fn step_of(structure: &gst::StructureRef, format: PixelFormat) -> i32 {
    match structure.get(MODE) == Ok("progressive") || !structure.has_field(MODE) {
        true => 1,
        false => height_step(format) as i32,
    }
}

/// Whether frames of this format can have the structure's height. One that is still open is chosen to fit:
/// caps say nothing of it, as GStreamer 1.22 aborts where ranges of different steps are subtracted.
pub(super) fn fits(structure: &gst::StructureRef, format: PixelFormat) -> bool {
    let height = structure.get::<i32>("height");
    height.map_or(true, |height| height % step_of(structure, format) == 0)
}

/// What of a structure has formats that [`fits`] allows.
pub(super) fn whole_fields(mut structure: gst::Structure) -> Option<gst::Structure> {
    let allowed = formats(&structure).unwrap_or_else(|| PixelFormat::ALL.to_vec());
    let is_possible = |format: &PixelFormat| fits(&structure, *format);
    if allowed.iter().all(is_possible) {
        return Some(structure);
    }
    let names = allowed.iter().filter(|format| is_possible(format));
    let names: Vec<_> = names.map(|format| format.name()).collect();
    match names[..] {
        [] => return None,
        [name] => structure.set("format", name),
        _ => structure.set("format", gst::List::new(names)),
    }
    Some(structure)
}
