//! Reads the objects of an overview, with the rights of the user. What cannot be read is named, and the rest is read
//! all the same. Talks to the API server; reads only.

use futures::future::join;
use k8s_openapi::api::events::v1::Event;
use kube::Client;
use kube::api::{GetParams, ListParams};
use kube::core::Request;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::model::Unread;
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::request::send;
use crate::decision::excerpt::excerpt;
use crate::decision::names;

/// Objects in one page of a list.
const PAGE: u32 = 500;
/// Most characters of an error that are repeated.
const QUOTED: usize = 512;
/// Most pages of one list: more objects than a control plane holds.
const PAGES: usize = 1000;

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// FederatedHPAs.
    pub federated_hpas: Vec<FederatedHPA>,
    /// CronFederatedHPAs.
    pub cron_federated_hpas: Vec<CronFederatedHPA>,
    /// The binding of the workload of a single FederatedHPA.
    pub binding: Option<ResourceBinding>,
    /// The member clusters, for a single FederatedHPA.
    pub clusters: Vec<Cluster>,
    /// Events of a single FederatedHPA.
    pub events: Vec<Event>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// Why there is nothing to show.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GatherError {
    /// The kinds are not served.
    #[error(
        "the API server does not serve FederatedHPAs: give the kubeconfig of karmada-apiserver; if this is the one, run `fhpa install`"
    )]
    NotServed,
    /// There is no connection.
    #[error("{0}; is karmada-apiserver up, and does the kubeconfig lead there?")]
    Unreachable(String),
    /// The user may not read.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such object.
    #[error("there is no FederatedHPA {name} in namespace {namespace}{}{}", as_cron(*.is_cron, .namespace), elsewhere(.others, .name))]
    NotFound {
        /// The namespace that was looked at.
        namespace: String,
        /// The name that was looked for.
        name: String,
        /// Namespaces with an object of that name, as far as they may be listed.
        others: Vec<String>,
        /// Whether a CronFederatedHPA has the name.
        is_cron: bool,
    },
    /// Another failure.
    #[error("{0}")]
    Failed(String),
}

fn as_cron(is_cron: bool, namespace: &str) -> String {
    let said = format!("; a CronFederatedHPA has that name: fhpa status -n {namespace}");
    if is_cron { said } else { String::new() }
}

fn elsewhere(others: &[String], name: &str) -> String {
    match others.first() {
        Some(first) => {
            let all = crate::decision::few::Few(others);
            format!("; one of that name is in {all}: fhpa status {name} -n {first}")
        }
        None => String::new(),
    }
}

/// A resource that is read.
#[derive(Clone, Copy)]
struct Resource {
    /// `/api/v1` or `/apis/GROUP/VERSION`
    prefix: &'static str,
    group: &'static str,
    plural: &'static str,
}

const FEDERATED_HPAS: Resource =
    Resource { prefix: OWN, group: crate::decision::api_version::GROUP, plural: "federatedhpas" };
const CRON_FEDERATED_HPAS: Resource =
    Resource { prefix: OWN, group: crate::decision::api_version::GROUP, plural: "cronfederatedhpas" };
const BINDINGS: Resource =
    Resource { prefix: "/apis/work.karmada.io/v1alpha2", group: "work.karmada.io", plural: "resourcebindings" };
const CLUSTERS: Resource =
    Resource { prefix: "/apis/cluster.karmada.io/v1alpha1", group: "cluster.karmada.io", plural: "clusters" };
const EVENTS: Resource = Resource { prefix: "/apis/events.k8s.io/v1", group: "events.k8s.io", plural: "events" };
/// Path of fhpa's kinds.
const OWN: &str = "/apis/autoscaling.karmada.io/v1alpha1";

impl Resource {
    /// The collection in `namespace`; `None`: in all of them.
    fn path(self, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", self.prefix, self.plural),
            None => format!("{}/{}", self.prefix, self.plural),
        }
    }
}

/// The collections whose changes may change an overview, as paths. `single`: that of one object.
#[must_use]
pub fn watched(namespace: Option<&str>, single: bool) -> Vec<String> {
    let mut resources = vec![FEDERATED_HPAS, CRON_FEDERATED_HPAS];
    if single {
        resources.extend([BINDINGS, EVENTS]);
    }
    resources.into_iter().map(|resource| resource.path(namespace)).collect()
}

