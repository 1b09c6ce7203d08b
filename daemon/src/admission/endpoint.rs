//! The paths the webhook serves. No I/O.

/// One admission path: which kind, and whether it defaults or validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `/mutate-federatedhpa`
    MutateFederatedHPA,
    /// `/validate-federatedhpa`
    ValidateFederatedHPA,
    /// `/mutate-cronfederatedhpa`
    MutateCronFederatedHPA,
    /// `/validate-cronfederatedhpa`
    ValidateCronFederatedHPA,
    /// `/mutate-resourcebinding`
    MutateResourceBinding,
    /// `/mutate-customresourcedefinition`
    MutateDefinition,
    /// `/mutate-workload`
    MutateWorkload,
}

impl Endpoint {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::MutateFederatedHPA,
        Self::ValidateFederatedHPA,
        Self::MutateCronFederatedHPA,
        Self::ValidateCronFederatedHPA,
        Self::MutateResourceBinding,
        Self::MutateDefinition,
        Self::MutateWorkload,
    ];

    /// The URL path.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::MutateFederatedHPA => "/mutate-federatedhpa",
            Self::ValidateFederatedHPA => "/validate-federatedhpa",
            Self::MutateCronFederatedHPA => "/mutate-cronfederatedhpa",
            Self::ValidateCronFederatedHPA => "/validate-cronfederatedhpa",
            Self::MutateResourceBinding => "/mutate-resourcebinding",
            Self::MutateDefinition => "/mutate-customresourcedefinition",
            Self::MutateWorkload => "/mutate-workload",
        }
    }

    /// The kind that is reviewed; `Workload` stands for every scalable kind.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::MutateFederatedHPA | Self::ValidateFederatedHPA => "FederatedHPA",
            Self::MutateCronFederatedHPA | Self::ValidateCronFederatedHPA => "CronFederatedHPA",
            Self::MutateResourceBinding => "ResourceBinding",
            Self::MutateDefinition => "CustomResourceDefinition",
            Self::MutateWorkload => "Workload",
        }
    }

    /// The API group of that kind; `*` for workloads.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::MutateResourceBinding => "work.karmada.io",
            Self::MutateDefinition => "apiextensions.k8s.io",
            Self::MutateWorkload => "*",
            _ => crate::decision::api_version::GROUP,
        }
    }

    /// The action, as a metric label: `mutate` or `validate`.
    #[must_use]
    pub const fn action(self) -> &'static str {
        match self {
            Self::MutateFederatedHPA
            | Self::MutateCronFederatedHPA
            | Self::MutateResourceBinding
            | Self::MutateDefinition
            | Self::MutateWorkload => "mutate",
            Self::ValidateFederatedHPA | Self::ValidateCronFederatedHPA => "validate",
        }
    }
}
