//! What the user names -> failure domains. No I/O.

use std::collections::BTreeSet;

use crate::decision::drill::{DomainKind, FailureDomain, all_domains};
use crate::decision::fleet::Member;

/// What the user names.
pub(super) struct Asked {
    pub(super) lose: Vec<String>,
    pub(super) zones: Vec<String>,
    pub(super) regions: Vec<String>,
    pub(super) providers: Vec<String>,
}

impl Asked {
    /// What is lost, one after the other; of what is not named, all that leaves a cluster.
    ///
    /// # Errors
    /// A name that no cluster has, with those that there are.
    pub(super) fn domains(self, members: &[Member<'_>]) -> Result<Vec<FailureDomain>, String> {
        let all = all_domains(members);
        let mut domains = Vec::new();
        if !self.lose.is_empty() {
            let known: BTreeSet<&str> = members.iter().map(|member| &*member.name).collect();
            if let Some(name) = self.lose.iter().find(|name| !known.contains(name.as_str())) {
                return Err(format!("there is no cluster {name}: {}", listed(known)));
            }
            domains.push(FailureDomain::of_clusters(self.lose));
        }
        let named = [
            (DomainKind::Zone, self.zones),
            (DomainKind::Region, self.regions),
            (DomainKind::Provider, self.providers),
        ];
        for (kind, name) in named.into_iter().flat_map(|(kind, names)| names.into_iter().map(move |name| (kind, name)))
        {
            let own = || all.iter().filter(|domain| domain.kind == kind);
            let others = || listed(own().flat_map(|domain| &domain.names).map(String::as_str).collect());
            let found = own().find(|domain| domain.names.contains(&name));
            domains.push(found.cloned().ok_or_else(|| format!("no cluster is in {kind} {name}: {}", others()))?);
        }
        if domains.is_empty() {
            // Nothing would survive: that is known without a drill.
            return Ok(all.into_iter().filter(|domain| !domain.is_whole(members)).collect());
        }
        Ok(domains)
    }
}

fn listed(known: BTreeSet<&str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) }
}
