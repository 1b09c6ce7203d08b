//! What the law of pods remembers of one workload.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::super::Court;
use super::super::world::{Binding, Federated, Target, World};
use super::share::Share;
use super::{AFTERMATH, AT_ONCE, PATIENCE, REPORTED, ended};

/// HPAs act on new bounds so late.
const SYNCED: SignedDuration = SignedDuration::from_secs(20);
/// Karmada tries a deletion that a cluster missed again after waits of up to 1,000 s, and then deletes for a moment.
const MISSED: SignedDuration = SignedDuration::from_secs(1_060);

/// What a lost cluster ran and nobody runs yet.
#[derive(Clone, Debug)]
pub struct Lost {
    pub cluster: String,
    /// Replicas that the others are to be asked for, together.
    pub wanted: i64,
    /// In worked time.
    pub since: SignedDuration,
}

#[derive(Default)]
pub struct PodHistory {
    pub shares: BTreeMap<String, Share>,
    /// Removed within the allowance and not replaced yet, and of which clusters.
    pub owed: i64,
    pub owing: BTreeSet<String>,
    /// Whether somebody holds it, or when nobody did any more.
    pub held: bool,
    pub released: Option<Timestamp>,
    /// When somebody took it: clusters that are no candidates leave then.
    pub taken: Option<Timestamp>,
    /// The placement of its binding, and when it became that.
    pub placement: Option<u64>,
    pub placed: Option<Timestamp>,
    /// When a quota was last exceeded: what it kept from being divided goes cluster by cluster.
    pub over_quota: Option<Timestamp>,
    /// Since when it is to be Centralized: clusters that leave are replaced first, for as long as that may take.
    pub switched: Option<Timestamp>,
    /// Times in which no cluster could be asked for a replacement: their begin and end.
    pub failed: Vec<(Timestamp, Timestamp)>,
    /// Whether that lasts.
    pub fails: bool,
    /// Whether it was given back with another placement than its entries stand for: Karmada's scheduler divides anew.
    pub divides_anew: bool,
    /// What ran beyond max when max fell, as far as it was not removed yet, and until when it may be.
    pub excess: i64,
    pub excess_until: Option<Timestamp>,
    /// When a cluster that ran some last did not answer, and what all such clusters ran.
    pub silent: Option<(Timestamp, i64)>,
    /// Clusters that lost pods of it until then: they may leave as well.
    pub exceeded: BTreeSet<String>,
    pub leaving: BTreeMap<String, Timestamp>,
    /// Their eviction ended only after the longest time.
    pub late: BTreeSet<String>,
    pub entries: BTreeSet<String>,
    /// Where it ran when the user deleted it.
    pub deleted: BTreeSet<String>,
    /// Others were ready in their place when they left the binding. Karmada's queue may come to the deletion later.
    pub replaced: BTreeSet<String>,
    /// Taken out of the binding while they did not answer, or by Karmada's own division while nobody held the workload,
    /// and when they were last out of it: Karmada deletes the workload after they are back or its queue has come to it,
    /// even where they got a share again.
    pub gone: BTreeMap<String, Timestamp>,
    pub lost: Vec<Lost>,
    /// What the others were asked for when a cluster stopped to answer: what came up since then replaces it.
    pub others_then: BTreeMap<String, i64>,
    /// Replicas that HPAs of members removed, and when: for a moment nobody knows.
    pub fell: Vec<(Timestamp, i64)>,
    /// Of these, what went below the min of the member's HPA: another scaler of the user did that.
    pub cut: Vec<(Timestamp, i64)>,
}

impl PodHistory {
    /// The HPA of a member, ours or another's, asks for so many fewer replicas.
    pub fn fall(&mut self, replicas: i64, now: Timestamp) {
        self.fell.retain(|(at, _)| now.duration_since(*at) < REPORTED);
        self.fell.push((now, replicas));
        self.want_fewer(replicas);
    }

