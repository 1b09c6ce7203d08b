//! A workload in a member cluster: its pods and HPA, and messages from the control plane. It runs independently. Pure.

use std::collections::VecDeque;

use super::autoscaler::{Autoscaler, HpaReading};
use super::nodes::{Nodes, Pending};
use super::pods::Pods;
use super::{Scenario, Second, Site, Workload};
use decision::fleet::nodes::NodeOutlook;
use decision::load::Load;
use decision::plan::Bounds;
use decision::split::Replicas;

/// A write of the control plane to a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    /// Apply this HPA.
    Bound { number: u64, bounds: Bounds, held: bool },
    /// Delete the HPA.
    Unbound { number: u64 },
    /// Create the workload, with this number of replicas.
    Create(Replicas),
    /// Delete the workload.
    Remove,
    /// Scale the workload.
    Scale(Replicas),
}

/// Status report of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// `None` where the workload does not exist.
    pub(super) current: Option<Replicas>,
    pub(super) ready: Replicas,
    pub(super) pending: Replicas,
    /// What the autoscaler of its nodes says of these; `None`: it has none.
    pub(super) nodes_come: Option<bool>,
    pub(super) available: Replicas,
    pub(super) capacity: Replicas,
    pub(super) desired: Option<Replicas>,
    pub(super) load: Option<Load>,
    /// Number of the last write of an HPA that arrived.
    pub(super) arrived: u64,
}

impl Report {
    /// Whether nodes come for its pending pods.
    pub(super) fn outlook(&self) -> Option<NodeOutlook> {
        let nodes_come = self.nodes_come.filter(|_| self.pending > 0)?;
        let message = || "max node group size reached".into();
        // What is not refused is waited for, as what is not known.
        Some(if nodes_come { NodeOutlook::Unknown } else { NodeOutlook::NotComing { message: message() } })
    }
}

/// A workload in a member cluster.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    scenario: &'a Scenario<'a>,
    pub(super) workload: &'a Workload<'a>,
    pub(super) site: &'a Site<'a>,
    /// Whether the cluster is up.
    pub(super) up: bool,
    /// Whether its share was given to others while it had an HPA: it counts again when that HPA is gone.
    pub(super) given_away: bool,
    /// Requested replicas; `None` where the workload does not exist.
    pub(super) spec: Option<Replicas>,
    pub(super) pods: Pods,
    /// Since when pods are pending.
    pending_since: Option<Second>,
    pub(super) autoscaler: Option<Autoscaler>,
    arrived: u64,
    inbox: VecDeque<(Second, Command)>,
    first_look: Second,
    pod_start: Second,
    pub(super) touched: bool,
    last: Option<Report>,
    outbox: VecDeque<(Second, Report)>,
}

impl<'a> Member<'a> {
    /// The workload with the number `own`, in the cluster with the number `at`.
    pub(super) fn new(
        scenario: &'a Scenario<'a>,
        (own, workload): (usize, &'a Workload<'a>),
        (at, site): (usize, &'a Site<'a>),
        nodes: &mut Nodes,
    ) -> Self {
        let mut pods = Pods::default();
        let replicas = workload.start(at).replicas;
        if let Some(replicas) = replicas {
            let placed = replicas.min(nodes.fits(&workload.each));
            pods.settle(placed);
            pods.scale(replicas);
            nodes.count(&workload.each, 0, placed);
        }
        // HPAs were created at different times: they do not run all at once.
        let spread = i64::try_from(at.saturating_mul(7).saturating_add(own.saturating_mul(4))).unwrap_or_default();
        Self {
            scenario,
            workload,
            site,
            up: true,
            given_away: false,
            spec: replicas,
            pending_since: (pods.pending > 0).then_some(0),
            pods,
            autoscaler: None,
            arrived: 0,
            inbox: VecDeque::new(),
            first_look: spread.checked_rem(scenario.timing.hpa_sync).unwrap_or_default(),
            pod_start: site.pod_start.unwrap_or(workload.pod_start),
            touched: true,
            last: None,
            outbox: VecDeque::new(),
        }
    }

