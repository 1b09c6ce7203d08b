//! Metrics from the metrics APIs of members, or those of karmada-apiserver: each list is queried once in a period and
//! shared by all objects (docs/centralized.md#what-it-does). Talks to members through the cluster proxy; reads only.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kube::core::GroupVersionKind;
use kube::discovery::pinned_kind;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use crate::api::hpa::MetricIdentifier;
use crate::api::metrics::{ExternalMetricValue, List, MetricValue, PodMetrics};
use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::query_cache::{QueryCache, QueryError, Source, Times};
use crate::controller::request::{send, send_list};
use crate::convert::pods::{total, values};
use crate::convert::usage::Usages;
use crate::decision::api_version::ApiVersion;
use crate::decision::backoff::ErrorClass;
use crate::decision::hpa::metric::Sample;
use crate::decision::validation::names;
use crate::reconcile::federated_hpa::observe::members::proxied;

/// The name of karmada-apiserver in queries, beside those of clusters; no cluster can have it.
pub const CONTROL_PLANE: &str = "";

/// Time limit of a query.
const ANSWER: Duration = Duration::from_secs(5);

/// A query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum MetricsApiQuery {
    /// Usage of the pods of a namespace.
    Usage {
        /// The namespace.
        namespace: Box<str>,
    },
    /// A metric of the pods of a namespace.
    Pods {
        /// The namespace.
        namespace: Box<str>,
        /// The metric.
        metric: MetricQuery,
    },
    /// A metric of one object.
    Object {
        /// Its namespace.
        namespace: Box<str>,
        /// API version, kind and name.
        object: (Box<str>, Box<str>, Box<str>),
        /// The metric.
        metric: MetricQuery,
    },
    /// An external metric.
    External {
        /// The namespace of the query.
        namespace: Box<str>,
        /// The metric.
        metric: MetricQuery,
    },
}

impl MetricsApiQuery {
    /// Checks names that users write: with one such as `../../x` the controller would, with its permissions, read paths
    /// that the user must not read.
    fn check(&self) -> Result<(), Failure> {
        let (namespace, metric, object) = match self {
            Self::Usage { .. } => return Ok(()),
            Self::Pods { namespace, metric } | Self::External { namespace, metric } => (namespace, metric, None),
            Self::Object { namespace, object, metric } => (namespace, metric, Some(object)),
        };
        let is_segment = |text: &str| !text.is_empty() && names::reference(text).is_none();
        let foreign = object.is_some_and(|(_, kind, name)| names::is_other_namespace(kind, name, namespace));
        if foreign || !is_segment(&metric.name) || object.is_some_and(|(_, _, name)| !is_segment(name)) {
            let message = format!(
                "the metric {:?} of spec.metrics cannot be asked for: correct its name, or that of its object",
                metric.name
            );
            return Err(Failure::new(ErrorClass::Refused, reason::REJECTED, message));
        }
        Ok(())
    }
}

/// A metric, by its name and the labels of its series.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MetricQuery {
    /// Its name.
    pub name: Box<str>,
    /// The selector of its series in the form of a query parameter; empty: all of them.
    pub selector: Box<str>,
}

impl MetricQuery {
    /// The metric that an object names.
    #[must_use]
    pub fn of(identifier: &MetricIdentifier) -> Self {
        let selector = identifier.selector.as_ref().map(query).unwrap_or_default();
        Self { name: identifier.name.as_str().into(), selector: selector.into() }
    }
}

