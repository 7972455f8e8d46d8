//! Whole files, cut and changed. AMD's code objects that the workspace ships are read in
//! `hip-sim`'s tests.

use super::*;

const CUBINS: [&[u8]; 2] = [
    include_bytes!("data/nvrtc-11.8-sm_90.cubin"),
    include_bytes!("data/nvrtc-13.5-sm_90.cubin"),
];

#[test]
fn cubin_files_of_two_compilers_describe_their_kernels() {
    for file in CUBINS {
        assert_eq!(format(file), Some(ImageFormat::Cubin));
        assert_eq!(cubin::architecture(file), Some(90));
        let mut kernels = kernels(file).unwrap();
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        let [first, second] = &kernels[..] else {
            panic!("two kernels: {kernels:?}")
        };
        let param = |offset, size| Param {
            offset,
            size,
            align: 1,
            pointer: None,
        };
        assert_eq!((&*first.name, first.max_threads), ("first", Some(96)));
        assert_eq!(first.params, [param(0, 1), param(8, 40), param(48, 8)]);
        assert_eq!((&*second.name, second.params.len()), ("second", 0));
    }
}

#[test]
fn a_cubin_that_is_cut_anywhere_is_refused() {
    for file in CUBINS {
        for cut in 0..file.len() {
            let error = kernels(&file[..cut]).unwrap_err();
            let truncated = matches!(error, ImageError::Truncated { actual, .. } if actual == cut);
            // Fewer bytes than these do not say what they are.
            let known = cut >= elf::MACHINE_AT + 2;
            assert_eq!(truncated, known, "{cut}: {error}");
            assert_eq!(error == ImageError::Unknown, !known, "{cut}: {error}");
        }
    }
}

#[test]
fn a_cubin_that_is_changed_anywhere_is_no_fault() {
    for file in CUBINS {
        let mut refused = 0;
        for place in 0..file.len() {
            let mut changed = file.to_vec();
            changed[place] ^= 0xff;
            refused += usize::from(kernels(&changed).is_err());
        }
        assert!(refused > 20, "the header and its tables count: {refused}");
    }
}

#[test]
fn bundles_are_taken_apart() {
    let mut bundle = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx90a";
    let numbers: [u64; 4] = [1, 24 + 8 + 24 + id.len() as u64, 5, id.len() as u64];
    numbers
        .iter()
        .for_each(|number| bundle.extend(number.to_le_bytes()));
    bundle.extend(id);
    bundle.extend(b"image");
    let whole = bundle.clone();
    assert_eq!(format(&whole), Some(ImageFormat::OffloadBundle));
    let entries = bundle::entries(&whole).unwrap();
    assert_eq!((entries.len(), entries[0].image), (1, &b"image"[..]));
    assert_eq!(entries[0].id.as_bytes(), id);
    assert!(kernels(&whole).is_err(), "its image is no code object");
    for cut in 24..whole.len() {
        assert!(bundle::entries(&whole[..cut]).is_err(), "{cut}");
    }
    // A table that claims more entries than the file could hold.
    bundle[24..32].fill(0xff);
    assert!(bundle::entries(&bundle).is_err());
    assert_eq!(format(b"CCOB..."), Some(ImageFormat::OffloadBundle));
    assert!(kernels(b"CCOB...").is_err());
}

#[test]
fn formats_are_told_apart() {
    assert_eq!(
        format(b".version 7.8\n.target sm_52\n\0"),
        Some(ImageFormat::Ptx)
    );
    assert_eq!(format(b"MZ\x90"), Some(ImageFormat::HostObject));
    for nothing in [
        &b""[..],
        b"\x7fELF",
        b"int main() {}",
        b"\0\0\0\0",
        b"\xff\xfe",
    ] {
        assert_eq!(format(nothing), None, "{nothing:?}");
        assert_eq!(kernels(nothing), Err(ImageError::Unknown), "{nothing:?}");
    }
}
