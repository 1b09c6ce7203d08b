//! What an edit would do: asked by the page, answered by the command line (`fhpa plan`). No I/O.

use kube::Client;

/// Plans of manifests on the clusters as they are.
pub trait Preview: Send + Sync {
    /// The findings and the plans of the FederatedHPAs in `manifest`, YAML or JSON. Called where blocking is allowed,
    /// within a runtime.
    fn preview(&self, client: &Client, manifest: &str) -> Previewed;
}

/// What an edit would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Previewed {
    /// Findings of the rules of the webhook, or why there is no plan, as the command line prints them; may be empty.
    pub findings: String,
    /// The plans, in the order of the objects.
    pub plans: Vec<PlannedObject>,
}

/// The plan of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedObject {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The plan as `fhpa plan` prints it.
    pub text: String,
    /// What each cluster would get.
    pub clusters: Vec<PlannedCluster>,
}

/// What a cluster would get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedCluster {
    /// Its name.
    pub name: String,
    /// `minReplicas` and `maxReplicas`; `None` when it has no part.
    pub bounds: Option<(u32, u32)>,
}
