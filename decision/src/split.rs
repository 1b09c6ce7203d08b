//! A number split by weight (docs/design.md#splitting-a-number-by-weight). Pure.
//!
//! `share = floor(total * weight / sum of weights)`; the remainder goes one each to the shares that were rounded down,
//! heaviest first; where weights are measured again, to parts that have it before the others. A share outside its bounds
//! takes the bound, and the others share the rest.

use std::cmp::{Ordering, Reverse};

/// A number of replicas.
pub type Replicas = u32;

/// A participant of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Breaks ties last.
    pub name: &'a str,
    /// Breaks ties first: more is before fewer.
    pub current: Replicas,
    /// Its weight; with 0 it gets nothing above `low`.
    pub weight: u64,
    /// What it has, where that counts: a part that has more than its share rounded down is the first that is rounded up.
    pub kept: Replicas,
    /// Its lower limit.
    pub low: Replicas,
    /// Its upper limit; not below `low`.
    pub high: Replicas,
}

impl Part<'_> {
    /// Its share where `rest` belongs to parts of the weight `weights`, rounded down, and whether it was rounded.
    fn share(&self, rest: u64, weights: u128) -> (Replicas, bool) {
        // Nearly always these fit into 64 bits, whose division takes a fraction of the time.
        if let (Some(product), Ok(weights)) = (rest.checked_mul(self.weight), u64::try_from(weights)) {
            let floor = product.checked_div(weights).unwrap_or_default();
            let cut = product.checked_rem(weights).unwrap_or_default() != 0;
            return (floor.try_into().unwrap_or(Replicas::MAX), cut);
        }
        let product = u128::from(rest).saturating_mul(self.weight.into());
        let floor = product.checked_div(weights).unwrap_or_default();
        (floor.try_into().unwrap_or(Replicas::MAX), product.checked_rem(weights).unwrap_or_default() != 0)
    }

    fn within(&self, share: Replicas, cut: bool) -> bool {
        share >= self.low && (share < self.high || share == self.high && !cut)
    }
}

