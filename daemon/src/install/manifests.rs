//! The list of objects of an installation, in the order in which they are applied. No I/O.

use serde_json::{Value, json};

use super::kinds::{self, ScaledType};
use super::permissions::{self, ScaledKind};
use super::upstream_webhooks::{self, ENTRIES, Entries};
use super::webhooks::FailurePolicy;
use super::{permissions::PermissionScope, policy, webhooks};
use crate::admission::registration::Location;
use crate::api::crd;
use crate::controller::managers;

/// API group of roles.
const API: &str = "rbac.authorization.k8s.io";
/// Name of the roles and their bindings.
pub const NAME: &str = "fhpa";

/// Identity of the processes in karmada-apiserver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RbacSubject {
    /// A user, such as the common name of a client certificate.
    User(String),
    /// A group of users.
    Group(String),
    /// A service account, by namespace and name.
    ServiceAccount(String, String),
}

impl RbacSubject {
    /// The subject as in a binding.
    fn value(&self) -> Value {
        let named = |kind: &str, name: &str| json!({"apiGroup": API, "kind": kind, "name": name});
        match self {
            Self::User(name) => named("User", name),
            Self::Group(name) => named("Group", name),
            Self::ServiceAccount(namespace, name) => {
                json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
            }
        }
    }
}

/// Settings of an installation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Location of the webhook; `None`: it is not registered.
    pub location: Option<Location>,
    /// What happens to writes while the webhook does not answer; `None`: what the stored registration says.
    pub failure_policy: Option<FailurePolicy>,
    /// Subject of the roles; `None`: no bindings yet.
    pub subject: Option<RbacSubject>,
    /// Namespace of the Lease.
    pub lease_namespace: String,
    /// Whether to change Karmada's own objects.
    pub manage_karmada: bool,
    /// Whether fhpa's fields are preserved when other CRDs are applied.
    pub guard_definitions: bool,
    /// Kinds to scale in addition to Deployments and StatefulSets.
    pub scaled: Vec<ScaledKind>,
    /// The served versions of these kinds, as read from the API server.
    pub types: Vec<ScaledType>,
}

/// Kind of an object of the installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A CustomResourceDefinition; Karmada also has one of this name.
    Definition,
    /// Entries of Karmada's own webhook configurations.
    SetAside(&'static Entries),
    /// A role or its binding.
    Role,
    /// The registration of the webhook.
    Webhook,
    /// A customization of Karmada's interpreter.
    Customization,
    /// The policy that preserves fhpa's fields in the CRDs, or its binding; older API servers do not serve these kinds.
    Policy,
}

/// An object of the installation.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// Its kind.
    pub part: Part,
    /// The object to apply.
    pub object: Value,
}

/// Why the list could not be built. This does not happen in a build that passed the tests.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A CRD could not be built.
    #[error("the definitions cannot be made: {0}")]
    Definition(#[from] crd::CrdError),
    /// A registration could not be written as JSON.
    #[error("the registration of the webhook cannot be made: {0}")]
    Webhook(#[from] serde_json::Error),
}

impl Manifest {
    fn new(part: Part, object: Value) -> Self {
        Self { part, object }
    }

    /// Its field manager.
    #[must_use]
    pub const fn manager(&self) -> &'static str {
        match self.part {
            Part::SetAside(_) => managers::SET_ASIDE,
            Part::Customization => managers::INTERPRETER,
            Part::Definition | Part::Role | Part::Webhook | Part::Policy => managers::INSTALL,
        }
    }
}

/// The CRDs and the disabled webhooks of Karmada: Karmada has objects of these names, and an upgrade restores them.
///
/// # Errors
/// See [`ManifestError`].
pub fn shared() -> Result<Vec<Manifest>, ManifestError> {
    let definitions = crd::all()?.iter().map(|definition| Manifest::new(Part::Definition, definition.clone()));
    let entries = ENTRIES.iter();
    let entries = entries.map(|entries| {
        Manifest::new(Part::SetAside(entries), upstream_webhooks::configuration(entries, entries.names))
    });
    Ok(definitions.chain(entries).collect())
}

