//! Cluster objects: created when a member joins; health and summaries are updated by probing the member. Client
//! required.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Karmada, condition};
use crate::clock::after;
use crate::json::{self, name, text};
use crate::member::nodes::{self, Room};
use crate::member::{self, Link, Member, pod};
use crate::pass::Pass;
use decision::names::execution_space;
use decision::quantity::{binary, decimal, from_milli};

/// Health of a member.
#[derive(Clone, Copy, Debug, Default)]
pub struct Probe {
    due: Option<Timestamp>,
    /// Since when its answers differ from its condition.
    otherwise: Option<Timestamp>,
    /// Until when the current probe waits for an answer.
    asked: Option<Timestamp>,
    /// Whether the last probe was not answered, so that the next one needs a new connection.
    unanswered: bool,
}

/// How long a probe waits on an existing connection. Karmada's clients of members: 32 seconds.
const ANSWER_PATIENCE: SignedDuration = SignedDuration::from_secs(32);
/// How long a probe waits for a new connection. Go's TLS handshake: 10 seconds.
const HANDSHAKE_PATIENCE: SignedDuration = SignedDuration::from_secs(10);

impl Probe {
    /// Whether the member answers, or until when to wait for it.
    fn look(&mut self, link: Link, now: Timestamp) -> Result<bool, Timestamp> {
        let answer = match (link, self.asked) {
            (Link::Up, _) => true,
            (Link::Refused, _) => false,
            (Link::Hangs, Some(until)) if until <= now => false,
            (Link::Hangs, Some(until)) => return Err(until),
            (Link::Hangs, None) => {
                let until = after(now, if self.unanswered { HANDSHAKE_PATIENCE } else { ANSWER_PATIENCE });
                self.asked = Some(until);
                return Err(until);
            }
        };
        self.asked = None;
        self.unanswered = !answer;
        Ok(answer)
    }
}

/// Whether the condition `Ready` of a Cluster is True.
#[must_use]
pub fn ready(cluster: &Value) -> bool {
    let ready = json::condition(cluster, "/status/conditions", "Ready");
    ready.is_some_and(|condition| text(condition, "/status") == "True")
}

const READY: (&str, &str) = ("ClusterReady", "cluster is healthy and ready to accept workloads");
const GONE: (&str, &str) = ("ClusterNotReachable", "cluster is not reachable");

