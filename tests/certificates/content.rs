//! The content of the Secret: read, written, and what is due.

use std::collections::BTreeMap;

use fhpa::runtime::tls::shared::content::{Content, Found};
use jiff::{SignedDuration, Timestamp};

use super::{NAME, accepts, authorities, names, noon};

fn first() -> Content {
    Found::Absent.due(None, &names(&[NAME, "10.1.2.3", "FD00::5"]), noon()).unwrap().unwrap()
}

fn read(entries: &BTreeMap<String, Vec<u8>>) -> Result<Content, String> {
    Content::read(entries).map_err(|error| error.to_string())
}

/// `content` with an entry that holds `bytes`.
fn with(content: &Content, entry: &str, bytes: &[u8]) -> Result<Content, String> {
    let mut entries = content.entries();
    entries.insert(entry.to_owned(), bytes.to_vec());
    read(&entries)
}

fn day(number: i64) -> Timestamp {
    noon() + SignedDuration::from_hours(24 * number)
}

fn due(content: &Content, now: Timestamp) -> Option<Content> {
    Found::Held(content.clone()).due(Some(content), &names(&[NAME]), now).unwrap()
}

#[test]
fn what_is_written_is_read_and_trusted_for_each_name() {
    let first = first();
    assert_eq!(read(&first.entries()).unwrap(), first);
    for name in [NAME, "10.1.2.3", "fd00::5"] {
        accepts(&first.bundle(), first.pair().unwrap(), name, noon()).unwrap();
    }
    assert!(accepts(&first.bundle(), first.pair().unwrap(), "other.svc", noon()).is_err());
    assert_eq!(authorities(&first.bundle()).len(), 1);
    assert!(Found::Held(first).due(None, &names(&["fd00::5"]), noon()).unwrap().is_none());
}

#[test]
fn no_key_is_printed() {
    let first = first();
    let shown = format!("{first:?}{:?}", Found::Held(first.clone()));
    assert!(!shown.contains("PRIVATE") && !shown.contains("pem"), "{shown}");
}

#[test]
fn it_is_valid_for_clocks_that_are_late_and_renewed_at_two_thirds_of_its_life() {
    let first = first();
    accepts(&first.bundle(), first.pair().unwrap(), NAME, noon() - SignedDuration::from_mins(10)).unwrap();
    assert_eq!(due(&first, day(-1) + SignedDuration::from_mins(1)), None);
    assert_eq!(due(&first, day(59)), None);
    let renewed = due(&first, day(60)).unwrap();
    assert!(renewed.pair() != first.pair() && renewed.bundle() == first.bundle());
    accepts(&first.bundle(), renewed.pair().unwrap(), NAME, day(149)).unwrap();
    let ahead = Found::Absent.due(None, &names(&[NAME]), day(400)).unwrap().unwrap();
    let usable = due(&ahead, noon()).unwrap();
    accepts(&usable.bundle(), usable.pair().unwrap(), NAME, noon()).unwrap();
}

