//! Device and pinned memory: ordinary memory, aligned, counted and, in debug builds, guarded.
//!
//! With debug assertions a block lies between two guards of known bytes and starts poisoned, so
//! that a write outside it is reported when it is freed and a read of memory that was never
//! written is not zero by luck. A block is poisoned again before it goes back.

use std::alloc::Layout;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::Mutex;

use super::{lock, system_memory};

/// Alignment of device memory, in bytes.
pub(super) const DEVICE_ALIGNMENT: usize = 256;
/// Alignment of pinned memory, in bytes: the largest usual page of the architecture.
pub(super) const PAGE: usize = if cfg!(target_arch = "x86_64") {
    4096
} else {
    65536
};
/// Bytes of a guard.
const GUARD: usize = 256;
const GUARD_BYTE: u8 = 0xfb;
const FRESH_BYTE: u8 = 0xcd;
const FREED_BYTE: u8 = 0xdd;
/// Blocks of this size and more are checked against what the system has available before they
/// are asked for: reading it costs tens of microseconds, which a small block should not.
const CHECKED_BYTES: usize = 64 << 20;
/// Blocks of this size and more are mapped for themselves, so that they go back to the system when
/// they are freed. An allocator keeps them, one hoard for each thread that ever took a frame.
#[cfg(unix)]
const MAPPED_BYTES: usize = 64 << 10;

/// What a block is for; a block is freed by the call that belongs to its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Device,
    Pinned,
}

impl Kind {
    const fn alignment(self) -> usize {
        match self {
            Kind::Device => DEVICE_ALIGNMENT,
            Kind::Pinned => PAGE,
        }
    }
}

/// Why a block could not be freed, or what was wrong with it (it is freed then).
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FreeError {
    /// No live block of this kind starts there.
    Unknown,
    /// A guard was overwritten; the text says where.
    Damaged(String),
}

struct Block {
    kind: Kind,
    base: NonNull<u8>,
    layout: Layout,
    /// Guard bytes before and after the data; 0 without debug assertions.
    front: usize,
    bytes: usize,
}

// SAFETY: a block owns its memory, which is not tied to a thread.
unsafe impl Send for Block {}

/// Live blocks of one kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) blocks: usize,
    pub(super) bytes: u64,
}

/// The live blocks by address, and their sums by kind.
#[derive(Default)]
struct Live {
    blocks: HashMap<usize, Block>,
    usage: [Usage; 2],
}

/// What is allocated of both kinds.
#[derive(Default)]
pub(super) struct Memory {
    live: Mutex<Live>,
}

impl Memory {
    /// A block of `bytes` (not 0), or `None` if there is not so much memory.
    pub(super) fn allocate(&self, kind: Kind, bytes: usize) -> Option<NonNull<u8>> {
        let (front, back) = if cfg!(debug_assertions) {
            (kind.alignment(), GUARD)
        } else {
            (0, 0)
        };
        let size = bytes.checked_add(front)?.checked_add(back)?;
        let layout = Layout::from_size_align(size, kind.alignment()).ok()?;
        if bytes == 0 || !self.affordable(size) {
            return None;
        }
        let base = take(layout)?;
        let block = Block {
            kind,
            base,
            layout,
            front,
            bytes,
        };
        block.arm();
        let data = block.data();
        let mut live = lock(&self.live);
        live.usage[kind as usize].blocks += 1;
        live.usage[kind as usize].bytes += bytes as u64;
        live.blocks.insert(data.as_ptr().expose_provenance(), block);
        Some(data)
    }

    /// Whether so much more memory can be there. An allocator that overcommits would say yes to
    /// anything, and the process would be killed when the memory is written.
    fn affordable(&self, size: usize) -> bool {
        let total = system_memory::total();
        let size = size as u64;
        if total == 0 {
            return true;
        }
        let used = self.usage(Kind::Device).bytes + self.usage(Kind::Pinned).bytes;
        if used.saturating_add(size) > total {
            return false;
        }
        size < CHECKED_BYTES as u64
            || system_memory::info().is_none_or(|memory| size <= memory.free)
    }

