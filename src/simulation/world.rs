//! Second by second: faults, messages, nodes and pods, HPAs, and the control plane. Pure.

use std::collections::VecDeque;

use super::autoscaler::is_bounded;
use super::control::{ClusterPods, Control};
use super::member::Member;
use super::{Disruption, Driver, Event, EventKind, Figures, Scenario, Second};
use crate::decision::plan::Bounds;
use crate::decision::split::Replicas;

/// One second.
#[derive(Clone, Debug)]
pub struct Frame<'w, 'a> {
    /// Number of the second.
    pub second: Second,
    /// The load, in thousandths.
    pub load: u64,
    /// The unserved load, in thousandths.
    pub unserved: u64,
    /// Whether the control plane is paused.
    pub frozen: bool,
    /// Requested replicas of the workload as a whole, in Centralized mode.
    pub replicas: Option<Replicas>,
    /// Events in this second.
    pub events: &'w [Event],
    members: &'w [Member<'a>],
}

/// A cluster at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterFrame<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is up.
    pub up: bool,
    /// Requested replicas.
    pub spec: Replicas,
    /// Replicas on nodes.
    pub placed: Replicas,
    /// Replicas that serve.
    pub ready: Replicas,
    /// Replicas without a node.
    pub pending: Replicas,
    /// Replicas that fit on its nodes.
    pub capacity: Replicas,
    /// Bounds in effect.
    pub bounds: Option<Bounds>,
    /// Whether its HPA may not scale down.
    pub held: bool,
    /// Whether its share was given to others while it did not answer, and it still has its HPA.
    pub given_away: bool,
}

impl<'a> Frame<'_, 'a> {
    /// The clusters, in the order of the scenario.
    pub fn clusters(&self) -> impl Iterator<Item = ClusterFrame<'a>> {
        self.members.iter().map(Member::seen)
    }

    /// The sum of `maxReplicas` in effect, without clusters whose share was given away.
    #[must_use]
    pub fn in_effect(&self) -> u64 {
        let counted = self.members.iter().filter(|member| !member.given_away);
        counted.filter_map(Member::bounds).map(|bounds| u64::from(bounds.max)).sum()
    }
}

impl<'a> Member<'a> {
    fn seen(&self) -> ClusterFrame<'a> {
        ClusterFrame {
            name: &self.site.member.name,
            up: self.up,
            spec: self.spec.unwrap_or_default(),
            placed: if self.up { self.pods.placed() } else { 0 },
            ready: self.serving(),
            pending: self.pods.pending,
            capacity: if self.up { self.capacity } else { 0 },
            bounds: self.bounds(),
            held: self.autoscaler.as_ref().is_some_and(|hpa| hpa.held),
            given_away: self.given_away,
        }
    }

    fn serving(&self) -> Replicas {
        if self.up { self.pods.ready() } else { 0 }
    }
}

/// Distribution of the load over clusters.
struct Burden {
    load: u64,
    unserved: u64,
    /// Load of each ready pod, in thousandths of its target: the same everywhere, or by cluster.
    even: u64,
    own: Option<Vec<u64>>,
}

impl Burden {
    /// Load of each ready pod of a cluster.
    fn share(&self, at: usize) -> u64 {
        self.own.as_ref().and_then(|own| own.get(at).copied()).unwrap_or(self.even)
    }
}

struct World<'a> {
    scenario: &'a Scenario<'a>,
    members: Vec<Member<'a>>,
    control: Control<'a>,
    /// Pending changes that the control plane will learn: which cluster, and whether it answers.
    news: VecDeque<(Second, usize, bool)>,
    frozen: bool,
    events: Vec<Event>,
}

/// Simulates the scenario; calls `look` at the end of each second.
pub fn run(scenario: &Scenario<'_>, mut look: impl FnMut(&Frame<'_, '_>)) -> Figures {
    let sites = scenario.sites.iter().enumerate();
    let mut world = World {
        scenario,
        members: sites.map(|(at, site)| Member::new(scenario, at, site)).collect(),
        control: Control::new(scenario),
        news: VecDeque::new(),
        frozen: false,
        events: Vec::new(),
    };
    let mut figures = Figures::default();
    let mut minute = 0;
    for second in 0..scenario.duration {
        let before = world.control.counts.writes;
        let burden = world.second(second);
        let written = world.control.counts.writes.saturating_sub(before);
        minute = if second % 60 == 0 { written } else { u64::saturating_add(minute, written) };
        figures.busiest_minute = figures.busiest_minute.max(minute);
        if written > 0 {
            figures.last_write = Some(second);
        }
        let frame = Frame {
            second,
            load: burden.load,
            unserved: burden.unserved,
            frozen: world.frozen,
            replicas: world.control.replicas(),
            events: &world.events,
            members: &world.members,
        };
        figures.add(&frame);
        look(&frame);
    }
    let counts = world.control.counts;
    (figures.decisions, figures.reassignments, figures.writes) =
        (counts.decisions, counts.reassignments, counts.writes);
    figures
}

impl Figures {
    fn add(&mut self, frame: &Frame<'_, '_>) {
        self.seconds = self.seconds.saturating_add(1);
        self.load = self.load.saturating_add(frame.load.into());
        self.unserved = self.unserved.saturating_add(frame.unserved.into());
        self.unserved_seconds = self.unserved_seconds.saturating_add(u64::from(frame.unserved > 0));
        self.unserved_peak = self.unserved_peak.max(frame.unserved);
        let up = frame.members.iter().filter(|member| member.up);
        let placed: u64 = up.map(|member| u64::from(member.pods.placed())).sum();
        self.replica_seconds = self.replica_seconds.saturating_add(placed);
        self.peak_replicas = self.peak_replicas.max(placed);
        self.peak_max = self.peak_max.max(frame.in_effect());
    }
}

