//! What a stand-in for a compiler puts into an image for the stand-in for the driver: the kernels
//! built for this processor, and which of their parameters they only read through.
//!
//! It is a section of an ELF file, or comments of a PTX text, so that it survives a cache and a
//! second process like the rest of the image.

use hip_rtc::image::elf;

/// Name of the section, and of what follows `//` in the comments.
pub const NAME: &str = ".hip_sim.host";
/// First line of the text before the object.
const VERSION: &str = "hip-sim 1";
/// Bytes in a comment line of hexadecimal digits.
const LINE: usize = 48;

/// Parameters that are `const T *`, by kernel: places in its list of parameters.
pub type Reads = Vec<(String, Vec<usize>)>;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Carried {
    /// A shared object of `hip_rtc::host`'s.
    pub object: Vec<u8>,
    /// What the kernels only read through.
    pub reads: Reads,
}

impl Carried {
    /// As bytes: lines of text, an empty one, and the object.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{VERSION}\n");
        for (kernel, places) in &self.reads {
            let places: Vec<String> = places.iter().map(usize::to_string).collect();
            text += &format!("{kernel} {}\n", places.join(" "));
        }
        text.push('\n');
        let mut bytes = text.into_bytes();
        bytes.extend(&self.object);
        bytes
    }

    /// Reads what [`Carried::to_bytes`] gave.
    pub fn from_bytes(bytes: &[u8]) -> Option<Carried> {
        let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
        let (text, object) = bytes.split_at(end);
        let mut lines = std::str::from_utf8(text).ok()?.lines();
        (lines.next()? == VERSION).then_some(())?;
        let reads = lines.map(|line| {
            let mut words = line.split(' ');
            let kernel = words.next()?.to_owned();
            let places = words.filter(|word| !word.is_empty());
            let places = places.map(|word| word.parse().ok());
            Some((kernel, places.collect::<Option<_>>()?))
        });
        Some(Carried {
            reads: reads.collect::<Option<_>>()?,
            object: object[2..].to_vec(),
        })
    }

    /// As comments of a PTX text.
    pub fn to_comments(&self) -> String {
        let line = |bytes: &[u8]| {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("//{NAME} {digits}\n")
        };
        self.to_bytes().chunks(LINE).map(line).collect()
    }

    /// What a PTX text carries.
    pub fn in_ptx(text: &str) -> Option<Carried> {
        let mut bytes = Vec::new();
        for line in text.lines() {
            let Some(digits) = line.strip_prefix("//").and_then(|l| l.strip_prefix(NAME)) else {
                continue;
            };
            for pair in digits.trim().as_bytes().chunks(2) {
                let pair = std::str::from_utf8(pair).ok()?;
                bytes.push(u8::from_str_radix(pair, 16).ok()?);
            }
        }
        Carried::from_bytes(&bytes)
    }

    /// What an ELF file carries.
    pub fn in_elf(file: &[u8]) -> Option<Carried> {
        let sections = elf::sections(file)?;
        let section = sections.iter().find(|section| section.name == NAME)?;
        Carried::from_bytes(elf::bytes(file, section.offset, section.size)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried() -> Carried {
        Carried {
            object: (0..=255).chain(*b"\n\n").collect(),
            reads: vec![("a".to_owned(), vec![0, 12]), ("b".to_owned(), vec![])],
        }
    }

    #[test]
    fn what_is_carried_comes_back() {
        let carried = carried();
        assert_eq!(
            Carried::from_bytes(&carried.to_bytes()),
            Some(carried.clone())
        );
        let text = format!(".version 9.0\n.target sm_90\n{}", carried.to_comments());
        assert_eq!(Carried::in_ptx(&text), Some(carried));
    }

    #[test]
    fn anything_else_carries_nothing() {
        assert_eq!(Carried::in_ptx(".version 9.0\n.target sm_90\n"), None);
        assert_eq!(Carried::in_ptx("//.hip_sim.host 0g\n"), None);
        let bytes = carried().to_bytes();
        assert_eq!(Carried::from_bytes(&bytes[1..]), None);
        assert_eq!(Carried::from_bytes(b"hip-sim 1\na x\n\n"), None);
    }
}
