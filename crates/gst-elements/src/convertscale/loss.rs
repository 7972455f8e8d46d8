//! What going from one format to another costs.

use hip_video::{FormatInfo, Model, PixelFormat};

/// The cost of a conversion: 0 for the same format, most for what the eye sees first. The weights are
/// those of GStreamer's `videoconvertscale`, so that pipelines choose as they do with it; the ranking, not the figure,
/// is what counts.
pub(super) fn loss(from: PixelFormat, to: PixelFormat) -> u32 {
    if from == to {
        return 0;
    }
    let (from, to) = (from.info(), to.info());
    // Of a format without chroma no subsampling counts.
    let subsampling = |info: &FormatInfo| match info.model {
        Model::Yuv => info.subsampling,
        Model::Rgb | Model::Gray => [1, 1],
    };
    let (before, after) = (subsampling(from), subsampling(to));
    // Two bits, of a word that 30 others share, keep hardly more of it than none.
    let alpha = |info: &FormatInfo| match info.components[3] {
        Some(component) if info.alpha && component.depth > 2 => 2,
        _ => u32::from(info.alpha),
    };
    let has_colour = |info: &FormatInfo| info.model != Model::Gray;
    let costs = [
        // Any change.
        (1, true),
        (128, has_colour(from) && !has_colour(to)),
        (32, after[1] > before[1] && has_colour(to)),
        (1, after[1] < before[1]),
        (16, after[0] > before[0] && has_colour(to)),
        (1, after[0] < before[0]),
        (8, alpha(from) > alpha(to)),
        (1, !from.alpha && to.alpha),
        (4, to.depth < from.depth),
        (1, to.depth > from.depth),
        (2, from.model != to.model),
    ];
    let cost: u32 = costs
        .iter()
        .filter(|(_, applies)| *applies)
        .map(|(cost, _)| cost)
        .sum();
    // Of formats that lose depth the one that loses fewest bits, of at most 16.
    cost * 16 + from.depth.saturating_sub(to.depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `to` in the order of what they cost.
    fn check(from: &str, to: &[&str]) {
        let format = |name: &str| PixelFormat::from_name(name).unwrap();
        let costs: Vec<u32> = to.iter().map(|to| loss(format(from), format(to))).collect();
        assert!(costs.is_sorted(), "{from}: {to:?} {costs:?}");
    }

    #[test]
    fn depth_chroma_alpha_and_model_count_in_turn() {
        check(
            "NV12",
            &[
                "NV12",
                "I420",
                "P010_10LE",
                "NV16",
                "Y444",
                "RGB",
                "RGBA",
                "GRAY8",
            ],
        );
        check(
            "P010_10LE",
            &["P010_10LE", "I420_10LE", "P012_LE", "NV12", "RGB", "GRAY8"],
        );
        check(
            "RGBA",
            &[
                "BGRA",
                "RGBA64_LE",
                "AYUV",
                "RGB",
                "Y444",
                "YUY2",
                "NV12",
                "GRAY8",
            ],
        );
        check("Y42B", &["NV16", "Y444", "RGB", "I420", "GRAY8"]);
        check(
            "v210",
            &["I422_10LE", "Y444_10LE", "Y42B", "I420_10LE", "NV12"],
        );
        check("ARGB64_LE", &["GBRA_12LE", "BGRA", "RGB10A2_LE", "RGB"]);
        check("GRAY16_LE", &["Y444_16LE", "GRAY8", "NV12"]);
    }

    #[test]
    fn only_the_same_format_is_free() {
        for from in PixelFormat::ALL {
            for to in PixelFormat::ALL {
                assert_eq!(loss(from, to) == 0, from == to);
            }
        }
    }
}
