//! The webhook configurations that make karmada-apiserver ask for reviews (docs/design.md#living-with-karmada). No I/O.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ValidatingWebhook,
    ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::endpoint::Endpoint;
use crate::convert::definition::DEFINITIONS;
use crate::decision::api_version::GROUP;

/// Name of both configuration objects.
pub const NAME: &str = "fhpa";
/// Seconds that the API server waits for an answer about our own kinds, and about a ResourceBinding: each one that Karmada makes
/// waits for it, also while no replica answers.
const TIMEOUTS: (i32, i32) = (5, 2);
/// An object that is being deleted is asked about only where its spec changes. Its finalizers must fall while no webhook answers,
/// or its namespace could not be deleted either.
const LIVES: &str =
    "request.operation != 'UPDATE' || !has(oldObject.metadata.deletionTimestamp) || object.spec != oldObject.spec";

/// Where the API server finds the webhook, and whom it trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// `https://HOST:PORT` without a path. karmada-apiserver does not resolve Services of the host cluster, so it is a
    /// URL and its host stands in the certificate's SANs.
    pub base_url: String,
    /// PEM of the CAs that may sign the certificate.
    pub ca_bundle: Vec<u8>,
}

/// `https://HOST:PORT` of a URL that an operator gave for the webhook.
///
/// # Errors
/// A sentence that says what the API server would not take.
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
        return Err("it is to end with the port: each kind has a path of its own, which is added".to_owned());
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

/// Which objects and operations an endpoint is asked about.
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

/// `Fail` for our own kinds: nothing the controller cannot run may be stored. `Ignore` for Karmada's bindings: without
/// the webhook Karmada goes on, and the controller repairs what was missed.
const fn failure_policy(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::MutateResourceBinding | Endpoint::MutateDefinition => "Ignore",
        _ => "Fail",
    }
}

const fn timeout(endpoint: Endpoint) -> i32 {
    match endpoint {
        Endpoint::MutateResourceBinding | Endpoint::MutateDefinition => TIMEOUTS.1,
        _ => TIMEOUTS.0,
    }
}

fn match_conditions(endpoint: Endpoint) -> Option<Vec<MatchCondition>> {
    let condition = |name: &str, expression| vec![MatchCondition { name: name.to_owned(), expression }];
    match endpoint {
        Endpoint::MutateResourceBinding => None,
        // Other definitions are not to wait for this webhook.
        Endpoint::MutateDefinition => {
            let names = DEFINITIONS.map(|name| format!("'{name}'")).join(", ");
            Some(condition("definition", format!("object.metadata.name in [{names}]")))
        }
        _ => Some(condition("lives-or-changes", LIVES.to_owned())),
    }
}

fn entry_name(endpoint: Endpoint) -> String {
    format!("{}.fhpa.karmada.io", endpoint.kind().to_lowercase())
}

/// The entries of `endpoints` that complete objects.
#[must_use]
pub fn mutating(location: &Location, endpoints: &[Endpoint]) -> MutatingWebhookConfiguration {
    let entry = |endpoint: Endpoint| MutatingWebhook {
        admission_review_versions: vec!["v1".to_owned()],
        client_config: location.client_config(endpoint),
        failure_policy: Some(failure_policy(endpoint).to_owned()),
        match_conditions: match_conditions(endpoint),
        match_policy: Some("Equivalent".to_owned()),
        name: entry_name(endpoint),
        reinvocation_policy: Some("IfNeeded".to_owned()),
        rules: Some(vec![rule(endpoint)]),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(timeout(endpoint)),
        ..MutatingWebhook::default()
    };
    let endpoints = endpoints.iter().copied().filter(|endpoint| endpoint.action() == "mutate");
    MutatingWebhookConfiguration { metadata: metadata(), webhooks: Some(endpoints.map(entry).collect()) }
}

/// The entries of `endpoints` that refuse objects.
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
