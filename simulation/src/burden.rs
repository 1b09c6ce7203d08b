//! How the load of a workload is spread over its replicas. Pure.

use super::autoscaler::is_bounded;
use super::member::Member;
use super::{Second, Workload};

/// Distribution of the load over clusters.
#[derive(Clone, Debug)]
pub(super) struct Burden {
    pub(super) load: u64,
    pub(super) unserved: u64,
    /// Load of each ready pod, in thousandths of its target: the same everywhere, or by cluster.
    even: u64,
    own: Option<Vec<u64>>,
}

impl Burden {
    /// The load of a workload that runs in these clusters.
    pub(super) fn of(workload: &Workload<'_>, members: &[Member<'_>], now: Second) -> Self {
        let load = workload.load.at(now);
        let most = workload.saturation;
        let bounded = is_bounded(&workload.metric.0);
        let shown = |load: u64, ready: u64| {
            let share = load.checked_div(ready).unwrap_or(load);
            if bounded { share.min(most) } else { share }
        };
        let unserved = |load: u64, ready: u64| load.saturating_sub(ready.saturating_mul(most));
        let all: u64 = workload.shares.values().sum();
        if all == 0 {
            let ready = members.iter().map(|member| u64::from(member.serving())).sum();
            return Self { load, unserved: unserved(load, ready), even: shown(load, ready), own: None };
        }
        let mut left = 0_u64;
        let own = members.iter().map(|member| {
            let share = workload.shares.get(&*member.site.member.name).copied().unwrap_or_default();
            let part = u128::from(load).saturating_mul(share.into()).checked_div(all.into()).unwrap_or_default();
            let (part, ready) = (u64::try_from(part).unwrap_or(u64::MAX), u64::from(member.serving()));
            left = left.saturating_add(unserved(part, ready));
            shown(part, ready)
        });
        let own = own.collect();
        Self { load, unserved: left, even: 0, own: Some(own) }
    }

    /// Load of each ready pod of a cluster.
    pub(super) fn share(&self, at: usize) -> u64 {
        self.own.as_ref().and_then(|own| own.get(at).copied()).unwrap_or(self.even)
    }
}
