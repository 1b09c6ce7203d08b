//! Any bytes: a time zone is found by its exact name only, a suggestion is a zone, the answer is short. Shared by the
//! fuzz target and the tests.

use std::sync::LazyLock;

use fhpa::decision::cron::zone_name;
use fhpa::decision::cron::zones::Zones;
use fhpa::runtime::zones::ZoneDatabase;

/// Longest message.
const MAX_MESSAGE: usize = 256;

static ZONES: LazyLock<ZoneDatabase> = LazyLock::new(ZoneDatabase::bundled);

/// Panics when the property does not hold.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let known = |name: &str| ZONES.names().binary_search_by(|known| known.as_str().cmp(name)).is_ok();
    match zone_name::find(&*ZONES, &text) {
        Ok(_) => assert!(known(&text), "{text:?} is no name"),
        Err(error) => {
            assert!(!known(&text), "{text:?} is a name");
            assert!((1..=MAX_MESSAGE).contains(&error.message.len()), "{text:?}: {}", error.message);
            assert!(error.suggestion.as_deref().is_none_or(known), "{text:?}: {:?}", error.suggestion);
        }
    }
}
