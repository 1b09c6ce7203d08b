//! What the rules need of a time zone database. Pure: an interface; the runtime chooses and reads the database.

use jiff::tz::TimeZone;

/// A time zone database.
pub trait Zones: Send + Sync {
    /// The zone of exactly that IANA name (case counts), aliases too.
    fn get(&self, name: &str) -> Option<TimeZone>;
    /// All names, sorted.
    fn names(&self) -> &[String];
    /// Release of the rules, for example `2026e`.
    fn version(&self) -> &str;
}
