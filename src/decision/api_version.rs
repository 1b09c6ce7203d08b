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

/// Groups of Kubernetes without a dot in their name, with the versions served and the kinds that have replicas. Every
/// other group has a dot: the API server requires it of CustomResourceDefinitions.
const BUILT_IN: [(&str, &[&str], &[&str]); 5] = [
    ("apps", &["v1", "v1beta1", "v1beta2"], &["Deployment", "StatefulSet", "ReplicaSet"]),
    ("batch", &["v1", "v1beta1"], &[]),
    ("autoscaling", &["v1", "v2", "v2beta1", "v2beta2"], &[]),
    ("extensions", &["v1beta1"], &["Deployment", "ReplicaSet"]),
    ("policy", &["v1", "v1beta1"], &[]),
];

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
        if self.group.is_empty() || self.group.contains('.') || BUILT_IN.iter().any(|(group, ..)| *group == self.group)
        {
            return None;
        }
        let group = nearest(self.group, BUILT_IN.iter().map(|(group, ..)| *group))?;
        Some(format!("{group}/{}", self.version))
    }

    /// The API version that was probably meant when `self` is a group and no version.
    #[must_use]
    pub fn bare_group(&self) -> Option<String> {
        if !self.group.is_empty() {
            return None;
        }
        let text = self.version;
        let known = BUILT_IN.iter().find(|(group, ..)| *group == text).and_then(|(_, versions, _)| versions.first());
        match known {
            Some(version) => Some(format!("{text}/{version}")),
            None if text == GROUP => Some(format!("{GROUP}/{VERSION}")),
            None => text.contains('.').then(|| format!("{text}/v1")),
        }
    }

    /// The API version to write when our group has no such version.
    #[must_use]
    pub fn foreign_version(&self) -> Option<String> {
        (self.group == GROUP && self.version != VERSION).then(|| format!("{GROUP}/{VERSION}"))
    }

    /// The version that was probably meant when a group of Kubernetes has no such version.
    #[must_use]
    pub fn unknown_version(&self) -> Option<String> {
        let (group, versions, _) = BUILT_IN.iter().find(|(group, ..)| *group == self.group)?;
        let first = versions.first()?;
        (!versions.contains(&self.version)).then(|| format!("{group}/{first}"))
    }

    /// The kinds of the group that have replicas; `None` for a group whose kinds are not known here.
    #[must_use]
    pub fn scalable_kinds(&self) -> Option<&'static [&'static str]> {
        match self.group {
            "" => Some(&["ReplicationController"]),
            group => BUILT_IN.iter().find(|(name, ..)| *name == group).map(|(.., kinds)| *kinds),
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
        assert_eq!(unknown("autoscaling/v2"), None);
        assert_eq!(unknown("example.com/v9"), None);
        let foreign = |text| ApiVersion::parse(text).and_then(|version| version.foreign_version());
        assert_eq!(foreign("autoscaling.karmada.io/v1beta1").as_deref(), Some("autoscaling.karmada.io/v1alpha1"));
        assert_eq!(foreign("autoscaling.karmada.io/v1alpha1"), None);
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
