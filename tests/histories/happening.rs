//! Applies operations to a scene: those of users, and faults. No sockets.

use fhpa::decision::freeze::FREEZE;
use fhpa::playground::json::{items, set};
use fhpa::playground::member::Link;
use fhpa::playground::objects::{Kind, Objects, Written};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::objects::{cluster, cron, federated, kind, other_hpa, quota};
use super::operation::{Operation, Stall, Trouble};
use super::scene::Scene;
use crate::bed::objects::deployment;
use crate::bed::upstream;

fn leases() -> Kind {
    Kind::regular("coordination.k8s.io/v1", "Lease", true)
}

impl Scene {
    pub async fn write(&self, object: &Value) {
        let known = kind(object["kind"].as_str().unwrap());
        // The webhook may refuse it, and it may be there already.
        let _: Result<Written, kube::Error> = self.control.create(&known, object).await;
    }

    async fn find(&self, of: &str, name: &str) -> Option<Value> {
        let space = if kind(of).namespaced { "prod" } else { "" };
        self.control.get(&kind(of), space, name).await.unwrap()
    }

    async fn merge(&self, of: &str, name: &str, patch: Value) {
        let about = json!({"metadata": {"name": name, "namespace": "prod"}});
        let _: Result<Written, kube::Error> = self.control.merge(&kind(of), &about, "", &patch).await;
    }

    async fn remove(&self, of: &str, name: &str) {
        if let Some(found) = self.find(of, name).await {
            let _: Result<Written, kube::Error> = self.control.delete(&kind(of), &found).await;
        }
    }

    /// Something happens. What does not apply is passed over.
    pub async fn happen(&mut self, what: &Operation) {
        match what {
            Operation::Kill { replica } => {
                self.replicas[*replica].kill().await;
            }
            Operation::Stop { replica } => {
                self.replicas[*replica].stop().await;
            }
            Operation::Start { replica } if self.installed => self.start(*replica),
            Operation::Start { .. } => {}
            Operation::Install => self.install().await,
            Operation::Uninstall => self.uninstall().await,
            Operation::Down { replica, on } => self.replicas[*replica].way.down(*on),
            Operation::Hang { replica, on } => self.replicas[*replica].way.hang(*on),
            Operation::Stale { replica, on, of } => self.replicas[*replica].way.stale(on.then_some(of.as_str())),
            Operation::Trouble { replica, what, count } => self.trouble(*replica, *what, *count),
            Operation::DropWatches => self.fleet.control().faults().drop_watches(),
            Operation::DropLease => self.drop_lease().await,
            Operation::Freeze { on } => self.freeze(*on).await,
            Operation::Upgrade { on } => self.upgrade(*on).await,
            Operation::SilenceWebhook { on } => self.silence(*on),
            Operation::Clock { replica, by } => {
                self.replicas[*replica].wall.jump(*by);
                self.watched.laws().clock_jumped(*by);
            }
            _ => self.happen_to_world(what).await,
        }
    }

    fn trouble(&self, replica: usize, what: Trouble, count: u32) {
        self.replicas[replica].way.trouble(what, count);
    }

    async fn lease(&self) -> Option<Value> {
        self.control.get(&leases(), "karmada-system", "fhpa").await.unwrap()
    }

    /// Writes the annotation that freezes the controllers into the Lease, or removes it.
    pub async fn freeze(&mut self, on: bool) {
        let change = json!({"metadata": {"annotations": {FREEZE: on.then_some("an incident")}}});
        if let Some(lease) = self.lease().await {
            self.frozen = on;
            self.control.merge(&leases(), &lease, "", &change).await.unwrap();
        }
    }

    async fn drop_lease(&mut self) {
        if let Some(lease) = self.lease().await {
            self.frozen = false;
            let _: Result<Written, kube::Error> = self.control.delete(&leases(), &lease).await;
        }
    }

