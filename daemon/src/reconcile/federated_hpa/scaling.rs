//! The reconcile of a Centralized object, from top to bottom: read the scale, observe pods and metrics, decide, write,
//! report. Talks to the API server.

use futures::StreamExt as _;
use jiff::Timestamp;
use tracing::info;

use super::cache::View;
use super::cache::entry::{Binding, FederatedHpaEntry};
use super::centralized::status::{FAILED_UPDATE_SCALE, INVALID_SELECTOR, Report};
use super::centralized::{KnownScale, Memory};
use super::observe::foreign_hpas;
use super::observe::upstream::upstream_until;
use super::progress::{Progress, Published, bound};
use super::status::{READY, conditions};
use super::worker::FederatedHpaWorker;
use super::write::takeover::target;
use super::write::writer::Scalable;
use crate::api::scale::Scale;
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::key::Key;
use crate::convert::scaling;
use crate::decision::backoff::ErrorClass;
use crate::decision::health::{ABLE_TO_SCALE, AMBIGUOUS};
use crate::decision::hpa::decide::{History, Policy};
use crate::decision::hpa::multi_cluster::{Observed, compute};
use crate::decision::hpa::stabilization::Recommendations;
use crate::decision::selector::Selector;
use crate::reconcile::scale_target::ResourcePath;
use crate::runtime::leader::Leader;

/// Number of attempts of a write after conflicts, each with the current state.
const TRIES: u32 = 3;
/// Scales of other workloads to read at the same time.
const IN_FLIGHT: usize = 8;

/// Input of a computation.
struct Computation<'a> {
    leader: &'a Leader,
    view: &'a View,
    now: Timestamp,
}

impl FederatedHpaWorker {
    /// Computes the replicas of the workload when that is due, and sets them.
    pub(super) async fn centralize(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        let (entry, now) = (&view.federated_hpa, (self.clock)());
        let mut memory = self.centralized.recall(leader, entry);
        let generation = entry.object.metadata.generation;
        if memory.generation != generation {
            // The target may have changed.
            memory.scale = None;
            memory.due = None;
        }
        if let Some(due) = self.centralized.settings.still_due(memory.due, now) {
            self.centralized.keep(entry.key(), memory);
            return Ok(Progress::Settled(Some(due)));
        }
        memory.generation = generation;
        let mut report = Report::of(entry, now);
        let computed = self.compute(&Computation { leader, view, now }, &mut memory, &mut report).await;
        report.scaled = memory.scaled;
        let reported = match computed {
            Ok(()) => self.publish_report(leader, view, report, now).await,
            Err(error) => Err(error),
        };
        // A status that was not written is written at the next attempt.
        memory.due = if reported.is_ok() { self.centralized.settings.next(now) } else { None };
        let next = memory.due;
        self.centralized.keep(entry.key(), memory);
        reported.map(|()| Progress::Settled(next))
    }

    async fn publish_report(
        &self,
        leader: &Leader,
        view: &View,
        report: Report<'_>,
        now: Timestamp,
    ) -> Result<(), WriteError> {
        let (entry, status) = (&view.federated_hpa, report.status());
        if self.publish_throttled(leader, entry, &status, now).await? == Published::Written {
            self.reporter.worsened(leader, entry, &status);
        }
        Ok(())
    }

