//! What the rules need of a time zone database. Pure: an interface; the runtime selects and reads the database.

use jiff::tz::TimeZone;

/// A time zone database.
pub trait Zones: Send + Sync {
    /// The zone with exactly this IANA name (case-sensitive), aliases included.
    fn get(&self, name: &str) -> Option<TimeZone>;
    /// All names, sorted.
    fn names(&self) -> &[String];
    /// Release of the rules, for example `2026e`.
    fn version(&self) -> &str;
}
