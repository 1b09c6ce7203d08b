//! Second by second: faults, messages, nodes and pods, HPAs, and the control plane. Pure.

use std::collections::VecDeque;

use super::burden::Burden;
use super::control::{ClusterPods, Control, Counts};
use super::frame::{FleetFrame, Frame, Tally};
use super::member::Member;
use super::nodes::{Nodes, Pending};
use super::shared::Shared;
use super::{Disruption, Driver, Event, EventKind, Figures, Scenario, Second, Workload};
use decision::capacity::Summary;

/// Clusters collect their status at different seconds of its period.
const APART: Second = 3;

/// Figures of several workloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetFigures {
    /// Of all workloads together.
    pub whole: Figures,
    /// Of each workload, in the order of the scenario.
    pub workloads: Vec<Figures>,
}

/// A workload in all clusters, and what the control plane knows of it.
struct Tenant<'a> {
    workload: &'a Workload<'a>,
    members: Vec<Member<'a>>,
    control: Control<'a>,
}

struct World<'a> {
    scenario: &'a Scenario<'a>,
    nodes: Vec<Nodes>,
    up: Vec<bool>,
    tenants: Vec<Tenant<'a>>,
    shared: Shared<'a>,
    /// Pending changes that the control plane will learn: which cluster, and whether it answers.
    news: VecDeque<(Second, usize, bool)>,
    /// Reports of free capacity on their way.
    summaries: VecDeque<(Second, usize, Summary)>,
    frozen: bool,
    events: Vec<Event>,
}

/// Simulates the scenario; calls `look` at the end of each second. Frames and figures are those of the first workload.
pub fn run(scenario: &Scenario<'_>, mut look: impl FnMut(&Frame<'_, '_>)) -> Figures {
    let figures = simulate(
        scenario,
        |counts| counts.writes,
        |world, second, burdens, _| {
            let (Some(tenant), Some(burden)) = (world.tenants.first(), burdens.first()) else { return };
            look(&Frame {
                second,
                load: burden.load,
                unserved: burden.unserved,
                frozen: world.frozen,
                replicas: tenant.control.replicas(),
                events: &world.events,
                workload: tenant.workload,
                members: &tenant.members,
                nodes: &world.nodes,
            });
        },
    );
    figures.workloads.into_iter().next().unwrap_or_default()
}

/// Simulates all workloads of the scenario; calls `look` at the end of each second. Divisions of karmada-scheduler are
/// writes, too.
pub fn run_fleet(scenario: &Scenario<'_>, mut look: impl FnMut(&FleetFrame<'_>)) -> FleetFigures {
    let writes = |counts: Counts| counts.writes.saturating_add(counts.divisions);
    simulate(scenario, writes, |world, second, _, workloads| {
        look(&FleetFrame { second, frozen: world.frozen, events: &world.events, workloads });
    })
}

