//! Which kinds can be scaled: one rule for admission, new bindings and the controller
//! (docs/design.md#law-7-look-before-taking, docs/design.md#law-11-stay-in-its-lane). Pure.

use std::fmt;

use super::api_version::ApiVersion;
use super::names::RETAIN_REPLICAS;
use super::suggestion::nearest;

/// How an installation names the API group that has no name.
pub const CORE_GROUP: &str = "core";

/// What the customizations of Karmada's interpreter retain of the objects of a kind. A script for a kind is run in place
/// of what Karmada does by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Retention {
    /// None has a script for the kind.
    Native,
    /// A script keeps the replicas of objects with the label.
    Replicas,
    /// A script does not: the name of its customization.
    Other(String),
}

/// Why objects of a kind cannot be scaled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is a kind of Kubernetes without replicas.
    Fixed {
        /// Its API version.
        api_version: String,
        /// The kind that was probably meant.
        meant: Option<&'static str>,
        /// The kinds of its group that can be scaled.
        others: &'static [&'static str],
    },
    /// Members would not keep the replicas that their HPAs set: the kind is not enabled in the installation.
    NotAllowed {
        /// The argument of `fhpa install --scale-kind`.
        resource: String,
    },
    /// Members do not keep the replicas that their HPAs set: a script of the users takes the place of what would.
    NotKept {
        /// The customization with the script.
        customization: String,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { meant: Some(meant), .. } => write!(f, "cannot be scaled: did you mean {meant:?}?"),
            Self::Fixed { api_version, others: [], .. } => {
                write!(f, "nothing in {api_version} can be scaled; a Deployment or StatefulSet of apps/v1 can")
            }
            Self::Fixed { api_version, others, .. } => {
                write!(f, "cannot be scaled; in {api_version} these can: {}", others.join(", "))
            }
            Self::NotAllowed { resource } => {
                write!(f, "this installation does not scale it: allow it with `fhpa install --scale-kind {resource}`")
            }
            Self::NotKept { customization } => write!(
                f,
                "members do not keep the replicas that their HPAs set, since the retention script of the \
                 ResourceInterpreterCustomization {customization:?} does not name the label {RETAIN_REPLICAS}: have it copy \
                 the replicas too, as in `if desiredObj.metadata.labels and \
                 desiredObj.metadata.labels[\"{RETAIN_REPLICAS}\"] == \"true\" then desiredObj.spec.replicas = \
                 observedObj.spec.replicas end`"
            ),
        }
    }
}

/// Checks that objects of a kind of Kubernetes have replicas; other kinds and API versions that cannot be parsed pass.
///
/// # Errors
/// Why they have none.
pub fn has_replicas(api_version: &str, kind: &str) -> Result<(), Unfit> {
    let known = ApiVersion::parse(api_version).and_then(|version| version.scalable_kinds());
    match known {
        Some(kinds) if !kind.is_empty() && !kinds.contains(&kind) => Err(Unfit::Fixed {
            api_version: api_version.to_owned(),
            meant: nearest(kind, kinds.iter().copied()),
            others: kinds,
        }),
        _ => Ok(()),
    }
}

/// Checks that a FederatedHPA can divide objects of a kind among clusters: that members keep their replicas.
/// `retention` is `None` while it is not known.
///
/// # Errors
/// Why it cannot.
pub fn divisible(api_version: &str, kind: &str, retention: Option<Retention>) -> Result<(), Unfit> {
    has_replicas(api_version, kind)?;
    match retention {
        None | Some(Retention::Replicas) => return Ok(()),
        Some(Retention::Native) if keeps_by_itself(api_version, kind) => return Ok(()),
        Some(Retention::Native) => {}
        Some(Retention::Other(customization)) => return Err(Unfit::NotKept { customization }),
    }
    let group = ApiVersion::parse(api_version).map(|version| version.group).unwrap_or_default();
    let group = if group.is_empty() { CORE_GROUP } else { group };
    Err(Unfit::NotAllowed { resource: format!("{group}/{}s", kind.to_lowercase()) })
}

/// Whether members keep the replicas of the kind where no customization of Karmada's interpreter retains anything of it.
#[must_use]
pub fn keeps_by_itself(api_version: &str, kind: &str) -> bool {
    (api_version, kind) == ("apps/v1", "Deployment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_kubernetes_without_replicas_are_told_from_those_with() {
        for (api_version, kind) in [("apps/v1", "DaemonSet"), ("batch/v1", "Job"), ("v1", "Pod"), ("v1", "Secret")] {
            assert!(matches!(has_replicas(api_version, kind), Err(Unfit::Fixed { .. })), "{kind}");
        }
        let said = has_replicas("apps/v1", "DaemonSet").unwrap_err().to_string();
        assert_eq!(said, "cannot be scaled; in apps/v1 these can: Deployment, StatefulSet, ReplicaSet");
        let said = has_replicas("batch/v1", "CronJob").unwrap_err().to_string();
        assert_eq!(said, "nothing in batch/v1 can be scaled; a Deployment or StatefulSet of apps/v1 can");
        for (api_version, kind) in [("apps/v1", "StatefulSet"), ("argoproj.io/v1alpha1", "Rollout"), ("?", "x")] {
            assert_eq!(has_replicas(api_version, kind), Ok(()), "{kind}");
        }
    }

    #[test]
    fn a_kind_is_divided_only_where_members_keep_its_replicas() {
        assert_eq!(divisible("apps/v1", "Deployment", Some(Retention::Native)), Ok(()));
        assert_eq!(divisible("apps/v1", "StatefulSet", Some(Retention::Replicas)), Ok(()));
        assert_eq!(divisible("argoproj.io/v1alpha1", "Rollout", None), Ok(()), "not known yet");
        let unfit = divisible("argoproj.io/v1alpha1", "Rollout", Some(Retention::Native)).unwrap_err();
        assert!(unfit.to_string().ends_with("`fhpa install --scale-kind argoproj.io/rollouts`"), "{unfit}");
        let unfit = divisible("v1", "ReplicationController", Some(Retention::Native)).unwrap_err().to_string();
        assert!(unfit.ends_with("`fhpa install --scale-kind core/replicationcontrollers`"), "{unfit}");
        let theirs = Some(Retention::Other("theirs".to_owned()));
        let unfit = divisible("apps/v1", "Deployment", theirs).unwrap_err().to_string();
        assert!(unfit.contains(r#"the ResourceInterpreterCustomization "theirs" does not name the label"#), "{unfit}");
    }
}
