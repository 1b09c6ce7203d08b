//! Writes of Works. A Work of another object is neither changed nor deleted: each write is guarded by the version of one
//! that is known to be the object's own (docs/design.md#law-11-stay-in-its-lane). Talks to the API server.

use kube::Client;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::params::Preconditions;
use kube::core::{ObjectList, Request};
use serde_json::{Value, json};

use super::writer::{Writer, guard, merging};
use crate::api::{FederatedHPA, Work};
use crate::controller::failure::{Asked, Failure, WriteError, reason};
use crate::controller::managers;
use crate::controller::request::{send, write};
use crate::decision::backoff::ErrorClass;
use crate::decision::names::execution_space;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::names;
use crate::reconcile::federated_hpa::ownership::{Whose, whose};
use crate::runtime::leader::Leader;

/// A Work or an HPA of another owner exists under the same name.
pub const FOREIGN: &str = "ForeignHPA";

/// What became of a new Work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Created {
    /// It is there.
    Made,
    /// A Work of another object has that name.
    Taken,
}

/// A Work by its name, whoever has made it.
pub struct WorkPlace<'a> {
    name: &'a str,
    /// Requests for Works of its namespace.
    pub requests: Request,
    object: String,
}

impl<'a> WorkPlace<'a> {
    /// The Work of that name for a cluster.
    #[must_use]
    pub fn of(cluster: &str, name: &'a str) -> Self {
        let space = execution_space(cluster);
        let requests = Request::new(format!("/apis/work.karmada.io/v1alpha1/namespaces/{space}/works"));
        Self { name, requests, object: format!("Work {space}/{name}") }
    }

    /// Describes a request for messages.
    #[must_use]
    pub const fn asked(&self, verb: &'a str) -> Asked<'_> {
        Asked { verb, group: "work.karmada.io", resource: "works", object: &self.object }
    }

    /// Reads it; `None` where there is none. The rights of fhpa allow to list Works, and not to get one.
    ///
    /// # Errors
    /// When the API server rejects the request or is unreachable.
    pub async fn find(&self, client: &Client) -> Result<Option<DynamicObject>, Failure> {
        let request = self.requests.list(&ListParams::default().fields(&format!("metadata.name={}", self.name)));
        let found: ObjectList<DynamicObject> = send(client, request, self.asked("list")).await?;
        Ok(found.items.into_iter().find(|found| found.metadata.name.as_deref() == Some(self.name)))
    }
}

/// Whose a Work is that has a name for those of `hpa`.
#[must_use]
pub fn found_as(found: &DynamicObject, hpa: &FederatedHPA) -> Whose {
    let manifest = found.data.pointer("/spec/workload/manifests/0").unwrap_or(&Value::Null);
    let text = |text: &'_ Option<String>| text.clone().unwrap_or_default();
    let (namespace, name, uid) = (text(&hpa.metadata.namespace), text(&hpa.metadata.name), text(&hpa.metadata.uid));
    whose(&found.metadata, manifest, (&namespace, &name), &uid)
}

/// That Works of other objects have all names for a new one.
#[must_use]
pub fn names_taken(cluster: &str) -> Failure {
    let message = format!(
        "Works of other objects in {} have the names that the Work of this one would have: remove them, they are neither \
         of Karmada nor of fhpa",
        execution_space(cluster)
    );
    Failure::new(ErrorClass::Transient, FOREIGN, message)
}

impl Writer {
    /// Changes the Work `member_hpa` to `work`.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn change_work(
        &self,
        leader: &Leader,
        member_hpa: &MemberHpa,
        mut work: Value,
    ) -> Result<(), WriteError> {
        let place = WorkPlace::of(member_hpa.cluster(), &member_hpa.key.name);
        guard(&mut work, &member_hpa.version);
        let parameters = PatchParams::apply(managers::MEMBER_HPA).force();
        let request = place.requests.patch(place.name, &parameters, &Patch::Apply(&work));
        let written: Work = write(&self.client, leader, request, place.asked("patch")).await?;
        self.cache.wrote_work(&written);
        Ok(())
    }

