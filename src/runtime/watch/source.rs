//! Watches on karmada-apiserver -> the index. Talks to the API server.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, ObjectMeta};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tracing::{info, warn};

use super::index::{Index, Key, Known, Shelf};
use crate::admission::excerpt::excerpt;
use crate::api::FederatedHPA;
use crate::convert;
use crate::decision::defaults::Mode;
use crate::runtime::lifecycle::Condition;
use crate::runtime::metrics::Metrics;

/// Fills `index` and keeps it current, for ever. Each condition is met when its kind was listed once. `default_mode` is
/// that of a FederatedHPA that names none.
pub async fn run(client: Client, index: Arc<Index>, default_mode: Mode, listed: [Condition; 2], metrics: Arc<Metrics>) {
    let [federated, cron] = listed;
    let known = |hpa: &FederatedHPA| convert::known_federated_hpa(hpa, default_mode);
    tokio::join!(
        watch(&client, &index.federated_hpas, known, federated, &metrics),
        watch(&client, &index.cron_federated_hpas, convert::known_cron_federated_hpa, cron, &metrics),
    );
}

/// Characters of an error that are logged; it may repeat what the API server sent.
const SHOWN: usize = 300;

/// Watches one kind.
async fn watch<K, R>(client: &Client, shelf: &Shelf<R>, convert: impl Fn(&K) -> R, listed: Condition, metrics: &Metrics)
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
    R: Known,
{
    let resource = ApiResource::erase::<K>(&());
    // Untyped, so that one object that cannot be decoded does not hide all others.
    let objects: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let events = watcher(objects, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let kind = kind(&resource);
    let mut listing: BTreeMap<Key, R> = BTreeMap::new();
    let mut failing = false;
    while let Some(event) = events.next().await {
        // `Init` says only that a list is asked for.
        if failing && event.as_ref().is_ok_and(|event| !matches!(event, watcher::Event::Init)) {
            info!(kind, "the watch works again");
            failing = false;
        }
        match event {
            Ok(watcher::Event::Init) => listing.clear(),
            Ok(watcher::Event::InitApply(object)) => {
                listing.extend(decoded(&object, kind, &convert).map(|record| (key(&object.metadata), record)));
            }
            Ok(watcher::Event::InitDone) => {
                shelf.replace(std::mem::take(&mut listing).into_values());
                listed.met();
            }
            Ok(watcher::Event::Apply(object)) => match decoded(&object, kind, &convert) {
                Some(record) => shelf.put(record),
                None => shelf.take(&key(&object.metadata)),
            },
            Ok(watcher::Event::Delete(object)) => shelf.take(&key(&object.metadata)),
            Err(error) => {
                metrics.watch_failed(kind);
                failing = true;
                let what = error.to_string();
                let what = excerpt(&what, SHOWN);
                warn!(kind, error = what, "the watch fails and is tried again; {}", advice(&error));
            }
        }
        metrics.known(kind, shelf.len());
    }
}

/// The record of an object; none, with a log line, when it cannot be decoded.
fn decoded<K, R>(object: &DynamicObject, kind: &'static str, convert: impl Fn(&K) -> R) -> Option<R>
where
    K: Resource + DeserializeOwned,
{
    match object.clone().try_parse::<K>() {
        Ok(typed) => Some(convert(&typed)),
        Err(error) => {
            let (namespace, name) = key(&object.metadata);
            warn!(kind, object = %format_args!("{namespace}/{name}"), %error, "a stored object cannot be decoded");
            None
        }
    }
}

fn key(metadata: &ObjectMeta) -> Key {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

fn kind(resource: &ApiResource) -> &'static str {
    if resource.plural == "federatedhpas" { "FederatedHPA" } else { "CronFederatedHPA" }
}

/// What to do about a failing watch.
fn advice(error: &watcher::Error) -> &'static str {
    use watcher::Error as E;
    let (E::InitialListFailed(kube::Error::Api(status))
    | E::WatchStartFailed(kube::Error::Api(status))
    | E::WatchError(status)) = error
    else {
        return "is the API server of the kubeconfig up and reachable?";
    };
    match status.code {
        401 => "the credentials of the kubeconfig are not accepted",
        403 => "the user of the kubeconfig needs the verbs list and watch on this resource",
        404 => "the CustomResourceDefinition is not installed: apply the output of `fhpa crds`",
        410 => "the API server has forgotten the last version seen; all objects are listed again",
        _ => "see the log of the API server",
    }
}