/// A selector in the form of a query parameter.
fn query(selector: &k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector) -> String {
    let labels = selector.match_labels.iter().flatten().map(|(key, value)| format!("{key}={value}"));
    let expressions = selector.match_expressions.iter().flatten().map(|requirement| {
        let key = &requirement.key;
        let values = requirement.values.as_deref().unwrap_or_default().join(",");
        match requirement.operator.as_str() {
            "Exists" => key.clone(),
            "DoesNotExist" => format!("!{key}"),
            operator => format!("{key} {} ({values})", operator.to_ascii_lowercase()),
        }
    });
    labels.chain(expressions).collect::<Vec<_>>().join(",")
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum MetricsApiResponse {
    /// Usage of pods.
    Usage(Arc<Usages>),
    /// A sample for each object, by its name.
    Values(Arc<Vec<(Box<str>, Sample)>>),
    /// One value in thousandths.
    Total(i64),
}

type Cache = QueryCache<MetricsApiQuery, MetricsApiResponse>;

/// Results of the metrics APIs; clones share them. Each API of a cluster has a server of its own: one that hangs keeps
/// nobody from the others.
#[derive(Clone)]
pub struct Metrics {
    /// `metrics.k8s.io`
    usage: Cache,
    /// `custom.metrics.k8s.io`
    custom: Cache,
    /// `external.metrics.k8s.io`
    external: Cache,
}

impl Metrics {
    /// Sends queries through `client`. Each result is fresh for half of `period`.
    #[must_use]
    pub fn new(client: Client, period: Duration) -> Self {
        let times = Times {
            fresh: period / 2,
            kept: period,
            patience: ANSWER,
            answer: ANSWER,
            // A cluster that does not answer is queried again in the next period.
            rest: period / 2,
            absence: period / 2,
        };
        let source = Apis { client, plurals: Arc::default(), older: Arc::default() };
        let cache = || QueryCache::new(Box::new(source.clone()), times);
        Self { usage: cache(), custom: cache(), external: cache() }
    }

    const fn of(&self, query: &MetricsApiQuery) -> &Cache {
        match query {
            MetricsApiQuery::Usage { .. } => &self.usage,
            MetricsApiQuery::Pods { .. } | MetricsApiQuery::Object { .. } => &self.custom,
            MetricsApiQuery::External { .. } => &self.external,
        }
    }

    /// Queries these clusters, unless their results are fresh, and waits for them.
    pub async fn ask(&self, clusters: &[&str], query: &MetricsApiQuery) {
        self.of(query).refresh(clusters, query).await;
    }

    /// The last result.
    ///
    /// # Errors
    /// Why no result exists.
    pub fn answer(&self, cluster: &str, query: &MetricsApiQuery) -> Result<MetricsApiResponse, String> {
        let cached = self.of(query).get(cluster, query);
        match (cached.refused, cached.result) {
            (Some(why), _) => Err(why),
            (None, Some((_, answer))) => Ok(answer),
            (None, None) => Err("the metrics API does not answer".to_owned()),
        }
    }
}

/// The resource of each kind, by API version and kind.
type Plurals = Arc<Mutex<HashMap<(Box<str>, Box<str>), String>>>;

/// The metrics APIs.
#[derive(Clone)]
struct Apis {
    client: Client,
    /// Plurals of kinds whose objects are measured.
    plurals: Plurals,
    /// Clusters that serve `custom.metrics.k8s.io/v1beta1` only.
    older: Arc<Mutex<HashSet<String>>>,
}

impl Source<MetricsApiQuery, MetricsApiResponse> for Apis {
    fn component(&self) -> &'static str {
        "metrics API"
    }

    fn send(
        &self,
        cluster: &str,
        query: &MetricsApiQuery,
    ) -> BoxFuture<'static, Result<MetricsApiResponse, QueryError>> {
        let (plurals, older) = (Arc::clone(&self.plurals), Arc::clone(&self.older));
        let access = MetricsAccess { client: self.client.clone(), cluster: cluster.to_owned(), plurals, older };
        let query = query.clone();
        async move { access.ask(&query).await.map_err(|failure| QueryError::Refused(failure.message)) }.boxed()
    }

    fn forget(&self, cluster: &str) {
        self.older.lock().remove(cluster);
    }
}

/// A request, or why it cannot be sent.
type Request = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

/// What a query is about, and the permission that it needs.
struct Role<'a> {
    object: String,
    verb: &'static str,
    group: &'a str,
    resource: &'a str,
}

/// Access to the metrics APIs of one cluster.
struct MetricsAccess {
    client: Client,
    cluster: String,
    plurals: Plurals,
    older: Arc<Mutex<HashSet<String>>>,
}

impl MetricsAccess {
    async fn ask(&self, query: &MetricsApiQuery) -> Result<MetricsApiResponse, Failure> {
        query.check()?;
        match query {
            MetricsApiQuery::Usage { namespace } => {
                let path = format!("/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods");
                let mut usages = Usages::default();
                let what = format!("pod metrics of {namespace}");
                let Role { object, verb, group, resource } = self.role(&path, &what);
                let asked = Asked { verb, group, resource, object: &object };
                let add = |metrics: PodMetrics| usages.push(&metrics);
                send_list(&self.client, self.request(&path, ""), asked, add).await?;
                Ok(MetricsApiResponse::Usage(Arc::new(usages.sorted())))
            }
            MetricsApiQuery::Pods { namespace, metric } => {
                let path = format!("namespaces/{namespace}/pods/*/{}", metric.name);
                let list = self.custom(&path, metric).await?;
                Ok(MetricsApiResponse::Values(Arc::new(values(list))))
            }
            MetricsApiQuery::Object { namespace, object: (api_version, kind, name), metric } => {
                let path = if &**kind == "Namespace" {
                    format!("namespaces/{name}/metrics/{}", metric.name)
                } else {
                    let plural = self.plural(api_version, kind).await?;
                    format!("namespaces/{namespace}/{plural}/{name}/{}", metric.name)
                };
                let mut values = values(self.custom(&path, metric).await?);
                let (_, sample) = values.pop().ok_or_else(|| nothing(metric))?;
                Ok(MetricsApiResponse::Total(sample.value))
            }
            MetricsApiQuery::External { namespace, metric } => {
                let path = format!("/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{}", metric.name);
                let list: List<ExternalMetricValue> =
                    self.get(&path, &parameter("labelSelector", &metric.selector), &metric.name).await?;
                let total = total(&list).map_err(|why| Failure::new(ErrorClass::Refused, reason::REJECTED, why))?;
                Ok(MetricsApiResponse::Total(total))
            }
        }
    }