    /// Whether a live block of the kind starts at `address`.
    pub(super) fn contains(&self, kind: Kind, address: usize) -> bool {
        lock(&self.live)
            .blocks
            .get(&address)
            .is_some_and(|block| block.kind == kind)
    }

    /// Frees the block of the kind that starts at `address`.
    ///
    /// # Safety
    /// Nothing uses the block any more.
    pub(super) unsafe fn free(&self, kind: Kind, address: usize) -> Result<(), FreeError> {
        let block = {
            let mut live = lock(&self.live);
            match live.blocks.remove(&address) {
                Some(block) if block.kind == kind => {
                    live.usage[kind as usize].blocks -= 1;
                    live.usage[kind as usize].bytes -= block.bytes as u64;
                    block
                }
                other => {
                    // The other kind's, or nobody's: left as it was.
                    other.map(|block| live.blocks.insert(address, block));
                    return Err(FreeError::Unknown);
                }
            }
        };
        let damage = block.damage();
        block.disarm();
        // SAFETY: `base` came from `take` with this layout, and the block was taken out of the
        // registry above, so nobody else frees it; the caller says nobody uses it.
        unsafe { give(block.base, block.layout) };
        damage.map_or(Ok(()), |text| Err(FreeError::Damaged(text)))
    }

    /// Live blocks of a kind, and their bytes as asked for.
    pub(super) fn usage(&self, kind: Kind) -> Usage {
        lock(&self.live).usage[kind as usize]
    }
}

/// Whether a block is mapped for itself; a matter of its layout alone.
#[cfg(unix)]
fn is_mapped(layout: Layout) -> bool {
    static PAGE_SIZE: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    // SAFETY: reads a constant of the system.
    let page = *PAGE_SIZE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize);
    layout.size() >= MAPPED_BYTES && layout.align() <= page
}

/// Memory for a layout whose size is not 0.
fn take(layout: Layout) -> Option<NonNull<u8>> {
    #[cfg(unix)]
    if is_mapped(layout) {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping that is not of a file, where the system likes.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), layout.size(), access, how, -1, 0) };
        return NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED);
    }
    // SAFETY: the caller says that the size is not 0.
    NonNull::new(unsafe { std::alloc::alloc(layout) })
}

/// Gives memory back.
///
/// # Safety
/// `base` came from [`take`] with this layout, and nobody uses it any more.
unsafe fn give(base: NonNull<u8>, layout: Layout) {
    #[cfg(unix)]
    if is_mapped(layout) {
        // SAFETY: `take` mapped these bytes; the caller says that nobody uses them.
        unsafe { libc::munmap(base.as_ptr().cast(), layout.size()) };
        return;
    }
    // SAFETY: as above, from `alloc`.
    unsafe { std::alloc::dealloc(base.as_ptr(), layout) };
}

impl Block {
    fn data(&self) -> NonNull<u8> {
        // SAFETY: the layout is `front` + `bytes` + the guard behind, so this is inside it.
        unsafe { self.base.add(self.front) }
    }

    /// Writes guards and poison, where there are guards.
    fn arm(&self) {
        if self.front == 0 {
            return;
        }
        let back = self.front + self.bytes;
        // SAFETY: the three ranges make up the layout, which is freshly allocated.
        unsafe {
            self.base.write_bytes(GUARD_BYTE, self.front);
            self.data().write_bytes(FRESH_BYTE, self.bytes);
            self.base
                .add(back)
                .write_bytes(GUARD_BYTE, self.layout.size() - back);
        }
    }

    /// Poisons the data, where there are guards.
    fn disarm(&self) {
        if self.front != 0 {
            // SAFETY: the data is `bytes` long, and no longer used by anybody.
            unsafe { self.data().write_bytes(FREED_BYTE, self.bytes) };
        }
    }