    async fn happen_to_world(&self, what: &Operation) {
        match what {
            Operation::Load { workload, milli } => self.fleet.load().set("prod", workload, *milli),
            Operation::Fail { cluster, on } => {
                let _: Result<(), _> = self.fleet.fail(&format!("member{cluster}"), *on);
            }
            Operation::Cut { cluster, on } => {
                let link = if *on { Link::Hangs } else { Link::Up };
                let _: Result<(), _> = self.fleet.cut(&format!("member{cluster}"), link);
            }
            Operation::LoseMetrics { cluster, on } => {
                let _: Result<(), _> = self.fleet.lose_metrics(&format!("member{cluster}"), *on);
            }
            Operation::Lag { seconds } => self.fleet.lag(SignedDuration::from_secs(i64::from(*seconds))),
            Operation::RestartKarmada => self.fleet.restart_karmada(),
            Operation::Nodes { cluster, by } => {
                let _: Result<usize, _> = self.fleet.change_nodes(&format!("member{cluster}"), *by).await;
            }
            Operation::Stall { cluster, how } => self.stall(&format!("member{cluster}"), *how).await,
            Operation::DropHpa { workload, cluster } => {
                if let Some((objects, hpa)) = self.member_hpa(workload, *cluster).await {
                    let _: Result<Written, kube::Error> = objects.delete(&kind("HorizontalPodAutoscaler"), &hpa).await;
                }
            }
            Operation::BendHpa { workload, cluster, max } => {
                if let Some((objects, hpa)) = self.member_hpa(workload, *cluster).await {
                    let bent = json!({"spec": {"minReplicas": 1, "maxReplicas": max}});
                    let of = kind("HorizontalPodAutoscaler");
                    let _: Result<Written, kube::Error> = objects.merge(&of, &hpa, "", &bent).await;
                }
            }
            Operation::OtherHpa { workload, cluster, on } => {
                self.other_hpa(workload, &format!("member{cluster}"), *on).await;
            }
            _ => self.users_do(what).await,
        }
    }

    async fn member_hpa(&self, workload: &str, cluster: u32) -> Option<(Objects, Value)> {
        let objects = Objects::new(self.fleet.member(&format!("member{cluster}")).ok()?.client());
        let hpa = objects.get(&kind("HorizontalPodAutoscaler"), "prod", workload).await.unwrap()?;
        Some((objects, hpa))
    }

    pub(super) async fn other_hpa(&self, workload: &str, cluster: &str, on: bool) {
        let Ok(member) = self.fleet.member(cluster) else { return };
        let (objects, of) = (Objects::new(member.client()), kind("HorizontalPodAutoscaler"));
        let other = other_hpa(workload, &format!("{workload}-other"));
        let _: Result<Written, kube::Error> =
            if on { objects.create(&of, &other).await } else { objects.delete(&of, &other).await };
    }

    /// A user's HPA on karmada-apiserver, of which Karmada makes one in each member.
    pub(super) async fn plain_hpa(&self, workload: &str, on: bool) {
        let name = format!("{workload}-plain");
        if on {
            self.write(&other_hpa(workload, &name)).await;
        } else {
            self.remove("HorizontalPodAutoscaler", &name).await;
        }
    }

    /// Pods that are there go on.
    async fn stall(&self, cluster: &str, how: Option<Stall>) {
        let Ok(member) = self.fleet.member(cluster) else { return };
        self.fleet.hold_pods(cluster, how == Some(Stall::Unready)).unwrap();
        let (objects, of) = (Objects::new(member.client()), kind("Node"));
        let cordon = json!({"spec": {"unschedulable": how == Some(Stall::Pending)}});
        for node in objects.list(&of, "").await.unwrap() {
            objects.merge(&of, &node, "", &cordon).await.unwrap();
        }
    }

    /// A FederatedHPA, as Karmada's own controller left it in a history of objects that it ran.
    async fn begin(&self, workload: &str, spec: &Value) {
        let known = self.control.get(&kind("FederatedHPA"), "prod", workload).await.unwrap();
        self.write(&federated(workload, spec)).await;
        if self.migrated && known.is_none() {
            // Refused by the webhook, or written by fhpa meanwhile: there is none, or no other one.
            let _: Result<(), kube::Error> = upstream::writes(self.fleet.control().client(), workload, 3).await;
        }
    }

