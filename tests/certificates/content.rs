//! The content of the Secret, read and written.

use std::collections::{BTreeMap, BTreeSet};

use fhpa::runtime::tls::shared::form::{Content, Found, ids};
use jiff::SignedDuration;

use super::{NAME, accepts, names, noon};

fn first() -> Content {
    Found::Absent.due(None, &names(&[NAME, "10.1.2.3", "FD00::5"]), noon()).unwrap().unwrap()
}

fn read(entries: &BTreeMap<String, Vec<u8>>) -> Result<Content, String> {
    Content::read(entries, BTreeSet::new()).map_err(|error| error.to_string())
}

#[test]
fn what_is_written_is_read_and_trusted_for_each_name() {
    let first = first();
    assert_eq!(read(&first.entries()).unwrap(), first);
    for name in [NAME, "10.1.2.3", "fd00::5"] {
        accepts(&first.bundle(), first.pair().unwrap(), name, noon()).unwrap();
    }
    assert!(accepts(&first.bundle(), first.pair().unwrap(), "other.svc", noon()).is_err());
    assert_eq!(ids(&first.bundle()).unwrap().len(), 1);
    assert!(Found::Held(first).due(None, &names(&["fd00::5"]), noon()).unwrap().is_none());
}

#[test]
fn no_key_is_printed() {
    let first = first();
    let shown = format!("{first:?}{:?}{:?}", first.state(), Found::Held(first.clone()));
    assert!(!shown.contains("PRIVATE") && !shown.contains("pem"), "{shown}");
}

#[test]
fn spoilt_entries_are_said_or_left_out_and_never_served() {
    let first = first();
    let other = self::first();
    let with = |entry: &str, bytes: &[u8]| {
        let mut entries = first.entries();
        entries.insert(entry.to_owned(), bytes.to_vec());
        read(&entries)
    };
    assert_eq!(with("ca.crt", b"").unwrap_err(), "ca.crt: no certificate found");
    assert!(with("ca.crt", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n").is_err());
    assert_eq!(with("tls.key", &vec![b'x'; 65_537]).unwrap_err(), "tls.key: larger than 65536 bytes");
    let leaf = &first.pair().unwrap().certificates;
    assert_eq!(with("ca.crt", leaf).unwrap_err(), "ca.crt: a certificate in it is not one of a CA");
    let many = first.bundle().repeat(17);
    assert_eq!(with("ca.crt", &many).unwrap_err(), "ca.crt: more than 16 certificates");
    for (entry, bytes) in [
        ("tls.crt", &b"nonsense"[..]),
        ("tls.crt", b""),
        ("tls.key", b""),
        ("tls.key", &other.pair().unwrap().key),
        ("tls.crt", &other.pair().unwrap().certificates),
        ("ca.crt", &other.bundle()),
    ] {
        let spoilt = with(entry, bytes).unwrap();
        assert!(spoilt.pair().is_none(), "{entry}");
        let mended = Found::Held(spoilt).due(None, &names(&[NAME]), noon()).unwrap().unwrap();
        accepts(&mended.bundle(), mended.pair().unwrap(), NAME, noon()).unwrap();
    }
}

#[test]
fn a_lost_ca_key_is_replaced_and_the_leaf_stays() {
    let first = first();
    let mut entries = first.entries();
    entries.insert("ca.key".to_owned(), b"lost".to_vec());
    let known = ids(&first.bundle()).unwrap();
    let spoilt = Found::Held(Content::read(&entries, known.clone()).unwrap());
    let mended = spoilt.due(Some(&first), &names(&[NAME]), noon()).unwrap().unwrap();
    assert_eq!(mended, first.clone().with_registered(known), "whoever remembers it writes it again");
    let mended = spoilt.due(None, &names(&[NAME]), noon()).unwrap().unwrap();
    assert!(mended.pair() == first.pair());
    assert!(ids(&mended.bundle()).unwrap().is_superset(&ids(&first.bundle()).unwrap()));
    assert_eq!(ids(&mended.bundle()).unwrap().len(), 2);
}

#[test]
fn something_that_is_no_name_is_refused() {
    let refused = Found::Absent.due(None, &names(&["ü"]), noon()).unwrap_err();
    assert!(refused.to_string().contains("cannot be made"), "{refused}");
}

#[test]
fn who_made_it_anew_without_memory_is_joined_by_who_remembers() {
    let wanted = names(&[NAME]);
    let before = first();
    let before = before.clone().with_registered(ids(&before.bundle()).unwrap());
    let anew = Found::Held(first());
    let joined = anew.due(Some(&before), &wanted, noon()).unwrap().unwrap();
    assert!(joined.pair() == before.pair(), "the registered CA is still the old one");
    assert_eq!(ids(&joined.bundle()).unwrap().len(), 2);
    let all = ids(&joined.bundle()).unwrap();
    let told = Found::Held(joined.with_registered(all));
    let signed = told.due(Some(&before), &wanted, noon()).unwrap().unwrap();
    assert!(signed.pair() != before.pair());
    let later = noon() + SignedDuration::from_hours(25);
    let pruned = Found::Held(signed).due(Some(&before), &wanted, later).unwrap().unwrap();
    assert_eq!(ids(&pruned.bundle()).unwrap().len(), 1);
}
