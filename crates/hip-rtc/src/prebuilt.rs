use hip_dispatch::host::HostKernel;

use crate::{Error, Result};

/// A kernel text compiled ahead of time for every vendor.
#[derive(Debug, Clone, Copy)]
pub struct Prebuilt {
    /// What it is called in errors.
    pub name: &'static str,
    /// PTX for NVIDIA; old enough that any driver served compiles it.
    pub ptx: Blob,
    /// ELF code objects for AMD, one an architecture.
    pub code_objects: &'static [CodeObject],
    /// The functions for the CPU that this process runs on.
    pub host: fn() -> &'static [HostKernel],
}

/// An AMD code object.
#[derive(Debug, Clone, Copy)]
pub struct CodeObject {
    /// `gfx90a`, or with features `gfx90a:xnack+`.
    pub arch: &'static str,
    /// The ELF file.
    pub image: Blob,
}

/// An image within the program, deflated (RFC 1951): PTX shrinks to a seventh.
#[derive(Debug, Clone, Copy)]
pub struct Blob(pub &'static [u8]);

impl Blob {
    /// The image.
    ///
    /// # Errors
    /// The bytes are no deflated data.
    pub fn inflate(&self) -> Result<Vec<u8>> {
        miniz_oxide::inflate::decompress_to_vec(self.0)
            .map_err(|error| Error::Damaged(error.to_string()))
    }
}

impl Prebuilt {
    /// The code object for a device's full architecture name (`gfx942:sramecc+:xnack-`): the one of
    /// exactly that name, else one whose features are all the device's, the most specific first.
    pub fn code_object(&self, architecture: &str) -> Option<&CodeObject> {
        let device: Vec<&str> = architecture.split(':').collect();
        let fits = |object: &&CodeObject| {
            let mut parts = object.arch.split(':');
            parts.next() == device.first().copied()
                && parts.all(|feature| device[1..].contains(&feature))
        };
        self.code_objects
            .iter()
            .filter(fits)
            .max_by_key(|object| object.arch.len())
    }

    /// The architectures there are images for, for people.
    pub(crate) fn architectures(&self) -> String {
        let names: Vec<&str> = self.code_objects.iter().map(|object| object.arch).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECTS: &[CodeObject] = &[
        CodeObject {
            arch: "gfx90a",
            image: Blob(b""),
        },
        CodeObject {
            arch: "gfx90a:xnack+",
            image: Blob(b""),
        },
        CodeObject {
            arch: "gfx1030",
            image: Blob(b""),
        },
    ];
    const PREBUILT: Prebuilt = Prebuilt {
        name: "test",
        ptx: Blob(b""),
        code_objects: OBJECTS,
        host: || &[],
    };

    #[test]
    fn a_blob_is_inflated_or_refused() {
        let image = b"kernel kernel kernel kernel kernel".repeat(100);
        let deflated = miniz_oxide::deflate::compress_to_vec(&image, 9);
        assert!(deflated.len() < image.len() / 10);
        static DEFLATED: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
        let deflated = DEFLATED.get_or_init(|| deflated);
        assert_eq!(Blob(deflated).inflate().unwrap(), image);
        assert!(matches!(
            Blob(&deflated[..deflated.len() / 2]).inflate(),
            Err(Error::Damaged(_))
        ));
    }

    #[test]
    fn the_most_specific_code_object_that_fits_is_taken() {
        let arch = |device| PREBUILT.code_object(device).map(|object| object.arch);
        assert_eq!(arch("gfx90a:sramecc+:xnack-"), Some("gfx90a"));
        assert_eq!(arch("gfx90a:sramecc+:xnack+"), Some("gfx90a:xnack+"));
        assert_eq!(arch("gfx1030"), Some("gfx1030"));
        assert_eq!(arch("gfx90"), None);
        assert_eq!(arch("gfx1031"), None);
    }
}
