//! Whether members keep the replicas of the kind of a workload (docs/design.md#on-the-wire). No I/O.

use super::live_state::LiveState;
use crate::controller::failure::{Failure, reason};
use crate::decision::backoff::ErrorClass;
use crate::decision::kinds::{self, Unfit};
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;

/// The kind is not enabled in the installation, or members do not keep its replicas.
pub const KIND_NOT_ALLOWED: &str = "KindNotAllowed";
/// The enabled kinds are not known yet.
const KINDS_UNKNOWN: &str = "KindsUnknown";

/// Checks the kind of the target.
///
/// # Errors
/// Why its objects cannot be scaled: for now, while that is not known.
pub fn fits(live: &LiveState, entry: &FederatedHpaEntry) -> Result<(), Failure> {
    let target = &entry.object.spec.scale_target_ref;
    let (api_version, kind) = (&*target.api_version, &*target.kind);
    let retention = live.cache.kinds.retention(api_version, kind);
    let known = retention.is_some();
    kinds::divisible(api_version, kind, retention).map_err(|unfit| {
        let message = format!("{kind} of {api_version}: {unfit}");
        let reason = match unfit {
            Unfit::Fixed { .. } => reason::TARGET_NOT_SCALABLE,
            Unfit::NotAllowed { .. } | Unfit::NotKept { .. } => KIND_NOT_ALLOWED,
        };
        Failure::new(ErrorClass::Refused, reason, message)
    })?;
    if !known {
        let message = "it is not known yet which kinds members keep replicas of: the user of the kubeconfig needs list and \
                       watch on resourceinterpretercustomizations";
        return Err(Failure::new(ErrorClass::Transient, KINDS_UNKNOWN, message.to_owned()));
    }
    Ok(())
}

/// Why members do not keep the replicas of a workload, as far as known.
pub(super) fn unfit(live: &LiveState, entry: &FederatedHpaEntry) -> Option<Failure> {
    fits(live, entry).err().filter(|failure| failure.class != ErrorClass::Transient)
}