    /// Creates `work` for `hpa` in a cluster, unless a Work of another object has that name.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`], and where Karmada propagates an HPA of the namespace and name of `hpa`.
    pub async fn create_work(
        &self,
        leader: &Leader,
        (cluster, name): (&str, &str),
        (hpa, work): (&FederatedHPA, Value),
    ) -> Result<Created, WriteError> {
        let place = WorkPlace::of(cluster, name);
        let parameters = PostParams { field_manager: Some(managers::MEMBER_HPA.to_owned()), ..PostParams::default() };
        let request = place.requests.create(&parameters, work.to_string().into_bytes());
        match write::<Work>(&self.client, leader, request, place.asked("create")).await {
            Ok(made) => {
                self.cache.made_work(&made);
                return Ok(Created::Made);
            }
            Err(WriteError::Failed(failure)) if failure.class == ErrorClass::Conflict => {}
            Err(error) => return Err(error),
        }
        let Some(found) = place.find(&self.client).await? else {
            let message = format!("{} was there and is gone: planning again", place.object);
            return Err(Failure::new(ErrorClass::Conflict, reason::CONFLICT, message).into());
        };
        match found_as(&found, hpa) {
            Whose::Another => Ok(Created::Taken),
            Whose::Own => {
                self.reclaim(leader, &place, &found, &work).await?;
                let message = format!("{} had lost its labels or its owner: planning again with its HPA", place.object);
                Err(Failure::new(ErrorClass::Conflict, reason::CONFLICT, message).into())
            }
            Whose::Propagated => {
                let message = format!(
                    "{} exists already: an HPA of that name is propagated to the cluster; take that HPA out of its \
                     PropagationPolicy",
                    place.object
                );
                Err(Failure::new(ErrorClass::Transient, FOREIGN, message).into())
            }
        }
    }

    /// Restores the labels and the owner of a Work of fhpa that somebody removed, as `work` has them: then it is in the
    /// cache, and the next plan counts its bounds.
    async fn reclaim(
        &self,
        leader: &Leader,
        place: &WorkPlace<'_>,
        found: &DynamicObject,
        work: &Value,
    ) -> Result<(), WriteError> {
        let owner = work.pointer("/metadata/annotations").and_then(|all| all.get(names::OWNER));
        let labels = work.pointer("/metadata/labels");
        let mut patch = json!({"metadata": {"labels": labels, "annotations": {names::OWNER: owner}}});
        guard(&mut patch, found.metadata.resource_version.as_deref().unwrap_or_default());
        let request = place.requests.patch(place.name, &merging(managers::MEMBER_HPA), &Patch::Merge(&patch));
        let known: Work = write(&self.client, leader, request, place.asked("patch")).await?;
        self.cache.made_work(&known);
        Ok(())
    }

    /// Deletes a Work; Karmada removes the HPA from the cluster.
    ///
    /// # Errors
    /// As [`Self::federated_hpa`].
    pub async fn delete_work(&self, leader: &Leader, member_hpa: &MemberHpa) -> Result<(), WriteError> {
        let place = WorkPlace::of(member_hpa.cluster(), &member_hpa.key.name);
        let preconditions = Preconditions {
            uid: Some(member_hpa.uid.to_string()),
            resource_version: Some(member_hpa.version.to_string()),
        };
        let parameters = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let request = place.requests.delete(place.name, &parameters);
        match write::<Value>(&self.client, leader, request, place.asked("delete")).await {
            Ok(answer) => {
                // The response is a Status when the object is gone at once: the watch reports that.
                if let Some(going) =
                    serde_json::from_value::<Work>(answer).ok().filter(|work| work.metadata.uid.is_some())
                {
                    self.cache.wrote_work(&going);
                }
                Ok(())
            }
            Err(WriteError::Failed(failure)) if failure.class == ErrorClass::Missing => Ok(()),
            Err(error) => Err(error),
        }
    }
}
