//! Each permission of the roles is needed: a story succeeds with all of them, and fails without any one that it names.
//! All other stories show that they suffice: their controllers have no others.
//!
//! A [`Story`] returns an error instead of panicking, and names the permissions that it needs; together the stories
//! name all permissions of the table.

mod centralized;
mod cron;
mod guard;
mod held;
mod members;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use fhpa::install::permissions::{PERMISSIONS, PermissionScope};

use crate::bed::role::{Right, Role};
use crate::stories::Process;

/// What is told, in virtual time.
type Telling = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Something that the processes do, and the rights without which they do not.
struct Story {
    tell: fn(Role) -> Telling,
    /// Where, a resource, verbs.
    needs: &'static [(PermissionScope, &'static str, &'static [&'static str])],
}

const STORIES: [&Story; 14] = [
    &held::LEADS,
    &held::HELD,
    &held::FAILOVER,
    &cron::RUNS,
    &members::DEPLOYMENT,
    &members::NODES,
    &members::STATEFUL_SET,
    &members::UNREPORTED,
    &members::FOREIGN,
    &members::BESIDE,
    &centralized::DEPLOYMENT,
    &centralized::STATEFUL_SET,
    &centralized::ADAPTER,
    &guard::GUARDS,
];

impl Story {
    fn rights(&self) -> impl Iterator<Item = Right> {
        self.needs.iter().flat_map(|(place, resource, verbs)| verbs.iter().map(|verb| (*place, *verb, *resource)))
    }

    /// Tells it with all rights, and without each of its own.
    async fn holds(&self) {
        assert_eq!((self.tell)(Role::default()).await, Ok(()), "with all rights");
        let mut superfluous = Vec::new();
        for right in self.rights() {
            match (self.tell)(Role { without: Some(right) }).await {
                Ok(()) => superfluous.push(right),
                Err(what) => eprintln!("without {}: {what}", words(right)),
            }
        }
        assert!(superfluous.is_empty(), "it goes well without {superfluous:#?}");
    }
}

/// Words for a set: places cannot be ordered.
fn words((place, verb, resource): Right) -> String {
    format!("{place:?}: {verb} {resource}")
}

#[test]
fn the_stories_need_every_right_of_the_table_and_no_other() {
    let rows = PERMISSIONS.iter().flat_map(|row| {
        let verbs = |resource: &&'static str| {
            row.verbs.iter().map(|verb| words((row.place, verb, resource))).collect::<Vec<_>>()
        };
        row.resources.iter().flat_map(verbs).collect::<Vec<_>>()
    });
    let table: BTreeSet<String> = rows.collect();
    let needed: BTreeSet<String> = STORIES.iter().flat_map(|story| story.rights()).map(words).collect();
    let unneeded: Vec<&String> = table.difference(&needed).collect();
    assert!(unneeded.is_empty(), "no story needs {unneeded:#?}");
    let unknown: Vec<&String> = needed.difference(&table).collect();
    assert!(unknown.is_empty(), "not in the table: {unknown:#?}");
}

/// What a story expects.
fn same<T: PartialEq + Debug>(what: &str, found: T, wanted: T) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("{what}: {found:?} and not {wanted:?}")) }
}

/// The process leads before long.
async fn leads(one: &mut Process) -> Result<(), String> {
    let led = tokio::time::timeout(Duration::from_secs(60), one.leads()).await;
    led.map_err(|_| "it never leads".to_owned())
}
