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

/// Annotation of a FederatedHPA: the workload that is taken over, as `apiVersion kind name`.
pub const WORKLOAD: &str = "fhpa.karmada.io/workload";

/// Finalizer of a FederatedHPA: its workload is taken over.
pub const FINALIZER: &str = "fhpa.karmada.io/finalizer";

/// Field manager of [`FINALIZER`] and [`WORKLOAD`]; only its writes add and remove them on an object that lives.
pub const FINALIZER_MANAGER: &str = "fhpa-finalizer";

/// Label of a workload: member clusters keep their replicas.
pub const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";

/// Field manager of [`RETAIN_REPLICAS`]; only its writes remove the label of a workload that is scaled.
pub const RETENTION_MANAGER: &str = "fhpa-retention";

/// A name as a part of a JSON pointer (RFC 6901, section 3).
#[must_use]
pub fn pointer_token(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A hash as part of a name: letters and digits that form no words.
#[must_use]
pub fn safe_encode(hash: u32) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let digits = hash.to_string();
    digits.bytes().filter_map(|digit| ALPHABET.get(usize::from(digit) % 27)).map(|letter| char::from(*letter)).collect()
}

/// Most bytes of a name.
const LONGEST: usize = 253;
/// Bytes of the object name in the name of its Work: a dash and a hash follow.
const OF_OBJECT: usize = LONGEST - 11;
/// Characters of a uid.
const UID: usize = 36;

/// Name of the Work for an object. The same as in Karmada, except that a name that would be too long is cut: the hash
/// is that of the whole name.
#[must_use]
pub fn work(kind: &str, namespace: &str, name: &str) -> String {
    let identity = if namespace.is_empty() { format!("{name}-{kind}") } else { format!("{namespace}-{name}-{kind}") };
    let name = name.to_lowercase().replace(':', ".");
    format!("{}-{}", cut(&name, OF_OBJECT), safe_encode(fnv32(&identity.to_lowercase())))
}

/// Name of the Work for an object where a Work of another object has that of [`work`]. The API server chooses the uid, so
/// that nobody can have another object with this name.
#[must_use]
pub fn own_work(name: &str, uid: &str) -> String {
    format!("{}-{uid}", cut(name, LONGEST - UID - 1))
}

/// The first `most` bytes of a name. The part before a dash must end with a letter or a digit.
fn cut(name: &str, most: usize) -> &str {
    let cut = excerpt(name, most);
    if cut.len() < most { cut } else { cut.trim_end_matches(['-', '.']) }
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
    use super::{binding, own_work, work};

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
    fn a_namespace_whose_objects_have_the_works_of_another_is_found_and_a_uid_tells_them_apart() {
        for (namespace, other) in [("prod", "team-c8owakv"), ("prod", "team-ek2n8ih")] {
            for name in ["web", "shop"] {
                let of = |namespace| work("HorizontalPodAutoscaler", namespace, name);
                assert_eq!(of(namespace), of(other));
            }
        }
        let uid = "7ac34f8b-dd95-4a91-a2bb-7c1c8d5a8b11";
        assert_eq!(own_work("web", uid), format!("web-{uid}"));
        let long = own_work(&format!("{}.b", "a".repeat(215)), uid);
        assert_eq!(long, format!("{}-{uid}", "a".repeat(215)));
        assert_eq!(own_work(&"a".repeat(253), uid).len(), 253);
    }

    #[test]
    fn bindings_are_named_as_karmada_names_them() {
        assert_eq!(binding("Deployment", "shop"), "shop-deployment");
        assert_eq!(binding("ClusterRole", "system:admin"), "system.admin-clusterrole");
    }
}
