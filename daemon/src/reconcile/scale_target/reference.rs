//! The object on which a rule acts. No I/O.

use std::fmt;
use std::hash::{Hash, Hasher};

use crate::controller::failure::{Failure, reason};
use crate::decision::api_version::{ApiVersion, GROUP};
use crate::decision::backoff::ErrorClass;
use crate::decision::excerpt::excerpt;
use crate::decision::validation::names;

/// Most characters of a name in messages.
const NAME_LENGTH: usize = 253;

/// Reference to an object in the namespace of the referring object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetRef<'a> {
    /// Namespace.
    pub namespace: &'a str,
    /// `apps/v1`
    pub api_version: &'a str,
    /// `Deployment`
    pub kind: &'a str,
    /// Name.
    pub name: &'a str,
}

impl Hash for TargetRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.namespace, self.kind, self.name).hash(state);
    }
}

impl fmt::Display for TargetRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.shown_kind(), self.namespace, excerpt(self.name, NAME_LENGTH))
    }
}

impl<'a> TargetRef<'a> {
    /// The group and version, after checking that every part is safe in a path: a name such as `../../x` would lead the
    /// controller, with its permissions, to objects that the author of the rule may not access.
    ///
    /// # Errors
    /// When a part is empty or has characters that are not allowed in a path.
    pub(super) fn place(&self) -> Result<ApiVersion<'a>, Failure> {
        let version = ApiVersion::parse(self.api_version);
        let sound = |version: &ApiVersion<'_>| {
            let parts = [version.version, self.kind, self.name, self.namespace];
            parts.into_iter().all(is_segment) && (version.group.is_empty() || is_segment(version.group))
        };
        version.filter(sound).ok_or_else(|| {
            let message = format!(
                "spec.scaleTargetRef cannot be a reference (apiVersion {:?}, kind {:?}, name {:?}); correct it",
                self.shown_api_version(),
                self.shown_kind(),
                excerpt(self.name, NAME_LENGTH)
            );
            Failure::new(ErrorClass::Refused, reason::TARGET_INVALID, message)
        })
    }

    /// Whether it is a FederatedHPA.
    pub(super) fn is_federated_hpa(&self) -> bool {
        self.kind == "FederatedHPA" && self.api_version.split_once('/').is_some_and(|(group, _)| group == GROUP)
    }

    /// The kind, for messages.
    pub(super) fn shown_kind(&self) -> &'a str {
        excerpt(self.kind, NAME_LENGTH)
    }

    /// The API version, for messages.
    pub(super) fn shown_api_version(&self) -> &'a str {
        excerpt(self.api_version, NAME_LENGTH)
    }
}

/// Whether `text` is exactly one path segment, by the rule of admission.
fn is_segment(text: &str) -> bool {
    !text.is_empty() && names::reference(text).is_none()
}

/// The path of a resource in a namespace.
pub(super) fn path(place: ApiVersion<'_>, namespace: &str, plural: &str) -> String {
    let ApiVersion { group, version } = place;
    if group.is_empty() {
        format!("/api/{version}/namespaces/{namespace}/{plural}")
    } else {
        format!("/apis/{group}/{version}/namespaces/{namespace}/{plural}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target<'a>(api_version: &'a str, name: &'a str) -> TargetRef<'a> {
        TargetRef { namespace: "prod", api_version, kind: "Deployment", name }
    }

    #[test]
    fn a_reference_leads_nowhere_else() {
        for name in ["", ".", "..", "a/b", "../../x/deployments/web", "web%2f", "web?x", "web#x", "w b", "\u{e9}"] {
            let failure = target("apps/v1", name).place().unwrap_err();
            assert_eq!((failure.class, failure.reason), (ErrorClass::Refused, "TargetInvalid"), "{name:?}");
        }
        for version in ["", "apps/..", "../v1", "..", "a/b/c", "apps/v1?"] {
            assert_eq!(target(version, "web").place().unwrap_err().reason, "TargetInvalid", "{version:?}");
        }
        assert!(target("apps/v1", "web").place().is_ok() && target("v1", "system:x").place().is_ok());
    }

    #[test]
    fn a_path_has_its_group() {
        let path_of = |text| path(ApiVersion::parse(text).unwrap(), "prod", "things");
        assert_eq!(path_of("v1"), "/api/v1/namespaces/prod/things");
        assert_eq!(path_of("apps/v1"), "/apis/apps/v1/namespaces/prod/things");
    }
}