fn simulate<'a>(
    scenario: &'a Scenario<'a>,
    writes_of: impl Fn(Counts) -> u64,
    mut look: impl FnMut(&World<'a>, Second, &[Burden], &[Tally]),
) -> FleetFigures {
    let mut world = World::new(scenario);
    let mut figures =
        FleetFigures { whole: Figures::default(), workloads: vec![Figures::default(); scenario.workloads.len()] };
    for second in 0..scenario.duration {
        let burdens = world.second(second);
        let tenants = || world.tenants.iter().zip(&burdens);
        let tallies: Vec<Tally> =
            tenants().map(|(tenant, burden)| Tally::of(tenant.workload, burden, &tenant.members)).collect();
        let mut writes = 0_u64;
        for ((figures, tally), tenant) in figures.workloads.iter_mut().zip(&tallies).zip(&world.tenants) {
            figures.add(tally);
            let own = writes_of(tenant.control.counts);
            figures.written(own, second);
            writes = writes.saturating_add(own);
        }
        figures.whole.add(&Tally::sum(&tallies));
        figures.whole.written(writes, second);
        look(&world, second, &burdens, &tallies);
    }
    for (own, tenant) in figures.workloads.iter_mut().zip(&world.tenants) {
        let counts = tenant.control.counts;
        (own.decisions, own.reassignments) = (counts.decisions, counts.reassignments);
        let whole = &mut figures.whole;
        whole.decisions = whole.decisions.saturating_add(counts.decisions);
        whole.reassignments = whole.reassignments.saturating_add(counts.reassignments);
    }
    figures
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario<'a>) -> Self {
        let mut nodes: Vec<Nodes> = scenario.sites.iter().map(Nodes::new).collect();
        let tenant = |(own, workload): (usize, &'a Workload<'a>)| {
            let sites = scenario.sites.iter().enumerate().zip(&mut nodes);
            let members = sites.map(|(site, nodes)| Member::new(scenario, (own, workload), site, nodes));
            Tenant { workload, members: members.collect(), control: Control::new(scenario, own, workload) }
        };
        let tenants = scenario.workloads.iter().enumerate().map(tenant).collect();
        Self {
            scenario,
            up: vec![true; nodes.len()],
            nodes,
            tenants,
            shared: Shared::new(scenario),
            news: VecDeque::new(),
            summaries: VecDeque::new(),
            frozen: false,
            events: Vec::new(),
        }
    }

    fn second(&mut self, now: Second) -> Vec<Burden> {
        self.events.clear();
        self.turn(now);
        for at in 0..self.nodes.len() {
            self.advance(at, now);
        }
        let burdens = self.tenants.iter().map(|tenant| Burden::of(tenant.workload, &tenant.members, now));
        let burdens: Vec<Burden> = burdens.collect();
        let late = self.lateness(now);
        let delay = |at: usize| self.scenario.timing.report.saturating_add(late.get(at).copied().unwrap_or_default());
        for (tenant, burden) in self.tenants.iter_mut().zip(&burdens) {
            let members = tenant.members.iter_mut().zip(&mut self.nodes).enumerate();
            for (at, (member, nodes)) in members.filter(|(_, (member, _))| member.up) {
                member.run_autoscaler(nodes, burden.share(at), now);
                member.send_report(nodes, now, delay(at));
            }
        }
        for at in 0..self.nodes.len() {
            self.summarize(at, now, delay(at));
        }
        if !self.frozen {
            self.reconcile(now, &burdens);
        }
        burdens
    }

    /// Advances a cluster that is up: what has arrived, nodes, and pods. Who waits longest for a node is first.
    fn advance(&mut self, at: usize, now: Second) {
        let (Some(nodes), Some(true)) = (self.nodes.get_mut(at), self.up.get(at)) else { return };
        let members = || self.tenants.iter().filter_map(|tenant| tenant.members.get(at));
        let has_post = !self.frozen && members().any(Member::has_post);
        for member in self.tenants.iter_mut().filter_map(|tenant| tenant.members.get_mut(at)) {
            if has_post {
                member.receive(nodes, now);
            }
        }
        let pending = self.tenants.iter().filter_map(|tenant| tenant.members.get(at)).map(Member::pending);
        let added = nodes.grow(&pending, now);
        let mut waiting = Vec::new();
        for (own, tenant) in self.tenants.iter_mut().enumerate() {
            let Some(member) = tenant.members.get_mut(at) else { continue };
            member.touched |= added.is_some();
            member.advance(now);
            waiting.extend(member.pending_since().map(|since| (since, own)));
        }
        waiting.sort_unstable();
        for (_, own) in waiting {
            let member = self.tenants.get_mut(own).and_then(|tenant| tenant.members.get_mut(at));
            if let Some(member) = member {
                member.place(nodes, now);
            }
        }
        if let Some(added) = added {
            let only = Some(&self.scenario.workloads).filter(|workloads| workloads.len() == 1);
            let replicas = only.and_then(|only| only.first()).map(|only| added.more.displaced(&only.each));
            let what = EventKind::Nodes(replicas.unwrap_or(added.nodes));
            self.events.push(Event { second: now, cluster: Some(at), what });
        }
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
                    if let (Some(up), Some(nodes)) = (self.up.get_mut(at), self.nodes.get_mut(at))
                        && *up == begins
                    {
                        *up = ends;
                        nodes.restart();
                        let members = self.tenants.iter_mut().filter_map(|tenant| tenant.members.get_mut(at));
                        members.for_each(|member| member.turn(nodes, ends, now));
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
            late.resize(self.nodes.len(), 0);
            for (_, late) in late.iter_mut().enumerate().filter(|(at, _)| whose.is_none_or(|whose| whose == *at)) {
                *late = by.max(*late);
            }
        }
        late
    }

    /// Sends what is free in a cluster, when that is due. The initial state is known.
    fn summarize(&mut self, at: usize, now: Second, delay: Second) {
        let period = self.scenario.timing.capacity_report;
        let phase = i64::try_from(at).unwrap_or_default().saturating_mul(APART);
        let is_due = now == 0 || now.saturating_add(phase).checked_rem(period) == Some(0);
        let (Some(nodes), Some(true)) = (self.nodes.get(at), self.up.get(at).map(|up| *up && period > 0 && is_due))
        else {
            return;
        };
        let pending: Vec<Pending<'_>> =
            self.tenants.iter().filter_map(|tenant| tenant.members.get(at)).map(Member::pending).collect();
        let due = if now == 0 { now } else { now.saturating_add(delay) };
        self.summaries.push_back((due, at, nodes.report(pending.into_iter())));
    }

    fn reconcile(&mut self, now: Second, burdens: &[Burden]) {
        while let Some((_, at, up)) = self.news.front().copied().filter(|(due, ..)| *due <= now) {
            self.news.pop_front();
            self.tenants.iter_mut().for_each(|tenant| tenant.control.learn(at, up, now));
        }
        let (arrived, later) = std::mem::take(&mut self.summaries).into_iter().partition(|(due, ..)| *due <= now);
        self.summaries = later;
        let arrived: VecDeque<(Second, usize, Summary)> = arrived;
        for (_, at, summary) in arrived {
            if let Some(site) = self.scenario.sites.get(at) {
                self.shared.receive(&site.member.name, summary);
            }
        }
        for (tenant, burden) in self.tenants.iter_mut().zip(burdens) {
            tenant.reconcile(&mut self.shared, now, burden, self.scenario.timing.apply);
        }
    }
}

impl<'a> Tenant<'a> {
    fn reconcile(&mut self, shared: &mut Shared<'a>, now: Second, burden: &Burden, apply: Second) {
        for (at, member) in self.members.iter_mut().enumerate() {
            if let Some(report) = member.report(now) {
                self.control.receive(at, report, shared);
            }
        }
        let commands = if self.workload.driver == Driver::Centralized {
            let pods = |(at, member): (usize, &Member<'_>)| ClusterPods {
                up: member.up,
                all: member.pods.all(),
                ready: member.pods.ready(),
                settled: member.pods.settled(),
                share: burden.share(at),
            };
            let members = &self.members;
            self.control.compute(now, shared, || members.iter().enumerate().map(pods).collect())
        } else {
            self.control.decide(now, shared)
        };
        for at in &self.control.away {
            if let Some(member) = self.members.get_mut(*at) {
                member.given_away |= member.autoscaler.is_some() || member.has_post();
            }
        }
        for (at, command) in commands {
            if let Some(member) = self.members.get_mut(at) {
                member.send(now.saturating_add(apply), command);
            }
        }
    }
}
