//! The list of objects of an installation, in the order in which they are applied. No I/O.

use serde_json::{Value, json};

use super::kinds::{self, ScaledType};
use super::permissions::{self, ScaledKind};
use super::upstream_webhooks::{self, ENTRIES, Entries};
use super::{permissions::PermissionScope, policy, webhooks};
use crate::admission::registration::Location;
use crate::api::crd;
use crate::controller::managers;

/// API group of roles.
const API: &str = "rbac.authorization.k8s.io";
/// Name of the roles and their bindings.
pub const NAME: &str = "fhpa";

/// Who the processes are to karmada-apiserver.
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
    /// As it stands in a binding.
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

/// What an installation depends on.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the webhook is; none: it is not registered.
    pub location: Option<Location>,
    /// Who gets the roles; none: nobody yet.
    pub subject: Option<RbacSubject>,
    /// Namespace of the Lease.
    pub lease_namespace: String,
    /// Whether Karmada's own objects are changed.
    pub manage_karmada: bool,
    /// Whether our fields are kept in the definitions when others are applied over them.
    pub guard_definitions: bool,
    /// Kinds to be scaled beside Deployments and StatefulSets.
    pub scaled: Vec<ScaledKind>,
    /// What these are, as far as it was read from the API server.
    pub types: Vec<ScaledType>,
}

/// What an object of the installation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A CustomResourceDefinition; Karmada has one of the same name.
    Definition,
    /// Entries of Karmada's own webhook configurations.
    SetAside(&'static Entries),
    /// A role or its binding.
    Role,
    /// The registration of the webhook.
    Webhook,
    /// A customization of Karmada's interpreter.
    Customization,
    /// The policy that keeps our fields in the definitions, or its binding; older API servers do not serve these kinds.
    Policy,
}

/// An object of the installation.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// What it is.
    pub part: Part,
    /// As it is applied.
    pub object: Value,
}

/// What keeps the list from being made. None of it happens in a build that passed the tests.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A definition cannot be made.
    #[error("the definitions cannot be made: {0}")]
    Definition(#[from] crd::CrdError),
    /// A registration cannot be written as JSON.
    #[error("the registration of the webhook cannot be made: {0}")]
    Webhook(#[from] serde_json::Error),
}

impl Manifest {
    fn new(part: Part, object: Value) -> Self {
        Self { part, object }
    }

    /// Under which field manager it is applied.
    #[must_use]
    pub const fn manager(&self) -> &'static str {
        match self.part {
            Part::SetAside(_) => managers::SET_ASIDE,
            Part::Customization => managers::INTERPRETER,
            Part::Definition | Part::Role | Part::Webhook | Part::Policy => managers::INSTALL,
        }
    }
}

/// The definitions and what of Karmada is set aside: Karmada has objects of these names, and an upgrade restores them.
///
/// # Errors
/// As [`ManifestError`] says.
pub fn shared() -> Result<Vec<Manifest>, ManifestError> {
    let definitions = crd::all()?.iter().map(|definition| Manifest::new(Part::Definition, definition.clone()));
    let entries = ENTRIES.iter();
    let entries = entries.map(|entries| {
        Manifest::new(Part::SetAside(entries), upstream_webhooks::configuration(entries, entries.names))
    });
    Ok(definitions.chain(entries).collect())
}

/// The policy that keeps our fields in the definitions, and its binding.
///
/// # Errors
/// As [`ManifestError`] says.
pub fn policy() -> Result<Vec<Manifest>, ManifestError> {
    Ok(policy::objects()?.into_iter().map(|object| Manifest::new(Part::Policy, object)).collect())
}

/// The registration of the webhook; `guard_definitions`: it is asked about changes of the definitions, too.
///
/// # Errors
/// As [`ManifestError`] says.
pub fn registration(location: &Location, guard_definitions: bool) -> Result<Vec<Manifest>, ManifestError> {
    let configurations = webhooks::configurations(location, guard_definitions)?;
    Ok(configurations.into_iter().map(|object| Manifest::new(Part::Webhook, object)).collect())
}

/// The roles of the processes, and their bindings when it is known to whom.
#[must_use]
pub fn roles(settings: &Settings) -> Vec<Manifest> {
    let guard = settings.manage_karmada || settings.location.is_some();
    let rules = |place| permissions::rules(place, guard, &settings.scaled);
    let subject = settings.subject.as_ref();
    let mut objects = role("", &rules(PermissionScope::ControlPlane), subject);
    objects.extend(role(&settings.lease_namespace, &rules(PermissionScope::LeaseNamespace), subject));
    objects.into_iter().map(|object| Manifest::new(Part::Role, object)).collect()
}

/// What every member cluster needs where the processes are no administrators: applied there, or propagated by Karmada.
#[must_use]
pub fn member_roles(settings: &Settings) -> Vec<Manifest> {
    let rules = permissions::rules(PermissionScope::Members, true, &settings.scaled);
    let objects = role("", &rules, settings.subject.as_ref());
    objects.into_iter().map(|object| Manifest::new(Part::Role, object)).collect()
}

/// The customizations of Karmada's interpreter; nobody else makes any.
#[must_use]
pub fn customizations(scaled: &[ScaledType]) -> Vec<Manifest> {
    kinds::customizations(scaled).into_iter().map(|object| Manifest::new(Part::Customization, object)).collect()
}

/// The whole list. The webhook comes last: from then on it has to answer.
///
/// # Errors
/// As [`ManifestError`] says.
pub fn all(settings: &Settings) -> Result<Vec<Manifest>, ManifestError> {
    let mut all = shared()?;
    all.retain(|manifest| settings.manage_karmada || manifest.part == Part::Definition);
    all.extend(roles(settings));
    all.extend(customizations(&settings.types));
    if let Some(location) = &settings.location {
        all.extend(registration(location, settings.guard_definitions)?);
    }
    // Last: from then on other definitions of these names are not stored as they come.
    if settings.guard_definitions {
        all.extend(policy()?);
    }
    Ok(all)
}

/// A role, and its binding. In no namespace: for all.
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