/// Splits `total` by weight, each share within its bounds; in the order of `parts`.
///
/// The shares sum to `total`, but to less where every part with a weight is at its `high`, and to the sum of `low`
/// where no part has a weight. Where the sum of `low` is above `total`, `total` is split by `low`, so that no part gets
/// more than its `low`. Without binding bounds every share is the floor or the ceiling of its quota. The quotas are
/// exact until the final rounding: with bounds, the parts that are not at a bound share the rest as if the others did
/// not exist (splitting only the excess again would round twice).
#[must_use]
pub fn by_weight(total: Replicas, parts: &[Part<'_>]) -> Vec<Replicas> {
    let lows: u64 = parts.iter().map(|part| u64::from(part.low)).sum();
    if lows >= total.into() {
        let by_low = |part: &Part<'_>| (u64::from(part.low), 0, part.low);
        return bounded(total, parts, by_low);
    }
    bounded(total, parts, |part| (part.weight, part.low, part.high.max(part.low)))
}

fn bounded(
    total: Replicas,
    parts: &[Part<'_>],
    measure: impl Fn(&Part<'_>) -> (u64, Replicas, Replicas),
) -> Vec<Replicas> {
    let parts: Vec<Part<'_>> = parts
        .iter()
        .map(|part| {
            let (weight, low, high) = measure(part);
            Part { weight, low, high, ..*part }
        })
        .collect();
    let most = |part: &Part<'_>| if part.weight > 0 { part.high } else { part.low };
    if parts.iter().map(|part| u64::from(most(part))).sum::<u64>() <= total.into() {
        return parts.iter().map(most).collect();
    }
    let mut rest = u64::from(total);
    let mut weights: u128 = parts.iter().map(|part| u128::from(part.weight)).sum();
    let unbound = parts.iter().all(|part| {
        let (share, cut) = part.share(rest, weights);
        part.within(share, cut)
    });
    let mut fixed = vec![None; parts.len()];
    if !unbound {
        (rest, weights) = fix(total, &parts, &mut fixed);
    }
    rounded(rest, weights, &parts, &fixed)
}

/// A level at which a part leaves its `low` or reaches its `high`: `bound / weight`.
struct Edge {
    part: usize,
    bound: Replicas,
    weight: u64,
    high: bool,
}

impl Edge {
    /// By level, then leaving `low` before reaching `high`.
    fn order(&self, other: &Self) -> Ordering {
        let left = u128::from(self.bound).saturating_mul(other.weight.into());
        let right = u128::from(other.bound).saturating_mul(self.weight.into());
        left.cmp(&right).then(self.high.cmp(&other.high)).then(self.part.cmp(&other.part))
    }

    /// Whether the shares sum to more than `rest` where the parts of the weight `weights` are at this level.
    fn is_above(&self, rest: u64, weights: u128) -> bool {
        // No overflow below 2^32 parts: the weights sum to less than 2^96 and a bound is below 2^32.
        weights.saturating_mul(self.bound.into()) > u128::from(rest).saturating_mul(self.weight.into())
    }
}

/// Fixes the parts that end at a bound; returns the rest for the others, and their weight.
///
/// The level rises from 0: a part is at `low` until `level * weight` exceeds it and at `high` from there on.
fn fix(total: Replicas, parts: &[Part<'_>], fixed: &mut [Option<Replicas>]) -> (u64, u128) {
    let mut rest = u64::from(total);
    let mut weights = 0_u128;
    let mut edges = Vec::with_capacity(parts.len().saturating_mul(2));
    for ((at, part), fixed) in parts.iter().enumerate().zip(fixed.iter_mut()) {
        *fixed = Some(part.low);
        rest = rest.saturating_sub(part.low.into());
        if part.weight == 0 {
            continue;
        }
        let edge = |bound, high| Edge { part: at, bound, weight: part.weight, high };
        edges.push(edge(part.high, true));
        if part.low > 0 {
            edges.push(edge(part.low, false));
        } else {
            // It leaves its low at the level 0, from which the search starts.
            *fixed = None;
            weights = weights.saturating_add(part.weight.into());
        }
    }
    edges.sort_unstable_by(Edge::order);
    for edge in edges {
        if edge.is_above(rest, weights) {
            break;
        }
        let Some(fixed) = fixed.get_mut(edge.part) else { continue };
        if edge.high {
            *fixed = Some(edge.bound);
            rest = rest.saturating_sub(edge.bound.into());
            weights = weights.saturating_sub(edge.weight.into());
        } else {
            *fixed = None;
            rest = rest.saturating_add(edge.bound.into());
            weights = weights.saturating_add(edge.weight.into());
        }
    }
    (rest, weights)
}

fn rounded(rest: u64, weights: u128, parts: &[Part<'_>], fixed: &[Option<Replicas>]) -> Vec<Replicas> {
    let mut left = rest;
    let mut cut = Vec::new();
    let mut shares: Vec<Replicas> = Vec::with_capacity(parts.len());
    for (at, (part, fixed)) in parts.iter().zip(fixed).enumerate() {
        let share = fixed.unwrap_or_else(|| {
            let (share, was_cut) = part.share(rest, weights);
            left = left.saturating_sub(share.into());
            if was_cut {
                cut.push((share >= part.kept, Reverse(part.weight), Reverse(part.current), part.name, at));
            }
            share
        });
        shares.push(share);
    }
    let count = usize::try_from(left).unwrap_or(usize::MAX);
    if count < cut.len() {
        cut.select_nth_unstable(count);
    }
    for (.., at) in cut.into_iter().take(count) {
        if let Some(share) = shares.get_mut(at) {
            *share = share.saturating_add(1);
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::{Part, Replicas, by_weight};

    fn part(weight: u64) -> Part<'static> {
        Part { name: "", current: 0, weight, kept: 0, low: 0, high: Replicas::MAX }
    }

    fn split(total: Replicas, weights: &[u64]) -> Vec<Replicas> {
        by_weight(total, &weights.iter().map(|weight| part(*weight)).collect::<Vec<_>>())
    }

    #[test]
    fn the_printed_examples_hold() {
        assert_eq!(split(10, &[1, 2, 3]), [1, 4, 5]);
        assert_eq!(split(2, &[1, 2, 3]), [0, 1, 1]);
        assert_eq!(split(8, &[1, 5, 2]), [1, 5, 2]);
        assert_eq!(split(24, &[1, 5, 2]), [3, 15, 6]);
        assert_eq!(split(4, &[2, 1, 1]), [2, 1, 1]);
    }

    #[test]
    fn only_shares_that_were_cut_get_what_is_left() {
        assert_eq!(split(6, &[3, 2, 1]), [3, 2, 1]);
        assert_eq!(split(9, &[6, 1, 1, 1]), [6, 1, 1, 1]);
        // 4.5 + 2.25 + 2.25
        assert_eq!(split(9, &[2, 1, 1]), [5, 2, 2]);
        // 6 is exact; 1.5 + 1.5 are cut.
        assert_eq!(split(9, &[4, 1, 1]), [6, 2, 1]);
    }

    #[test]
    fn ties_go_to_more_replicas_then_to_the_first_name() {
        let tied = |name, current| Part { name, current, ..part(1) };
        assert_eq!(by_weight(1, &[tied("b", 0), tied("a", 0)]), [0, 1]);
        assert_eq!(by_weight(1, &[tied("b", 1), tied("a", 0)]), [1, 0]);
    }

    #[test]
    fn parts_that_differ_by_less_than_one_from_their_quota_keep_what_they_have() {
        let kept = |weight, kept| Part { kept, ..part(weight) };
        // 1 + 1 + 1.025 + 0.975
        assert_eq!(split(4, &[40, 40, 41, 39]), [1, 1, 2, 0]);
        assert_eq!(by_weight(4, &[kept(40, 1), kept(40, 1), kept(41, 1), kept(39, 1)]), [1, 1, 1, 1]);
        assert_eq!(by_weight(4, &[kept(40, 1), kept(40, 1), kept(39, 2), kept(41, 0)]), [1, 1, 1, 1]);
        assert_eq!(by_weight(4, &[kept(40, 0), kept(40, 2), kept(40, 2), kept(40, 0)]), [1, 1, 1, 1]);
        // 1.52 + 1.48
        assert_eq!(by_weight(3, &[kept(41, 1), kept(40, 2)]), [1, 2]);
    }

    #[test]
    fn caps_give_the_excess_to_the_rest() {
        let capped = |weight, high| Part { high, ..part(weight) };
        assert_eq!(by_weight(24, &[capped(1, 5), part(1)]), [5, 19]);
        assert_eq!(by_weight(10, &[part(1), part(1), capped(1, 2)]), [4, 4, 2]);
        assert_eq!(by_weight(10, &[capped(5, 1), capped(5, 2)]), [1, 2]);
        // The second exceeds its cap only once the first released its excess.
        assert_eq!(by_weight(12, &[capped(2, 2), capped(1, 3), part(1)]), [2, 3, 7]);
    }

    #[test]
    fn floors_are_held_and_taken_from_the_rest() {
        let held = |weight, low| Part { low, ..part(weight) };
        assert_eq!(by_weight(10, &[held(1, 4), part(3), part(3)]), [4, 3, 3]);
        assert_eq!(by_weight(10, &[held(0, 4), part(1)]), [4, 6]);
        assert_eq!(by_weight(3, &[held(1, 4), held(1, 2)]), [2, 1]);
        assert_eq!(by_weight(9, &[held(0, 4), part(0)]), [4, 0]);
    }

    #[test]
    fn great_numbers_do_not_overflow() {
        assert_eq!(split(Replicas::MAX, &[u64::MAX, u64::MAX]), [Replicas::MAX / 2 + 1, Replicas::MAX / 2]);
        let one = Part { low: Replicas::MAX, ..part(u64::MAX) };
        assert_eq!(by_weight(Replicas::MAX, &[one, one]).iter().sum::<Replicas>(), Replicas::MAX);
    }

    #[test]
    fn nothing_is_split_over_nobody() {
        assert!(split(5, &[]).is_empty());
        assert_eq!(split(5, &[0, 0]), [0, 0]);
    }
}