    /// Notes whether a cluster can be asked for a replacement.
    pub fn fail(&mut self, hpa: &Federated, now: Timestamp) {
        let failed = hpa.condition("Assigned").is_some_and(|assigned| assigned.reason == "AllClustersFailed");
        match self.failed.last_mut() {
            Some((_, end)) if self.fails => *end = now,
            _ if failed => self.failed.push((now, now)),
            _ => {}
        }
        self.fails = failed;
    }

    /// So many fewer replicas are to run in place of lost clusters.
    fn want_fewer(&mut self, replicas: i64) {
        for lost in &mut self.lost {
            lost.wanted -= replicas;
        }
    }

    /// Another scaler removed replicas below the min of the member's HPA.
    pub fn cut(&mut self, replicas: i64, now: Timestamp) {
        self.cut.retain(|(at, _)| now.duration_since(*at) < SYNCED);
        self.cut.push((now, replicas));
    }

    /// Has what another scaler removed, which nobody knew when the bounds were written that take effect now, account
    /// for what runs nowhere else. Returns the rest.
    fn excuse(&mut self, mut uncovered: i64, now: Timestamp) -> i64 {
        for (_, cut) in self.cut.iter_mut().filter(|(at, _)| now.duration_since(*at) < SYNCED) {
            let taken = uncovered.min(*cut);
            *cut -= taken;
            uncovered -= taken;
        }
        uncovered
    }

    /// The user asks for fewer replicas than run: which of them go is not said, and members remove some by themselves.
    pub fn exceed(&mut self, target: &Target, world: &World) {
        let Some((_, hpa)) = world.acts_on(target).filter(|(_, hpa)| !world.duplicates(hpa)) else { return };
        // An HPA cannot ask for less than one, be it ready or not.
        let all: i64 = self.shares.values().map(|share| share.ready.max(share.asked.min(1))).sum();
        // A copy that is on its way is one more.
        let copied = hpa.copied.is_some_and(|at| world.now.duration_since(at) < AFTERMATH);
        let begins = |cluster: &&String| copied && self.shares.get(*cluster).is_none_or(|share| share.asked == 0);
        let all = all + i64::try_from(self.entries.iter().filter(begins).count()).unwrap_or_default();
        if all > hpa.bounds.max {
            self.excess = self.excess.max(all - hpa.bounds.max);
            self.excess_until = world.now.checked_add(AFTERMATH).ok();
            return;
        }
        self.keep_excess(world);
        if self.excess_until.is_some_and(|until| world.now > until) {
            self.excess = 0;
            self.exceeded.clear();
        }
    }

    /// What a cluster that does not answer runs too much goes only when it is back.
    pub fn keep_excess(&mut self, world: &World) {
        let silent = self.shares.iter().filter(|(cluster, _)| !world.answers(cluster));
        let silent: i64 = silent.map(|(_, share)| share.ready).sum();
        if silent > 0 {
            self.silent = Some((world.now, silent));
        }
        let silent = self.silent.filter(|(at, _)| world.now.duration_since(*at) < AFTERMATH);
        if let Some((at, silent)) = silent
            && self.excess_until.is_some_and(|until| world.now > until)
        {
            self.excess = self.excess.min(silent);
            self.excess_until = at.checked_add(AFTERMATH).ok();
        }
    }

    pub fn share(&mut self, cluster: &str) -> &mut Share {
        self.shares.entry(cluster.to_owned()).or_default()
    }

    /// Whether a cluster is to lose what it ran before it failed.
    pub fn is_gone(&self, cluster: &str, now: Timestamp) -> bool {
        self.gone
            .get(cluster)
            .is_some_and(|since| !self.entries.contains(cluster) || now.duration_since(*since) < MISSED)
    }

    /// Whether what happens is still fhpa's doing.
    pub fn is_bound(&self, world: &World) -> bool {
        let held = self.held && !self.divides_anew;
        held || self.released.is_some_and(|since| world.now.duration_since(since) < AFTERMATH)
    }

    /// Has others carry so much of the demand of `cluster`. Returns what nobody carries.
    pub fn cover(&mut self, cluster: &str, mut demand: i64) -> i64 {
        for (_, share) in self.shares.iter_mut().filter(|(name, _)| *name != cluster) {
            let taken = share.spare().min(demand);
            share.demand += taken;
            demand -= taken;
        }
        demand
    }