    async fn users_do(&self, what: &Operation) {
        match what {
            Operation::Create { workload, spec } => self.begin(workload, spec).await,
            Operation::Delete { workload } => self.remove("FederatedHPA", workload).await,
            Operation::Edit { workload, field, value } => self.edit("FederatedHPA", workload, field, value).await,
            Operation::CreateCron { workload, bounds, rules } => self.write(&cron(workload, *bounds, rules)).await,
            Operation::EditCron { workload, field, value } => {
                self.edit("CronFederatedHPA", workload, field, value).await;
            }
            Operation::DeleteCron { workload } => self.remove("CronFederatedHPA", workload).await,
            Operation::Place { workload, placement } => {
                let mut whole = json!({"clusterAffinity": null, "clusterTolerations": null, "spreadConstraints": null});
                whole.as_object_mut().unwrap().extend(placement.as_object().cloned().unwrap());
                // A merge would keep what the old way of division said.
                self.merge("PropagationPolicy", workload, json!({"spec": {"placement": {"replicaScheduling": null}}}))
                    .await;
                self.merge("PropagationPolicy", workload, json!({"spec": {"placement": whole}})).await;
            }
            Operation::PlainHpa { workload, on } => self.plain_hpa(workload, *on).await,
            Operation::Quota { cpu } => {
                self.remove("FederatedResourceQuota", "limit").await;
                if let Some(cpu) = cpu {
                    self.write(&quota(*cpu)).await;
                }
            }
            Operation::Unjoin { cluster } => self.remove("Cluster", &format!("member{cluster}")).await,
            Operation::Join { cluster: number } => self.write(&cluster(*number)).await,
            Operation::ApplicationFailover { workload, on } => {
                let how = json!({"application": {"decisionConditions": {"tolerationSeconds": 30}, "purgeMode": "Gracefully"}});
                let spec = json!({"propagateDeps": on, "failover": if *on { how } else { Value::Null }});
                self.merge("PropagationPolicy", workload, json!({"spec": spec})).await;
            }
            Operation::Label { cluster, value } => {
                let labels = json!({"metadata": {"labels": {"tier": value}}});
                self.merge("Cluster", &format!("member{cluster}"), labels).await;
            }
            Operation::Taint { cluster, effect } => self.taint(&format!("member{cluster}"), effect.as_deref()).await,
            Operation::Scale { workload, replicas } => {
                self.merge("Deployment", workload, json!({"spec": {"replicas": replicas}})).await;
            }
            Operation::RollOut { workload, image } => {
                let mut changed = deployment(workload, 1);
                let container = items(&changed, "/spec/template/spec/containers")[0].clone();
                let mut container = container;
                container["image"] = json!(image);
                set(&mut changed, &["spec", "template", "spec", "containers"], json!([container]));
                let template = changed["spec"]["template"].clone();
                self.merge("Deployment", workload, json!({"spec": {"template": template}})).await;
            }
            Operation::Remove { workload } => self.remove("Deployment", workload).await,
            Operation::Bring { workload, replicas } => {
                self.write(&deployment(workload, i32::try_from(*replicas).unwrap())).await;
            }
            _ => panic!("{what:?} is handled before"),
        }
    }

    async fn taint(&self, cluster: &str, effect: Option<&str>) {
        let Some(found) = self.find("Cluster", cluster).await else { return };
        let others = items(&found, "/spec/taints").iter().filter(|taint| taint["key"] != "tests");
        let own = effect.map(
            |effect| json!({"key": "tests", "value": "yes", "effect": effect, "timeAdded": self.fleet.control().now()}),
        );
        let taints: Vec<Value> = others.cloned().chain(own).collect();
        self.merge("Cluster", cluster, json!({"spec": {"taints": taints}})).await;
    }

    async fn edit(&self, of: &str, name: &str, field: &str, value: &Value) {
        let Some(mut found) = self.find(of, name).await else { return };
        let keys: Vec<&str> = std::iter::once("spec").chain(field.split('.')).collect();
        if value.is_null() {
            fhpa::playground::json::remove(&mut found, &keys);
        } else {
            set(&mut found, &keys, value.clone());
        }
        let Err(kube::Error::Api(status)) = self.control.replace(&kind(of), &found).await else { return };
        // A user who switches to Centralized removes the fields that the answer names.
        let causes = status.details.iter().flat_map(|details| &details.causes);
        let forbidden = causes.filter(|cause| cause.reason == "FieldValueForbidden" && cause.field != keys.join("."));
        let forbidden: Vec<Vec<&str>> = forbidden.map(|cause| cause.field.split('.').collect()).collect();
        for keys in &forbidden {
            fhpa::playground::json::remove(&mut found, keys);
        }
        if !forbidden.is_empty() {
            let _: Result<Written, kube::Error> = self.control.replace(&kind(of), &found).await;
        }
    }
}
