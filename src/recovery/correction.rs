//! What must be written into a restored control plane for one workload, so that Karmada changes nothing when it applies
//! it to the members (docs/operations.md#after-a-restore). Pure: objects in, corrections out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::workload::{MemberHpa, Scaler, StoredHpa, SurveyedWorkload};
use crate::decision::plan::Bounds;

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Correction {
    /// The label with which members keep their replicas, on the template.
    Retain,
    /// `spec.replicas` of the template.
    Replicas {
        /// As restored.
        from: i32,
        /// What the members are asked for.
        to: i32,
    },
    /// The manifest of the workload in the Work of a cluster.
    Manifest {
        /// Name of the cluster.
        cluster: String,
        /// Its replicas there.
        replicas: u32,
        /// Whether the label is written, too.
        retain: bool,
    },
    /// The Work of a cluster is being deleted, and Karmada would remove the workload there: the Work goes without that.
    Keep {
        /// Name of the cluster.
        cluster: String,
    },
    /// The HPA in the Work of a cluster.
    Hpa {
        /// Name of the cluster.
        cluster: String,
        /// Bounds as restored; `None`: no Work.
        from: Option<Bounds>,
        /// Bounds that change nothing.
        to: Bounds,
        /// Whether it may not scale down.
        held: bool,
        /// Its write id in the cluster.
        token: Option<String>,
    },
    /// The Work with the HPA of a cluster that has neither the HPA nor the workload is deleted.
    NoHpa {
        /// Name of the cluster.
        cluster: String,
        /// Bounds as restored.
        from: Bounds,
    },
    /// The ResourceBinding.
    Binding(Division),
    /// `spec.maxReplicas` of the FederatedHPA: its HPAs allow more than the restored number.
    MaxReplicas {
        /// As restored.
        from: u32,
        /// What the HPAs allow together.
        to: u32,
    },
}

/// What a ResourceBinding should say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// `spec.clusters`, with replicas.
    pub entries: Vec<(String, i32)>,
    /// Clusters whose eviction tasks end.
    pub stay: BTreeSet<String>,
    /// `spec.replicas`, where it changes.
    pub replicas: Option<i32>,
    /// Whether Karmada's scheduler is suspended for it.
    pub suspend: bool,
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Retain => write!(f, "template: members keep their replicas"),
            Self::Replicas { from, to } => write!(f, "template: replicas {from} -> {to}"),
            Self::Manifest { cluster, replicas, .. } => {
                write!(f, "{cluster}: Work of the workload: {replicas} replicas")
            }
            Self::Keep { cluster } => {
                write!(f, "{cluster}: Work of the workload was being deleted: it goes, the workload stays")
            }
            Self::Hpa { cluster, from: Some(from), to, .. } if from == to => {
                write!(f, "{cluster}: HPA {}..{} as it is there", to.min, to.max)
            }
            Self::Hpa { cluster, from: Some(from), to, .. } => {
                write!(f, "{cluster}: HPA {}..{} -> {}..{}", from.min, from.max, to.min, to.max)
            }
            Self::Hpa { cluster, from: None, to, .. } => {
                write!(f, "{cluster}: HPA {}..{}, which has no Work", to.min, to.max)
            }
            Self::NoHpa { cluster, from } => {
                write!(f, "{cluster}: no HPA: the Work with {}..{} goes, as nothing runs there", from.min, from.max)
            }
            Self::Binding(division) => {
                let entries = division.entries.iter().map(|(cluster, replicas)| format!("{cluster}={replicas}"));
                write!(f, "ResourceBinding: {}", entries.collect::<Vec<_>>().join(" "))
            }
            Self::MaxReplicas { from, to } => {
                write!(f, "spec.maxReplicas {from} -> {to}: the HPAs of the members allow that")
            }
        }
    }
}

