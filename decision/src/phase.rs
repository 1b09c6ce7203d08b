//! The phase of a FederatedHPA: what a reconcile does for it, by facts about it (docs/architecture.md#phases). Pure.

use super::defaults::Mode;

/// What a reconcile does for a FederatedHPA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectPhase {
    /// Fields of it are lost, or have no copy yet: they are restored or copied, or its user must set them.
    Incomplete,
    /// The user suspends it before its workload is taken over or handed back: only its status is written.
    Suspended,
    /// Clusters that leave are replaced before the workload is handed back.
    Replacing,
    /// The workload is handed back to Karmada.
    HandingBack,
    /// It holds no workload and is to have none: it is forgotten.
    Released,
    /// Another FederatedHPA goes first on the workload.
    Yielding,
    /// The workload is scaled as a whole.
    Centralized,
    /// The workload is taken over, if it can be.
    TakingOver,
    /// It holds the workload, and no ResourceBinding says how to divide it.
    Waiting,
    /// Bounds are divided over member clusters.
    Divided,
}

impl ObjectPhase {
    /// Whether a plan is made: clusters may be asked for replicas.
    #[must_use]
    pub const fn plans(self) -> bool {
        matches!(self, Self::Replacing | Self::Divided)
    }

    /// Whether the progress of handing back the workload still matters.
    #[must_use]
    pub const fn hands_back(self) -> bool {
        matches!(self, Self::Incomplete | Self::Replacing | Self::HandingBack | Self::Released)
    }
}

/// Facts about a FederatedHPA.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct ObjectFacts {
    /// Whether all its fields are there and have copies.
    pub whole: bool,
    /// How its workload is to be scaled; `None`: not at all, as the object is being deleted or the installation goes.
    pub mode: Option<Mode>,
    /// `spec.suspend`, where the workload is to be scaled.
    pub suspended: bool,
    /// Whether it has the finalizer: it holds a workload.
    pub held: bool,
    /// Whether that is another workload than the one in its spec.
    pub retargeted: bool,
    /// Whether its status has an assignment.
    pub assigned: bool,
    /// Whether the hand-back of its workload has begun.
    pub begun: bool,
    /// Whether clusters that leave are still to be replaced before a change to Centralized.
    pub replaces: bool,
    /// Whether another FederatedHPA goes first on its workload.
    pub yields: bool,
    /// Whether its workload has a ResourceBinding by which it can be divided.
    pub divisible: bool,
}

impl ObjectFacts {
    /// Whether a suspended object needs no other write than its status: it has taken nothing over that it would now hand
    /// back, or has an assignment that stays.
    const fn stays(&self, mode: Mode) -> bool {
        match mode {
            Mode::Centralized => !self.held,
            Mode::Distributed => self.held && !self.retargeted && self.assigned && !self.begun,
        }
    }
}

/// The phase of a FederatedHPA. A hand-back that has begun ends, also when the user suspends the object meanwhile: its
/// members have lost their HPAs, so that nothing would scale them. Deletion and uninstall end a suspended one, too.
#[must_use]
pub const fn phase(facts: &ObjectFacts) -> ObjectPhase {
    if !facts.whole {
        return ObjectPhase::Incomplete;
    }
    let Some(mode) = facts.mode else {
        return if facts.held { ObjectPhase::HandingBack } else { ObjectPhase::Released };
    };
    if facts.suspended && !facts.stays(mode) {
        return if facts.held && facts.begun { ObjectPhase::HandingBack } else { ObjectPhase::Suspended };
    }
    match mode {
        // A new workload is taken over as by a new object, after the previous one is handed back.
        _ if facts.held && facts.retargeted => ObjectPhase::HandingBack,
        Mode::Centralized if facts.held && facts.replaces => ObjectPhase::Replacing,
        Mode::Centralized if facts.held => ObjectPhase::HandingBack,
        _ if facts.yields => ObjectPhase::Yielding,
        Mode::Centralized => ObjectPhase::Centralized,
        Mode::Distributed if !facts.held => ObjectPhase::TakingOver,
        Mode::Distributed if facts.divisible => ObjectPhase::Divided,
        Mode::Distributed => ObjectPhase::Waiting,
    }
}

#[cfg(test)]
mod tests;
