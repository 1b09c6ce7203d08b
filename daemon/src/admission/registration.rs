//! The webhook configurations that register the webhook in karmada-apiserver (docs/operations.md#upgrades-of-karmada).
//! No I/O.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::endpoint::Endpoint;
use crate::convert::definition::DEFINITIONS;
use crate::decision::api_version::GROUP;
use crate::decision::names::{RETAIN_REPLICAS, RETENTION_MANAGER};

/// Name of both configuration objects.
pub const NAME: &str = "fhpa";
/// Timeouts in seconds for FederatedHPAs and CronFederatedHPAs, and for objects of others: each new binding of Karmada
/// waits for the webhook, also while no replica answers.
const TIMEOUTS: (i32, i32) = (5, 2);
/// Reviews of an object that is being deleted are limited to changes of its spec. Its finalizers must be removable
/// while no webhook answers, or its namespace could not be deleted either.
const LIVES: &str =
    "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp) || object.spec != oldObject.spec";

/// URL of the webhook, and the CAs to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// `https://HOST:PORT` without a path. karmada-apiserver does not resolve Services of the host cluster, so it is a
    /// URL whose host must be in the certificate's SANs.
    pub base_url: String,
    /// PEM of the CAs that may sign the certificate.
    pub ca_bundle: Vec<u8>,
}

/// Parses the URL of the webhook that an operator gave into `https://HOST:PORT`.
///
/// # Errors
/// A sentence that says what the API server would reject.
pub fn base_url(text: &str) -> Result<String, String> {
    let uri: http::Uri = text.parse().map_err(|_| format!("{text:?} is not a URL such as https://NAME:443/"))?;
    if uri.scheme_str() != Some("https") {
        return Err("it does not begin with https://, and the API server asks no webhook without TLS".to_owned());
    }
    let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    if authority.is_empty() || authority.contains('@') {
        return Err("must contain a host and no user".to_owned());
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() || text.contains('#') {
        return Err("it must end with the port: a path for each kind is added".to_owned());
    }
    Ok(format!("https://{authority}"))
}

impl Location {
    fn client_config(&self, endpoint: Endpoint) -> WebhookClientConfig {
        WebhookClientConfig {
            ca_bundle: Some(ByteString(self.ca_bundle.clone())),
            service: None,
            url: Some(format!("{}{}", self.base_url.trim_end_matches('/'), endpoint.path())),
        }
    }
}

/// Objects and operations of an endpoint.
fn rule(endpoint: Endpoint) -> RuleWithOperations {
    let (group, resource, operations) = match endpoint {
        Endpoint::MutateFederatedHPA | Endpoint::ValidateFederatedHPA => {
            (GROUP, "federatedhpas", &["CREATE", "UPDATE"][..])
        }
        Endpoint::MutateCronFederatedHPA | Endpoint::ValidateCronFederatedHPA => {
            (GROUP, "cronfederatedhpas", &["CREATE", "UPDATE"][..])
        }
        Endpoint::MutateResourceBinding => ("work.karmada.io", "resourcebindings", &["CREATE"][..]),
        Endpoint::MutateDefinition => ("apiextensions.k8s.io", "customresourcedefinitions", &["UPDATE"][..]),
        // Every scalable kind that an installation may name; the selector limits it to workloads with the label.
        Endpoint::MutateWorkload => ("*", "*", &["UPDATE"][..]),
    };
    let scope = if endpoint == Endpoint::MutateDefinition { "Cluster" } else { "Namespaced" };
    RuleWithOperations {
        api_groups: Some(vec![group.to_owned()]),
        api_versions: Some(vec!["*".to_owned()]),
        operations: Some(operations.iter().map(|&operation| operation.to_owned()).collect()),
        resources: Some(vec![resource.to_owned()]),
        scope: Some(scope.to_owned()),
    }
}

/// `Fail` for FederatedHPAs and CronFederatedHPAs: nothing that the controller cannot run may be stored. `Ignore` for
/// objects of others: without the webhook they are written as before, and the controller repairs what was missed.
const fn failure_policy(endpoint: Endpoint) -> &'static str {
    if is_own(endpoint) { "Fail" } else { "Ignore" }
}

const fn timeout(endpoint: Endpoint) -> i32 {
    if is_own(endpoint) { TIMEOUTS.0 } else { TIMEOUTS.1 }
}

/// Whether it reviews FederatedHPAs or CronFederatedHPAs.
const fn is_own(endpoint: Endpoint) -> bool {
    !matches!(endpoint, Endpoint::MutateResourceBinding | Endpoint::MutateDefinition | Endpoint::MutateWorkload)
}

