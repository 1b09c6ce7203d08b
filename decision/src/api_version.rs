//! `group/version` of an object or a reference. Pure.

use super::suggestion::nearest;

/// An API version, split into group and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiVersion<'a> {
    /// Empty for the core group.
    pub group: &'a str,
    /// For example `v1`.
    pub version: &'a str,
}

/// Group of FederatedHPA and CronFederatedHPA.
pub const GROUP: &str = "autoscaling.karmada.io";
/// Version of FederatedHPA and CronFederatedHPA.
pub const VERSION: &str = "v1alpha1";

/// A group of Kubernetes without a dot in its name. Every other group has a dot: the API server requires it of
/// CustomResourceDefinitions.
struct BuiltIn {
    name: &'static str,
    /// Versions that are served, the one to write first.
    served: &'static [&'static str],
    /// Versions that are not served any more, and the release of Kubernetes that removed their kinds with replicas, or
    /// all of them.
    removed: &'static [(&'static str, &'static str)],
    /// Kinds that have replicas.
    scalable: &'static [&'static str],
}

const BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        name: "apps",
        served: &["v1"],
        removed: &[("v1beta1", "1.16"), ("v1beta2", "1.16")],
        scalable: &["Deployment", "StatefulSet", "ReplicaSet"],
    },
    BuiltIn { name: "batch", served: &["v1"], removed: &[("v1beta1", "1.25"), ("v2alpha1", "1.21")], scalable: &[] },
    BuiltIn {
        name: "autoscaling",
        served: &["v1", "v2"],
        removed: &[("v2beta1", "1.25"), ("v2beta2", "1.26")],
        scalable: &[],
    },
    // Its kinds with replicas moved to apps.
    BuiltIn {
        name: "extensions",
        served: &[],
        removed: &[("v1beta1", "1.16")],
        scalable: &["Deployment", "ReplicaSet"],
    },
    BuiltIn { name: "policy", served: &["v1"], removed: &[("v1beta1", "1.25")], scalable: &[] },
];

impl BuiltIn {
    fn of(group: &str) -> Option<&'static Self> {
        BUILT_IN.iter().find(|known| known.name == group)
    }

    /// The API version to write for its kinds.
    fn current(&self) -> String {
        match self.served.first() {
            Some(version) => format!("{}/{version}", self.name),
            None => "apps/v1".to_owned(),
        }
    }
}

