//! What would not run if clusters were lost: the plans that would be made for all objects, one after the other, each
//! with what the ones before it left (docs/operations.md#drill). Writes nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::cache::entry::Binding;
use super::cache::{Fleet, View};
use super::observe::live_state::LiveState;
use super::observe::promised::standing;
use super::observe::{Observed, PlacementSpec, observe};
use super::progress::bound;
use crate::api::replica_requirements::ReplicaRequirements;
use crate::controller::key::Key;
use crate::decision::defaults::Mode;
use crate::decision::drill::{AtLoad, FailureDomain, LoadFactor, Loss, ObjectLoss, ROUNDS, Round};
use crate::decision::fleet::Member;
use crate::decision::ledger::{Ask, Ledger, Rank, Standing};
use crate::decision::split::Replicas;

/// For so long the lost clusters do not answer: longer than any toleration that ends.
const LOST_FOR: SignedDuration = SignedDuration::from_hours(24 * 365);

/// The objects of a fleet, ready for the loss of any of its clusters.
pub struct Drill {
    live: LiveState,
    now: Timestamp,
    fleet: Arc<Fleet>,
    /// In the order in which they are replaced.
    objects: Vec<Placed>,
    /// What is promised before the loss.
    ledger: Ledger,
}

/// A divided object.
struct Placed {
    standing: Standing,
    key: Key,
    generation: Option<i64>,
    /// The places in the fleet of the clusters that may run it.
    places: Box<[u32]>,
    /// What clusters, by their places, would run at another load.
    at_load: Box<[(u32, AtLoad)]>,
}

impl Drill {
    /// Of the objects that are divided at `now`; `mode`: of those that name none. Centralized ones are left out:
    /// karmada-scheduler divides them.
    #[must_use]
    pub fn new(live: &LiveState, mode: Option<Mode>, now: Timestamp) -> Self {
        let fleet = live.cache.fleet();
        let keys = live.cache.keys();
        let mut objects: Vec<Placed> =
            keys.into_iter().filter_map(|key| Placed::of(&live.cache.view(&key)?, key, &fleet, mode)).collect();
        objects.sort_by(|one, other| one.standing.cmp(&other.standing));
        let ledger = live.ledger.lock().clone();
        Self { live: live.clone(), now, fleet, objects, ledger }
    }

    /// Learns what is promised before the loss, as a new leader does: from a plan of each object.
    #[must_use]
    pub fn promising(mut self) -> Self {
        for Placed { key, .. } in &self.objects {
            let Some(view) = self.live.cache.view(key) else { continue };
            let Some((binding, placement_spec)) = placed(&view) else { continue };
            let mut observed = observe(&view, binding, &placement_spec, &self.live, self.now);
            observed.leave_promised(&self.live, &mut self.ledger, &view, binding, self.now);
            observed.promise(&mut self.ledger, &view, binding, self.now);
        }
        self
    }

    /// As if HPAs measured so much more or less, and had acted on it before the loss, in the order of the objects.
    #[must_use]
    pub fn at_load(mut self, factor: LoadFactor) -> Self {
        let Self { live, now, fleet, objects, ledger } = &mut self;
        for object in objects.iter_mut().filter(|_| !factor.is_unchanged()) {
            let Some(view) = live.cache.view(&object.key) else { continue };
            let Some((binding, placement_spec)) = placed(&view) else { continue };
            let mut observed = observe(&view, binding, &placement_spec, live, *now);
            observed.leave_promised(live, ledger, &view, binding, *now);
            let clusters = observed.request.clusters.iter().map(|cluster| cluster.name);
            let changes: Vec<(&str, AtLoad)> =
                clusters.zip(factor.runs(&observed.request)).filter(|(_, at)| at.wanted != at.before).collect();
            if let Some(each) = observed.requirements.demand() {
                let standing = standing(&view, binding, observed.request.rank());
                let grown = changes.iter().map(|(name, at)| {
                    let AtLoad { before: current, runs: asked, .. } = *at;
                    (*name, Ask { asked, current, waiting: 0 })
                });
                let report = |name: &str| view.cluster(name)?.summary.as_ref();
                ledger.ask(&standing, each, grown, report, *now);
            }
            object.at_load = changes.into_iter().filter_map(|(name, at)| Some((place(fleet, name)?, at))).collect();
        }
        self
    }

    /// The objects, each with its generation.
    pub fn objects(&self) -> impl Iterator<Item = (&Key, Option<i64>)> {
        self.objects.iter().map(|object| (&object.key, object.generation))
    }

    /// The member clusters.
    #[must_use]
    pub fn members(&self) -> &[Member<'static>] {
        &self.fleet.members
    }