    /// Returns an error only when this process no longer leads, or must read again; other errors are reported in the
    /// status, and retried in the next period.
    async fn compute(
        &self,
        of: &Computation<'_>,
        memory: &mut Memory,
        report: &mut Report<'_>,
    ) -> Result<(), WriteError> {
        let key = of.view.federated_hpa.key();
        let Some(binding) = bound(of.view) else {
            let (reason, message) = self.why_unbound(of.view).await?;
            report.unable(reason, &message);
            self.centralized.set_selector(&key, None);
            // Nothing is known meanwhile: the next computation begins with the current replicas.
            memory.history.recommendations = Recommendations::default();
            return Ok(());
        };
        if let Err(failure) = self.read_scale(of, binding, memory).await {
            report.unable(failure.reason, &failure.message);
            if failure.class == ErrorClass::Missing {
                self.centralized.set_selector(&key, None);
            }
            memory.history.recommendations = Recommendations::default();
            return Ok(());
        }
        let Some(KnownScale { scale, .. }) = &memory.scale else { return Ok(()) };
        let current = scale.spec.replicas.unwrap_or_default();
        let got = "the HPA controller was able to get the target's current scale".to_owned();
        report.set(ABLE_TO_SCALE, ("True", "SucceededGetScale", got));
        let upstream = upstream_until(&of.view.federated_hpa, of.now).is_some();
        let clusters = || binding.entries().map(|(cluster, _)| cluster);
        foreign_hpas::refresh_all(&self.live, of.view, clusters());
        let foreign = foreign_hpas::found(&self.live, of.view, clusters());
        report.set(READY, conditions::centralized(of.view, &foreign, of.now));
        (report.current, report.desired) = (Some(current), Some(current));
        if of.view.federated_hpa.suspended() {
            self.centralized.set_selector(&key, None);
            // Afterwards it begins with the current replicas, as under a new leader.
            memory.history = History::default();
            report.suspended();
            return Ok(());
        }
        let spec = &of.view.federated_hpa.object.spec;
        let controls = self.centralized.settings.controls(spec);
        let observed = if controls.use_metrics(current) {
            match self.observe_alone(of, binding, &scale.status.selector).await {
                Ok(observed) => Some(observed),
                Err((reason, message)) => {
                    memory.history.recommendations.hold(current, of.now);
                    report.unselected(reason, message);
                    return Ok(());
                }
            }
        } else {
            if current == 0 {
                self.centralized.set_selector(&key, None);
            }
            None
        };
        let decision = compute(&controls, current, observed.as_ref(), of.now, &mut memory.history);
        report.decided(&decision);
        if !decision.current.is_empty() {
            report.metrics = Some(scaling::reported(spec.metrics.as_deref().unwrap_or_default(), &decision.current));
        }
        // When Karmada's own controller also runs, both may add replicas, but only that controller may remove them.
        let write = decision.write.filter(|replicas| *replicas > current || !upstream);
        let Some(replicas) = write else { return Ok(()) };
        self.write_scale(of, memory, report, (current, replicas), &controls.policy, &decision.why).await
    }

    /// Observes the workload, unless its pods are unknown or another autoscaler scales them, too: the reason and a
    /// message.
    async fn observe_alone(
        &self,
        of: &Computation<'_>,
        binding: &Binding,
        text: &str,
    ) -> Result<Observed, (&'static str, String)> {
        let selector = Selector::parse(text).map_err(|why| {
            (INVALID_SELECTOR, format!("the selector {text:?} of the target's scale cannot be used: {why}"))
        })?;
        let key = of.view.federated_hpa.key();
        self.centralized.set_selector(&key, Some(&selector));
        self.read_selectors(&key, of.now).await;
        // Meanwhile the computations of the other objects, which are due at the same instant, set theirs.
        let observed = self.centralized.observe(of.view, binding, &selector, of.now).await;
        let clusters: Vec<&str> = binding.entries().map(|(cluster, _)| cluster).collect();
        match self.centralized.ambiguity(&key, &clusters, text, &selector) {
            Some(message) => Err((AMBIGUOUS, message)),
            None => Ok(observed.combined()),
        }
    }

    /// Reads the selectors of the workloads of other FederatedHPAs in the namespace, once in a period for all objects
    /// there.
    async fn read_selectors(&self, key: &Key, now: Timestamp) {
        // One that yields to another FederatedHPA of its workload scales nothing.
        let unread = self.centralized.unread_selectors(key, now, || {
            let all = self.live.cache.in_namespace(&key.namespace);
            all.into_iter().filter(|entry| self.serves(entry) && entry.held()).collect()
        });
        let read = futures::stream::iter(unread).for_each_concurrent(IN_FLIGHT, |entry| async move {
            let scale = self.scale_of(&entry).await.ok();
            let selector = scale.and_then(|(_, scale)| Selector::parse(&scale.status.selector).ok());
            self.centralized.set_other_selector(key, &entry, selector.as_ref(), now);
        });
        read.await;
    }