impl<'a> ApiVersion<'a> {
    /// Splits `text` as Kubernetes does: one slash at most, no empty version. `None` when that fails.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (group, version) = text.split_once('/').unwrap_or(("", text));
        let well_formed = !version.is_empty()
            && !version.contains('/')
            && (group.is_empty() != text.contains('/'))
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'/'));
        well_formed.then_some(Self { group, version })
    }

    /// The API version that was probably meant when the group is a misspelt group of Kubernetes (`app/v1` ->
    /// `apps/v1`).
    #[must_use]
    pub fn misspelt_group(&self) -> Option<String> {
        if self.group.is_empty() || self.group.contains('.') || BuiltIn::of(self.group).is_some() {
            return None;
        }
        let meant = BuiltIn::of(nearest(self.group, BUILT_IN.iter().map(|known| known.name))?)?;
        let served = meant.served.contains(&self.version);
        Some(if served { format!("{}/{}", meant.name, self.version) } else { meant.current() })
    }

    /// The API version that was probably meant when `self` is a group and no version.
    #[must_use]
    pub fn bare_group(&self) -> Option<String> {
        if !self.group.is_empty() {
            return None;
        }
        let text = self.version;
        match BuiltIn::of(text) {
            Some(known) => Some(known.current()),
            None if text == GROUP => Some(format!("{GROUP}/{VERSION}")),
            None => text.contains('.').then(|| format!("{text}/v1")),
        }
    }

    /// The release of Kubernetes that removed this version, and the API version to write instead.
    #[must_use]
    pub fn removed(&self) -> Option<(&'static str, String)> {
        let known = BuiltIn::of(self.group)?;
        let (_, release) = known.removed.iter().find(|(version, _)| *version == self.version)?;
        Some((release, known.current()))
    }

    /// The API version to write when our group has no such version.
    #[must_use]
    pub fn foreign_version(&self) -> Option<String> {
        (self.group == GROUP && self.version != VERSION).then(|| format!("{GROUP}/{VERSION}"))
    }

    /// The version that was probably meant when a group of Kubernetes has, and had, no such version.
    #[must_use]
    pub fn unknown_version(&self) -> Option<String> {
        let known = BuiltIn::of(self.group)?;
        let had = known.removed.iter().any(|(version, _)| *version == self.version);
        (!had && !known.served.contains(&self.version)).then(|| known.current())
    }

    /// The kinds of the group that have replicas; `None` for a group whose kinds are not known here.
    #[must_use]
    pub fn scalable_kinds(&self) -> Option<&'static [&'static str]> {
        match self.group {
            "" => Some(&["ReplicationController"]),
            group => BuiltIn::of(group).map(|known| known.scalable),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ApiVersion;

    #[test]
    fn an_api_version_has_at_most_one_slash_and_no_blanks() {
        let parsed = |text| ApiVersion::parse(text).map(|version| (version.group, version.version));
        assert_eq!(parsed("v1"), Some(("", "v1")));
        assert_eq!(parsed("apps/v1"), Some(("apps", "v1")));
        for bad in ["", "/", "/v1", "apps/", "a/b/c", " apps/v1", "部/v1"] {
            assert_eq!(parsed(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn misspelt_groups_and_versions_are_set_right() {
        let misspelt = |text| ApiVersion::parse(text).and_then(|version| version.misspelt_group());
        assert_eq!(misspelt("app/v1").as_deref(), Some("apps/v1"));
        assert_eq!(misspelt("apps/v1"), None);
        assert_eq!(misspelt("app.example.com/v1"), None);
        assert_eq!(misspelt("shop/v1"), None);
        let unknown = |text| ApiVersion::parse(text).and_then(|version| version.unknown_version());
        assert_eq!(unknown("apps/v2").as_deref(), Some("apps/v1"));
        assert_eq!((unknown("autoscaling/v2"), unknown("apps/v1beta1")), (None, None));
        assert_eq!(unknown("extensions/v1").as_deref(), Some("apps/v1"));
        assert_eq!(misspelt("app/v1beta1").as_deref(), Some("apps/v1"));
        assert_eq!(unknown("example.com/v9"), None);
        let foreign = |text| ApiVersion::parse(text).and_then(|version| version.foreign_version());
        assert_eq!(foreign("autoscaling.karmada.io/v1beta1").as_deref(), Some("autoscaling.karmada.io/v1alpha1"));
        assert_eq!(foreign("autoscaling.karmada.io/v1alpha1"), None);
    }

    #[test]
    fn versions_that_kubernetes_removed_have_a_successor() {
        let removed = |text| ApiVersion::parse(text).and_then(|version| version.removed());
        for old in ["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"] {
            assert_eq!(removed(old), Some(("1.16", "apps/v1".to_owned())), "{old}");
        }
        for served in ["apps/v1", "v1", "autoscaling/v2", "example.com/v1beta1", "apps/v2"] {
            assert_eq!(removed(served), None, "{served}");
        }
    }

    #[test]
    fn a_group_without_a_version_is_noticed() {
        let meant = |text| ApiVersion::parse(text).and_then(|version| version.bare_group());
        assert_eq!(meant("apps").as_deref(), Some("apps/v1"));
        assert_eq!(meant("autoscaling.karmada.io").as_deref(), Some("autoscaling.karmada.io/v1alpha1"));
        assert_eq!(meant("example.com").as_deref(), Some("example.com/v1"));
        assert_eq!((meant("v1"), meant("v2"), meant("apps/v1")), (None, None, None));
    }
}
