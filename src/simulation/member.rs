//! A member cluster: its workload, nodes and HPA, and messages from the control plane. It runs independently. Pure.

use std::collections::VecDeque;

use super::autoscaler::{Autoscaler, HpaReading};
use super::pods::Pods;
use super::{Scenario, Second, Site};
use crate::decision::fleet::nodes::NodeOutlook;
use crate::decision::load::Load;
use crate::decision::plan::Bounds;
use crate::decision::split::Replicas;

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

/// A member cluster.
#[derive(Clone, Debug)]
pub(super) struct Member<'a> {
    pub(super) site: &'a Site<'a>,
    /// Whether it is up.
    pub(super) up: bool,
    /// Whether its share was given to others while it had an HPA: it counts again when that HPA is gone.
    pub(super) given_away: bool,
    /// Requested replicas; `None` where the workload does not exist.
    pub(super) spec: Option<Replicas>,
    pub(super) pods: Pods,
    pub(super) capacity: Replicas,
    growing: Option<Second>,
    pub(super) autoscaler: Option<Autoscaler>,
    arrived: u64,
    inbox: VecDeque<(Second, Command)>,
    first_look: Second,
    pod_start: Second,
    touched: bool,
    last: Option<Report>,
    outbox: VecDeque<(Second, Report)>,
}

impl<'a> Member<'a> {
    pub(super) fn new(scenario: &Scenario<'_>, at: usize, site: &'a Site<'a>) -> Self {
        let mut pods = Pods::default();
        if let Some(replicas) = site.replicas {
            pods.settle(replicas.min(site.capacity));
            pods.scale(replicas);
        }
        // HPAs were created at different times: they do not run all at once.
        let spread = i64::try_from(at).unwrap_or_default().saturating_mul(7);
        Self {
            site,
            up: true,
            given_away: false,
            spec: site.replicas,
            pods,
            capacity: site.capacity,
            growing: None,
            autoscaler: None,
            arrived: 0,
            inbox: VecDeque::new(),
            first_look: spread.checked_rem(scenario.timing.hpa_sync).unwrap_or_default(),
            pod_start: site.pod_start.unwrap_or(scenario.workload.pod_start),
            touched: true,
            last: None,
            outbox: VecDeque::new(),
        }
    }

    /// The bounds in effect.
    pub(super) fn bounds(&self) -> Option<Bounds> {
        self.autoscaler.as_ref().map(|hpa| hpa.bounds)
    }

    pub(super) fn send(&mut self, due: Second, command: Command) {
        self.inbox.push_back((due, command));
    }

    pub(super) fn has_post(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Goes down, or recovers with empty nodes.
    pub(super) fn turn(&mut self, up: bool) {
        self.up = up;
        self.pods.restart();
        self.growing = None;
        self.touched = true;
    }

    /// Processes commands that have arrived.
    pub(super) fn receive(&mut self, scenario: &Scenario<'_>, now: Second) {
        while let Some((_, command)) = self.inbox.front().copied().filter(|(due, _)| *due <= now) {
            self.inbox.pop_front();
            self.touched = true;
            self.apply(scenario, command, now);
        }
    }

    fn apply(&mut self, scenario: &Scenario<'_>, command: Command, now: Second) {
        match command {
            Command::Bound { number, bounds, held } => {
                let phase = self.first_look;
                let sync = scenario.timing.hpa_sync.max(1);
                let due = now.saturating_add(phase.saturating_sub(now).rem_euclid(sync));
                let hpa = self.autoscaler.get_or_insert_with(|| Autoscaler::new(scenario, due));
                hpa.bind(&scenario.workload, bounds, held);
                self.arrived = number;
            }
            Command::Unbound { number } => {
                (self.autoscaler, self.given_away, self.arrived) = (None, false, number);
            }
            Command::Create(replicas) if self.spec.is_none() => self.scale(replicas, now),
            Command::Remove => {
                self.scale(0, now);
                self.spec = None;
            }
            Command::Scale(replicas) if self.spec.is_some() => self.scale(replicas, now),
            Command::Create(_) | Command::Scale(_) => {}
        }
    }

    fn scale(&mut self, to: Replicas, now: Second) {
        self.spec = Some(to);
        self.pods.scale(to);
        self.place(now);
        self.touched = true;
    }

    /// A pod that fits gets its node at once: only others are seen as pending.
    fn place(&mut self, now: Second) {
        if self.pods.pending > 0 && self.pods.place(self.capacity, now.saturating_add(self.pod_start)) {
            self.touched = true;
        }
    }

    /// Advances nodes and pods.
    pub(super) fn advance(&mut self, scenario: &Scenario<'_>, now: Second) -> Option<Replicas> {
        let grown = self.grow(now);
        if self.pods.advance(now, scenario.timing.metrics_window) {
            self.touched = true;
        }
        self.place(now);
        grown
    }

    /// Adds nodes while pods are pending.
    fn grow(&mut self, now: Second) -> Option<Replicas> {
        let growth = self.site.growth.filter(|growth| growth.capacity > self.capacity)?;
        match self.growing {
            Some(due) if due <= now => {
                let missing = self.pods.pending.div_ceil(growth.step.max(1)).max(1).saturating_mul(growth.step.max(1));
                let more = missing.min(growth.capacity.saturating_sub(self.capacity));
                self.capacity = self.capacity.saturating_add(more);
                (self.growing, self.touched) = (None, true);
                return Some(more);
            }
            Some(_) if self.pods.pending == 0 => self.growing = None,
            None if self.pods.pending > 0 && self.pods.placed() >= self.capacity => {
                self.growing = Some(now.saturating_add(growth.delay));
            }
            Some(_) | None => {}
        }
        None
    }

    /// Runs the HPA, when it is due; `share` is the load of each ready pod.
    pub(super) fn run_autoscaler(&mut self, scenario: &Scenario<'_>, share: u64, now: Second) {
        let Some(hpa) = self.autoscaler.as_mut().filter(|hpa| hpa.due <= now) else { return };
        hpa.due = now.saturating_add(scenario.timing.hpa_sync.max(1));
        let Some(spec) = self.spec else { return };
        let (all, ready, settled) = (self.pods.all(), self.pods.ready(), self.pods.settled());
        let reading = HpaReading { spec, all, ready, settled, share };
        self.touched = true;
        if let Some(replicas) = hpa.evaluate(&scenario.workload, reading, now) {
            self.scale(replicas, now);
        }
    }

    /// Sends a report when the state changed, to arrive after `delay`. The initial state is known.
    pub(super) fn send_report(&mut self, now: Second, delay: Second) {
        if !std::mem::take(&mut self.touched) {
            return;
        }
        let hpa = self.autoscaler.as_ref();
        let report = Report {
            current: self.spec,
            ready: self.pods.ready(),
            pending: self.pods.pending,
            nodes_come: self.site.growth.map(|growth| growth.capacity > self.capacity),
            available: self.capacity.saturating_sub(self.pods.placed()),
            capacity: self.capacity,
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
