//! FederatedHPAs on the clusters of a control plane. Reads from the API server, and queries estimators if enabled.

use std::path::{Path, PathBuf};

use kube::Client;

use jiff::Timestamp;
use tokio::runtime::Runtime;

use super::super::names::NamedObject;
use super::centralized::outline::Outline as CentralizedOutline;
use super::given::{Manifests, Measured, PlanInput};
use super::outline::CodedMessage;
use super::{PlanError, Planner, is_distributed};
use crate::decision::defaults::Mode;
use crate::overview::gather::{GatherError, refusal, refusal_beside};
use crate::run::estimators::{Settings, patient};
use crate::run::forecast::centralized::{Computation, Settings as CentralizedSettings};
use crate::run::forecast::{Objects, Rooms, live};
use crate::runtime::control_plane::{self, Origin};

/// How objects are read and computed.
pub(super) struct LiveSource {
    /// Settings of the estimators; `None`: they are not queried.
    pub(super) estimators: Option<Settings>,
    /// How Centralized objects are scaled.
    pub(super) centralized: CentralizedSettings,
    /// Mode of objects that name none.
    pub(super) default_mode: Mode,
    /// The time.
    pub(super) now: Timestamp,
}

impl LiveSource {
    /// As the settings of `planner` have it.
    pub(super) fn of(planner: &Planner, now: Timestamp) -> Self {
        let Planner { estimators, centralized, rules, tolerance: _ } = planner;
        let (estimators, centralized) = (estimators.clone(), centralized.clone());
        Self { estimators, centralized, default_mode: rules.default_mode, now }
    }
}

/// Whether an argument is the name of an object, not a file.
pub(super) fn is_name(input: &Path) -> bool {
    parts(input).is_some() && !input.exists()
}

/// NAMESPACE and NAME.
fn parts(input: &Path) -> Option<(String, String)> {
    let NamedObject { namespace, name } = input.to_str()?.parse().ok()?;
    let manifest = ["yaml", "yml", "json"].iter().any(|known| name.ends_with(&format!(".{known}")));
    namespace.filter(|_| !manifest).zip(Some(name))
}

/// A control plane that objects are read from.
pub(super) struct Connection {
    runtime: Runtime,
    client: Client,
}

impl Connection {
    /// By this kubeconfig, and its context.
    pub(super) fn open(kubeconfig: PathBuf, context: Option<String>) -> Result<Self, PlanError> {
        let runtime = crate::cli::runtime().map_err(PlanError::unreadable)?;
        let origin = Origin::find(Some(kubeconfig), None, context)
            .ok_or_else(|| PlanError::unreadable("the kubeconfig has no name"))?;
        let connected = runtime.block_on(control_plane::connect_once(origin));
        let client = connected.map_err(|error| PlanError::unreadable(error.to_string()))?;
        Ok(Self { runtime, client })
    }

    /// The namespace of the context.
    pub(super) fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// As [`read`].
    pub(super) fn subjects(
        &self,
        given: &Manifests,
        names: &[PathBuf],
        place: LiveSource,
    ) -> Result<Vec<PlanInput>, PlanError> {
        self.runtime.block_on(read(&self.client, given, names, place))
    }
}

/// The stored objects of these names and the given ones, each with its related objects in the control plane.
pub(super) async fn read(
    client: &Client,
    given: &Manifests,
    names: &[PathBuf],
    place: LiveSource,
) -> Result<Vec<PlanInput>, PlanError> {
    let mut hpas = given.hpas.clone();
    for (namespace, name) in names.iter().filter_map(|name| parts(name)) {
        let stored = live::federated_hpa(client, &namespace, &name).await;
        let stored = stored.map_err(|failure| unread(&refusal(&failure, Some(&namespace))))?;
        hpas.push(stored.ok_or_else(|| PlanError::wrong(format!("there is no FederatedHPA {namespace}/{name}")))?);
    }
    if hpas.is_empty() {
        return Err(PlanError::wrong("no FederatedHPA: give a file with one, or NAMESPACE/NAME of a stored one"));
    }
    let rooms = place.estimators.clone().map(patient);
    let mut subjects = Vec::new();
    for hpa in hpas {
        subjects.push(subject(client, hpa, rooms.as_ref(), &place).await?);
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
        let stored = live::federated_hpa(client, namespace, name).await;
        let stored = stored.map_err(|failure| unread(&refusal(&failure, Some(namespace))))?;
        hpa.status = stored.and_then(|stored| stored.status);
    }
    let namespace = hpa.metadata.namespace.as_deref().unwrap_or_default();
    let objects = live::objects(client, &hpa).await;
    let objects = objects.map_err(|failure| unread(&refusal_beside(&failure, namespace)))?;
    let distributed = is_distributed(hpa.spec.mode.as_deref(), place.default_mode);
    let measured =
        Measured::Read(if distributed { None } else { computed(client, &hpa, &objects, place).await?.map(Box::new) });
    let note = match rooms {
        Some(rooms) => Some(estimator_note(objects.query_estimators(rooms).await)),
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
    objects.compute_on(client, hpa, &place.centralized, place.now, tell).await.map_err(PlanError::wrong)
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

/// In the words of `fhpa status`, and with its exit code.
fn unread(error: &GatherError) -> PlanError {
    PlanError::wrong(error.to_string())
}
