//! What the loss of clusters means. Pure.

use serde::Serialize;

use super::FailureDomain;
use crate::split::Replicas;

/// What the loss of a failure domain means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Loss {
    /// What is lost.
    pub lost: FailureDomain,
    /// Whether so many clusters would be away that failover pauses: nothing would be replaced.
    pub failover_paused: bool,
    /// Replicas that run there, of all objects.
    pub replicas: u64,
    /// Those of them that would run nowhere.
    pub short: u64,
    /// The objects that run there, in the order in which they are replaced.
    pub objects: Vec<ObjectLoss>,
}

impl Loss {
    /// The sums over `objects`.
    #[must_use]
    pub fn of(lost: FailureDomain, failover_paused: bool, objects: Vec<ObjectLoss>) -> Self {
        let sum = |of: fn(&ObjectLoss) -> Replicas| objects.iter().map(|object| u64::from(of(object))).sum();
        let (replicas, short) = (sum(|object| object.replicas), sum(|object| object.short));
        Self { lost, failover_paused, replicas, short, objects }
    }

    /// With the first of the objects that are short, and no others; the sums stay.
    #[must_use]
    pub fn with_short(mut self, most: usize) -> Self {
        self.objects.retain(|object| object.short > 0);
        self.objects.truncate(most);
        self
    }
}

/// What it means for an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectLoss {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Replicas that run in the lost clusters.
    pub replicas: Replicas,
    /// Those of them that would run nowhere.
    pub short: Replicas,
    /// Why; nothing where none is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Shortage>,
    /// What would let these run; nothing where none is short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// Why replicas would run nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Shortage {
    /// No other cluster is a candidate that answers.
    NoCandidates,
    /// So many clusters are away that failover pauses.
    TooManyClustersNotReady,
    /// The operator switched failovers off.
    FailoverOff,
    /// The user suspends the object.
    Suspended,
    /// The placement tolerates the loss for ever.
    LossTolerated,
    /// `maxReplicas` leaves no headroom.
    MaxReplicasReached,
    /// The candidates have no free capacity.
    RoomMissing,
}

impl Shortage {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NoCandidates,
        Self::TooManyClustersNotReady,
        Self::FailoverOff,
        Self::Suspended,
        Self::LossTolerated,
        Self::MaxReplicasReached,
        Self::RoomMissing,
    ];

    /// In one word, as a reason of a condition.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NoCandidates => "NoCandidates",
            Self::TooManyClustersNotReady => "TooManyClustersNotReady",
            Self::FailoverOff => "FailoverOff",
            Self::Suspended => "Suspended",
            Self::LossTolerated => "LossTolerated",
            Self::MaxReplicasReached => "MaxReplicasReached",
            Self::RoomMissing => "RoomMissing",
        }
    }

    /// What would let `short` replicas run; `pod` is what each requests.
    #[must_use]
    pub fn remedy(self, short: Replicas, pod: &str) -> String {
        match self {
            Self::NoCandidates => "no other cluster is a candidate that answers: allow one in the placement".to_owned(),
            Self::TooManyClustersNotReady => "failover pauses while so many clusters are away".to_owned(),
            Self::FailoverOff => "failovers are switched off: raise --resource-eviction-rate".to_owned(),
            Self::Suspended => "it is suspended: nothing fails over".to_owned(),
            Self::LossTolerated => "its placement tolerates the loss: nothing fails over".to_owned(),
            Self::MaxReplicasReached => format!("maxReplicas leaves no headroom: raise it by {short}"),
            Self::RoomMissing => format!("room for {short} more pods ({pod}) in a candidate"),
        }
    }
}
