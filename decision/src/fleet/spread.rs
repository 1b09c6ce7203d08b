//! The clusters that remain under a limit on groups (Karmada's `spreadConstraints`). Pure.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Deserializer};

use super::Member;
use crate::json::{elements, null_as_default};
use crate::subject::Text;

/// One of `spreadConstraints`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spread<'a> {
    /// What groups are made of.
    pub by: SpreadBy<'a>,
    /// `minGroups`
    pub least: usize,
    /// `maxGroups`; `None`: any number.
    pub most: Option<usize>,
}

/// What groups are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SpreadBy<'a> {
    /// Each cluster is a group.
    #[default]
    Cluster,
    /// `spec.region`
    Region,
    /// `spec.zones`; a cluster over several zones is in each of them.
    Zone,
    /// `spec.provider`
    Provider,
    /// The value of this label.
    Label(Text<'a>),
}

/// One of `spreadConstraints` as stored.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Stored {
    #[serde(deserialize_with = "null_as_default")]
    spread_by_field: String,
    #[serde(deserialize_with = "null_as_default")]
    spread_by_label: String,
    #[serde(deserialize_with = "null_as_default")]
    min_groups: i32,
    /// 0: no limit.
    #[serde(deserialize_with = "null_as_default")]
    max_groups: i32,
}

/// Reads `spreadConstraints`, without those of an unknown field.
pub(super) fn known<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Spread<'a>>, D::Error> {
    let stored: Vec<Stored> = elements(deserializer)?;
    let constraint = |Stored { spread_by_field, spread_by_label, min_groups, max_groups }: Stored| {
        let by = match &*spread_by_field {
            "cluster" => SpreadBy::Cluster,
            "region" => SpreadBy::Region,
            "zone" => SpreadBy::Zone,
            "provider" => SpreadBy::Provider,
            "" if !spread_by_label.is_empty() => SpreadBy::Label(spread_by_label.into()),
            _ => return None,
        };
        let most = usize::try_from(max_groups).ok().filter(|most| *most > 0);
        Some(Spread { by, least: usize::try_from(min_groups).unwrap_or_default(), most })
    };
    Ok(stored.into_iter().filter_map(constraint).collect())
}

impl SpreadBy<'_> {
    /// The groups of a cluster; empty where the field or label is not set.
    fn of<'m>(&self, member: &'m Member<'_>) -> Vec<&'m str> {
        let of_field = |text: &'m Text<'_>| if text.is_empty() { Vec::new() } else { vec![&**text] };
        match self {
            Self::Cluster => of_field(&member.name),
            Self::Region => of_field(&member.region),
            Self::Provider => of_field(&member.provider),
            Self::Zone => member.zones.iter().map(|zone| &**zone).collect(),
            Self::Label(key) => member.labels.get(&**key).map(|value| vec![&**value]).unwrap_or_default(),
        }
    }
}

impl fmt::Display for SpreadBy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cluster => f.write_str("cluster"),
            Self::Region => f.write_str("region"),
            Self::Zone => f.write_str("zone"),
            Self::Provider => f.write_str("provider"),
            Self::Label(key) => write!(f, "label {key}"),
        }
    }
}

/// A constraint that the candidates cannot satisfy: they are in fewer than its `minGroups`.
#[derive(Clone, Debug, PartialEq)]
pub struct Unmet<'a> {
    /// What groups are made of.
    pub by: SpreadBy<'a>,
    /// `minGroups`
    pub least: usize,
    /// The number of groups found.
    pub found: usize,
}

impl fmt::Display for Unmet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { by, least, found } = self;
        write!(
            f,
            "the placement spreads by {by} over at least {least} groups, and the clusters that can be used are in {found}: \
             add clusters, correct what they say of themselves, or lower minGroups"
        )
    }
}

/// A cluster that the affinity selects.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) member: &'a Member<'a>,
    pub(super) serves: bool,
}

/// Groups with a chosen cluster, one set for each constraint.
type Open<'a> = Vec<BTreeSet<&'a str>>;

