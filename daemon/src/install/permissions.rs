//! Permissions of the processes: one table from which all roles are built. No I/O.
//!
//! Each row has its reason. Tests run every story of the controller with these permissions only, and show for each a
//! story that fails without it.

use serde_json::{Value, json};

use super::upstream_webhooks::ENTRIES;
use crate::admission::registration;
use crate::api::served::DEFINITIONS;
use crate::decision::kinds::CORE_GROUP;

/// Scope of a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PermissionScope {
    /// In karmada-apiserver, in all namespaces.
    ControlPlane,
    /// In karmada-apiserver, in the namespace of the Lease.
    LeaseNamespace,
    /// In every member cluster, for the same user: requests arrive there through the cluster proxy.
    Members,
}

/// The feature that needs a permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Every installation.
    Always,
    /// `--manage-karmada`, which is on by default, or the registration of the webhook.
    Guard,
}

/// A permission with its reason.
#[derive(Clone, Copy, Debug)]
pub struct Permission {
    /// Reason.
    pub why: &'static str,
    /// Scope.
    pub place: PermissionScope,
    /// Feature.
    pub need: Need,
    /// API group; empty: the core group.
    pub group: &'static str,
    /// Resources, with subresources.
    pub resources: &'static [&'static str],
    /// Verbs.
    pub verbs: &'static [&'static str],
    /// Names of objects; empty: all.
    pub names: &'static [&'static str],
}

const ROW: Permission = Permission {
    why: "",
    place: PermissionScope::ControlPlane,
    need: Need::Always,
    group: "",
    resources: &[],
    verbs: &[],
    names: &[],
};

/// Kinds that can be scaled without further permissions, as in roles.
pub const SCALED: [(&str, &str); 2] = [("apps", "deployments"), ("apps", "statefulsets")];

