//! Metrics of the process, as every Prometheus client has them. Reads /proc at each scrape; elsewhere there are none.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};

/// Clock ticks in a second, as Linux tells them to programs.
const TICKS: f64 = 100.0;

/// A registry with the metrics of this process.
pub(super) fn registry() -> Registry {
    let mut registry = Registry::with_prefix("process");
    registry.register_collector(Box::new(Process));
    registry
}

#[derive(Debug)]
struct Process;

/// What /proc says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Measured {
    cpu_seconds: Option<f64>,
    /// Since the machine started.
    start_ticks: Option<f64>,
    resident_bytes: Option<u64>,
    virtual_bytes: Option<u64>,
    open_files: Option<u64>,
    most_files: Option<u64>,
    /// When the machine started, in seconds since 1970.
    booted: Option<f64>,
}

impl Measured {
    fn now() -> Self {
        let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let open = std::fs::read_dir("/proc/self/fd").map(|files| files.count() as u64).ok();
        Self {
            open_files: open,
            ..Self::of(
                &text("/proc/self/stat"),
                &text("/proc/self/status"),
                &text("/proc/self/limits"),
                &text("/proc/stat"),
            )
        }
    }

    fn of(stat: &str, status: &str, limits: &str, machine: &str) -> Self {
        // The name of the program, in parentheses, may have spaces.
        let fields: Vec<&str> = stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace().collect();
        let ticks = |field: usize| fields.get(field).and_then(|field| field.parse::<f64>().ok());
        let kilobytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
        };
        let most = limits.lines().find_map(|line| line.strip_prefix("Max open files")?.split_whitespace().next());
        Self {
            cpu_seconds: ticks(11).zip(ticks(12)).map(|(user, system)| (user + system) / TICKS),
            start_ticks: ticks(19),
            resident_bytes: kilobytes("VmRSS"),
            virtual_bytes: kilobytes("VmSize"),
            open_files: None,
            most_files: most.and_then(|most| most.parse().ok()),
            booted: machine.lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok()),
        }
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let measured = Measured::now();
        if let Some(seconds) = measured.cpu_seconds {
            let counter = ConstCounter::new(seconds);
            let help = "CPU time that the process has used.";
            counter.encode(encoder.encode_descriptor("cpu", help, Some(&Unit::Seconds), MetricType::Counter)?)?;
        }
        let start = measured.booted.zip(measured.start_ticks).map(|(booted, ticks)| booted + ticks / TICKS);
        if let Some(start) = start {
            let gauge = ConstGauge::new(start);
            let help = "When the process started, since 1970.";
            gauge.encode(encoder.encode_descriptor("start_time", help, Some(&Unit::Seconds), MetricType::Gauge)?)?;
        }
        let bytes = Some(&Unit::Bytes);
        for (name, help, unit, value) in [
            ("resident_memory", "Memory of the process that is in RAM.", bytes, measured.resident_bytes),
            ("virtual_memory", "Address space of the process.", bytes, measured.virtual_bytes),
            ("open_fds", "Open file descriptors.", None, measured.open_files),
            ("max_fds", "Most file descriptors that may be open.", None, measured.most_files),
        ] {
            let Some(value) = value.and_then(|value| i64::try_from(value).ok()) else { continue };
            ConstGauge::new(value).encode(encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_is_read() {
        let stat = "17 (a (b) c) S 1 17 17 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 5 0 12300 1 1 18446744073709551615";
        let status = "Name:\ta\nVmSize:\t    2048 kB\nVmRSS:\t     512 kB\n";
        let limits = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max open files            1024                 4096                 files\n";
        let measured = Measured::of(stat, status, limits, "cpu 1 2\nbtime 1700000000\n");
        assert_eq!(
            measured,
            Measured {
                cpu_seconds: Some(3.0),
                start_ticks: Some(12_300.0),
                resident_bytes: Some(512 * 1024),
                virtual_bytes: Some(2048 * 1024),
                open_files: None,
                most_files: Some(1024),
                booted: Some(1_700_000_000.0),
            }
        );
        assert_eq!(Measured::of("", "", "", ""), Measured::default());
    }
}
