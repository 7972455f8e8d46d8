//! AMD's code objects: ELF files that describe their kernels in a note (LLVM's "User Guide for
//! AMDGPU Backend", code object V3 and later).

use super::msgpack::Value;
use super::{ImageError, ImageFormat, KernelInfo, Param, elf};

/// `EM_AMDGPU`.
pub const MACHINE: u16 = 224;
/// Owner of the note that holds the metadata.
pub const NOTE_OWNER: &str = "AMDGPU";
/// `NT_AMDGPU_METADATA`.
pub const METADATA: u32 = 32;
/// What a target starts with in the metadata.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa--";

/// `EF_AMDGPU_MACH_AMDGCN_…` of the architectures there are devices of.
pub const MACHINES: [(u32, &str); 16] = [
    (0x2c, "gfx900"),
    (0x2f, "gfx906"),
    (0x30, "gfx908"),
    (0x31, "gfx909"),
    (0x32, "gfx90c"),
    (0x33, "gfx1010"),
    (0x36, "gfx1030"),
    (0x37, "gfx1031"),
    (0x38, "gfx1032"),
    (0x3f, "gfx90a"),
    (0x41, "gfx1100"),
    (0x47, "gfx1101"),
    (0x4a, "gfx1151"),
    (0x4c, "gfx942"),
    (0x4e, "gfx1201"),
    (0x4f, "gfx950"),
];

/// The kernels of a code object.
///
/// # Errors
/// It is none, cut off, or damaged.
pub fn kernels(file: &[u8]) -> Result<Vec<KernelInfo>, ImageError> {
    let metadata = metadata(file)?;
    let list = metadata.get("amdhsa.kernels").and_then(Value::list);
    let list = list.ok_or_else(|| damaged("its list of kernels"))?;
    list.iter()
        .map(kernel)
        .collect::<Option<_>>()
        .ok_or_else(|| damaged("the description of a kernel"))
}

/// What a code object was compiled for, `gfx90a:xnack+`. Where its metadata and its flags do not
/// agree it names both, which is no architecture: the loader looks at the flags.
///
/// # Errors
/// As [`kernels`].
pub fn architecture(file: &[u8]) -> Result<String, ImageError> {
    Ok(target(file, &metadata(file)?))
}

fn damaged(what: &str) -> ImageError {
    ImageError::damaged(ImageFormat::AmdCodeObject, what)
}

fn metadata(file: &[u8]) -> Result<Value<'_>, ImageError> {
    elf::check_size(file, ImageFormat::AmdCodeObject)?;
    if !elf::is_for(file, MACHINE) {
        return Err(damaged("it is no ELF file of AMD's GPUs"));
    }
    let sections = elf::sections(file).ok_or_else(|| damaged("its section headers"))?;
    let notes = sections.iter().filter(|section| section.kind == elf::NOTE);
    let mut notes = notes.filter_map(|note| elf::bytes(file, note.offset, note.size));
    let metadata = notes.find_map(|bytes| elf::note(bytes, NOTE_OWNER, METADATA));
    metadata
        .and_then(Value::read)
        .ok_or_else(|| damaged("its metadata"))
}

/// What it was compiled for, `gfx90a:xnack+`, by the metadata or else by the file's flags.
fn target(file: &[u8], metadata: &Value<'_>) -> String {
    let flags = elf::flags(file);
    let known = MACHINES.iter().find(|(number, _)| *number == flags & 0xff);
    let by_flags = known.map_or_else(
        || format!("machine {:#x}", flags & 0xff),
        |m| m.1.to_owned(),
    );
    let by_metadata = metadata.get("amdhsa.target").and_then(Value::text);
    match by_metadata.and_then(|target| target.strip_prefix(TRIPLE)) {
        // The two must agree, as the loader looks at the flags.
        Some(target) if known.is_none() || target.split(':').next() == Some(&by_flags) => {
            target.to_owned()
        }
        Some(target) => format!("{target} in its metadata and {by_flags} in its flags"),
        None => by_flags,
    }
}

fn kernel(metadata: &Value<'_>) -> Option<KernelInfo> {
    let name = metadata.get(".name")?.text()?;
    // The descriptor's symbol is what the loader looks for.
    (metadata.get(".symbol")?.text()? == format!("{name}.kd")).then_some(())?;
    let segment = metadata.get(".kernarg_segment_size")?.size()?;
    let args = metadata.get(".args").map_or(Some(&[][..]), Value::list)?;
    let params = args
        .iter()
        .filter(|arg| !is_hidden(arg))
        .map(param)
        .collect::<Option<Vec<_>>>()?;
    let inside = params.iter().all(|param| {
        let end = param.offset.checked_add(param.size);
        end.is_some_and(|end| end <= segment)
    });
    let max_threads = metadata
        .get(".max_flat_workgroup_size")
        .and_then(Value::size);
    let max_threads = max_threads.and_then(|threads| u32::try_from(threads).ok());
    inside.then(|| KernelInfo {
        name: name.to_owned(),
        params,
        max_threads,
    })
}

fn value_kind<'a>(arg: &Value<'a>) -> &'a str {
    arg.get(".value_kind")
        .and_then(Value::text)
        .unwrap_or_default()
}

/// Arguments that the runtime fills in.
fn is_hidden(arg: &Value<'_>) -> bool {
    value_kind(arg).starts_with("hidden_")
}

fn param(arg: &Value<'_>) -> Option<Param> {
    let (offset, size) = (arg.get(".offset")?.size()?, arg.get(".size")?.size()?);
    let pointer = match value_kind(arg) {
        "global_buffer" | "dynamic_shared_pointer" => Some(true),
        "by_value" => Some(false),
        _ => None,
    };
    Some(Param {
        offset,
        size,
        align: 1,
        pointer,
    })
}
