//! Stillness: writes since the inputs were frozen, and bounds that changed to and fro.

use std::collections::{BTreeMap, BTreeSet};

use fhpa::runtime::watch::{MANAGED_BY, OURS};
use jiff::Timestamp;

use super::managed::{changed, owners};
use super::world::{Bounds, Name, World, label, target_of};
use super::{Change, is_ours};

/// The course of one number.
#[derive(Clone, Debug, Default)]
struct Course {
    values: Vec<(Timestamp, i64)>,
    reversals: usize,
    rises: Option<bool>,
    /// Whether the HPA was gone: Karmada deletes that of a cluster that was lost minutes after the cluster is back.
    gone: bool,
}

impl Course {
    fn saw(&mut self, at: Timestamp, value: i64) {
        let Some((_, last)) = self.values.last().copied() else {
            self.values.push((at, value));
            return;
        };
        if last == value {
            return;
        }
        self.gone |= value == 0;
        let rises = value > last;
        self.reversals += usize::from(self.rises.is_some_and(|before| before != rises));
        self.rises = Some(rises);
        self.values.push((at, value));
    }
}

/// What happened since.
pub struct Rest {
    pub since: Timestamp,
    /// When fhpa wrote last, and what; Leases and Events left out.
    pub last: Option<(Timestamp, String)>,
    courses: BTreeMap<(String, Name, &'static str), Course>,
    /// FederatedHPAs whose workload was deleted in a cluster that has a share of it: Karmada does that minutes after a
    /// lost cluster is back, and creates it again, so that the load moves to the others and back.
    disturbed: BTreeSet<Name>,
}

impl Rest {
    pub fn new(since: Timestamp) -> Self {
        Self { since, last: None, courses: BTreeMap::new(), disturbed: BTreeSet::new() }
    }

    pub(super) fn saw(&mut self, change: &Change<'_>, world: &World) {
        if matches!(change.kind, "Event" | "Lease") {
            return;
        }
        if let Some(after) = change.after {
            let by_us = |path: &Vec<&str>| owners(after, path).iter().any(|owner| is_ours(owner.manager));
            let fields: Vec<String> =
                changed(change.before, after).iter().filter(|path| by_us(path)).map(|path| path.join(".")).collect();
            if !fields.is_empty() {
                self.last = Some((change.at, format!("{}: {}", change.about(), fields.join(", "))));
            }
        } else if change.kind == "Work" && label(change.object(), "labels", MANAGED_BY) == OURS {
            self.last = Some((change.at, format!("{}: deleted", change.about())));
        }
        if change.after.is_none()
            && !change.in_control()
            && let Some(target) = target_of(change.kind, change.object())
            && world.binding(&target).is_some_and(|binding| binding.entries.contains_key(change.place))
        {
            self.disturbed.extend(world.acts_on(&target).map(|(name, _)| name.clone()));
        }
        if change.kind == "HorizontalPodAutoscaler" && !change.in_control() {
            let name = Name::of(change.object());
            let hpa = world.members.get(change.place).and_then(|member| member.hpas.get(&name));
            let Bounds { min, max } = hpa.map_or(Bounds { min: 0, max: 0 }, |hpa| hpa.bounds);
            for (what, value) in [("min", min), ("max", max)] {
                self.courses.entry((change.place.to_owned(), name.clone(), what)).or_default().saw(change.at, value);
            }
        }
    }

    /// Bounds that changed their direction more than once, beside one HPA or workload that went and came. Not those of a
    /// metric that settles nowhere: a cluster helps for a while, until all that is missing was asked for once.
    pub fn restless(&self, world: &World) -> Vec<String> {
        let most = |name: &Name, gone: bool| if gone || self.disturbed.contains(name) { 3 } else { 1 };
        let chases = |name: &Name| world.federated.get(name).is_some_and(|hpa| hpa.chases);
        let settles = self.courses.iter().filter(|((_, name, _), _)| !chases(name));
        let restless = settles.filter(|((_, name, _), course)| course.reversals > most(name, course.gone));
        let line = |((cluster, name, what), course): (&(String, Name, &str), &Course)| {
            let values: Vec<String> = course.values.iter().map(|(at, value)| format!("{value} at {at}")).collect();
            format!("{what} of {name} in {cluster}: {}", values.join(", "))
        };
        restless.map(line).collect()
    }

    /// Bounds that were changed, in all.
    pub fn changes(&self) -> usize {
        self.courses.values().map(|course| course.values.len().saturating_sub(1)).sum()
    }
}