    /// What the loss of `domain` means.
    #[must_use]
    pub fn loss(&self, domain: FailureDomain) -> Loss {
        let lost = &domain.clusters;
        let since = self.now.checked_sub(LOST_FOR).unwrap_or(Timestamp::MIN);
        let fleet = Arc::new(self.fleet.losing(|name| lost.contains(name), since));
        let away: BTreeSet<u32> = lost.iter().filter_map(|name| place(&self.fleet, name)).collect();
        let mut ledger = self.ledger.clone();
        let (mut objects, mut paused) = (Vec::new(), false);
        for object in &self.objects {
            if !object.places.iter().any(|place| away.contains(place)) {
                continue;
            }
            let Some(mut view) = self.live.cache.view(&object.key) else { continue };
            view.fleet = Arc::clone(&fleet);
            let Some((binding, placement_spec)) = placed(&view) else { continue };
            let placement_spec =
                if self.live.failover.rate > 0.0 { placement_spec } else { placement_spec.admitting(Vec::new()) };
            let observed = observe(&view, binding, &placement_spec, &self.live, self.now);
            paused |= observed.paused.is_some();
            objects.extend(self.lose(&mut ledger, object, &view, binding, observed, lost));
        }
        Loss::of(domain, paused, objects)
    }

    /// `None` for an object that runs nothing in the lost clusters.
    fn lose(
        &self,
        ledger: &mut Ledger,
        object: &Placed,
        view: &View,
        binding: &Binding,
        mut observed: Observed<'_>,
        lost: &BTreeSet<String>,
    ) -> Option<ObjectLoss> {
        observed.leave_promised(&self.live, ledger, view, binding, self.now);
        for cluster in &mut observed.request.clusters {
            let known = object.at_load.iter().find(|(at, _)| Some(*at) == place(&self.fleet, cluster.name));
            if let Some((_, at)) = known {
                at.enter(cluster, lost.contains(cluster.name));
            }
        }
        let clusters = observed.request.clusters.iter().filter(|cluster| lost.contains(cluster.name));
        let ran = clusters.map(|cluster| cluster.current.or(cluster.entry).unwrap_or_default());
        let ran = ran.fold(0, Replicas::saturating_add);
        if ran == 0 {
            return None;
        }
        let mut round = self.round(ledger, view, binding, &observed, lost);
        for _ in 1..ROUNDS {
            if !round.is_open() {
                break;
            }
            round.enter(&mut observed.request);
            let next = self.round(ledger, view, binding, &observed, lost);
            if std::mem::replace(&mut round, next) == round {
                break;
            }
        }
        let waits = observed.waiting.iter().any(|name| lost.contains(*name));
        let shortage = round.shortage(&observed.request, ran, waits, observed.paused.is_some());
        let short = shortage.map_or(0, |(short, _)| short);
        let pod = || pod(binding.object.spec.replica_requirements.as_ref());
        let remedy = shortage.map(|(short, why)| why.remedy(short, &pod()));
        let Key { namespace, name } = view.federated_hpa.key();
        let (namespace, name) = (namespace.to_string(), name.to_string());
        Some(ObjectLoss { namespace, name, replicas: ran, short, reason: shortage.map(|(_, why)| why), remedy })
    }

    fn round(
        &self,
        ledger: &mut Ledger,
        view: &View,
        binding: &Binding,
        observed: &Observed<'_>,
        lost: &BTreeSet<String>,
    ) -> Round {
        let (plan, _) = observed.promise(ledger, view, binding, self.now);
        Round::of(&observed.request, &plan, lost)
    }
}

impl Placed {
    fn of(view: &View, key: Key, fleet: &Fleet, mode: Option<Mode>) -> Option<Self> {
        let entry = &view.federated_hpa;
        let divided = entry.mode().or(mode) == Some(Mode::Distributed) && !entry.deleting();
        if !divided || view.rival().is_some() {
            return None;
        }
        let (binding, _) = placed(view)?;
        let entered = binding.entries().map(|(name, _)| name);
        let reported = binding.reports().map(|(name, _)| name);
        let places: BTreeSet<u32> = entered.chain(reported).filter_map(|name| place(fleet, name)).collect();
        let standing = standing(view, binding, Rank::Replace);
        let generation = entry.object.metadata.generation;
        Some(Self { standing, key, generation, places: places.into_iter().collect(), at_load: Box::default() })
    }
}

/// What is divided, and how.
fn placed(view: &View) -> Option<(&Binding, PlacementSpec<'_>)> {
    let binding = bound(view)?;
    Some((binding, PlacementSpec::of(view, binding).ok()?))
}

fn place(fleet: &Fleet, cluster: &str) -> Option<u32> {
    let at = fleet.members.binary_search_by(|member| (*member.name).cmp(cluster)).ok()?;
    u32::try_from(at).ok()
}

/// What a pod requests: `cpu 500m, memory 1Gi`.
fn pod(requirements: Option<&serde_json::Value>) -> String {
    let read = requirements.and_then(|found| serde_json::from_value::<ReplicaRequirements>(found.clone()).ok());
    let requests = read.map(|read| read.resource_request).unwrap_or_default();
    let each: Vec<String> = requests.iter().map(|(name, quantity)| format!("{name} {}", quantity.0)).collect();
    if each.is_empty() { "no requests".to_owned() } else { each.join(", ") }
}
