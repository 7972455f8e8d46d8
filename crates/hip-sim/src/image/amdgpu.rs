//! AMD's code objects: ELF files that describe their kernels in a note (LLVM's "User Guide for
//! AMDGPU Backend", code object V3 and later).

use super::elf;
use super::msgpack::Value;
use super::{Kernel, Param, Refusal};
use crate::code;

/// `EM_AMDGPU`.
const MACHINE: u16 = 224;
/// `NT_AMDGPU_METADATA`.
const METADATA: u32 = 32;
/// What a target starts with in the metadata.
const TRIPLE: &str = "amdgcn-amd-amdhsa--";

/// `EF_AMDGPU_MACH_AMDGCN_…` of the architectures there are devices of.
const MACHINES: [(u32, &str); 16] = [
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

/// The kernels of a code object, for a device of `architecture` (`gfx90a:sramecc+:xnack-`).
///
/// # Errors
/// 200 for what is no code object, 209 for another architecture's.
pub fn kernels(file: &[u8], architecture: &str) -> Result<Vec<Kernel>, Refusal> {
    let damaged = |what: &str| Refusal::new(code::INVALID_IMAGE, format!("a code object {what}"));
    if !elf::is_for(file, MACHINE) {
        return Err(damaged("is an ELF file of AMD's GPUs"));
    }
    let sections = elf::sections(file).ok_or_else(|| damaged("has section headers"))?;
    let notes = sections.iter().filter(|section| section.kind == elf::NOTE);
    let mut notes = notes.filter_map(|note| elf::bytes(file, note.offset, note.size));
    let metadata = notes.find_map(|bytes| elf::note(bytes, "AMDGPU", METADATA));
    let metadata = metadata
        .and_then(Value::read)
        .ok_or_else(|| damaged("has metadata"))?;
    fits(&target(file, &metadata), architecture)?;
    let list = metadata.get("amdhsa.kernels").and_then(Value::list);
    let list = list.ok_or_else(|| damaged("lists its kernels"))?;
    list.iter()
        .map(kernel)
        .collect::<Option<_>>()
        .ok_or_else(|| damaged("describes its kernels"))
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

/// A code object runs where the processor is the same and each feature it names is the device's.
fn fits(target: &str, architecture: &str) -> Result<(), Refusal> {
    let device: Vec<&str> = architecture.split(':').collect();
    let mut parts = target.split(':');
    let same = parts.next() == device.first().copied();
    if same && parts.all(|feature| device[1..].contains(&feature)) {
        return Ok(());
    }
    let text = format!("the code object is for {target}, the device is {architecture}");
    Err(Refusal::new(code::NO_BINARY_FOR_GPU, text))
}

fn kernel(metadata: &Value<'_>) -> Option<Kernel> {
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
    let inside = params
        .iter()
        .all(|param| param.offset + param.size <= segment);
    let max_threads = metadata
        .get(".max_flat_workgroup_size")
        .and_then(Value::size);
    let max_threads = max_threads.and_then(|threads| u32::try_from(threads).ok());
    inside.then(|| Kernel {
        name: name.to_owned(),
        params,
        max_threads,
    })
}

/// Arguments that the runtime fills in.
fn is_hidden(arg: &Value<'_>) -> bool {
    let kind = arg.get(".value_kind").and_then(Value::text);
    kind.is_some_and(|kind| kind.starts_with("hidden_"))
}

fn param(arg: &Value<'_>) -> Option<Param> {
    let (offset, size) = (arg.get(".offset")?.size()?, arg.get(".size")?.size()?);
    Some(Param {
        offset,
        size,
        align: 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_fit_or_do_not() {
        let device = "gfx90a:sramecc+:xnack-";
        for target in ["gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-"] {
            assert_eq!(fits(target, device), Ok(()), "{target}");
        }
        for target in ["gfx90a:xnack+", "gfx906", "gfx90", "gfx90a:sramecc-", ""] {
            let code = fits(target, device).map_err(|refusal| refusal.code);
            assert_eq!(code, Err(code::NO_BINARY_FOR_GPU), "{target}");
        }
    }
}
