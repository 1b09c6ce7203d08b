//! One webhook of a configuration, read once. No I/O.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

use super::super::object;
use super::conditions::Conditions;

/// Location of the webhook.
pub(super) enum Target {
    /// A URL and the TLS configuration that trusts it.
    Url(String, Arc<ClientConfig>),
    /// It cannot be called: the reason.
    Unreachable(String),
}

/// One webhook.
#[allow(clippy::struct_excessive_bools, reason = "each stands for one field of the configuration")]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) timeout: Duration,
    pub(super) fails_open: bool,
    pub(super) dry_run_safe: bool,
    pub(super) accepts_v1: bool,
    pub(super) reinvoke: bool,
    pub(super) equivalent: bool,
    pub(super) rules: Vec<RuleWithOperations>,
    pub(super) namespaces: LabelSelector,
    pub(super) objects: LabelSelector,
    pub(super) conditions: Conditions,
}

/// Default timeout in seconds.
const TIMEOUT: i32 = 10;
/// Most webhooks of all configurations together.
const MOST: usize = 1000;

/// The webhooks of all configurations, by configuration name and then in their order. A validating configuration is one
/// that never asks for reinvocation.
pub(super) fn read(configurations: &[Value]) -> Vec<Hook> {
    let decoded = configurations.iter().filter_map(|configuration| decode_configuration(configuration).ok());
    let mut configurations: Vec<MutatingWebhookConfiguration> = decoded.collect();
    configurations.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let hooks = configurations.into_iter().flat_map(|configuration| configuration.webhooks.unwrap_or_default());
    hooks.take(MOST).map(hook).collect()
}

/// Why a configuration cannot be read; it must then be rejected when it is written.
pub(super) fn unreadable(configuration: &Value) -> Option<String> {
    decode_configuration(configuration).err().map(|error| error.to_string())
}

/// Decodes a configuration of either kind, with the type that contains all fields of the other.
fn decode_configuration(configuration: &Value) -> Result<MutatingWebhookConfiguration, serde_json::Error> {
    let mut configuration = configuration.clone();
    // The type rejects the name of the other kind.
    object::remove(&mut configuration, "kind");
    serde_json::from_value(configuration)
}

fn hook(webhook: MutatingWebhook) -> Hook {
    let seconds = webhook.timeout_seconds.unwrap_or(TIMEOUT).clamp(1, 30);
    let fails_open = webhook.failure_policy.as_deref() == Some("Ignore");
    let conditions: Vec<MatchCondition> = webhook.match_conditions.unwrap_or_default();
    Hook {
        target: target(webhook.client_config),
        timeout: Duration::from_secs(u64::try_from(seconds).unwrap_or_default()),
        fails_open,
        dry_run_safe: matches!(webhook.side_effects.as_str(), "None" | "NoneOnDryRun"),
        accepts_v1: webhook.admission_review_versions.iter().any(|version| version == "v1"),
        reinvoke: webhook.reinvocation_policy.as_deref() == Some("IfNeeded"),
        equivalent: webhook.match_policy.as_deref() != Some("Exact"),
        rules: webhook.rules.unwrap_or_default(),
        namespaces: webhook.namespace_selector.unwrap_or_default(),
        objects: webhook.object_selector.unwrap_or_default(),
        conditions: Conditions::compile(conditions, fails_open),
        name: webhook.name,
    }
}

fn target(config: WebhookClientConfig) -> Target {
    if let Some(service) = config.service {
        let port = service.port.unwrap_or(443);
        return Target::Unreachable(format!(
            "service {:?} in namespace {:?} (port {port}): this API server runs no services; give the webhook's \
             clientConfig.url instead",
            service.name, service.namespace
        ));
    }
    let Some(url) = config.url else {
        return Target::Unreachable("webhook configuration must have either service or URL".to_owned());
    };
    match trust(config.ca_bundle.map(|bytes| bytes.0)) {
        Ok(trust) => Target::Url(url, trust),
        Err(why) => Target::Unreachable(why),
    }
}

/// Trusts only the given authorities.
fn trust(bundle: Option<Vec<u8>>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&bundle.unwrap_or_default()) {
        let certificate = certificate.map_err(|error| format!("unable to load root certificates: {error}"))?;
        roots.add(certificate).map_err(|error| format!("unable to load root certificates: {error}"))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}

/// Decodes base64, the encoding of patches in reviews.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
