//! Which clusters a status shows in full: all of a few, and the unhealthy ones of many. Pure.

use std::collections::BTreeSet;

use super::health::Grade;

/// Most clusters that are shown; with more, some are left out.
pub const MOST: usize = 200;
/// With fewer clusters, all are shown again.
pub const AGAIN: usize = 180;

/// The clusters that the previous status showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Before<'a> {
    /// The clusters.
    pub shown: BTreeSet<&'a str>,
    /// Whether it left any out.
    pub partly: bool,
}

/// The clusters to show, in the order of their names; `None`: all of them.
///
/// The worst come first, then those that were shown before, so that the choice among equals is stable, then by name.
#[must_use]
pub fn chosen<'a>(clusters: &[(&'a str, Grade)], before: &Before<'_>) -> Option<BTreeSet<&'a str>> {
    let all = clusters.len();
    if all <= MOST && (!before.partly || all < AGAIN) {
        return None;
    }
    let mut unwell: Vec<(&str, Grade)> = clusters.iter().copied().filter(|(_, grade)| *grade != Grade::Well).collect();
    unwell.sort_by(|(one, one_grade), (other, other_grade)| {
        let known = |name: &str| before.shown.contains(name);
        other_grade.cmp(one_grade).then_with(|| known(other).cmp(&known(one))).then_with(|| one.cmp(other))
    });
    Some(unwell.into_iter().take(MOST).map(|(name, _)| name).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|index| format!("m{index:04}")).collect()
    }

    fn graded(names: &[String], grade: impl Fn(usize) -> Grade) -> Vec<(&str, Grade)> {
        names.iter().enumerate().map(|(index, name)| (name.as_str(), grade(index))).collect()
    }

    fn partly<'a>(shown: &BTreeSet<&'a str>) -> Before<'a> {
        Before { shown: shown.clone(), partly: true }
    }

    #[test]
    fn a_few_clusters_are_all_shown_and_of_many_those_that_are_not_well() {
        let names = names(201);
        let sick = |index: usize| if index == 7 { Grade::Unknown } else { Grade::Well };
        assert_eq!(chosen(&graded(&names[..200], sick), &Before::default()), None);
        assert_eq!(chosen(&graded(&names, sick), &Before::default()), Some(BTreeSet::from(["m0007"])));
    }

    #[test]
    fn what_was_left_out_comes_back_with_fewer_clusters_than_it_went_at() {
        let names = names(200);
        let before = Before { partly: true, ..Before::default() };
        let well = |_| Grade::Well;
        assert_eq!(chosen(&graded(&names, well), &before), Some(BTreeSet::new()));
        assert_eq!(chosen(&graded(&names[..180], well), &before), Some(BTreeSet::new()));
        assert_eq!(chosen(&graded(&names[..179], well), &before), None);
    }

    #[test]
    fn the_worst_are_shown_and_among_equals_those_that_were_shown() {
        let names = names(5000);
        let first = chosen(&graded(&names, |_| Grade::Unknown), &Before::default()).unwrap();
        assert_eq!((first.len(), first.first().copied(), first.last().copied()), (200, Some("m0000"), Some("m0199")));
        // A shown cluster recovers: one takes its place, the others stay.
        let healed = graded(&names, |index| if index == 3 { Grade::Well } else { Grade::Unknown });
        let second = chosen(&healed, &partly(&first)).unwrap();
        assert_eq!(second.difference(&first).copied().collect::<Vec<_>>(), ["m0200"]);
        // It fails again like all others: nothing changes.
        assert_eq!(chosen(&graded(&names, |_| Grade::Unknown), &partly(&second)), Some(second.clone()));
        let worse = graded(&names, |index| if index == 4999 { Grade::Broken } else { Grade::Unknown });
        assert!(chosen(&worse, &partly(&second)).unwrap().contains("m4999"));
    }
}