/// The names of the chosen clusters, and the constraints that they do not satisfy; `ranked` is in order of preference.
///
/// Clusters that a constraint needs for its `minGroups` come first, then all that exceed no `maxGroups`. A cluster
/// without the field of a group cannot be counted and is not chosen, as in Karmada. Karmada's scheduler would choose by
/// a score of its own; while it is suspended, running workloads stay where they are.
pub(super) fn choose<'a, 's>(
    ranked: &[Candidate<'a>],
    constraints: &[Spread<'s>],
) -> (BTreeSet<&'a str>, Vec<Unmet<'s>>) {
    let groups = |candidate: &Candidate<'a>| -> Option<Vec<Vec<&'a str>>> {
        let groups: Vec<Vec<&str>> = constraints.iter().map(|spread| spread.by.of(candidate.member)).collect();
        groups.iter().all(|groups| !groups.is_empty()).then_some(groups)
    };
    let grouped: Vec<(Candidate<'a>, Vec<Vec<&'a str>>)> =
        ranked.iter().filter_map(|candidate| Some((*candidate, groups(candidate)?))).collect();
    let mut open: Open<'a> = vec![BTreeSet::new(); constraints.len()];
    let mut chosen = BTreeSet::new();
    for needed in [true, false] {
        for (candidate, groups) in &grouped {
            let wanted = !needed || candidate.serves && is_needed(&open, groups, constraints);
            if wanted && !chosen.contains(&*candidate.member.name) && fits(&open, groups, constraints) {
                chosen.insert(&*candidate.member.name);
                open.iter_mut().zip(groups).for_each(|(open, groups)| open.extend(groups));
            }
        }
    }
    let used = |(_, spread): &(usize, &Spread<'_>)| -> BTreeSet<&str> {
        let uses = grouped.iter().filter(|(one, _)| one.serves && chosen.contains(&*one.member.name));
        uses.flat_map(|(one, _)| spread.by.of(one.member)).collect()
    };
    let unmet = constraints.iter().enumerate().filter_map(|numbered| {
        let (found, spread) = (used(&numbered).len(), numbered.1);
        (found < spread.least).then(|| Unmet { by: spread.by.clone(), least: spread.least, found })
    });
    let unmet = unmet.collect();
    (chosen, unmet)
}

/// Whether a constraint lacks groups and the cluster adds one. Constraints on clusters need no preference.
fn is_needed(open: &Open<'_>, groups: &[Vec<&str>], constraints: &[Spread<'_>]) -> bool {
    let lacks = |((open, groups), spread): ((&BTreeSet<&str>, &Vec<&str>), &Spread<'_>)| {
        spread.by != SpreadBy::Cluster && open.len() < spread.least && groups.iter().any(|group| !open.contains(group))
    };
    open.iter().zip(groups).zip(constraints).any(lacks)
}

/// Whether no constraint exceeds its `maxGroups` with the cluster.
fn fits(open: &Open<'_>, groups: &[Vec<&str>], constraints: &[Spread<'_>]) -> bool {
    let within = |((open, groups), spread): ((&BTreeSet<&str>, &Vec<&str>), &Spread<'_>)| {
        let more: BTreeSet<&str> = groups.iter().copied().filter(|group| !open.contains(group)).collect();
        spread.most.is_none_or(|most| open.len().saturating_add(more.len()) <= most)
    };
    open.iter().zip(groups).zip(constraints).all(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cluster by name, region and zones.
    fn member(name: &'static str, region: &'static str, zones: &[&'static str]) -> Member<'static> {
        let zones = zones.iter().map(|zone| (*zone).into()).collect();
        let labels = [("tier".into(), region.into())].into();
        Member { name: name.into(), region: region.into(), zones, labels, ..Member::default() }
    }

    fn spread(by: SpreadBy<'static>, least: usize, most: usize) -> Spread<'static> {
        Spread { by, least, most: Some(most).filter(|most| *most > 0) }
    }

    fn chosen(members: &[Member<'static>], constraints: &[Spread<'static>]) -> (Vec<String>, Vec<String>) {
        let ranked: Vec<Candidate<'_>> =
            members.iter().map(|member| Candidate { member, serves: !member.deleting }).collect();
        let (chosen, unmet) = choose(&ranked, constraints);
        (
            chosen.into_iter().map(str::to_owned).collect(),
            unmet.iter().map(|one| format!("{} {}", one.by, one.found)).collect(),
        )
    }

    fn all() -> [Member<'static>; 4] {
        [
            member("a", "eu", &["eu-1"]),
            member("b", "eu", &["eu-2"]),
            member("c", "us", &["us-1"]),
            member("d", "asia", &[]),
        ]
    }

    #[test]
    fn no_more_groups_are_used_than_allowed() {
        for (by, most, expected) in [
            (SpreadBy::Cluster, 2, vec!["a", "b"]),
            (SpreadBy::Region, 1, vec!["a", "b"]),
            (SpreadBy::Region, 2, vec!["a", "b", "c"]),
            (SpreadBy::Label("tier".into()), 2, vec!["a", "b", "c"]),
            // A cluster without a zone is not chosen.
            (SpreadBy::Zone, 0, vec!["a", "b", "c"]),
            (SpreadBy::Provider, 0, vec![]),
        ] {
            let what = format!("{by} {most}");
            assert_eq!(chosen(&all(), &[spread(by, 0, most)]).0, expected, "{what}");
        }
    }

    #[test]
    fn a_cluster_over_several_zones_opens_all_of_them() {
        let members = [member("a", "eu", &["1", "2"]), member("b", "eu", &["2", "3"]), member("c", "eu", &["1"])];
        assert_eq!(chosen(&members, &[spread(SpreadBy::Zone, 0, 2)]).0, ["a", "c"]);
    }

    #[test]
    fn the_least_number_of_groups_comes_before_what_is_first() {
        let by_both = [spread(SpreadBy::Region, 2, 2), spread(SpreadBy::Cluster, 1, 2)];
        assert_eq!(chosen(&all(), &by_both), (vec!["a".into(), "c".into()], vec![]));
        assert_eq!(chosen(&all(), &[spread(SpreadBy::Region, 4, 0)]).1, ["region 3"]);
        assert_eq!(chosen(&all(), &[spread(SpreadBy::Provider, 1, 1)]).1, ["provider 0"]);
    }

    #[test]
    fn a_group_that_failed_is_not_counted_and_keeps_its_place_behind_the_others() {
        let [a, b, c, d] = all();
        // Clusters that do not serve come last.
        let ranked = [c, d, Member { deleting: true, ..a }, Member { deleting: true, ..b }];
        assert_eq!(
            chosen(&ranked, &[spread(SpreadBy::Region, 3, 3)]),
            (vec!["a".into(), "b".into(), "c".into(), "d".into()], vec!["region 2".to_owned()],)
        );
        assert_eq!(chosen(&ranked, &[spread(SpreadBy::Region, 1, 2)]).0, ["c", "d"]);
    }
}
