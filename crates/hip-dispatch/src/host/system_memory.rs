//! How much memory there is: the machine's, or the control group's if that is less.

use std::path::Path;
use std::sync::OnceLock;

use crate::MemoryInfo;

/// Free and total memory in bytes, `None` where the system does not say (other than Linux).
///
/// Free is `MemAvailable`: what can be had without swapping, page cache included.
pub(super) fn info() -> Option<MemoryInfo> {
    if cfg!(miri) {
        // The real machine's files are not the interpreter's to read.
        return parse_meminfo("MemTotal: 4194304 kB\nMemAvailable: 2097152 kB\n");
    }
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let mut memory = parse_meminfo(&text)?;
    if let Some(group) = control_group() {
        memory.total = memory.total.min(group.total);
        memory.free = memory.free.min(group.free);
    }
    memory.free = memory.free.min(memory.total);
    Some(memory)
}

/// Total memory in bytes, read once; 0 where the system does not say.
pub(super) fn total() -> u64 {
    static TOTAL: OnceLock<u64> = OnceLock::new();
    *TOTAL.get_or_init(|| info().map_or(0, |memory| memory.total))
}

/// Reads `MemTotal` and `MemAvailable` (`MemFree` before Linux 3.14), which are in KiB.
fn parse_meminfo(text: &str) -> Option<MemoryInfo> {
    let field = |name: &str| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_whitespace()
            .next()?
            .parse::<u64>()
            .ok()?
            .checked_mul(1024)
    };
    let free = field("MemAvailable").or_else(|| field("MemFree"))?;
    Some(MemoryInfo {
        free,
        total: field("MemTotal")?,
    })
}

/// The limits of the control group as a container sees them (version 2, then 1).
fn control_group() -> Option<MemoryInfo> {
    let number = |path: &Path| {
        std::fs::read_to_string(path)
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let folders = [
        ("/sys/fs/cgroup", "memory.max", "memory.current"),
        (
            "/sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
        ),
    ];
    folders.iter().find_map(|(folder, limit, usage)| {
        let folder = Path::new(folder);
        // "max" does not parse: there is no limit.
        let total = number(&folder.join(limit))?;
        let used = number(&folder.join(usage))?;
        let stat = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        Some(MemoryInfo {
            free: total.saturating_sub(used.saturating_sub(page_cache(&stat))),
            total,
        })
    })
}

/// Bytes of file cache that a control group's usage counts and that are given back on demand.
fn page_cache(stat: &str) -> u64 {
    let fields = stat.lines().filter_map(|line| line.split_once(' '));
    let files = fields.filter(|(key, _)| matches!(*key, "active_file" | "inactive_file"));
    files
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_read() {
        let text = "MemTotal:       16 kB\nMemFree:  1 kB\nMemAvailable:    8 kB\n";
        assert_eq!(
            parse_meminfo(text),
            Some(MemoryInfo {
                free: 8192,
                total: 16384
            })
        );
        let old = "MemTotal: 16 kB\nMemFree: 1 kB\n";
        assert_eq!(
            parse_meminfo(old),
            Some(MemoryInfo {
                free: 1024,
                total: 16384
            })
        );
        assert_eq!(parse_meminfo("MemFree: 1 kB\n"), None);
        assert_eq!(parse_meminfo("MemTotal: x kB\nMemFree: 1 kB\n"), None);
    }

    #[test]
    fn page_cache_is_summed() {
        assert_eq!(
            page_cache("anon 5\nactive_file 7\ninactive_file 8\nfile 99\n"),
            15
        );
        assert_eq!(page_cache(""), 0);
    }
}