/// The table.
pub const PERMISSIONS: &[Permission] = &[
    Permission {
        why: "reviews compare with the other objects; the controller reconciles them",
        group: "autoscaling.karmada.io",
        resources: &["federatedhpas", "cronfederatedhpas"],
        verbs: &["list", "watch"],
        ..ROW
    },
    Permission {
        why: "bounds that a cron rule sets; the finalizer",
        group: "autoscaling.karmada.io",
        resources: &["federatedhpas"],
        verbs: &["get", "patch"],
        ..ROW
    },
    Permission {
        why: "fields that a foreign definition made the API server drop are copied, and restored",
        group: "autoscaling.karmada.io",
        resources: &["cronfederatedhpas"],
        verbs: &["patch"],
        ..ROW
    },
    Permission {
        why: "what the controller says of its work",
        group: "autoscaling.karmada.io",
        resources: &["federatedhpas/status", "cronfederatedhpas/status"],
        verbs: &["patch"],
        ..ROW
    },
    Permission {
        why: "which clusters run a workload is decided here while a FederatedHPA scales it",
        group: "work.karmada.io",
        resources: &["resourcebindings"],
        verbs: &["list", "watch", "patch"],
        ..ROW
    },
    Permission {
        why: "what Karmada's scheduler would write there",
        group: "work.karmada.io",
        resources: &["resourcebindings/status"],
        verbs: &["patch"],
        ..ROW
    },
    Permission {
        why: "HPAs travel to the member clusters as Works",
        group: "work.karmada.io",
        resources: &["works"],
        verbs: &["list", "watch", "create", "patch", "delete"],
        ..ROW
    },
    Permission {
        why: "other autoscalers of a workload are reported: HPAs that a policy propagates",
        group: "autoscaling",
        resources: &["horizontalpodautoscalers"],
        verbs: &["list", "watch"],
        ..ROW
    },
    Permission {
        why: "other autoscalers of a workload are reported: those of KEDA, where it is installed",
        group: "keda.sh",
        resources: &["scaledobjects"],
        verbs: &["list", "watch"],
        ..ROW
    },
    Permission {
        why: "which clusters there are, and how they are",
        group: "cluster.karmada.io",
        resources: &["clusters"],
        verbs: &["list", "watch"],
        ..ROW
    },
    Permission {
        why: "replicas of a member that no HPA can set; what Karmada does not report of members",
        group: "cluster.karmada.io",
        resources: &["clusters/proxy"],
        verbs: &["get", "patch", "delete"],
        ..ROW
    },
    Permission {
        why: "the kinds whose replicas members keep: only these are scaled",
        group: "config.karmada.io",
        resources: &["resourceinterpretercustomizations"],
        verbs: &["list", "watch"],
        ..ROW
    },
    Permission {
        why: "the label that lets members keep their replicas",
        group: "apps",
        resources: &["deployments", "statefulsets"],
        verbs: &["get", "patch"],
        ..ROW
    },
    Permission {
        why: "replicas that a cron rule sets, that a workload is handed back with, or that a Centralized one needs",
        group: "apps",
        resources: &["deployments/scale", "statefulsets/scale"],
        verbs: &["get", "patch"],
        ..ROW
    },
    Permission {
        why: "usage of pods that karmada-metrics-adapter collects (--metrics-source=adapter)",
        group: "metrics.k8s.io",
        resources: &["pods"],
        verbs: &["list"],
        ..ROW
    },
    Permission {
        why: "metrics of pods and objects that karmada-metrics-adapter collects (--metrics-source=adapter)",
        group: "custom.metrics.k8s.io",
        resources: &["*"],
        verbs: &["get"],
        ..ROW
    },
    Permission {
        why: "metrics from outside that a Centralized workload is scaled by",
        group: "external.metrics.k8s.io",
        resources: &["*"],
        verbs: &["list"],
        ..ROW
    },
    Permission {
        why: "Events on what the controller did; repeats are counted in one",
        group: "",
        resources: &["events"],
        verbs: &["create", "patch"],
        ..ROW
    },
    Permission {
        why: "one process is active, the others are on standby",
        place: PermissionScope::LeaseNamespace,
        group: "coordination.k8s.io",
        resources: &["leases"],
        verbs: &["get", "create", "update"],
        ..ROW
    },
    Permission {
        why: "while Karmada's own schemas are served, objects are neither read nor written",
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        verbs: &["list", "watch"],
        names: &DEFINITIONS,
        ..ROW
    },
    Permission {
        why: "a Karmada upgrade restores its own schemas, which would drop fields of fhpa",
        need: Need::Guard,
        group: "apiextensions.k8s.io",
        resources: &["customresourcedefinitions"],
        verbs: &["get", "patch"],
        names: &DEFINITIONS,
        ..ROW
    },
    Permission {
        why: "the webhook stays registered, and Karmada's own for the same kinds disabled",
        need: Need::Guard,
        group: "admissionregistration.k8s.io",
        resources: &["mutatingwebhookconfigurations"],
        verbs: &["get", "list", "watch", "patch"],
        names: &[registration::NAME, ENTRIES[0].configuration],
        ..ROW
    },
    Permission {
        why: "the webhook stays registered, and Karmada's own for the same kinds disabled",
        need: Need::Guard,
        group: "admissionregistration.k8s.io",
        resources: &["validatingwebhookconfigurations"],
        verbs: &["get", "list", "watch", "patch"],
        names: &[registration::NAME, ENTRIES[1].configuration],
        ..ROW
    },
    Permission {
        why: "a registration that was deleted is created again",
        need: Need::Guard,
        group: "admissionregistration.k8s.io",
        resources: &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
        verbs: &["create"],
        names: &[registration::NAME],
        ..ROW
    },
    Permission {
        why: "replicas of a member that no HPA can set, and which pods are the workload's",
        place: PermissionScope::Members,
        group: "apps",
        resources: &["deployments/scale", "statefulsets/scale"],
        verbs: &["get", "patch"],
        ..ROW
    },
    Permission {
        why: "pods that find no node, where no estimator says so; the pods of Centralized workloads",
        place: PermissionScope::Members,
        resources: &["pods"],
        verbs: &["list", "watch"],
        ..ROW
    },
    Permission {
        why: "what the autoscaler says of pods that find no node; optional: without it help waits for the whole delay",
        place: PermissionScope::Members,
        resources: &["events"],
        verbs: &["list"],
        ..ROW
    },
    Permission {
        why: "what the pods of Centralized workloads use",
        place: PermissionScope::Members,
        group: "metrics.k8s.io",
        resources: &["pods"],
        verbs: &["list"],
        ..ROW
    },
    Permission {
        why: "metrics of pods and objects that a Centralized workload is scaled by; their names are the users' own",
        place: PermissionScope::Members,
        group: "custom.metrics.k8s.io",
        resources: &["*"],
        verbs: &["get"],
        ..ROW
    },
    Permission {
        why: "metrics that --external-metrics-sum names",
        place: PermissionScope::Members,
        group: "external.metrics.k8s.io",
        resources: &["*"],
        verbs: &["list"],
        ..ROW
    },
    Permission {
        why: "whether an HPA arrived, where Karmada does not report it",
        place: PermissionScope::Members,
        group: "autoscaling",
        resources: &["horizontalpodautoscalers"],
        verbs: &["get"],
        ..ROW
    },
    Permission {
        why: "other HPAs on the workload are named, and deleted where fhpa.karmada.io/adopt-hpa asks for it",
        place: PermissionScope::Members,
        group: "autoscaling",
        resources: &["horizontalpodautoscalers"],
        verbs: &["list", "delete"],
        ..ROW
    },
];