    /// Reads the scale of the workload, unless its binding shows that it is unchanged. One without a selector is read
    /// again: a custom resource may name it in its status, which changes no version in the binding.
    async fn read_scale(&self, of: &Computation<'_>, binding: &Binding, memory: &mut Memory) -> Result<(), Failure> {
        let version = &binding.object.spec.resource.resource_version;
        let selects = |known: &KnownScale| !known.scale.status.selector.is_empty();
        if memory.scale.as_ref().is_some_and(|known| !version.is_empty() && known.version == *version && selects(known))
        {
            return Ok(());
        }
        memory.scale = None;
        let (path, scale) = self.scale_of(&of.view.federated_hpa).await?;
        let workload = Some((of.view.federated_hpa.target.clone(), scale.metadata.uid.clone()));
        if memory.workload != workload {
            // It begins with the replicas of this one, as under a new leader.
            (memory.history, memory.scaled, memory.workload) = (History::default(), None, workload);
        }
        memory.scale = Some(KnownScale { version: version.clone(), path, scale });
        Ok(())
    }

    /// The scale of the workload of an object, and its path.
    async fn scale_of(&self, entry: &FederatedHpaEntry) -> Result<(ResourcePath, Scale), Failure> {
        let key = entry.key();
        let target = target(&entry.object.spec.scale_target_ref, &key.namespace);
        let path = self.takeover.targets.place(&target).await?;
        let resource = format!("{}/scale", path.plural);
        let asked = Asked { verb: "get", group: &path.group, resource: &resource, object: &target };
        let scale = self.writer.read_scale(Scalable { path: &path.path, name: target.name, asked }).await?;
        Ok((path, scale))
    }

    async fn write_scale(
        &self,
        of: &Computation<'_>,
        memory: &mut Memory,
        report: &mut Report<'_>,
        (before, replicas): (i32, i32),
        policy: &Policy,
        why: &str,
    ) -> Result<(), WriteError> {
        match self.rescale(of, memory, before, replicas).await {
            Ok(()) => {
                memory.history.scaled(policy, before, replicas, of.now);
                memory.scaled = Some(of.now);
                report.desired = Some(replicas);
                let message = format!("the HPA controller was able to update the target scale to {replicas}");
                report.set(ABLE_TO_SCALE, ("True", "SucceededRescale", message));
                info!(object = %of.view.federated_hpa.key(), before, replicas, why, "scaled the workload");
                self.reporter.rescaled(of.leader, &of.view.federated_hpa, replicas, why);
                Ok(())
            }
            Err(WriteError::Failed(failure)) if failure.class != ErrorClass::Conflict => {
                memory.scale = None;
                let message = format!("the HPA controller was unable to update the target scale: {failure}");
                report.set(ABLE_TO_SCALE, ("False", FAILED_UPDATE_SCALE, message));
                Ok(())
            }
            Err(error) => {
                memory.scale = None;
                Err(error)
            }
        }
    }

    /// Writes the replicas, if the requested replicas of the workload are still as read before. A change of its status
    /// in between is ignored.
    async fn rescale(
        &self,
        of: &Computation<'_>,
        memory: &mut Memory,
        before: i32,
        replicas: i32,
    ) -> Result<(), WriteError> {
        let Some(known) = &mut memory.scale else { return Ok(()) };
        let key = of.view.federated_hpa.key();
        let target = target(&of.view.federated_hpa.object.spec.scale_target_ref, &key.namespace);
        let resource = format!("{}/scale", known.path.plural);
        let path = &known.path;
        let asked = Asked { verb: "patch", group: &path.group, resource: &resource, object: &target };
        let workload = Scalable { path: &path.path, name: target.name, asked };
        let mut seen: Scale = known.scale.clone();
        for _ in 0..TRIES {
            match self.writer.scale(of.leader, workload, &seen.metadata, replicas).await {
                Ok(scale) => {
                    known.scale = scale;
                    return Ok(());
                }
                Err(WriteError::Failed(failure)) if failure.class == ErrorClass::Conflict => {
                    let now = self.writer.read_scale(workload).await?;
                    if now.metadata.uid != seen.metadata.uid || now.spec.replicas.unwrap_or_default() != before {
                        return Err(failure.into());
                    }
                    seen = now;
                }
                Err(error) => return Err(error),
            }
        }
        let message = format!("{target} is written so often that its replicas cannot be set");
        Err(Failure::new(ErrorClass::Transient, reason::CONFLICT, message).into())
    }
}