    /// Says which guard was overwritten and where, if one was.
    fn damage(&self) -> Option<String> {
        if self.front == 0 {
            return None;
        }
        let back = self.front + self.bytes;
        // SAFETY: `arm` initialised the layout's first `front` bytes; they are not written by
        // anybody who keeps to the block, and no longer by those who did not.
        let before = unsafe { std::slice::from_raw_parts(self.base.as_ptr(), self.front) };
        // SAFETY: as above, for the bytes from the data's end to the layout's.
        let after = unsafe {
            std::slice::from_raw_parts(self.base.as_ptr().add(back), self.layout.size() - back)
        };
        let address = self.data();
        let bytes = self.bytes;
        if let Some(index) = after.iter().position(|byte| *byte != GUARD_BYTE) {
            let text = format!("{index} bytes past the end of {bytes} bytes at {address:p}");
            return Some(format!("memory was overwritten {text}"));
        }
        let index = before.iter().rposition(|byte| *byte != GUARD_BYTE)?;
        let text = format!(
            "{} bytes before {bytes} bytes at {address:p}",
            self.front - index
        );
        Some(format!("memory was overwritten {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(memory: &Memory, kind: Kind, block: NonNull<u8>) -> Result<(), FreeError> {
        // SAFETY: the tests use no block after they free it.
        unsafe { memory.free(kind, block.as_ptr().addr()) }
    }

    #[test]
    fn blocks_are_aligned_and_counted() {
        let memory = Memory::default();
        for (kind, alignment) in [(Kind::Device, 256), (Kind::Pinned, PAGE)] {
            let blocks: Vec<_> = [1, 255, 4097, 100_000]
                .into_iter()
                .map(|bytes| memory.allocate(kind, bytes).unwrap())
                .collect();
            assert!(
                blocks
                    .iter()
                    .all(|block| block.as_ptr().addr() % alignment == 0)
            );
            assert_eq!(
                memory.usage(kind),
                Usage {
                    blocks: 4,
                    bytes: 104_353
                }
            );
            for block in blocks {
                assert!(memory.contains(kind, block.as_ptr().addr()));
                assert_eq!(free(&memory, kind, block), Ok(()));
                assert_eq!(free(&memory, kind, block), Err(FreeError::Unknown));
            }
            assert_eq!(memory.usage(kind), Usage::default());
        }
    }

    #[test]
    fn a_block_is_freed_by_its_own_kind_only() {
        let memory = Memory::default();
        let block = memory.allocate(Kind::Device, 10).unwrap();
        assert_eq!(free(&memory, Kind::Pinned, block), Err(FreeError::Unknown));
        let inside = block.as_ptr().addr() + 1;
        // SAFETY: nothing is freed, which is what is tested.
        let freed = unsafe { memory.free(Kind::Device, inside) };
        assert_eq!(freed, Err(FreeError::Unknown));
        assert_eq!(free(&memory, Kind::Device, block), Ok(()));
    }

    #[test]
    fn absurd_sizes_are_refused() {
        let memory = Memory::default();
        for bytes in [
            usize::MAX,
            usize::MAX / 2,
            isize::MAX as usize - 300,
            1 << 60,
        ] {
            assert!(memory.allocate(Kind::Device, bytes).is_none());
            assert!(memory.allocate(Kind::Pinned, bytes).is_none());
        }
        assert_eq!(memory.usage(Kind::Device), Usage::default());
    }

    #[cfg(debug_assertions)]
    #[test]
    fn writes_outside_are_found() {
        let memory = Memory::default();
        for kind in [Kind::Device, Kind::Pinned] {
            for (offset, said) in [
                (100, "0 bytes past the end"),
                (107, "7 bytes past"),
                (-3, "3 bytes before"),
            ] {
                let block = memory.allocate(kind, 100).unwrap();
                // SAFETY: the guards are part of the allocation, so this is inside it.
                unsafe { block.offset(offset).write(0) };
                let Err(FreeError::Damaged(text)) = free(&memory, kind, block) else {
                    panic!("{offset} was not found");
                };
                assert!(text.contains(said), "{text}");
                assert!(!memory.contains(kind, block.as_ptr().addr()));
            }
        }
    }

    #[cfg(debug_assertions)]
    #[test]
    fn fresh_blocks_are_poisoned() {
        let memory = Memory::default();
        let block = memory.allocate(Kind::Device, 64).unwrap();
        // SAFETY: a debug build initialises the 64 bytes.
        let data = unsafe { std::slice::from_raw_parts(block.as_ptr(), 64) };
        assert!(data.iter().all(|byte| *byte == FRESH_BYTE));
        assert_eq!(free(&memory, Kind::Device, block), Ok(()));
    }
}
