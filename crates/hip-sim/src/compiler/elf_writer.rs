//! Writes ELF64 files, little endian, of sections only (System V ABI, chapter 4): as much as
//! module images are made of here.

use hip_rtc::image::elf::{HEADER, MAGIC};

/// Bytes of a section header.
const SECTION_HEADER: usize = 64;
/// `SHT_STRTAB`.
const STRTAB: u32 = 3;
/// Sections start at multiples of this.
const ALIGN: usize = 16;

/// What the file header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header {
    /// `e_machine`.
    pub(super) machine: u16,
    /// `EI_OSABI` and `EI_ABIVERSION`.
    pub(super) abi: [u8; 2],
    /// `e_type`.
    pub(super) kind: u16,
    /// `e_flags`.
    pub(super) flags: u32,
}

/// A section to write.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) name: String,
    /// `SHT_…`.
    pub(super) kind: u32,
    pub(super) bytes: Vec<u8>,
}

/// The file: header, sections, their names, and the section headers last, as linkers do.
pub(super) fn write(header: Header, mut sections: Vec<Section>) -> Vec<u8> {
    let mut names = vec![0_u8];
    let mut name_of = |name: &str| {
        let at = names.len();
        names.extend(name.as_bytes());
        names.push(0);
        at
    };
    let mut name_offsets: Vec<usize> = sections.iter().map(|s| name_of(&s.name)).collect();
    name_offsets.push(name_of(".shstrtab"));
    sections.push(Section {
        name: ".shstrtab".to_owned(),
        kind: STRTAB,
        bytes: names,
    });
    let mut file = vec![0; HEADER];
    // The first section header is all zeros.
    let mut table = vec![0; SECTION_HEADER];
    for (section, name) in sections.iter().zip(name_offsets) {
        file.resize(file.len().next_multiple_of(ALIGN), 0);
        let mut entry = [0_u8; SECTION_HEADER];
        put(&mut entry, 0, &(name as u32).to_le_bytes());
        put(&mut entry, 4, &section.kind.to_le_bytes());
        put(&mut entry, 24, &(file.len() as u64).to_le_bytes());
        put(&mut entry, 32, &(section.bytes.len() as u64).to_le_bytes());
        put(&mut entry, 48, &1_u64.to_le_bytes());
        table.extend(entry);
        file.extend(&section.bytes);
    }
    file.resize(file.len().next_multiple_of(ALIGN), 0);
    let count = (table.len() / SECTION_HEADER) as u16;
    let table_at = file.len() as u64;
    file.extend(table);
    fill_header(&mut file, header, table_at, count);
    file
}

fn fill_header(file: &mut [u8], header: Header, table_at: u64, count: u16) {
    put(file, 0, &MAGIC);
    // 64 bits, little endian, version 1.
    put(file, 4, &[2, 1, 1]);
    put(file, 7, &header.abi);
    put(file, 16, &header.kind.to_le_bytes());
    put(file, 18, &header.machine.to_le_bytes());
    put(file, 20, &1_u32.to_le_bytes());
    put(file, 40, &table_at.to_le_bytes());
    put(file, 48, &header.flags.to_le_bytes());
    put(file, 52, &(HEADER as u16).to_le_bytes());
    put(file, 58, &(SECTION_HEADER as u16).to_le_bytes());
    put(file, 60, &count.to_le_bytes());
    put(file, 62, &(count - 1).to_le_bytes());
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use hip_rtc::image::elf;

    #[test]
    fn what_is_written_is_read() {
        let section = |name: &str, bytes: &[u8]| Section {
            name: name.to_owned(),
            kind: 1,
            bytes: bytes.to_vec(),
        };
        let header = Header {
            machine: 190,
            abi: [0x41, 8],
            kind: 2,
            flags: 0x5a04,
        };
        let file = write(header, vec![section(".a", b"first"), section(".b", b"")]);
        assert!(elf::is_for(&file, 190));
        assert_eq!((elf::flags(&file), file[8]), (0x5a04, 8));
        assert_eq!(elf::file_size(&file), file.len());
        let sections = elf::sections(&file).unwrap();
        let names: Vec<&str> = sections.iter().map(|section| section.name).collect();
        assert_eq!(names, ["", ".a", ".b", ".shstrtab"]);
        let first = elf::bytes(&file, sections[1].offset, sections[1].size);
        assert_eq!(first, Some(&b"first"[..]));
    }
}