impl Karmada {
    /// Creates the Cluster of each member and the namespace of its Works.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn join(&self, region: &str) -> Result<(), kube::Error> {
        for (member, place) in &self.members {
            let mode = if place.profile().pulls { "Pull" } else { "Push" };
            let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": execution_space(member)}});
            self.objects.create(&self.kinds.namespace, &space).await?;
            let secret = json!({"namespace": "karmada-cluster", "name": member});
            let cluster = json!({
                "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
                "metadata": {"name": member, "finalizers": ["karmada.io/cluster-controller"]},
                "spec": {"syncMode": mode, "apiEndpoint": format!("https://{member}.playground"), "id": member,
                    "region": region, "secretRef": secret, "impersonatorSecretRef": secret},
            });
            self.objects.create(&self.kinds.cluster, &cluster).await?;
        }
        Ok(())
    }

    /// Probes the members that are due.
    pub(super) async fn watch_clusters(&self, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for cluster in self.clusters().await? {
            if json::deleting(&cluster) {
                pass.join(self.leave(&cluster).await?);
                continue;
            }
            let Some(member) = self.members.get(name(&cluster)).cloned() else { continue };
            let mut probe = self.remember(|memory| memory.probes.get(name(&cluster)).copied().unwrap_or_default());
            let due = probe.due.filter(|_| probe.asked.is_none()).unwrap_or(now);
            if due > now {
                pass.look_at(due);
                continue;
            }
            let looked = probe.look(member.link(), now);
            let Ok(answers) = looked else {
                pass.look_at(looked.err().unwrap_or(now));
                self.remember(|memory| memory.probes.insert(name(&cluster).to_owned(), probe));
                continue;
            };
            let next = after(now, self.timing.status_period);
            probe.due = Some(next);
            pass.look_at(next);
            let status = self.cluster_status(&cluster, (&member, answers), &mut probe, now).await?;
            self.remember(|memory| memory.probes.insert(name(&cluster).to_owned(), probe));
            if self.objects.set_status(&self.kinds.cluster, &cluster, &status).await? {
                pass.wrote();
            }
        }
        Ok(pass)
    }

    /// A deleted Cluster is removed when its Works are gone.
    async fn leave(&self, cluster: &Value) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let works = self.objects.all(&self.kinds.work, &execution_space(name(cluster))).await?;
        if works.is_empty() {
            let released = json!({"metadata": {"finalizers": null}});
            pass.count(&self.objects.merge(&self.kinds.cluster, cluster, "", &released).await?);
        }
        Ok(pass)
    }

    async fn cluster_status(
        &self,
        cluster: &Value,
        (member, answers): (&Arc<Member>, bool),
        probe: &mut Probe,
        now: Timestamp,
    ) -> Result<Value, kube::Error> {
        let before = json::condition(cluster, "/status/conditions", "Ready");
        let holds = match before {
            None => answers,
            Some(_) => self.judge(ready(cluster), answers, probe, now),
        };
        let mut status = cluster.get("status").cloned().unwrap_or_else(|| json!({}));
        if holds && answers {
            self.summarize(member, &mut status).await?;
        }
        let mut conditions = Vec::new();
        if answers || json::condition(cluster, "/status/conditions", "CompleteAPIEnablements").is_some() {
            let complete = json::condition(cluster, "/status/conditions", "CompleteAPIEnablements");
            let why = ("Complete", "collected complete APIEnablements from the cluster");
            conditions.push(condition(complete, "CompleteAPIEnablements", true, why, now));
        }
        conditions.push(condition(before, "Ready", holds, if holds { READY } else { GONE }, now));
        json::set(&mut status, &["conditions"], json!(conditions));
        Ok(status)
    }

    /// Changes the condition when the answers differed for the threshold.
    fn judge(&self, ready: bool, answers: bool, probe: &mut Probe, now: Timestamp) -> bool {
        if ready == answers {
            probe.otherwise = None;
            return ready;
        }
        let since = *probe.otherwise.get_or_insert(now);
        let threshold = if ready { self.timing.failure_threshold } else { self.timing.success_threshold };
        if now.duration_since(since) < threshold {
            return ready;
        }
        probe.otherwise = None;
        answers
    }

    async fn summarize(&self, member: &Member, status: &mut Value) -> Result<(), kube::Error> {
        let kinds = member::Kinds::default();
        let nodes = member.objects().all(&kinds.node, "").await?;
        let pods = member.objects().all(&kinds.pod, "").await?;
        let live = nodes.iter().filter(|node| nodes::ready(node));
        let ready = live.clone().count();
        let allocatable = live.fold(Room::default(), |sum, node| {
            sum.with(Room::of(node.pointer("/status/allocatable").unwrap_or(&Value::Null)))
        });
        let requests = |pod: &&Value| Room::requested(pod.pointer("/spec").unwrap_or(&Value::Null));
        let live = pods.iter().map(AsRef::as_ref).filter(|pod| !pod::ended(pod));
        let (bound, waiting): (Vec<&Value>, Vec<&Value>) =
            live.partition(|pod| !text(pod, "/spec/nodeName").is_empty());
        let sum = |pods: &[&Value]| pods.iter().map(requests).fold(Room::default(), Room::with);
        let kubernetes = member.profile().kubernetes;
        json::set(status, &["kubernetesVersion"], json!(kubernetes));
        json::set(status, &["nodeSummary"], json!({"readyNum": ready, "totalNum": nodes.len()}));
        json::set(status, &["apiEnablements"], json!(member.api_enablements()));
        let mut summary = json!({"allocatable": resources(allocatable), "allocated": resources(sum(&bound))});
        if !waiting.is_empty() {
            json::set(&mut summary, &["allocating"], resources(sum(&waiting)));
        }
        json::set(status, &["resourceSummary"], summary);
        Ok(())
    }
}

fn resources(room: Room) -> Value {
    json!({"cpu": from_milli(room.cpu), "memory": binary(room.memory), "pods": decimal(room.pods)})
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::Probe;
    use crate::member::Link;

    #[test]
    fn a_look_at_a_member_that_hangs_waits_for_its_answer_and_then_for_a_connection() {
        let at = |seconds: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let mut probe = Probe::default();
        assert_eq!(probe.look(Link::Up, at(0)), Ok(true));
        assert_eq!(probe.look(Link::Hangs, at(10)), Err(at(42)));
        assert_eq!(probe.look(Link::Hangs, at(41)), Err(at(42)));
        assert_eq!(probe.look(Link::Hangs, at(42)), Ok(false));
        assert_eq!(probe.look(Link::Hangs, at(52)), Err(at(62)));
        assert_eq!(probe.look(Link::Up, at(55)), Ok(true), "it is answered when the member is back");
        assert_eq!(probe.look(Link::Refused, at(65)), Ok(false));
    }
}
