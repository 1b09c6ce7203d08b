//! FederatedHPAs on the clusters of a control plane. Reads from the API server, and queries estimators if enabled.

use std::path::{Path, PathBuf};

use kube::Client;

use jiff::Timestamp;

use super::centralized::outline::Outline as CentralizedOutline;
use super::given::{Manifests, Measured, PlanInput};
use super::outline::CodedMessage;
use super::{PlanError, is_distributed};
use crate::decision::defaults::Mode;
use crate::run::estimators::{Settings, patient};
use crate::run::forecast::centralized::{Computation, Settings as CentralizedSettings};
use crate::run::forecast::{Objects, Rooms, live};
use crate::runtime::control_plane::{self, Origin};

/// Access to the clusters.
pub(super) struct LiveSource {
    pub(super) kubeconfig: PathBuf,
    pub(super) context: Option<String>,
    /// Settings of the estimators; `None`: they are not queried.
    pub(super) estimators: Option<Settings>,
    /// How Centralized objects are scaled.
    pub(super) centralized: CentralizedSettings,
    /// Mode of objects that name none.
    pub(super) default_mode: Mode,
    /// The time.
    pub(super) now: Timestamp,
}

/// Whether an argument is the name of an object, not a file.
pub(super) fn is_name(input: &Path) -> bool {
    parts(input).is_some() && !input.exists()
}

fn parts(input: &Path) -> Option<(&str, &str)> {
    let (namespace, name) = input.to_str()?.split_once('/')?;
    let manifest = ["yaml", "yml", "json"].iter().any(|known| name.ends_with(&format!(".{known}")));
    let plain = !namespace.is_empty() && !name.is_empty() && !name.contains('/') && !namespace.starts_with('.');
    (plain && !manifest).then_some((namespace, name))
}

/// The stored objects of these names and the given ones, each with its related objects in the control plane.
pub(super) fn subjects(given: &Manifests, names: &[PathBuf], place: LiveSource) -> Result<Vec<PlanInput>, PlanError> {
    let runtime = crate::cli::runtime().map_err(PlanError::unreadable)?;
    runtime.block_on(read(given, names, place))
}

async fn read(given: &Manifests, names: &[PathBuf], place: LiveSource) -> Result<Vec<PlanInput>, PlanError> {
    let origin = Origin::find(Some(place.kubeconfig.clone()), None, place.context.clone())
        .ok_or_else(|| PlanError::unreadable("the kubeconfig has no name"))?;
    let connected = control_plane::connect_once(origin).await;
    let client = connected.map_err(|error| PlanError::unreadable(error.to_string()))?;
    let mut hpas = given.hpas.clone();
    for (namespace, name) in names.iter().filter_map(|name| parts(name)) {
        let stored = live::federated_hpa(&client, namespace, name).await.map_err(|error| unasked(&error))?;
        hpas.push(stored.ok_or_else(|| PlanError::wrong(format!("there is no FederatedHPA {namespace}/{name}")))?);
    }
    if hpas.is_empty() {
        return Err(PlanError::wrong("no FederatedHPA: give a file with one, or NAMESPACE/NAME of a stored one"));
    }
    let rooms = place.estimators.clone().map(patient);
    let mut subjects = Vec::new();
    for hpa in hpas {
        subjects.push(subject(&client, hpa, rooms.as_ref(), &place).await?);
    }
    Ok(subjects)
}

/// A given object uses the status of the stored object of that name.
async fn subject(
    client: &Client,
    mut hpa: crate::api::FederatedHPA,
    rooms: Option<&Rooms>,
    place: &LiveSource,
) -> Result<PlanInput, PlanError> {
    let metadata = &hpa.metadata;
    if let (Some(namespace), Some(name), None) = (&metadata.namespace, &metadata.name, &metadata.uid) {
        let stored = live::federated_hpa(client, namespace, name).await.map_err(|error| unasked(&error))?;
        hpa.status = stored.and_then(|stored| stored.status);
    }
    let objects = live::objects(client, &hpa).await.map_err(|error| unasked(&error))?;
    let distributed = is_distributed(hpa.spec.mode.as_deref(), place.default_mode);
    let measured =
        Measured::Read(if distributed { None } else { computed(client, &hpa, &objects, place).await?.map(Box::new) });
    let note = match rooms {
        Some(rooms) => Some(estimator_note(objects.hear(rooms).await)),
        None => None,
    };
    Ok(PlanInput { hpa, objects, rooms: rooms.cloned().unwrap_or_default(), note, measured })
}

/// The computation of a Centralized object; `None` when its workload has no binding.
async fn computed(
    client: &Client,
    hpa: &crate::api::FederatedHPA,
    objects: &Objects,
    place: &LiveSource,
) -> Result<Option<CentralizedOutline>, PlanError> {
    let tell = |of: &Computation<'_>| CentralizedOutline::of(hpa, of, false);
    objects.compute_on(client, hpa, &place.centralized, place.now, tell).await.map_err(PlanError::unreadable)
}

/// A note on which estimators answered.
fn estimator_note((answered, silent): (Vec<String>, Vec<String>)) -> CodedMessage {
    let named = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let message = if silent.is_empty() {
        format!("the estimators of all clusters answered: {}", named(&answered))
    } else {
        format!(
            "estimators answered: {}; not: {}, whose resource summaries count instead",
            named(&answered),
            silent.join(", ")
        )
    };
    CodedMessage { code: "Estimators", message }
}

fn unasked(error: &kube::Error) -> PlanError {
    PlanError::unreadable(format!("the control plane cannot be read: {error}"))
}
