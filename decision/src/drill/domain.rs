//! Clusters that fail together. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::fleet::Member;

/// What clusters that fail together have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum DomainKind {
    /// Nothing: each is named.
    Cluster,
    /// `spec.zones` or `spec.zone`
    Zone,
    /// `spec.region`
    Region,
    /// `spec.provider`
    Provider,
}

impl fmt::Display for DomainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cluster => "cluster",
            Self::Zone => "zone",
            Self::Region => "region",
            Self::Provider => "provider",
        })
    }
}

/// Clusters that fail together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureDomain {
    /// What they have in common.
    pub kind: DomainKind,
    /// The names of the zone, region or provider, or of the clusters.
    pub names: Vec<String>,
    /// The clusters in it.
    pub clusters: BTreeSet<String>,
}

impl FailureDomain {
    /// These clusters together.
    #[must_use]
    pub fn of_clusters(names: Vec<String>) -> Self {
        let clusters = names.iter().cloned().collect();
        Self { kind: DomainKind::Cluster, names, clusters }
    }

    /// Whether no cluster of the fleet is outside.
    #[must_use]
    pub fn is_whole(&self, members: &[Member<'_>]) -> bool {
        members.iter().all(|member| self.clusters.contains(&*member.name))
    }
}

/// `cluster member1`, `zone eu-1 (member1, member2)`
impl fmt::Display for FailureDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.names.join(" and "))?;
        if self.kind == DomainKind::Cluster {
            return Ok(());
        }
        let clusters: Vec<&str> = self.clusters.iter().map(String::as_str).collect();
        write!(f, " ({})", clusters.join(", "))
    }
}

/// Each cluster, then each zone, each region and each provider, by name.
#[must_use]
pub fn all_domains(members: &[Member<'_>]) -> Vec<FailureDomain> {
    let mut domains: Vec<FailureDomain> =
        members.iter().map(|member| FailureDomain::of_clusters(vec![member.name.to_string()])).collect();
    for kind in [DomainKind::Zone, DomainKind::Region, DomainKind::Provider] {
        let mut found: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for member in members {
            for group in groups(kind, member).into_iter().filter(|group| !group.is_empty()) {
                found.entry(group).or_default().insert(member.name.to_string());
            }
        }
        let domain = |(name, clusters): (&str, _)| FailureDomain { kind, names: vec![name.to_owned()], clusters };
        domains.extend(found.into_iter().map(domain));
    }
    domains
}

fn groups<'m>(kind: DomainKind, member: &'m Member<'_>) -> Vec<&'m str> {
    match kind {
        DomainKind::Cluster => vec![&*member.name],
        DomainKind::Zone => member.zones.iter().map(|zone| &**zone).collect(),
        DomainKind::Region => vec![&*member.region],
        DomainKind::Provider => vec![&*member.provider],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(name: &'static str, zones: &[&'static str], region: &'static str) -> Member<'static> {
        let zones = zones.iter().map(|zone| (*zone).into()).collect();
        Member { name: name.into(), zones, region: region.into(), ..Member::default() }
    }

    #[test]
    fn a_cluster_fails_alone_and_with_its_zones_and_its_region() {
        let members = [member("m1", &["a", "b"], "eu"), member("m2", &["b"], "eu"), member("m3", &[], "")];
        let domains = all_domains(&members);
        let named: Vec<String> = domains.iter().map(ToString::to_string).collect();
        let expected =
            ["cluster m1", "cluster m2", "cluster m3", "zone a (m1)", "zone b (m1, m2)", "region eu (m1, m2)"];
        assert_eq!(named, expected);
        assert_eq!(domains.iter().filter(|domain| domain.is_whole(&members)).count(), 0);
        assert!(domains.last().unwrap().is_whole(&members[..2]), "the whole fleet is in one region");
    }
}