/// The corrections of one workload, in the order in which they are written.
#[must_use]
pub fn corrections(seen: &SurveyedWorkload) -> Vec<Correction> {
    if is_karmadas(seen) {
        return Vec::new();
    }
    let mut all = Vec::new();
    match &seen.scaler {
        Scaler::Distributed { hpa, .. } => {
            if !seen.template.retained {
                all.push(Correction::Retain);
            }
            all.extend(manifests(seen));
            let (hpas, allowed) = hpas(seen);
            all.extend(hpas);
            all.extend(division(seen, Some(&hpa.key().name)));
            let from = u32::try_from(hpa.object.spec.max_replicas).unwrap_or_default();
            if allowed > from && hpa.object.metadata.deletion_timestamp.is_none() {
                all.push(Correction::MaxReplicas { from, to: allowed });
            }
        }
        Scaler::Whole => {
            let to = total(seen, &entries(seen, true));
            if let Some(from) = seen.template.replicas.filter(|from| *from != to) {
                all.push(Correction::Replicas { from, to });
            }
            all.extend(manifests(seen));
            all.extend(division(seen, None));
        }
    }
    all
}

/// Why the replicas of a workload cannot be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncorrected {
    /// Members do not keep the replicas of the kind: Karmada sets those of the template.
    Unkept,
    /// Where the kind has its replicas is not known.
    Unknown,
}

/// The clusters that run the workload and in which it cannot be corrected, each with the reason.
pub fn uncorrected(seen: &SurveyedWorkload) -> impl Iterator<Item = (&String, Uncorrected)> {
    let works = seen.works.iter().filter(|(_, work)| !work.deleting && !is_karmadas(seen));
    let run = works.filter(|(cluster, _)| seen.members.get(*cluster).is_some_and(|member| member.replicas.is_some()));
    run.filter_map(|(cluster, work)| match seen.scaler {
        Scaler::Distributed { .. } => (!work.kept).then_some((cluster, Uncorrected::Unkept)),
        Scaler::Whole => work.place.is_none().then_some((cluster, Uncorrected::Unknown)),
    })
}

/// Whether Karmada's own division is in force, or the workload runs nowhere.
fn is_karmadas(seen: &SurveyedWorkload) -> bool {
    let has_hpa = seen.members.values().any(|member| member.hpa.is_some());
    let runs = seen.members.values().any(|member| member.replicas.is_some());
    let untaken = matches!(seen.scaler, Scaler::Distributed { taken: false, .. });
    !has_hpa && (untaken || !runs)
}

/// Works of the workload itself. Where members keep their replicas only the label is needed.
fn manifests(seen: &SurveyedWorkload) -> impl Iterator<Item = Correction> {
    let retain = matches!(seen.scaler, Scaler::Distributed { .. });
    seen.works.iter().filter_map(move |(cluster, work)| {
        let replicas = seen.members.get(cluster)?.replicas?;
        let cluster = cluster.clone();
        if work.deleting {
            return Some(Correction::Keep { cluster });
        }
        let same = work.place.is_none() || work.replicas == Some(i64::from(replicas));
        let stands = if retain { work.retained } else { same };
        (!stands).then_some(Correction::Manifest { cluster, replicas, retain })
    })
}