impl World<'_> {
    fn second(&mut self, now: Second) -> Burden {
        self.events.clear();
        self.turn(now);
        for (at, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.up) {
            if !self.frozen && member.has_post() {
                member.receive(self.scenario, now);
            }
            if let Some(replicas) = member.advance(self.scenario, now) {
                self.events.push(Event { second: now, cluster: Some(at), what: EventKind::Nodes(replicas) });
            }
        }
        let burden = self.burden(now);
        let late = self.lateness(now);
        for (at, member) in self.members.iter_mut().enumerate().filter(|(_, member)| member.up) {
            member.run_autoscaler(self.scenario, burden.share(at), now);
            let late = late.get(at).copied().unwrap_or_default();
            member.send_report(now, self.scenario.timing.report.saturating_add(late));
        }
        if !self.frozen {
            self.reconcile(now, &burden);
        }
        burden
    }

    /// Starts and ends faults.
    fn turn(&mut self, now: Second) {
        for fault in &self.scenario.faults {
            let (begins, ends) = (fault.from == now, fault.to == now);
            if !begins && !ends {
                continue;
            }
            let (cluster, what) = match fault.trouble {
                Disruption::Down(at) => {
                    if let Some(member) = self.members.get_mut(at).filter(|member| member.up == begins) {
                        member.turn(ends);
                        self.news.push_back((now.saturating_add(self.scenario.timing.detect), at, ends));
                    }
                    (Some(at), if begins { EventKind::Down } else { EventKind::Up })
                }
                Disruption::ControlPlaneDown => (None, if begins { EventKind::Paused } else { EventKind::Resumed }),
                Disruption::Late(at, by) => (at, if begins { EventKind::Late(by) } else { EventKind::Prompt }),
            };
            self.events.push(Event { second: now, cluster, what });
        }
        let frozen = self.goes_on(now).any(|trouble| trouble == Disruption::ControlPlaneDown);
        self.frozen = frozen;
    }

    fn goes_on(&self, now: Second) -> impl Iterator<Item = Disruption> {
        let faults = self.scenario.faults.iter().filter(move |fault| (fault.from..fault.to).contains(&now));
        faults.map(|fault| fault.trouble)
    }

    /// The extra delay of the reports of each cluster.
    fn lateness(&self, now: Second) -> Vec<Second> {
        let mut late = Vec::new();
        for trouble in self.goes_on(now) {
            let Disruption::Late(whose, by) = trouble else { continue };
            late.resize(self.members.len(), 0);
            for (_, late) in late.iter_mut().enumerate().filter(|(at, _)| whose.is_none_or(|whose| whose == *at)) {
                *late = by.max(*late);
            }
        }
        late
    }

    fn burden(&self, now: Second) -> Burden {
        let scenario = self.scenario;
        let load = scenario.load.at(now);
        let most = scenario.workload.saturation;
        let bounded = is_bounded(&scenario.workload.metric.0);
        let shown = |load: u64, ready: u64| {
            let share = load.checked_div(ready).unwrap_or(load);
            if bounded { share.min(most) } else { share }
        };
        let unserved = |load: u64, ready: u64| load.saturating_sub(ready.saturating_mul(most));
        let all: u64 = scenario.shares.values().sum();
        if all == 0 {
            let ready = self.members.iter().map(|member| u64::from(member.serving())).sum();
            return Burden { load, unserved: unserved(load, ready), even: shown(load, ready), own: None };
        }
        let mut left = 0_u64;
        let own = self.members.iter().map(|member| {
            let share = scenario.shares.get(&*member.site.member.name).copied().unwrap_or_default();
            let part = u128::from(load).saturating_mul(share.into()).checked_div(all.into()).unwrap_or_default();
            let (part, ready) = (u64::try_from(part).unwrap_or(u64::MAX), u64::from(member.serving()));
            left = left.saturating_add(unserved(part, ready));
            shown(part, ready)
        });
        let own = own.collect();
        Burden { load, unserved: left, even: 0, own: Some(own) }
    }

    fn reconcile(&mut self, now: Second, burden: &Burden) {
        while let Some((_, at, up)) = self.news.front().copied().filter(|(due, ..)| *due <= now) {
            self.news.pop_front();
            self.control.learn(at, up, now);
        }
        for (at, member) in self.members.iter_mut().enumerate() {
            if let Some(report) = member.report(now) {
                self.control.receive(at, report);
            }
        }
        let commands = if self.scenario.driver == Driver::Centralized {
            let pods = |(at, member): (usize, &Member<'_>)| ClusterPods {
                up: member.up,
                all: member.pods.all(),
                ready: member.pods.ready(),
                settled: member.pods.settled(),
                share: burden.share(at),
            };
            let members = &self.members;
            self.control.compute(now, || members.iter().enumerate().map(pods).collect())
        } else {
            self.control.decide(now)
        };
        for at in &self.control.away {
            if let Some(member) = self.members.get_mut(*at) {
                member.given_away |= member.autoscaler.is_some() || member.has_post();
            }
        }
        for (at, command) in commands {
            if let Some(member) = self.members.get_mut(at) {
                member.send(now.saturating_add(self.scenario.timing.apply), command);
            }
        }
    }
}