    /// Notes which of the clusters that were in the binding, or whose eviction was under way, leave it while others are
    /// ready in their place.
    pub fn replace(&mut self, were: BTreeSet<String>, entries: &BTreeSet<String>, evicting: &[String]) {
        let out = |cluster: &String| !entries.contains(cluster) && !evicting.contains(cluster);
        self.replaced.retain(out);
        let leave: BTreeSet<String> = were.into_iter().filter(out).chain(self.replaced.clone()).collect();
        let demand = |cluster: &String| self.shares.get(cluster).map_or(0, |share| share.demand.min(share.ready));
        let spare = self.shares.iter().filter(|(cluster, _)| !leave.contains(*cluster)).map(|(_, share)| share.spare());
        if leave.iter().map(demand).sum::<i64>() <= spare.sum() {
            self.replaced.extend(leave);
        }
    }

    /// What came up since pays for what was removed within the allowance.
    pub fn pay(&mut self) {
        self.owed = self.cover("", self.owed);
        if self.owed == 0 {
            self.owing.clear();
        }
    }

    /// What is spare for long is no replacement any more, unless a move is under way.
    pub fn age(&mut self, target: &Target, court: &Court<'_>) {
        let (now, after) = (court.world.now, court.terms.queue + AT_ONCE);
        let assigned = |hpa: &Federated| hpa.condition("Assigned").is_none_or(|assigned| assigned.status == "True");
        let moves = court.world.acts_on(target).is_some_and(|(_, hpa)| !assigned(hpa));
        let moves = moves || !self.leaving.is_empty();
        for share in self.shares.values_mut() {
            if share.spare() == 0 || moves {
                share.spare_since = None;
            } else if now.duration_since(*share.spare_since.get_or_insert(now)) > after {
                share.demand = share.ready;
            }
        }
    }

    /// A decision leaves a cluster with `left` of what it ran.
    pub fn remove(&mut self, target: &Target, cluster: &str, left: i64, court: &mut Court<'_>) {
        let share = self.share(cluster);
        let moved = (share.demand.min(share.ready) - left).max(0);
        share.demand = share.demand.min(left);
        let all: i64 = self.shares.values().map(|share| share.ready).sum();
        let world = court.world;
        // Where each cluster has the whole of it, Karmada's scheduler takes it at once out of all clusters that are no
        // candidates, once it is handed back.
        let whole = || world.binding(target).is_some_and(|binding| !binding.divides);
        let given_back = left == 0 && !self.held && world.acts_on(target).is_none() && whole();
        // Others replaced it when it left, and no decision took that from them.
        let replaced = left == 0 && self.replaced.contains(cluster);
        self.replaced.retain(|other| other == cluster);
        let uncovered = if replaced || given_back { 0 } else { self.cover(cluster, moved) };
        let uncovered = if left == 0 { uncovered.min(self.room(target, cluster, world)) } else { uncovered };
        let uncovered = self.excuse(uncovered, world.now);
        self.keep_excess(world);
        let excess = if self.excess_until.is_some_and(|until| world.now <= until) { self.excess } else { 0 };
        let beyond = uncovered.min(excess);
        self.excess -= beyond;
        if beyond > 0 {
            self.exceeded.insert(cluster.to_owned());
        }
        let uncovered = uncovered - beyond;
        self.owed += uncovered;
        if uncovered > 0 {
            self.owing.insert(cluster.to_owned());
        }
        let late = || self.is_late(target, cluster, left, world);
        if uncovered > 0 && self.owed > self.allowance(target, court) && !late() {
            court.breaks(
                format!("{target} in {cluster}"),
                format!(
                    "of {all} ready pods {moved} that are needed are removed, and {uncovered} of them run nowhere else"
                ),
            );
            self.owed = 0;
            self.owing.clear();
        }
    }