/// A scalable kind in addition to [`SCALED`]: `GROUP/RESOURCE`, for example `argoproj.io/rollouts`. The group without a
/// name is `core`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScaledKind {
    /// API group; empty: the core group.
    pub group: String,
    /// Plural.
    pub resource: String,
}

impl std::str::FromStr for ScaledKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = |part: &str| {
            !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c))
        };
        match text.split_once('/') {
            Some((group, resource)) if name(group) && name(resource) => {
                let group = if group == CORE_GROUP { "" } else { group };
                Ok(Self { group: group.to_owned(), resource: resource.to_owned() })
            }
            _ => Err(format!("{text:?} is not GROUP/RESOURCE in lower case; argoproj.io/rollouts is")),
        }
    }
}

/// The rules of the role for one scope, as `rules` of a Role or ClusterRole. Without `guard` those of [`Need::Guard`]
/// are left out.
#[must_use]
pub fn rules(place: PermissionScope, guard: bool, scaled: &[ScaledKind]) -> Vec<Value> {
    let rows = PERMISSIONS.iter().filter(|row| row.place == place && (guard || row.need == Need::Always));
    let mut rules: Vec<Value> = rows.map(rule).collect();
    for kind in scaled {
        let scale = format!("{}/scale", kind.resource);
        if place == PermissionScope::ControlPlane {
            rules.push(json!({"apiGroups": [kind.group], "resources": [kind.resource], "verbs": ["get", "patch"]}));
        }
        if place != PermissionScope::LeaseNamespace {
            rules.push(json!({"apiGroups": [kind.group], "resources": [scale], "verbs": ["get", "patch"]}));
        }
    }
    rules
}

fn rule(row: &Permission) -> Value {
    let mut rule = json!({"apiGroups": [row.group], "resources": row.resources, "verbs": row.verbs});
    if !row.names.is_empty()
        && let Some(rule) = rule.as_object_mut()
    {
        rule.insert("resourceNames".to_owned(), json!(row.names));
    }
    rule
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_right_says_why_and_nothing_but_the_name_of_a_metric_is_a_wildcard() {
        for row in PERMISSIONS {
            if matches!(row.group, "custom.metrics.k8s.io" | "external.metrics.k8s.io") {
                // The resources of these groups are metrics, and nothing is written there.
                assert!(row.resources == ["*"] && (row.verbs == ["get"] || row.verbs == ["list"]), "{row:?}");
                continue;
            }
            assert!(!row.why.is_empty() && !row.resources.is_empty() && !row.verbs.is_empty(), "{row:?}");
            let words = row.resources.iter().chain(row.verbs).chain(row.names);
            assert!(words.into_iter().all(|word| *word != "*" && !word.is_empty()), "{row:?}");
        }
    }

    #[test]
    fn a_kind_of_the_users_own_is_scaled_too() {
        let rollouts: ScaledKind = "argoproj.io/rollouts".parse().unwrap();
        let core: ScaledKind = "core/replicationcontrollers".parse().unwrap();
        assert_eq!((&*core.group, &*core.resource), ("", "replicationcontrollers"));
        let more = rules(PermissionScope::ControlPlane, true, std::slice::from_ref(&rollouts));
        assert_eq!(more.len(), rules(PermissionScope::ControlPlane, true, &[]).len() + 2);
        assert!("rollouts".parse::<ScaledKind>().is_err() && "Argo/Rollout".parse::<ScaledKind>().is_err());
    }

    #[test]
    fn without_the_guard_nothing_of_karmada_is_touched() {
        let text = serde_json::to_string(&rules(PermissionScope::ControlPlane, false, &[])).unwrap();
        assert!(!text.contains("webhookconfigurations"));
        let rules = rules(PermissionScope::ControlPlane, false, &[]);
        let definitions = rules.iter().find(|rule| rule.to_string().contains("customresourcedefinitions")).unwrap();
        assert_eq!(definitions["verbs"], json!(["list", "watch"]));
    }
}
