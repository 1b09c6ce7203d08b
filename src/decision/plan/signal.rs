//! Which clusters cannot scale, and since when (docs/design.md#clusters-that-cannot-scale). Pure.

use jiff::Timestamp;

use super::adjust::Participant;
use super::{Cause, Cluster, Request, Stuck};

/// Updates what is remembered of each. Returns when the next of them counts as stuck.
///
/// One that does not answer stays what it was. What others were asked to do for it is forgotten when it needs no more, not
/// when the sign is gone for a moment: giving up headroom alone takes pending pods away.
pub(super) fn look(request: &Request<'_>, places: &mut [Participant<'_, '_>]) -> Option<Timestamp> {
    for place in places.iter_mut().filter(|place| place.answers()) {
        let memory = &mut place.target.memory;
        let since = memory.stuck.map_or(request.now, |stuck| stuck.since);
        memory.stuck = cause(place.seat.cluster).map(|cause| Stuck { cause, since });
        if memory.stuck.is_none() && !place.seat.cluster.load.is_some_and(super::Load::is_above) {
            memory.helped = 0;
        }
    }
    let ends = places.iter().filter_map(|place| place.target.memory.stuck?.since.checked_add(request.delay).ok());
    ends.filter(|end| *end > request.now).min()
}

/// Whether it has been unable to scale for long enough that others help.
pub(super) fn counts(request: &Request<'_>, place: &Participant<'_, '_>) -> bool {
    let Some(stuck) = place.target.memory.stuck.filter(|_| place.answers()) else { return false };
    stuck.since.checked_add(request.delay).is_ok_and(|end| end <= request.now)
}

fn cause(cluster: &Cluster<'_>) -> Option<Cause> {
    if cluster.pending > 0 {
        return Some(Cause::Pending);
    }
    let max = cluster.hpa.filter(|hpa| hpa.confirmed)?.written?.max;
    let full = cluster.current == Some(max) && cluster.desired == Some(max);
    (full && cluster.load?.is_above()).then_some(Cause::AtMax)
}