    /// Whether the longest wait for a replacement has passed for a cluster that is left with `left`.
    fn is_late(&self, target: &Target, cluster: &str, left: i64, world: &World) -> bool {
        let since = self.leaving.get(cluster);
        let longest = PATIENCE + AT_ONCE + world.ahead_since(Timestamp::MIN);
        // Where nothing can replace it, it leaves without an eviction.
        let in_vain = |from: Timestamp| {
            let waited = world.now.duration_since(from);
            ended(from, world) && waited <= longest
        };
        // It is waited for anew while no cluster can be asked.
        let vainly =
            |(from, to): &(Timestamp, Timestamp)| ended(*from, world) && world.now.duration_since(*to) <= longest;
        // It is waited for anew with each leader, and once a cluster can be asked again.
        let anew = world.clusters.values().filter_map(|place| place.since).chain([world.acts_since]);
        let anew: Vec<Timestamp> = anew.collect();
        let gives_up = |placed: Timestamp| {
            let mut begins = anew.iter().filter(|at| **at > placed).chain([&placed]);
            let failed = || self.failed.iter().filter(|(_, to)| *to > placed).any(vainly);
            since.is_none() && left == 0 && (begins.any(|at| in_vain(*at)) || failed())
        };
        let late = self.late.contains(cluster) || since.is_some_and(|since| ended(*since, world));
        let place = world.clusters.get(cluster);
        let labelled = place.and_then(|place| place.labelled);
        let narrowed = world.acts_on(target).and_then(|(_, hpa)| hpa.narrowed);
        let late = late || [self.placed, self.taken, labelled, narrowed].into_iter().flatten().any(gives_up);
        let tainted = place.and_then(|place| place.tainted);
        let waited = [tainted, self.switched].into_iter().flatten().min();
        late || left == 0 && waited.is_some_and(|since| ended(since, world))
    }

    /// Further replicas that the other clusters may run where each may run `maxReplicas`; else `maxReplicas` is shared.
    fn room(&self, target: &Target, cluster: &str, world: &World) -> i64 {
        let Some((_, hpa)) = world.acts_on(target).filter(|(_, hpa)| world.duplicates(hpa)) else { return i64::MAX };
        let others = self.entries.iter().filter(|name| *name != cluster && world.answers(name));
        let ready = |name: &String| self.shares.get(name).map_or(0, |share| share.ready);
        others.map(|name| (hpa.bounds.max - ready(name)).max(0)).sum()
    }

    /// What may be away for a moment where max leaves no headroom for both: a quarter of what each cluster ran that
    /// leaves. A max that the user raised since a deletion that Karmada's queue holds back does not undo it.
    pub fn allowance(&self, target: &Target, court: &Court<'_>) -> i64 {
        let world = court.world;
        let Some((_, hpa)) = world.acts_on(target) else { return 0 };
        let fell = self.fell.iter().filter(|(at, _)| world.now.duration_since(*at) < REPORTED);
        let asked: i64 = self.shares.values().map(|share| share.asked).chain(fell.map(|(_, fell)| *fell)).sum();
        // One whose first pods went because more ran than max leaves as the others do.
        let leave = self.owing.iter().chain(&self.exceeded).chain(self.leaving.keys());
        let leave: BTreeSet<&String> = leave.collect();
        let ran = leave.into_iter().filter_map(|cluster| self.shares.get(cluster)).map(|share| share.most);
        let max = hpa.least_since(world.now, court.terms.queue);
        ran.filter(|most| asked + most > max).map(|most| (most / 4).max(1)).sum()
    }

