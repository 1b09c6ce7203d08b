//! Durations in the format of kubectl's AGE. No I/O.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago `time` was; `-` where it is unknown.
pub fn since(time: Option<&Time>, now: Timestamp) -> String {
    time.map_or_else(|| "-".to_owned(), |time| human(now.duration_since(time.0)))
}

/// When a time to come is.
pub fn until(time: &Time, now: Timestamp) -> String {
    format!("in {}", human(time.0.duration_since(now)))
}

/// As kubectl prints it: two units while the second one matters.
fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let two = |large: i64, unit: char, small: i64, part: char| {
        let (whole, rest) = (seconds / large, seconds % large / small);
        if rest == 0 { format!("{whole}{unit}") } else { format!("{whole}{unit}{rest}{part}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, 'd', HOUR, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_as_kubectl_prints_them() {
        let cases = [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (185, "3m5s"),
            (3_700, "61m"),
            (14_700, "4h5m"),
            (100_000, "27h"),
            (216_000, "2d12h"),
            (864_000, "10d"),
            (64_000_000, "2y10d"),
            (400_000_000, "12y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(SignedDuration::from_secs(seconds)), text, "{seconds}");
        }
    }
}