    /// A list of `custom.metrics.k8s.io`, in its newest served version.
    async fn custom(&self, path: &str, metric: &MetricQuery) -> Result<List<MetricValue>, Failure> {
        let known = || self.older.lock().contains(&self.cluster);
        let selector = parameter("metricLabelSelector", &metric.selector);
        if !known() {
            let newer = format!("/apis/custom.metrics.k8s.io/v1beta2/{path}");
            match self.get(&newer, &selector, &metric.name).await {
                Err(failure) if failure.reason == reason::NOT_SERVED => {}
                answered => return answered,
            }
        }
        let older = format!("/apis/custom.metrics.k8s.io/v1beta1/{path}");
        let answered = self.get(&older, &selector, &metric.name).await?;
        self.older.lock().insert(self.cluster.clone());
        Ok(answered)
    }

    /// The resource of a kind as `custom.metrics.k8s.io` names it, for example `ingresses.networking.k8s.io`.
    async fn plural(&self, api_version: &str, kind: &str) -> Result<String, Failure> {
        let key: (Box<str>, Box<str>) = (api_version.into(), kind.into());
        let known = self.plurals.lock().get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let object = format!("kind {kind} of {api_version}");
        let asked = Asked { verb: "get", group: "", resource: "", object: &object };
        let unknown =
            || Failure::new(ErrorClass::Refused, reason::NOT_SERVED, format!("karmada-apiserver serves no {object}"));
        let ApiVersion { group, version } = ApiVersion::parse(api_version).ok_or_else(unknown)?;
        let found = pinned_kind(&self.client, &GroupVersionKind::gvk(group, version, kind)).await;
        let (resource, _) = found.map_err(|error| match error {
            kube::Error::Discovery(_) => unknown(),
            error => Failure::of(&error, asked),
        })?;
        let plural = if group.is_empty() { resource.plural } else { format!("{}.{group}", resource.plural) };
        self.plurals.lock().insert(key, plural.clone());
        Ok(plural)
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, parameters: &str, what: &str) -> Result<T, Failure> {
        let Role { object, verb, group, resource } = self.role(path, what);
        send(&self.client, self.request(path, parameters), Asked { verb, group, resource, object: &object }).await
    }

    fn request(&self, path: &str, parameters: &str) -> Request {
        let of_member = self.cluster != CONTROL_PLANE;
        let whole = if of_member { proxied(&self.cluster, path) } else { path.to_owned() };
        let uri = format!("{whole}{parameters}");
        http::Request::get(uri).body(Vec::new()).map_err(kube::core::request::Error::BuildRequest)
    }

    fn role<'a>(&self, path: &'a str, what: &'a str) -> Role<'a> {
        if self.cluster != CONTROL_PLANE {
            let object = format!("{what} in cluster {}", self.cluster);
            return Role { object, verb: "get", group: "cluster.karmada.io", resource: "clusters/proxy" };
        }
        let group = path.trim_start_matches("/apis/").split('/').next().unwrap_or_default();
        let (verb, resource) = match group {
            "metrics.k8s.io" => ("list", "pods"),
            "custom.metrics.k8s.io" => ("get", "*"),
            _ => ("list", what),
        };
        Role { object: format!("{what} in karmada-apiserver"), verb, group, resource }
    }
}

fn nothing(metric: &MetricQuery) -> Failure {
    let message = format!("the custom metrics API has no value of {}", metric.name);
    Failure::new(ErrorClass::Refused, reason::REJECTED, message)
}

/// A query parameter; empty when its value is empty.
fn parameter(name: &str, value: &str) -> String {
    if value.is_empty() {
        return String::new();
    }
    let query = form_urlencoded::Serializer::new(String::new()).append_pair(name, value).finish();
    format!("?{query}")
}