/// The policy that preserves fhpa's fields in the CRDs, and its binding.
///
/// # Errors
/// See [`ManifestError`].
pub fn policy() -> Result<Vec<Manifest>, ManifestError> {
    Ok(policy::objects()?.into_iter().map(|object| Manifest::new(Part::Policy, object)).collect())
}

/// The registration of the webhook; `guard_definitions` is whether it also reviews changes of the CRDs.
///
/// # Errors
/// See [`ManifestError`].
pub fn registration(location: &Location, guard_definitions: bool) -> Result<Vec<Manifest>, ManifestError> {
    let configurations = webhooks::configurations(location, guard_definitions)?;
    Ok(configurations.into_iter().map(|object| Manifest::new(Part::Webhook, object)).collect())
}

/// The roles of the processes, and their bindings when the subject is known.
#[must_use]
pub fn roles(settings: &Settings) -> Vec<Manifest> {
    let guard = settings.manage_karmada || settings.location.is_some();
    let rules = |place| permissions::rules(place, guard, &settings.scaled);
    let subject = settings.subject.as_ref();
    let mut objects = role("", &rules(PermissionScope::ControlPlane), subject);
    objects.extend(role(&settings.lease_namespace, &rules(PermissionScope::LeaseNamespace), subject));
    objects.into_iter().map(|object| Manifest::new(Part::Role, object)).collect()
}

/// Roles for every member cluster where the processes are not administrators: applied there, or propagated by Karmada.
#[must_use]
pub fn member_roles(settings: &Settings) -> Vec<Manifest> {
    let rules = permissions::rules(PermissionScope::Members, true, &settings.scaled);
    let objects = role("", &rules, settings.subject.as_ref());
    objects.into_iter().map(|object| Manifest::new(Part::Role, object)).collect()
}

/// The customizations of Karmada's interpreter; no other part creates any.
#[must_use]
pub fn customizations(scaled: &[ScaledType]) -> Vec<Manifest> {
    kinds::customizations(scaled).into_iter().map(|object| Manifest::new(Part::Customization, object)).collect()
}

/// The whole list. The webhook comes last: from then on it must answer.
///
/// # Errors
/// See [`ManifestError`].
pub fn all(settings: &Settings) -> Result<Vec<Manifest>, ManifestError> {
    let mut all = shared()?;
    all.retain(|manifest| settings.manage_karmada || manifest.part == Part::Definition);
    all.extend(roles(settings));
    all.extend(customizations(&settings.types));
    if let Some(location) = &settings.location {
        let mut registration = registration(location, settings.guard_definitions)?;
        if let Some(policy) = settings.failure_policy {
            for manifest in &mut registration {
                manifest.object = webhooks::with_policy(&manifest.object, policy);
            }
        }
        all.extend(registration);
    }
    // Last: from then on other CRDs of these names are changed when they are stored.
    if settings.guard_definitions {
        all.extend(policy()?);
    }
    Ok(all)
}

/// A role, and its binding. Without a namespace: cluster-wide.
fn role(namespace: &str, rules: &[Value], subject: Option<&RbacSubject>) -> Vec<Value> {
    let kind = if namespace.is_empty() { "ClusterRole" } else { "Role" };
    let mut metadata = json!({"name": NAME, "labels": {"app.kubernetes.io/name": NAME}});
    if let Some(metadata) = metadata.as_object_mut().filter(|_| !namespace.is_empty()) {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    let version = format!("{API}/v1");
    let mut objects = vec![json!({"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules})];
    objects.extend(subject.map(|subject| {
        json!({
            "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": {"apiGroup": API, "kind": kind, "name": NAME}, "subjects": [subject.value()],
        })
    }));
    objects
}
