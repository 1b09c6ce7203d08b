//! Names that Kubernetes and Karmada derive from other names. Pure.

use super::excerpt::excerpt;
use super::fnv::fnv32;

/// Annotation of a ResourceBinding: name of the FederatedHPA for which Karmada's scheduler is suspended. Every write
/// that suspends a binding also sets it, so that no binding stays suspended without its FederatedHPA.
pub const SUSPENDED_FOR: &str = "fhpa.karmada.io/suspended-for";

/// Annotation of a ResourceBinding: with `true`, Karmada's scheduler was suspended before by somebody else, and stays
/// so when the workload is handed back.
pub const SUSPENDED_BEFORE: &str = "fhpa.karmada.io/suspended-before";

/// Annotation of a FederatedHPA, set by users: with `true`, HPAs of its workload that exist in members are taken over.
pub const ADOPT: &str = "fhpa.karmada.io/adopt-hpa";

/// Label of a workload: member clusters keep their replicas.
pub const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";

/// A hash as part of a name: letters and digits that form no words.
#[must_use]
pub fn safe_encode(hash: u32) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let digits = hash.to_string();
    digits.bytes().filter_map(|digit| ALPHABET.get(usize::from(digit) % 27)).map(|letter| char::from(*letter)).collect()
}

/// Bytes of the object name in the name of its Work: a name has at most 253, and a dash and a hash follow.
const OF_OBJECT: usize = 242;

/// Name of the Work for an object. The same as in Karmada, except that a name that would be too long is cut: the hash
/// is that of the whole name.
#[must_use]
pub fn work(kind: &str, namespace: &str, name: &str) -> String {
    let identity = if namespace.is_empty() { format!("{name}-{kind}") } else { format!("{namespace}-{name}-{kind}") };
    let name = name.to_lowercase().replace(':', ".");
    // The part before a dash must end with a letter or a digit.
    let name = excerpt(&name, OF_OBJECT);
    let name = if name.len() < OF_OBJECT { name } else { name.trim_end_matches(['-', '.']) };
    format!("{name}-{}", safe_encode(fnv32(&identity.to_lowercase())))
}

/// Name of the ResourceBinding of an object.
#[must_use]
pub fn binding(kind: &str, name: &str) -> String {
    format!("{name}-{kind}").to_lowercase().replace(':', ".")
}

/// Namespace of the Leases that karmada-agents renew, each with the name of its cluster.
pub const AGENT_LEASES: &str = "karmada-cluster";

/// Prefix of the namespace of a cluster's Works.
pub const EXECUTION_SPACE: &str = "karmada-es-";

/// Namespace of the Works for a cluster.
#[must_use]
pub fn execution_space(cluster: &str) -> String {
    format!("{EXECUTION_SPACE}{cluster}")
}

#[cfg(test)]
mod tests {
    use super::{binding, work};

    #[test]
    fn works_are_named_as_karmada_names_them() {
        assert_eq!(work("Deployment", "default", "nginx"), "nginx-687f7fb96f");
        assert_eq!(work("HorizontalPodAutoscaler", "default", "nginx"), "nginx-6ccdcf94c4");
        assert_eq!(work("HorizontalPodAutoscaler", "test", "shop-fhpa"), "shop-fhpa-545689f5");
        assert_eq!(work("StatefulSet", "prod", "web"), "web-cdc45f86b");
    }

    #[test]
    fn a_long_name_is_cut_and_still_told_apart() {
        let (long, other) = ("a".repeat(253), format!("{}b", "a".repeat(252)));
        let names = [&long, &other].map(|name| work("HorizontalPodAutoscaler", "prod", name));
        assert!(names.iter().all(|name| name.len() <= 253), "{names:?}");
        assert_ne!(names[0], names[1]);
        let dotted = format!("{}.b", "a".repeat(241));
        assert!(!work("HorizontalPodAutoscaler", "prod", &dotted).contains(".-"));
        assert!(
            work("HorizontalPodAutoscaler", "prod", &"a".repeat(242)).starts_with(&format!("{}-", "a".repeat(242)))
        );
    }

    #[test]
    fn bindings_are_named_as_karmada_names_them() {
        assert_eq!(binding("Deployment", "shop"), "shop-deployment");
        assert_eq!(binding("ClusterRole", "system:admin"), "system.admin-clusterrole");
    }
}
