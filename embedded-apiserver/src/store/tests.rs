//! Tests of the store. No I/O.

use serde_json::json;

use super::*;

fn store_with(count: usize) -> (Store, Arc<str>) {
    let (store, bucket) = (Store::new(100), Arc::from("things"));
    for n in 0..count {
        store.put(&Key::new(&bucket, "", &format!("t{n}")), Expected::Absent, thing(n)).unwrap();
    }
    (store, bucket)
}

fn thing(n: usize) -> Value {
    json!({"metadata": {"name": format!("t{n}"), "uid": format!("u{n}")}})
}

fn names(page: &Page) -> Vec<String> {
    page.items.iter().map(|object| object::name(object.value()).to_owned()).collect()
}

#[test]
fn a_later_page_shows_the_state_of_the_first() {
    let (store, bucket) = store_with(4);
    let first = store.list(&bucket, &Query { limit: 2, ..Query::default() }).unwrap();
    assert_eq!((names(&first), first.remaining), (vec!["t0".into(), "t1".into()], Some(2)));
    let gone = Key::new(&bucket, "", "t2");
    store.remove(&gone, store.get(&gone).unwrap().version(), thing(2)).unwrap();
    store.put(&Key::new(&bucket, "", "t9"), Expected::Absent, thing(9)).unwrap();
    let rest = Query { version: Some(first.version), after: first.more, ..Query::default() };
    assert_eq!(names(&store.list(&bucket, &rest).unwrap()), ["t2", "t3"]);
    store.compact();
    assert!(store.list(&bucket, &rest).is_err());
}

#[test]
fn a_write_on_an_old_version_is_refused() {
    let (store, bucket) = store_with(1);
    let key = Key::new(&bucket, "", "t0");
    let old = store.get(&key).unwrap().version();
    store.put(&key, Expected::Version(old), thing(0)).unwrap();
    assert_eq!(store.put(&key, Expected::Version(old), thing(0)).unwrap_err(), Raced::Changed);
    assert_eq!(store.put(&key, Expected::Absent, thing(0)).unwrap_err(), Raced::Changed);
}

#[test]
fn an_observer_is_told_of_every_change_before_and_after() {
    let (store, bucket) = store_with(1);
    let told: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let notes = told.clone();
    let note = move |bucket: &str, change: &Change| {
        let before = change.before.as_ref().map(|before| before.version());
        notes.lock().unwrap().push(format!("{bucket} {before:?} {} {}", change.version, change.deleted));
    };
    assert!(store.observe(Box::new(note)));
    let key = Key::new(&bucket, "", "t0");
    let version = store.get(&key).unwrap().version();
    let written = store.put(&key, Expected::Version(version), thing(0)).unwrap().version();
    store.remove(&key, written, thing(0)).unwrap();
    assert_eq!(*told.lock().unwrap(), ["things Some(2) 3 false", "things Some(3) 4 true"]);
    assert!(!store.observe(Box::new(|_, _| {})), "there can be one");
}

#[test]
fn owners_know_their_dependents() {
    let (store, bucket) = store_with(1);
    let child = json!({"metadata": {"name": "c", "uid": "uc", "ownerReferences": [{"uid": "u0"}]}});
    let key = Key::new(&bucket, "", "c");
    let version = store.put(&key, Expected::Absent, child).unwrap().version();
    assert_eq!(store.dependents("u0"), std::slice::from_ref(&key));
    store.put(&key, Expected::Version(version), json!({"metadata": {"name": "c", "uid": "uc"}})).unwrap();
    assert!(store.dependents("u0").is_empty());
    assert_eq!(store.find_uid("uc"), Some(key));
}

#[test]
fn leases_and_events_move_nothing() {
    let (store, bucket) = store_with(1);
    let before = store.moved();
    store.put(&Key::new(&"leases.coordination.k8s.io".into(), "", "l"), Expected::Absent, thing(8)).unwrap();
    assert_eq!(store.moved(), before);
    store.put(&Key::new(&bucket, "", "t9"), Expected::Absent, thing(9)).unwrap();
    assert_ne!(store.moved(), before);
}