/// Corrections of the HPAs, and the replicas that they allow afterwards.
fn hpas(seen: &SurveyedWorkload) -> (Vec<Correction>, u32) {
    let (mut all, mut allowed) = (Vec::new(), Vec::new());
    let clusters: BTreeSet<&String> = seen.members.keys().chain(seen.hpas.keys()).collect();
    for cluster in clusters {
        let stored = seen.hpas.get(cluster);
        let Some(member) = seen.members.get(cluster) else {
            allowed.extend(stored.map(|stored| stored.bounds.max));
            continue;
        };
        let live = stored.filter(|stored| !stored.deleting);
        match (&member.hpa, member.replicas, live) {
            (Some(there), _, _) => {
                allowed.push(there.bounds.max);
                if stored.is_none_or(|stored| !stored.deleting && !says(stored, there)) {
                    all.push(written(cluster, live, there.bounds, there.held, Some(there.token.clone())));
                }
            }
            // It would be made anew: what runs must fit.
            (None, Some(replicas), Some(stored)) => {
                let StoredHpa { bounds: Bounds { min, max }, .. } = stored;
                let to = Bounds { min: (*min).min(replicas.max(1)), max: (*max).max(replicas) };
                allowed.push(to.max);
                if to != stored.bounds {
                    all.push(written(cluster, live, to, stored.held, None));
                }
            }
            (None, None, Some(stored)) => {
                all.push(Correction::NoHpa { cluster: cluster.clone(), from: stored.bounds });
            }
            (None, _, None) => {}
        }
    }
    let most = allowed.iter().copied().max().unwrap_or_default();
    let sum = allowed.into_iter().fold(0_u32, u32::saturating_add);
    (all, if seen.duplicated { most } else { sum })
}

/// Whether a Work says what the member has.
fn says(stored: &StoredHpa, there: &MemberHpa) -> bool {
    stored.bounds == there.bounds && stored.held == there.held && stored.outstanding >= there.bounds.max
}

fn written(cluster: &str, from: Option<&StoredHpa>, to: Bounds, held: bool, token: Option<String>) -> Correction {
    Correction::Hpa { cluster: cluster.to_owned(), from: from.map(|stored| stored.bounds), to, held, token }
}

/// `spec.clusters`: the clusters that have the workload, and those that were not read as they are stored. With `exact`
/// the replicas are those of the members; else only those of clusters without an entry.
fn entries(seen: &SurveyedWorkload, exact: bool) -> Vec<(String, i32)> {
    let number = |replicas: u32| i32::try_from(replicas).unwrap_or(i32::MAX);
    let mut left: BTreeMap<&String, u32> =
        seen.members.iter().filter_map(|(cluster, member)| Some((cluster, member.replicas?))).collect();
    let mut all = Vec::new();
    for (cluster, stored) in &seen.binding.entries {
        match (seen.members.contains_key(cluster), left.remove(cluster)) {
            (_, Some(replicas)) if exact => all.push((cluster.clone(), number(replicas))),
            (true, None) => {}
            _ => all.push((cluster.clone(), *stored)),
        }
    }
    all.extend(left.into_iter().map(|(cluster, replicas)| (cluster.clone(), number(replicas))));
    all
}

/// `spec.replicas` for these entries.
fn total(seen: &SurveyedWorkload, entries: &[(String, i32)]) -> i32 {
    let replicas = entries.iter().map(|(_, replicas)| *replicas);
    if seen.duplicated || !seen.binding.counted {
        replicas.max().unwrap_or_default()
    } else {
        replicas.fold(0, i32::saturating_add)
    }
}

/// The correction of the binding; `federated_hpa` names the one for which the scheduler is suspended.
fn division(seen: &SurveyedWorkload, federated_hpa: Option<&str>) -> Option<Correction> {
    let binding = &seen.binding;
    let divided = federated_hpa.is_none() && binding.counted;
    let mut entries = entries(seen, divided);
    if federated_hpa.is_none() && !divided {
        // Karmada gives a cluster the replicas of the template, and its entry none.
        for (_, replicas) in &mut entries {
            *replicas = 0;
        }
    }
    let has = |cluster: &String| entries.iter().any(|(name, _)| name == cluster);
    let stay: BTreeSet<String> =
        binding.evicted.iter().filter(|cluster| seen.members.contains_key(*cluster) && has(cluster)).cloned().collect();
    let suspend = federated_hpa.is_some_and(|name| !binding.suspended || binding.marked.as_deref() != Some(name));
    let wanted = total(seen, &entries);
    let replicas = (divided && binding.replicas != Some(wanted)).then_some(wanted);
    let stands = entries == binding.entries && stay.is_empty() && !suspend && replicas.is_none();
    (!stands).then_some(Correction::Binding(Division { entries, stay, replicas, suspend }))
}
