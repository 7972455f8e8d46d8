//! Chroma sites.

use hip_oracle::{ChromaSite, Format, FrameInfo, Matrix, Method, Range, Rng};

use crate::case::Case;
use crate::lab::Lab;

const YUV: [Format; 3] = [Format::Nv12, Format::I420, Format::P010Le];
/// Same, smaller, larger, odd in one direction only.
const SIZES: [[(usize, usize); 2]; 4] = [
    [(14, 10), (14, 10)],
    [(15, 11), (6, 7)],
    [(4, 6), (13, 9)],
    [(9, 8), (9, 5)],
];

/// Every site on both sides between 4:2:0 formats, with equal and with different matrices.
#[test]
fn between_subsampled_formats() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(11);
    for (from, to) in YUV.into_iter().flat_map(|from| YUV.map(|to| (from, to))) {
        for source_site in ChromaSite::ALL {
            for destination_site in ChromaSite::ALL {
                for [(width, height), (new_width, new_height)] in SIZES {
                    let matrix = rng.pick(&[Matrix::Bt709, Matrix::Bt2020]);
                    let source = FrameInfo::new(from, width, height).with_site(source_site);
                    let destination = FrameInfo::new(to, new_width, new_height)
                        .with_colour(matrix, Range::Limited)
                        .with_site(destination_site);
                    for method in Method::SIMPLE {
                        lab.check(&Case::new(source, destination, method, rng.next_u64()));
                    }
                }
            }
        }
    }
}

/// Every site read into R'G'B' and written from it.
#[test]
fn to_and_from_rgb() {
    let Some(mut lab) = Lab::open() else { return };
    let mut rng = Rng::new(12);
    for yuv in YUV {
        for rgb in [Format::Rgba, Format::Bgra, Format::Rgb, Format::Rgbp] {
            for site in ChromaSite::ALL {
                for [(width, height), (new_width, new_height)] in SIZES {
                    for method in Method::SIMPLE {
                        let source = FrameInfo::new(yuv, width, height).with_site(site);
                        let destination = FrameInfo::new(rgb, new_width, new_height);
                        lab.check(&Case::new(source, destination, method, rng.next_u64()));
                        let source = FrameInfo::new(rgb, width, height);
                        let destination =
                            FrameInfo::new(yuv, new_width, new_height).with_site(site);
                        lab.check(&Case::new(source, destination, method, rng.next_u64()));
                    }
                }
            }
        }
    }
}