#[test]
fn spoilt_entries_are_said_or_left_out_and_never_served() {
    let first = first();
    let other = self::first();
    assert_eq!(with(&first, "ca.crt", b"").unwrap_err(), "ca.crt: no certificate found");
    assert!(with(&first, "ca.crt", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").is_err());
    assert_eq!(with(&first, "tls.key", &vec![b'x'; 65_537]).unwrap_err(), "tls.key: larger than 65536 bytes");
    let leaf = &first.pair().unwrap().certificates;
    assert_eq!(with(&first, "ca.crt", leaf).unwrap_err(), "ca.crt: a certificate in it is not one of a CA");
    for (entry, bytes) in [
        ("tls.crt", &b"nonsense"[..]),
        ("tls.crt", b""),
        ("tls.key", b""),
        ("tls.key", &other.pair().unwrap().key),
        ("tls.crt", &other.pair().unwrap().certificates),
        ("ca.crt", &other.bundle()),
    ] {
        let spoilt = with(&first, entry, bytes).unwrap();
        assert!(spoilt.pair().is_none(), "{entry}");
        let mended = Found::Held(spoilt).due(None, &names(&[NAME]), noon()).unwrap().unwrap();
        accepts(&mended.bundle(), mended.pair().unwrap(), NAME, noon()).unwrap();
    }
}

#[test]
fn a_lost_pair_is_made_again_by_a_ca_that_is_trusted_and_else_remembered() {
    let first = first();
    let spoilt = Found::Held(with(&first, "tls.crt", b"").unwrap());
    let young = spoilt.due(Some(&first), &names(&[NAME]), noon()).unwrap().unwrap();
    assert_eq!(young, first);
    let made = spoilt.due(Some(&first), &names(&[NAME]), day(2)).unwrap().unwrap();
    assert!(made.pair() != first.pair());
    accepts(&first.bundle(), made.pair().unwrap(), NAME, day(2)).unwrap();
}

#[test]
fn who_takes_the_key_of_the_ca_away_rotates_it() {
    let first = first();
    let keyless = Found::Held(with(&first, "ca.key", b"").unwrap());
    let both = keyless.due(Some(&first), &names(&[NAME]), day(10)).unwrap().unwrap();
    assert!(both.pair() == first.pair(), "nobody trusts the new CA yet");
    let [new, old] = &authorities(&both.bundle())[..] else { panic!("{both:?}") };
    assert_eq!(old.as_bytes(), first.bundle());
    assert_eq!(due(&both, day(59)), None);

    // At its renewal, or when its pair is taken away, the leaf is one of the new CA.
    let later = Found::Held(with(&both, "tls.crt", b"").unwrap());
    let forced = later.due(Some(&both), &names(&[NAME]), day(12)).unwrap().unwrap();
    for next in [due(&both, day(60)).unwrap(), forced] {
        accepts(new.as_bytes(), next.pair().unwrap(), NAME, day(60)).unwrap();
        assert_eq!(next.bundle(), both.bundle(), "only people take a CA out");
        let alone = with(&next, "ca.crt", new.as_bytes()).unwrap();
        assert!(alone.pair() == next.pair());
        let kept = Found::Held(alone).due(Some(&next), &names(&[NAME]), day(60)).unwrap();
        assert_eq!(kept, None);
    }
}

#[test]
fn a_new_ca_does_not_sign_within_a_day_but_for_a_leaf_that_ends() {
    let first = first();
    let keyless = with(&first, "ca.key", b"").unwrap();
    let at = |now| Found::Held(keyless.clone()).due(None, &names(&[NAME]), now).unwrap().unwrap();
    let both = at(day(70));
    assert!(both.pair() == first.pair());
    assert_eq!(due(&both, day(70)), None);
    assert!(due(&both, day(71)).unwrap().pair() != first.pair());
    assert!(at(day(84)).pair() != first.pair(), "within its last week");
}

#[test]
fn a_ca_is_followed_by_another_before_it_ends() {
    let content = first();
    let late = with(&content, "tls.crt", b"").unwrap();
    let late = Found::Held(late).due(None, &names(&[NAME]), day(3540)).unwrap().unwrap();
    assert_eq!(late.bundle(), content.bundle());
    let both = due(&late, day(3561)).unwrap();
    assert!(both.pair() == late.pair() && authorities(&both.bundle()).len() == 2);
    let next = due(&both, day(3600)).unwrap();
    let new = &authorities(&both.bundle())[0];
    accepts(new.as_bytes(), next.pair().unwrap(), NAME, day(3600)).unwrap();
}

#[test]
fn replicas_that_want_different_names_do_not_take_them_from_each_other() {
    let first = Found::Absent.due(None, &names(&["a.svc"]), noon()).unwrap().unwrap();
    let grown = Found::Held(first).due(None, &names(&["b.svc"]), noon()).unwrap().unwrap();
    for name in ["a.svc", "b.svc"] {
        accepts(&grown.bundle(), grown.pair().unwrap(), name, noon()).unwrap();
        assert_eq!(Found::Held(grown.clone()).due(Some(&grown), &names(&[name]), noon()).unwrap(), None);
    }
    let renewed = Found::Held(grown).due(None, &names(&["a.svc"]), day(61)).unwrap().unwrap();
    assert!(accepts(&renewed.bundle(), renewed.pair().unwrap(), "b.svc", day(61)).is_err(), "only what is wanted");
}

#[test]
fn something_that_is_no_name_is_refused() {
    let refused = Found::Absent.due(None, &names(&["ü"]), noon()).unwrap_err();
    assert!(refused.to_string().contains("cannot be made"), "{refused}");
}
