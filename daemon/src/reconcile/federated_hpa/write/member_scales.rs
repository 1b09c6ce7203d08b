//! Replicas that the members of a workload ask for when it is handed back. Talks to the API server.

use futures::future::join_all;

use super::release::Release;
use crate::controller::failure::Asked;
use crate::convert;
use crate::convert::fleet::replicas;
use crate::decision::plan::Entry;
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::observe::live_state::can_be_asked;
use crate::reconcile::federated_hpa::observe::members::proxied;
use crate::reconcile::federated_hpa::observe::{is_silent, reported};

use super::writer::Scalable;

/// Most clusters to query at a time.
const ASKED: usize = 16;

impl Release<'_> {
    /// The entries with the requested replicas of the members. The members are queried: existing replicas are fewer
    /// where pods cannot be created, and more during a rollout.
    pub(super) async fn entries<'b>(self, binding: &'b Binding, (path, name): (&str, &str)) -> Vec<Entry<'b>> {
        let known = self.known().asked;
        let mut unasked: Vec<String> = Vec::new();
        // What runs of a workload that is not Karmada's is not handed back.
        let own = |cluster: &str| binding.left_alone().all(|(other, _)| other != cluster);
        for (cluster, _) in binding.entries().filter(|(cluster, _)| !known.contains_key(*cluster) && own(cluster)) {
            unasked.push(cluster.to_owned());
        }
        for clusters in unasked.chunks(ASKED) {
            let mut answers = Vec::new();
            for cluster in clusters {
                answers.push(self.ask(cluster, path, name));
            }
            let answers = join_all(answers).await;
            let answered = clusters.iter().zip(answers).filter_map(|(cluster, reply)| Some((cluster.clone(), reply?)));
            self.note(|progress| progress.asked.extend(answered));
        }
        let asked = self.known().asked;
        let fill =
            |cluster, stored| asked.get(cluster).copied().unwrap_or_else(|| self.guess(binding, cluster, stored));
        let entry = |(cluster, stored)| Entry { cluster, replicas: fill(cluster, replicas(stored)) };
        binding.entries().map(entry).collect()
    }

    async fn ask(self, cluster: &str, path: &str, name: &str) -> Option<Replicas> {
        let writer = &self.applier.writer;
        if is_silent(self.view, cluster)
            || !writer.cache.cluster(cluster).is_some_and(|known| can_be_asked(&known.object))
        {
            return None;
        }
        let object = format!("{name} in cluster {cluster}");
        let asked = Asked { verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy", object: &object };
        let path = proxied(cluster, path);
        writer.wanted(Scalable { path: &path, name, asked }).await.map(replicas)
    }

    /// Assumed requested replicas of a cluster that cannot be queried.
    fn guess(self, binding: &Binding, cluster: &str, stored: Replicas) -> Replicas {
        let reported = reported(binding, cluster).map(|status| {
            let rolls = status.updated_replicas.is_some_and(|updated| updated < status.replicas);
            (replicas(status.replicas), rolls)
        });
        let mut kept = self.view.federated_hpa.desired();
        let zero = kept.any(|(name, kept)| name == cluster && convert::memory::read(kept).1.scaled_to_zero);
        guessed(reported, self.known().wished.get(cluster).copied(), if zero { None } else { Some(stored) })
    }
}

/// Replicas as last `reported` (and whether a rollout was under way), without the extra ones of the rollout; what the
/// HPA last `wished`, where that is more or nothing is reported; or the entry (`stored`; `None`: it is to be at zero).
///
/// Workload and HPA are reported one after the other: of a cluster that stopped answering in between the report with
/// more counts. The HPA of one at zero does nothing, and what it wished before is no report.
fn guessed(reported: Option<(Replicas, bool)>, wished: Option<Replicas>, stored: Option<Replicas>) -> Replicas {
    let wished = wished.filter(|wished| *wished > 0);
    let more = wished.filter(|_| stored.is_some());
    let ran = reported.map(|(ran, rolls)| match (rolls, wished) {
        (true, Some(wished)) => ran.min(wished),
        (true, None) => ran,
        (false, _) => ran.max(more.unwrap_or_default()),
    });
    ran.filter(|ran| *ran > 0).or(more).or(stored).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cluster_asks_for_is_guessed_by_the_report_with_more_and_without_the_pods_of_a_rollout() {
        let entry = Some(1);
        for (reported, wished, stored, expected) in [
            (Some((3, false)), None, entry, 3),
            (Some((3, false)), Some(5), entry, 5),
            (Some((5, false)), Some(3), entry, 5),
            (Some((5, true)), Some(4), entry, 4),
            (Some((5, true)), None, entry, 5),
            (Some((0, true)), Some(4), entry, 4),
            (None, Some(4), entry, 4),
            (None, Some(0), entry, 1),
            (None, None, entry, 1),
            (Some((0, false)), Some(1), None, 0),
            (Some((2, false)), Some(4), None, 2),
            (None, Some(4), None, 0),
        ] {
            assert_eq!(guessed(reported, wished, stored), expected, "{reported:?} {wished:?} {stored:?}");
        }
    }
}