/// All objects of `namespace`, or of all namespaces.
///
/// # Errors
/// Neither kind can be read.
pub async fn all(client: &Client, namespace: Option<&str>) -> Result<Objects, GatherError> {
    let hpas = list(client, FEDERATED_HPAS, namespace, "");
    let crons = list(client, CRON_FEDERATED_HPAS, namespace, "");
    let (hpas, crons) = join(hpas, crons).await;
    let mut objects = Objects::default();
    let failed = match (&hpas, &crons) {
        (Err(failure), Err(_)) => Some(refusal(failure, namespace)),
        (Err(failure), _) if failure.reason == reason::NOT_SERVED => Some(GatherError::NotServed),
        _ => None,
    };
    if let Some(error) = failed {
        return Err(error);
    }
    objects.federated_hpas = objects.take_list(hpas, FEDERATED_HPAS);
    objects.cron_federated_hpas = objects.take_list(crons, CRON_FEDERATED_HPAS);
    Ok(objects)
}

/// One FederatedHPA, and what belongs to it.
///
/// # Errors
/// It does not exist, or cannot be read.
pub async fn one(client: &Client, namespace: &str, name: &str) -> Result<Objects, GatherError> {
    let hpa: FederatedHPA = match get(client, FEDERATED_HPAS, namespace, name).await {
        Ok(hpa) => hpa,
        Err(failure) if failure.reason == reason::NOT_FOUND => {
            let others = namespaces(client, name).await;
            let is_cron = get::<CronFederatedHPA>(client, CRON_FEDERATED_HPAS, namespace, name).await.is_ok();
            let (namespace, name) = (namespace.to_owned(), name.to_owned());
            return Err(GatherError::NotFound { namespace, name, others, is_cron });
        }
        Err(failure) => return Err(refusal(&failure, Some(namespace))),
    };
    let target = &hpa.spec.scale_target_ref;
    let binding = names::binding(&target.kind, &target.name);
    let fields = format!("regarding.kind=FederatedHPA,regarding.name={name}");
    let (crons, events) =
        join(list(client, CRON_FEDERATED_HPAS, Some(namespace), ""), list(client, EVENTS, Some(namespace), &fields))
            .await;
    let (bound, clusters) = join(get(client, BINDINGS, namespace, &binding), list(client, CLUSTERS, None, "")).await;
    let mut objects = Objects { federated_hpas: vec![hpa], ..Objects::default() };
    objects.cron_federated_hpas = objects.take_list(crons, CRON_FEDERATED_HPAS);
    objects.binding = match bound {
        Err(failure) if failure.reason == reason::NOT_FOUND => None,
        bound => objects.take(bound.map(Some), "get", BINDINGS),
    };
    objects.clusters = objects.take_list(clusters, CLUSTERS);
    objects.events = objects.take_list(events, EVENTS);
    Ok(objects)
}

impl Objects {
    /// What was read; what was not is noted, and empty.
    fn take<T: Default>(&mut self, read: Result<T, Failure>, verb: &str, resource: Resource) -> T {
        read.unwrap_or_else(|failure| {
            self.unread.push(unread(verb, resource, &failure));
            T::default()
        })
    }

    /// As [`Self::take`], of a list; objects that could not be decoded are noted, too.
    fn take_list<T>(&mut self, read: Result<Listed<T>, Failure>, resource: Resource) -> Vec<T> {
        let Listed { items, undecoded } = self.take(read, "list", resource);
        if let Some((count, error)) = undecoded {
            self.unread.push(undecoded_of(resource.plural, count, &error));
        }
        items
    }
}

fn unread(verb: &str, resource: Resource, failure: &Failure) -> Unread {
    unread_of(verb, resource.plural, failure)
}

/// What could not be read, and why.
#[must_use]
pub fn unread_of(verb: &str, plural: &str, failure: &Failure) -> Unread {
    let reason = match failure.reason {
        reason::FORBIDDEN => "forbidden",
        reason::UNAUTHORIZED => "the credentials are not accepted",
        reason::NOT_SERVED => "not served",
        reason::UNREACHABLE => "the API server does not answer",
        _ => "refused",
    };
    Unread {
        verb: verb.to_owned(),
        resource: plural.to_owned(),
        reason: reason.to_owned(),
        message: failure.message.clone(),
    }
}