    /// A cluster that does not answer is left: the others run what it ran, as far as Karmada told of it, and as they do
    /// not run it since then.
    pub fn lose(&mut self, target: &Target, cluster: &str, binding: &Binding, court: &mut Court<'_>) {
        self.gone.insert(cluster.to_owned(), court.world.now);
        let told = binding.told.get(cluster).copied().unwrap_or(i64::MAX);
        let others = self.others_of(target, cluster, court.world);
        let more = self.others_then.get(cluster).map_or(0, |then| (others - then).max(0));
        // What it ran beyond the max that it did not learn of goes with the excess.
        let sent = court.world.acts_on(target).and_then(|(owner, _)| court.world.sent(owner, cluster));
        let excess = self.excess_until.filter(|until| court.world.now <= *until).map_or(0, |_| self.excess);
        let share = self.share(cluster);
        let moved = (share.demand.min(share.ready).min(told) - more).max(0);
        let beyond = sent.map_or(0, |sent| (moved - sent.bounds.max).clamp(0, excess));
        let (moved, asked) = (moved - beyond, share.asked);
        (share.demand, share.ready, share.asked) = (0, 0, 0);
        self.excess -= beyond;
        // A quarter that goes elsewhere in this moment was released when it still ran these.
        self.fall(asked, court.world.now);
        let uncovered = self.cover(cluster, moved).min(self.room(target, cluster, court.world));
        let assists = court.world.acts_on(target).is_some_and(|(_, hpa)| hpa.assists);
        if uncovered > 0 && assists && !binding.purges_at_once {
            let others = || self.entries.iter().filter_map(|cluster| self.shares.get(cluster));
            let asked: i64 = others().map(|share| share.asked).sum();
            // What was asked for in its place while it left may not be ready yet.
            let demand: i64 = others().map(|share| share.demand).sum();
            let due = self.lost.iter().map(|lost| lost.wanted).chain([demand]).max().unwrap_or_default();
            // Together they run no more than max, and what their HPAs remove then was part of that.
            let most = court.world.acts_on(target).map_or(i64::MAX, |(_, hpa)| {
                let copies = if court.world.duplicates(hpa) { self.entries.len() } else { 1 };
                hpa.bounds.max.saturating_mul(copies.try_into().unwrap_or(i64::MAX))
            });
            let wanted = (asked.min(due) + uncovered).min(most);
            let lost = Lost { cluster: cluster.to_owned(), wanted, since: court.worked };
            self.lost.push(lost);
        }
    }

    /// Replicas that clusters with an entry are asked for. What was written to one that is cut off, or stopped to answer
    /// a moment later, was asked of it as well: it keeps its share while it is tolerated, and owes that when it fails.
    fn asked(&self, target: &Target, world: &World) -> i64 {
        let owner = world.acts_on(target).map(|(owner, _)| owner);
        let written =
            |cluster: &str| owner.and_then(|owner| world.sent(owner, cluster)).map_or(0, |sent| sent.bounds.min);
        let asked = |cluster: &String| self.shares.get(cluster).map_or(0, |share| share.asked).max(written(cluster));
        self.entries.iter().map(asked).sum()
    }

    /// Replicas that the others which answer are asked for; of a full one those that it runs.
    pub fn others_of(&self, target: &Target, cluster: &str, world: &World) -> i64 {
        let others = self.shares.iter().filter(|(name, _)| *name != cluster && world.answers(name));
        others.map(|(name, share)| if world.is_full(name, target) { share.ready } else { share.asked }).sum()
    }

    pub fn others<'a>(&'a self, world: &'a World) -> impl Iterator<Item = (&'a String, &'a Share)> {
        let in_use =
            move |(cluster, _): &(&'a String, &Share)| world.answers(cluster) && self.entries.contains(*cluster);
        self.shares.iter().filter(in_use)
    }

    /// What lost clusters ran is asked of others in time, as far as their bounds and their room go.
    pub fn look_at_lost(&mut self, target: &Target, court: &mut Court<'_>) {
        let world = court.world;
        let asked = self.asked(target, world);
        let full = self.others(world).all(|(cluster, share)| {
            share.asked >= share.max || share.ready < share.asked || world.is_full(cluster, target)
        });
        let mine = world.acts_on(target).is_some() && self.others(world).next().is_some();
        let entries = &self.entries;
        self.lost.retain(|lost| mine && !full && asked < lost.wanted && !entries.contains(&lost.cluster));
        let in_time = |lost: &Lost| court.worked - lost.since <= AT_ONCE;
        let (waiting, late) = std::mem::take(&mut self.lost).into_iter().partition::<Vec<Lost>, _>(in_time);
        self.lost = waiting;
        for lost in late {
            court.breaks(
                format!("{target}, which ran in {}", lost.cluster),
                format!("{} were to run elsewhere at once, and {asked} are asked for", lost.wanted),
            );
        }
    }
}
