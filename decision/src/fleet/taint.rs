//! Taints of clusters and the tolerations of a placement. Pure.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use crate::json::null_as_default;
use crate::subject::Text;

/// Key of the taint of a cluster whose condition `Ready` is False.
pub const NOT_READY: &str = "cluster.karmada.io/not-ready";
/// Key of the taint of a cluster whose condition `Ready` is Unknown.
pub const UNREACHABLE: &str = "cluster.karmada.io/unreachable";
/// Effect: no new replicas.
pub const NO_SCHEDULE: &str = "NoSchedule";
/// Effect: no replicas.
pub const NO_EXECUTE: &str = "NoExecute";

/// One of `spec.taints` of a cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taint<'a> {
    /// `key`
    pub key: Text<'a>,
    /// `value`
    pub value: Text<'a>,
    /// `effect`
    pub effect: Text<'a>,
    /// `timeAdded`
    pub added: Option<Timestamp>,
}

/// One of `clusterTolerations` of a placement.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Toleration<'a> {
    /// `key`; empty with `Exists`: every key.
    #[serde(deserialize_with = "null_as_default")]
    pub key: Text<'a>,
    /// `operator`: `Exists` or `Equal`, the default.
    #[serde(deserialize_with = "null_as_default")]
    pub operator: Text<'a>,
    /// `value`
    #[serde(deserialize_with = "null_as_default")]
    pub value: Text<'a>,
    /// `effect`; empty: every effect.
    #[serde(deserialize_with = "null_as_default")]
    pub effect: Text<'a>,
    /// `tolerationSeconds`; absent: without limit.
    #[serde(rename = "tolerationSeconds")]
    pub seconds: Option<i64>,
}

impl Toleration<'_> {
    /// Whether it matches this taint.
    #[must_use]
    pub fn tolerates(&self, taint: &Taint<'_>) -> bool {
        let exists = self.operator == "Exists";
        (self.effect.is_empty() || self.effect == taint.effect)
            && (if self.key.is_empty() { exists } else { self.key == taint.key })
            && (exists || matches!(&*self.operator, "" | "Equal") && self.value == taint.value)
    }
}

/// How long a taint is tolerated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerated {
    /// Up to this moment.
    Until(Timestamp),
    /// Always.
    Forever,
}

/// How long the taint is tolerated; the first matching toleration decides, as in Karmada. A taint without a start time
/// begins `now`; without a matching toleration the result is the beginning of time.
#[must_use]
pub fn tolerated(taint: &Taint<'_>, tolerations: &[Toleration<'_>], now: Timestamp) -> Tolerated {
    let Some(toleration) = tolerations.iter().find(|toleration| toleration.tolerates(taint)) else {
        return Tolerated::Until(Timestamp::MIN);
    };
    match toleration.seconds {
        None => Tolerated::Forever,
        Some(seconds) => {
            let begun = taint.added.unwrap_or(now);
            let end = begun.checked_add(SignedDuration::from_secs(seconds.max(0)));
            end.map_or(Tolerated::Forever, Tolerated::Until)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(key: &'static str, operator: &'static str, effect: &'static str) -> Toleration<'static> {
        Toleration { key: key.into(), operator: operator.into(), effect: effect.into(), ..<_>::default() }
    }

    #[test]
    fn a_taint_is_tolerated_by_key_value_and_effect() {
        let taint = Taint { key: "k".into(), value: "v".into(), effect: NO_EXECUTE.into(), added: None };
        let equal = Toleration { value: "v".into(), ..toleration("k", "", "") };
        for (toleration, tolerates) in [
            (toleration("", "Exists", ""), true),
            (toleration("k", "Exists", NO_EXECUTE), true),
            (toleration("k", "Exists", NO_SCHEDULE), false),
            (toleration("other", "Exists", ""), false),
            (toleration("", "", ""), false),
            (equal.clone(), true),
            (Toleration { operator: "Equal".into(), ..equal.clone() }, true),
            (Toleration { value: "w".into(), ..equal }, false),
        ] {
            assert_eq!(toleration.tolerates(&taint), tolerates, "{toleration:?}");
        }
    }

    #[test]
    fn a_toleration_may_end() {
        let now = Timestamp::UNIX_EPOCH;
        let added = Some(Timestamp::constant(10, 0));
        let taint = Taint { key: "k".into(), effect: NO_EXECUTE.into(), added, ..<_>::default() };
        let for_seconds = |seconds| [Toleration { seconds, ..toleration("k", "Exists", "") }];
        assert_eq!(tolerated(&taint, &for_seconds(None), now), Tolerated::Forever);
        let end = Tolerated::Until(Timestamp::constant(310, 0));
        assert_eq!(tolerated(&taint, &for_seconds(Some(300)), now), end);
        assert_eq!(tolerated(&taint, &for_seconds(Some(i64::MAX)), now), Tolerated::Forever);
        assert_eq!(tolerated(&taint, &[], now), Tolerated::Until(Timestamp::MIN));
    }
}
