//! The due steps of a plan, one after the other: a write that is refused holds back no other one. Talks to the API
//! server.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::cache::entry::Binding;
use super::evictions::replaces_evicted;
use super::write::apply::{Applier, ApplyContext};
use super::write::resend::resends;
use super::write::work::FOREIGN;
use crate::controller::failure::{Failure, WriteError};
use crate::convert::fleet::replicas;
use crate::decision::backoff::ErrorClass;
use crate::decision::plan::{Action, Entry, Plan, Step, Why};

/// What became of all steps.
pub(super) struct Outcome {
    /// Whether a write must be observed first.
    pub(super) wrote: bool,
    /// The first failure that was about one cluster; a conflict only where nothing else failed.
    pub(super) failed: Option<Failure>,
    /// Whether to plan again soon: an object of one cluster had changed, and what is due of it is written once it is read
    /// again; or entries could not follow what runs, and the next plan says when they are tried again.
    pub(super) again: bool,
}

/// Applies the due steps of a plan.
///
/// Each step is safe when any other is lost (docs/design.md#law-2-stay-within-the-budget).
///
/// # Errors
/// When this process no longer leads, and the first failure that is about more than one cluster.
pub(super) async fn execute(
    applier: &Applier,
    about: ApplyContext<'_>,
    plan: &Plan<'_>,
) -> Result<Outcome, WriteError> {
    let mut steps = Steps::default();
    for step in plan.now() {
        let Some(action) = beside(step, &steps, about.binding) else { continue };
        let result = applier.apply(about, &action).await;
        steps.took(&step.action, result)?;
    }
    let suspended = about.view.federated_hpa.suspended();
    if !suspended {
        for action in resends(about.view, &steps.bound, (applier.clock)()) {
            let result = applier.apply(about, &action).await;
            steps.took(&action, result)?;
        }
    }
    let Steps { mut wrote, entries, failed, conflict, .. } = steps;
    let mut again = conflict.is_some();
    if !entries && !replaces_evicted(about.binding, plan, suspended) {
        if let Some(entries) = &plan.followed {
            let follow = applier.follow_what_runs(about, entries).await?;
            (wrote, again) = (wrote || follow, again || !follow);
        } else {
            wrote |= applier.follow(about).await?;
        }
    }
    // What lasts is told rather than a conflict.
    Ok(Outcome { wrote, failed: failed.or(conflict), again })
}

/// What became of the steps.
#[derive(Default)]
struct Steps<'a> {
    wrote: bool,
    /// Clusters whose HPA was to be written or deleted.
    bound: BTreeSet<&'a str>,
    /// Of these, those that refused it.
    refused: BTreeSet<&'a str>,
    /// Whether the binding was to be written.
    entries: bool,
    /// Whether it refused that.
    unbound: bool,
    /// The first failure but conflicts.
    failed: Option<Failure>,
    /// The first conflict.
    conflict: Option<Failure>,
}

impl<'a> Steps<'a> {
    fn took(&mut self, action: &Action<'a>, result: Result<(), WriteError>) -> Result<(), WriteError> {
        match action {
            Action::ApplyHpa { cluster, .. } | Action::DeleteHpa { cluster } => {
                self.bound.insert(*cluster);
            }
            Action::UpdateBinding { .. } => self.entries = true,
            Action::Scale { .. } => {}
        }
        match result {
            // The watch reports the replicas of a member.
            Ok(()) => self.wrote |= !matches!(action, Action::Scale { .. }),
            Err(WriteError::Failed(failure)) if is_of_one_cluster(action, &failure) => {
                match action {
                    Action::ApplyHpa { cluster, .. } => _ = self.refused.insert(*cluster),
                    Action::UpdateBinding { .. } => self.unbound = true,
                    Action::DeleteHpa { .. } | Action::Scale { .. } => {}
                }
                let conflicts = failure.class == ErrorClass::Conflict;
                let first = if conflicts { &mut self.conflict } else { &mut self.failed };
                first.get_or_insert(failure);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Whether other clusters may be written although this failed: what the API server of Karmada refuses of one cluster
/// says nothing of others, nor does anything that a member answers. A cluster that has just joined may have no namespace
/// for its Works yet. A Work that changed meanwhile is a step that is lost: each of the others is guarded by the version
/// of what it writes. A quota refuses entries for what one cluster is to get, and the clusters that have theirs go on.
fn is_of_one_cluster(action: &Action<'_>, failure: &Failure) -> bool {
    match action {
        Action::ApplyHpa { .. } | Action::DeleteHpa { .. } => {
            matches!(failure.class, ErrorClass::Refused | ErrorClass::Missing | ErrorClass::Conflict)
                || failure.reason == FOREIGN
        }
        Action::Scale { .. } => true,
        Action::UpdateBinding { .. } => failure.class == ErrorClass::Refused,
    }
}

fn stored(binding: &Binding) -> impl Iterator<Item = Entry<'_>> {
    binding.entries().map(|(cluster, number)| Entry { cluster, replicas: replicas(number) })
}

/// The step as it may be written beside new clusters that refused their HPA; `None`: not now. They get no entry, as a
/// workload without an HPA would not be scaled there, and nobody leaves meanwhile, as it may be for them. Nor does an HPA
/// go whose entry stays because the entries were refused.
fn beside<'a, 's>(step: &'s Step<'a>, steps: &Steps<'_>, binding: &'a Binding) -> Option<Cow<'s, Action<'a>>> {
    let has = |cluster: &str| stored(binding).any(|entry| entry.cluster == cluster);
    let refused = &steps.refused;
    let complete = refused.iter().all(|cluster| has(cluster));
    match &step.action {
        Action::DeleteHpa { cluster } if has(cluster) && (steps.unbound || !complete) => {
            // The others have the bounds of one that failed.
            (step.why == Why::ClusterFailed).then_some(Cow::Borrowed(&step.action))
        }
        action if complete => Some(Cow::Borrowed(action)),
        Action::UpdateBinding { entries, .. } => {
            let mut left: Vec<Entry<'a>> = entries
                .iter()
                .filter(|entry| !refused.contains(entry.cluster) || has(entry.cluster))
                .copied()
                .collect();
            let leave: Vec<Entry<'a>> = stored(binding)
                .filter(|entry| entries.iter().all(|planned| planned.cluster != entry.cluster))
                .collect();
            left.extend(leave);
            left.sort_unstable_by_key(|entry| entry.cluster);
            let changed = !stored(binding).eq(left.iter().copied());
            changed.then(|| Cow::Owned(Action::UpdateBinding { entries: left, evictions: Vec::new() }))
        }
        action => Some(Cow::Borrowed(action)),
    }
}
