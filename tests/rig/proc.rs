//! What the kernel says of processes. I/O: reads `/proc`. Benchmarks read it with this file, too.

use std::fmt::Display;
use std::fs;
use std::time::Duration;

/// Resident memory.
pub const RESIDENT: &str = "VmRSS";
/// The most that was resident.
pub const PEAK: &str = "VmHWM";

/// A figure of the memory of a process, in KiB.
pub fn memory(pid: impl Display, figure: &str) -> u32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(figure)?.strip_prefix(':')).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// Processor time of a process so far.
pub fn cpu(pid: impl Display) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after_name = stat.rsplit(") ").next().unwrap();
    let ticks = |index: usize| after_name.split(' ').nth(index).unwrap().parse::<u64>().unwrap();
    // The kernel counts for user space in hundredths of a second.
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}