/// That `count` objects could not be decoded, and why the first of them.
#[must_use]
pub fn undecoded_of(plural: &str, count: usize, error: &str) -> Unread {
    Unread {
        verb: "decode".to_owned(),
        resource: plural.to_owned(),
        reason: format!("{count} of them"),
        message: format!("{count} of the {plural} cannot be decoded: {error}"),
    }
}

/// The failure of what nothing can be shown without. `namespace`: the one that was read, where it was one.
#[must_use]
pub fn refusal(failure: &Failure, namespace: Option<&str>) -> GatherError {
    let message = failure.message.clone();
    match failure.reason {
        reason::NOT_SERVED => GatherError::NotServed,
        reason::UNREACHABLE | reason::REJECTED => GatherError::Unreachable(message),
        reason::FORBIDDEN if namespace.is_none() => {
            GatherError::Forbidden(format!("{message}; or name a namespace with -n"))
        }
        reason::FORBIDDEN => GatherError::Forbidden(message),
        _ => GatherError::Failed(message),
    }
}

/// As [`refusal`], of an object of another kind that is read with one in `namespace`.
#[must_use]
pub fn refusal_beside(failure: &Failure, namespace: &str) -> GatherError {
    match failure.reason {
        reason::NOT_SERVED => GatherError::Failed(failure.message.clone()),
        _ => refusal(failure, Some(namespace)),
    }
}

/// Namespaces with a FederatedHPA of that name; empty where they may not be listed.
async fn namespaces(client: &Client, name: &str) -> Vec<String> {
    let found: Result<Listed<FederatedHPA>, _> =
        list(client, FEDERATED_HPAS, None, &format!("metadata.name={name}")).await;
    found.unwrap_or_default().items.into_iter().filter_map(|hpa| hpa.metadata.namespace).collect()
}

async fn get<T: DeserializeOwned>(
    client: &Client,
    resource: Resource,
    namespace: &str,
    name: &str,
) -> Result<T, Failure> {
    let shown = format!("{} {namespace}/{name}", resource.plural);
    let asked = Asked { verb: "get", group: resource.group, resource: resource.plural, object: &shown };
    let path = resource.path(Some(namespace));
    send(client, Request::new(path).get(name, &GetParams::default()), asked).await
}

/// A page of a list.
#[derive(Deserialize)]
struct Items {
    #[serde(default)]
    metadata: kube::core::ListMeta,
    // Every list has it, so that what is none is not taken for an empty one.
    items: Vec<Value>,
}

/// The objects of a list.
struct Listed<T> {
    items: Vec<T>,
    /// How many could not be decoded, and why the first of them.
    undecoded: Option<(usize, String)>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), undecoded: None }
    }
}

impl<T: DeserializeOwned> Listed<T> {
    fn add(&mut self, item: Value) {
        match serde_json::from_value(item) {
            Ok(item) => self.items.push(item),
            Err(error) => {
                let (count, _) =
                    self.undecoded.get_or_insert_with(|| (0, excerpt(&error.to_string(), QUOTED).to_owned()));
                *count = count.saturating_add(1);
            }
        }
    }
}

/// All objects, page by page.
async fn list<T: DeserializeOwned>(
    client: &Client,
    resource: Resource,
    namespace: Option<&str>,
    fields: &str,
) -> Result<Listed<T>, Failure> {
    let place = namespace.map_or_else(|| "all namespaces".to_owned(), |namespace| format!("namespace {namespace}"));
    let shown = format!("{} in {place}", resource.plural);
    let asked = Asked { verb: "list", group: resource.group, resource: resource.plural, object: &shown };
    let mut parameters = ListParams::default().limit(PAGE);
    if !fields.is_empty() {
        parameters = parameters.fields(fields);
    }
    let mut all = Listed::default();
    for _ in 0..PAGES {
        let request = Request::new(resource.path(namespace)).list(&parameters);
        let Items { metadata, items } = send(client, request, asked).await?;
        for item in items {
            all.add(item);
        }
        match metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    Ok(all)
}
