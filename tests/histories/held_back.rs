//! What histories do not do yet, and why: each line is a fault that is known. No I/O.

use super::operation::Operation;

/// An operation that is held back, and what it would meet.
pub struct HeldBack {
    pub why: &'static str,
    pub is: fn(&Operation) -> bool,
}

/// All of them.
pub const HELD_BACK: &[HeldBack] = &[
    HeldBack {
        why: "a cluster that leaves loses its pods before they run elsewhere, whatever takes it out",
        is: |operation| match operation {
            Operation::Place { .. } | Operation::Label { .. } | Operation::Taint { .. } => true,
            Operation::Edit { field, .. } => {
                ["federatedHPAAssignment", "clusterAffinity", "clusterHPAPreference"].contains(&&**field)
            }
            _ => false,
        },
    },
    HeldBack {
        why: "what a lost cluster ran is run by nobody, and a blip fails a cluster over",
        is: |operation| matches!(operation, Operation::Fail { .. } | Operation::Nodes { .. }),
    },
    HeldBack {
        why: "a rule runs late over a change of leader, and a Lease that is deleted by hand has two leaders",
        is: |operation| {
            use Operation::{CreateCron, DropLease, EditCron, Hang, Stale, Trouble};
            matches!(
                operation,
                CreateCron { .. } | EditCron { .. } | DropLease | Hang { .. } | Stale { .. } | Trouble { .. }
            )
        },
    },
];

pub fn is_held_back(operation: &Operation) -> bool {
    HELD_BACK.iter().any(|held| (held.is)(operation))
}
