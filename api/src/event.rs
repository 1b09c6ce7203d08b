//! An Event of a member cluster, with the fields that tell what an autoscaler says of a pod. No I/O, no decisions.

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use kube::core::ObjectMeta;
use serde::Deserialize;

/// An Event (core/v1).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Event {
    /// When it was created.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// Its reason.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// Its message.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
    /// Who reports it, as older clients say it.
    #[serde(deserialize_with = "null_as_default")]
    pub source: EventSource,
    /// Who reports it, as newer clients say it.
    #[serde(deserialize_with = "null_as_default")]
    pub reporting_component: String,
    /// When it first took place, as newer clients say it.
    pub event_time: Option<MicroTime>,
    /// When it last took place, as older clients say it.
    pub last_timestamp: Option<Time>,
    /// When it last took place again, as newer clients say it.
    pub series: Option<EventSeries>,
}

/// `source`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct EventSource {
    /// The component.
    #[serde(deserialize_with = "null_as_default")]
    pub component: String,
}

/// `series`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct EventSeries {
    /// When it last took place.
    pub last_observed_time: Option<MicroTime>,
}
