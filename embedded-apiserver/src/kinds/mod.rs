//! Specifics of kinds: defaults, checks and conversions.

pub mod conversion;
pub mod defaults;
pub mod strategy;
pub mod validation;

/// Whether a server of this version of Kubernetes serves `autoscaling/v2`.
#[must_use]
pub fn serves_autoscaling_v2(kubernetes: &str) -> bool {
    release(kubernetes).is_none_or(|release| release >= (1, 23))
}

/// Major and minor of a version such as `v1.31.2`.
fn release(kubernetes: &str) -> Option<(u32, u32)> {
    let mut parts = kubernetes.trim_start_matches('v').split('.');
    let mut number = || parts.next()?.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok();
    Some((number()?, number()?))
}
