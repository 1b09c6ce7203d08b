//! Which kinds a cluster serves, by the list that Karmada collects from it. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::subject::Text;

/// The kind of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionKind<'a> {
    /// `apiVersion`, as `apps/v1`.
    pub group_version: &'a str,
    /// `kind`, as `Deployment`.
    pub kind: &'a str,
}

/// Whether a cluster serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiEnablement {
    /// It does.
    Enabled,
    /// It does not.
    Disabled,
    /// The list is not complete, and does not have it.
    Unknown,
}

/// `status.apiEnablements` of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ApiEnablements<'a> {
    /// Nobody asks what it serves, as in a simulation: every kind.
    #[default]
    Every,
    /// What Karmada collected.
    Collected {
        /// The kinds by their group and version.
        kinds: Arc<BTreeMap<Text<'a>, Vec<Text<'a>>>>,
        /// Condition `CompleteAPIEnablements`.
        complete: bool,
    },
}

impl ApiEnablements<'_> {
    /// Whether the cluster serves this kind.
    #[must_use]
    pub fn of(&self, wanted: GroupVersionKind<'_>) -> ApiEnablement {
        let Self::Collected { kinds, complete } = self else { return ApiEnablement::Enabled };
        let listed = kinds.get(wanted.group_version).is_some_and(|kinds| kinds.iter().any(|kind| kind == wanted.kind));
        match (listed, complete) {
            (true, _) => ApiEnablement::Enabled,
            (false, true) => ApiEnablement::Disabled,
            (false, false) => ApiEnablement::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_listed_is_disabled_where_the_list_is_complete_and_else_unknown() {
        let kinds = Arc::new(BTreeMap::from([
            ("apps/v1".into(), vec!["Deployment".into(), "StatefulSet".into()]),
            ("apps.kruise.io/v1beta1".into(), vec!["StatefulSet".into()]),
        ]));
        let of = |complete, group_version, kind| {
            ApiEnablements::Collected { kinds: Arc::clone(&kinds), complete }
                .of(GroupVersionKind { group_version, kind })
        };
        for (group_version, kind, serves) in [
            ("apps/v1", "Deployment", true),
            ("apps/v1", "StatefulSet", true),
            ("apps.kruise.io/v1beta1", "StatefulSet", true),
            ("apps.kruise.io/v1beta1", "CloneSet", false),
            ("apps.kruise.io/v1alpha1", "StatefulSet", false),
            ("apps/v1beta2", "Deployment", false),
            ("v1", "Deployment", false),
        ] {
            let [trusted, partial] = [true, false].map(|complete| of(complete, group_version, kind));
            let expected = if serves {
                [ApiEnablement::Enabled, ApiEnablement::Enabled]
            } else {
                [ApiEnablement::Disabled, ApiEnablement::Unknown]
            };
            assert_eq!([trusted, partial], expected, "{group_version} {kind}");
        }
        assert_eq!(ApiEnablements::Every.of(GroupVersionKind::default()), ApiEnablement::Enabled);
    }
}