fn match_conditions(endpoint: Endpoint) -> Option<Vec<MatchCondition>> {
    let condition = |name: &str, expression| vec![MatchCondition { name: name.to_owned(), expression }];
    match endpoint {
        Endpoint::MutateResourceBinding => None,
        // Reviews of other CRDs must not depend on this webhook.
        Endpoint::MutateDefinition => {
            let names = DEFINITIONS.map(|name| format!("'{name}'")).join(", ");
            Some(condition("definition", format!("object.metadata.name in [{names}]")))
        }
        // The controller removes the label when it hands a workload back.
        Endpoint::MutateWorkload => {
            let labels = "object.metadata.labels";
            let lacks = format!(
                "!has({labels}) || !('{RETAIN_REPLICAS}' in {labels}) || {labels}['{RETAIN_REPLICAS}'] != 'true'"
            );
            let manager = "request.options.fieldManager";
            let released = format!("!has({manager}) || {manager} != '{RETENTION_MANAGER}'");
            Some([condition("loses-the-label", lacks), condition("not-handed-back", released)].concat())
        }
        _ => Some(condition("lives-or-changes", LIVES.to_owned())),
    }
}

/// Workloads whose replicas members keep, before or after the request.
fn object_selector(endpoint: Endpoint) -> Option<LabelSelector> {
    let labels = || [(RETAIN_REPLICAS.to_owned(), "true".to_owned())].into();
    (endpoint == Endpoint::MutateWorkload)
        .then(|| LabelSelector { match_labels: Some(labels()), ..LabelSelector::default() })
}

fn entry_name(endpoint: Endpoint) -> String {
    format!("{}.fhpa.karmada.io", endpoint.kind().to_lowercase())
}

/// The entries of `endpoints` that mutate objects.
#[must_use]
pub fn mutating(location: &Location, endpoints: &[Endpoint]) -> MutatingWebhookConfiguration {
    let entry = |endpoint: Endpoint| MutatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: location.client_config(endpoint),
        failure_policy: Some(failure_policy(endpoint).to_owned()),
        match_conditions: match_conditions(endpoint),
        match_policy: Some("Equivalent".to_owned()),
        name: entry_name(endpoint),
        object_selector: object_selector(endpoint),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        rules: Some(vec![rule(endpoint)]),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(timeout(endpoint)),
        ..MutatingWebhook::default()
    };
    let endpoints = endpoints.iter().copied().filter(|endpoint| endpoint.action() == "mutate");
    MutatingWebhookConfiguration { metadata: metadata(), webhooks: Some(endpoints.map(entry).collect()) }
}

/// The entries of `endpoints` that validate objects.
#[must_use]
pub fn validating(location: &Location, endpoints: &[Endpoint]) -> ValidatingWebhookConfiguration {
    let entry = |endpoint: Endpoint| ValidatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: location.client_config(endpoint),
        failure_policy: Some(failure_policy(endpoint).to_owned()),
        match_conditions: match_conditions(endpoint),
        match_policy: Some("Equivalent".to_owned()),
        name: entry_name(endpoint),
        rules: Some(vec![rule(endpoint)]),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(timeout(endpoint)),
        ..ValidatingWebhook::default()
    };
    let endpoints = endpoints.iter().copied().filter(|endpoint| endpoint.action() == "validate");
    ValidatingWebhookConfiguration { metadata: metadata(), webhooks: Some(endpoints.map(entry).collect()) }
}

fn metadata() -> ObjectMeta {
    let labels = [("app.kubernetes.io/name".to_owned(), "fhpa".to_owned())];
    ObjectMeta { name: Some(NAME.to_owned()), labels: Some(labels.into()), ..ObjectMeta::default() }
}

#[cfg(test)]
mod tests {
    use super::base_url;

    #[test]
    fn a_url_is_one_that_the_api_server_takes() {
        assert_eq!(
            base_url("https://fhpa.karmada-system.svc:443/").as_deref(),
            Ok("https://fhpa.karmada-system.svc:443")
        );
        assert_eq!(base_url("https://[::1]:9443").as_deref(), Ok("https://[::1]:9443"));
        for wrong in
            ["http://a:1", "fhpa:443", "https://a/b", "https://a/?x=1", "https://u@a/", "https://a/#x", "", "https://"]
        {
            assert!(base_url(wrong).is_err(), "{wrong}");
        }
    }
}
