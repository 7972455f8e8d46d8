//! Pointers in the output, told upstream as places in the input.

use super::placement::Placement;

const FIELDS: [&str; 2] = ["pointer_x", "pointer_y"];

/// The navigation event for upstream; `None` if it has no place in it.
pub(super) fn in_source(event: &gst::Event, placement: &Placement) -> Option<gst::Event> {
    let structure = event.structure()?;
    let [x, y] = FIELDS.map(|name| structure.get::<f64>(name).ok());
    let (x, y) = placement.point_in_source(x?, y?);
    let mut moved = event.copy();
    let structure = moved.make_mut().structure_mut();
    structure.set(FIELDS[0], x);
    structure.set(FIELDS[1], y);
    Some(moved)
}
