//! The ways to divide bounds (docs/design.md#initial-assignment). Pure.

/// How bounds are divided over the clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The whole bounds in each cluster.
    #[default]
    Duplicated,
    /// By the user's weights.
    StaticWeighted,
    /// By the replicas that would fit.
    DynamicWeighted,
    /// In as few clusters as possible.
    Aggregated,
    /// By priority.
    Prioritized,
}

impl Policy {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Duplicated, Self::StaticWeighted, Self::DynamicWeighted, Self::Aggregated, Self::Prioritized];

    /// Its name in `federatedHPAAssignmentType`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Duplicated => "Duplicated",
            Self::StaticWeighted => "StaticWeighted",
            Self::DynamicWeighted => "DynamicWeighted",
            Self::Aggregated => "Aggregated",
            Self::Prioritized => "Prioritized",
        }
    }

    /// The policy of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Whether it depends on the free capacity of clusters.
    #[must_use]
    pub const fn depends_on_capacity(self) -> bool {
        matches!(self, Self::DynamicWeighted | Self::Aggregated | Self::Prioritized)
    }

    /// How further replicas in place of others are divided: each cluster of a Duplicated workload has all of it, so the
    /// one with the most free capacity runs them.
    #[must_use]
    pub const fn of_help(self) -> Self {
        match self {
            Self::Duplicated => Self::Aggregated,
            other => other,
        }
    }

    /// Whether the clusters share one budget.
    #[must_use]
    pub fn divides(self) -> bool {
        self != Self::Duplicated
    }
}
