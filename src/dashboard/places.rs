//! Which clusters FederatedHPAs use, in a few bytes for each. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use crate::overview::model::{ClusterView, Pressure};

/// A FederatedHPA in a cluster, as far as lists of clusters need it. There may be millions: it has 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Replicas there; 0 where they are not known.
    pub(super) replicas: i32,
    /// Number of the cluster in the names of the cache.
    pub(super) cluster: u16,
    /// How much of its bounds it uses.
    pub(super) pressure: Pressure,
    marks: u8,
}

/// A mark of a place: it has bounds there.
const BOUNDED: u8 = 1;
/// A mark of a place: a user should look at it, even if the cluster answers.
const ATTENTION: u8 = 2;

impl Place {
    /// What is kept of `view`, in the cluster of that number.
    pub(super) fn of(view: &ClusterView, cluster: u16) -> Self {
        let mark = |is: bool, mark: u8| if is { mark } else { 0 };
        Self {
            replicas: view.replicas.unwrap_or_default(),
            cluster,
            pressure: view.pressure(),
            marks: mark(view.max_replicas.is_some(), BOUNDED) | mark(view.needs_attention, ATTENTION),
        }
    }

    pub(super) const fn is_bounded(self) -> bool {
        self.marks & BOUNDED != 0
    }

    pub(super) const fn needs_attention(self) -> bool {
        self.marks & ATTENTION != 0
    }
}

/// Names of clusters, each stored once.
#[derive(Default)]
pub(super) struct Names {
    numbers: HashMap<Arc<str>, u16>,
    names: Vec<Arc<str>>,
}

impl Names {
    /// `None`: there are more clusters than any control plane has.
    pub(super) fn number(&mut self, name: &str) -> Option<u16> {
        if let Some(number) = self.known(name) {
            return Some(number);
        }
        let (name, number) = (Arc::<str>::from(name), u16::try_from(self.names.len()).ok()?);
        self.names.push(Arc::clone(&name));
        self.numbers.insert(name, number);
        Some(number)
    }

    /// The number of a name that was stored.
    pub(super) fn known(&self, name: &str) -> Option<u16> {
        self.numbers.get(name).copied()
    }

    pub(super) fn name(&self, number: u16) -> &str {
        self.names.get(usize::from(number)).map(|name| &**name).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_eight_bytes_and_says_what_lists_need() {
        assert_eq!(size_of::<Place>(), 8);
        let view =
            ClusterView { max_replicas: Some(4), replicas: Some(4), needs_attention: true, ..Default::default() };
        let place = Place::of(&view, 7);
        assert!(place.is_bounded() && place.needs_attention());
        assert_eq!((place.cluster, place.replicas, place.pressure), (7, 4, Pressure::Full));
        let place = Place::of(&ClusterView::default(), 7);
        assert!(!place.is_bounded() && !place.needs_attention() && place.pressure == Pressure::Unknown);
    }

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::default();
        assert_eq!((names.number("a"), names.number("b"), names.number("a")), (Some(0), Some(1), Some(0)));
        assert_eq!((names.name(1), names.name(9), names.known("c")), ("b", "", None));
    }
}