    /// The bounds in effect.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        self.autoscaler.as_ref().map(|hpa| hpa.bounds)
    }

    /// Replicas that serve.
    pub(super) fn serving(&self) -> Replicas {
        if self.up { self.pods.ready() } else { 0 }
    }

    pub(super) fn send(&mut self, due: Second, command: Command) {
        self.inbox.push_back((due, command));
    }

    pub(super) fn has_post(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Goes down, or recovers with empty nodes.
    pub(super) fn turn(&mut self, nodes: &mut Nodes, up: bool, now: Second) {
        self.up = up;
        self.changing(nodes, now, Pods::restart);
        self.touched = true;
    }

    /// Processes commands that have arrived.
    pub(super) fn receive(&mut self, nodes: &mut Nodes, now: Second) {
        while let Some((_, command)) = self.inbox.front().copied().filter(|(due, _)| *due <= now) {
            self.inbox.pop_front();
            self.touched = true;
            self.apply(nodes, command, now);
        }
    }

    fn apply(&mut self, nodes: &mut Nodes, command: Command, now: Second) {
        match command {
            Command::Bound { number, bounds, held } => {
                let phase = self.first_look;
                let timing = self.scenario.timing;
                let due = now.saturating_add(phase.saturating_sub(now).rem_euclid(timing.hpa_sync.max(1)));
                let workload = self.workload;
                let hpa = self.autoscaler.get_or_insert_with(|| Autoscaler::new(workload, timing, due));
                hpa.bind(workload, bounds, held);
                self.arrived = number;
            }
            Command::Unbound { number } => {
                (self.autoscaler, self.given_away, self.arrived) = (None, false, number);
            }
            Command::Create(replicas) if self.spec.is_none() => self.scale(nodes, replicas, now),
            Command::Remove => {
                self.scale(nodes, 0, now);
                self.spec = None;
            }
            Command::Scale(replicas) if self.spec.is_some() => self.scale(nodes, replicas, now),
            Command::Create(_) | Command::Scale(_) => {}
        }
    }

    fn scale(&mut self, nodes: &mut Nodes, to: Replicas, now: Second) {
        self.spec = Some(to);
        self.changing(nodes, now, |pods| pods.scale(to));
        self.place(nodes, now);
        self.touched = true;
    }

    /// Changes pods, and keeps the count of those on nodes.
    fn changing(&mut self, nodes: &mut Nodes, now: Second, change: impl FnOnce(&mut Pods)) {
        let before = self.pods.placed();
        change(&mut self.pods);
        nodes.count(&self.workload.each, before, self.pods.placed());
        self.pending_since = (self.pods.pending > 0).then(|| self.pending_since.unwrap_or(now));
    }

    /// A pod that fits gets its node at once: only others are seen as pending.
    pub(super) fn place(&mut self, nodes: &mut Nodes, now: Second) {
        if self.pods.pending == 0 {
            return;
        }
        let (room, due) = (nodes.fits(&self.workload.each), now.saturating_add(self.pod_start));
        if room > 0 {
            self.changing(nodes, now, |pods| pods.place(room, due));
            self.touched = true;
        }
    }

    /// Advances pods that have a node.
    pub(super) fn advance(&mut self, now: Second) {
        if self.pods.advance(now, self.scenario.timing.metrics_window) {
            self.touched = true;
        }
    }

    /// Since when pods are pending.
    pub(super) const fn pending_since(&self) -> Option<Second> {
        self.pending_since
    }

    /// Its pods without a node.
    pub(super) const fn pending(&self) -> Pending<'a> {
        Pending { each: &self.workload.each, pods: self.pods.pending }
    }

    /// Runs the HPA, when it is due; `share` is the load of each ready pod.
    pub(super) fn run_autoscaler(&mut self, nodes: &mut Nodes, share: u64, now: Second) {
        let Some(hpa) = self.autoscaler.as_mut().filter(|hpa| hpa.due <= now) else { return };
        hpa.due = now.saturating_add(self.scenario.timing.hpa_sync.max(1));
        let Some(spec) = self.spec else { return };
        let (all, ready, settled) = (self.pods.all(), self.pods.ready(), self.pods.settled());
        let reading = HpaReading { spec, all, ready, settled, share };
        self.touched = true;
        if let Some(replicas) = hpa.evaluate(self.workload, reading, now) {
            self.scale(nodes, replicas, now);
        }
    }

    /// Sends a report when the state changed, to arrive after `delay`. The initial state is known.
    pub(super) fn send_report(&mut self, nodes: &Nodes, now: Second, delay: Second) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        let hpa = self.autoscaler.as_ref();
        let report = Report {
            current: self.spec,
            ready: self.pods.ready(),
            pending: self.pods.pending,
            nodes_come: nodes.can_grow(&self.workload.each),
            available: nodes.fits(&self.workload.each),
            capacity: nodes.whole(&self.workload.each),
            desired: hpa.and_then(|hpa| hpa.desired),
            load: hpa.and_then(|hpa| hpa.load),
            arrived: self.arrived,
        };
        if self.last != Some(report) {
            let due = if self.last.is_some() { now.saturating_add(delay) } else { now };
            self.last = Some(report);
            self.outbox.push_back((due, report));
        }
    }

    /// The latest report that has arrived.
    pub(super) fn report(&mut self, now: Second) -> Option<Report> {
        let mut latest = None;
        while let Some((_, report)) = self.outbox.front().copied().filter(|(due, _)| *due <= now) {
            self.outbox.pop_front();
            latest = Some(report);
        }
        latest
    }
}
