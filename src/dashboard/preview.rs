//! What an edit or a loss would do: asked by pages, answered by the command line (`fhpa plan`, `fhpa drill`). No I/O.

use std::time::Duration;

use kube::Client;

use crate::decision::drill::Loss;

/// Plans of manifests on the clusters as they are.
pub trait Preview: Send + Sync {
    /// The findings and the plans of the FederatedHPAs in `manifest`, YAML or JSON. Called where blocking is allowed,
    /// within a runtime.
    fn preview(&self, client: &Client, manifest: &str) -> Previewed;

    /// What would not run if each failure domain were lost, of each as many objects as `most`. It begins with no
    /// further domain after this time. Called where blocking is allowed, within a runtime.
    ///
    /// # Errors
    /// Why the control plane cannot be read.
    fn drill(&self, client: &Client, most: usize, patience: Duration) -> Result<Drilled, String>;
}

/// What losses would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drilled {
    /// The losses, each with the objects that would be short.
    pub losses: Vec<Loss>,
    /// Failure domains for which there was no time.
    pub left: usize,
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
