//! Limits of the API: elements of lists, characters of texts, ranges of numbers. The schema and the rules both use
//! them. No I/O, no decisions.

use std::ops::RangeInclusive;

/// Rules of a CronFederatedHPA. Its status at full history still fits into an object.
pub const RULES: usize = 1_000;
/// Characters of the name of a rule.
pub const RULE_NAME: usize = 32;
/// Characters of a cron expression.
pub const SCHEDULE: usize = 256;
/// Characters of the name of a time zone.
pub const TIME_ZONE: usize = 64;
/// Runs that a rule keeps in its history.
pub const HISTORY: i32 = 32;
/// What is remembered of a cluster's latest additions; more are added up.
pub const RECENT_SCALE_UPS: usize = 4;
/// Characters of the API version, the kind and the name of an object, and of the name of a metric.
pub const REFERENCE: usize = 512;
/// Metrics of a FederatedHPA.
pub const METRICS: usize = 100;
/// Member clusters: entries about clusters, and names in a list of them.
pub const CLUSTERS: usize = 5_000;
/// Characters of the name of a cluster.
pub const CLUSTER_NAME: usize = 253;
/// Conditions of a selector, and labels of one.
pub const REQUIREMENTS: usize = 100;
/// Values that one condition of a selector compares with.
pub const VALUES: usize = 1_000;
/// Characters of the provider, the region or a zone of a cluster.
pub const FIELD_VALUE: usize = 253;
/// Characters of the key of a label: a subdomain, a slash, a name.
pub const LABEL_KEY: usize = 317;
/// Characters of the value of a label.
pub const LABEL_VALUE: usize = 63;
/// Weights of clusters.
pub const WEIGHTS: RangeInclusive<i64> = 0..=1_000_000;
/// Priorities of clusters; the range that Kubernetes reserves for users.
pub const PRIORITIES: RangeInclusive<i32> = -1_000_000_000..=1_000_000_000;
/// Thresholds of clusters, in replicas.
pub const THRESHOLDS: RangeInclusive<i32> = 0..=1_000_000;
/// `autoscaleMultiClusterDelay`: up to a day, in seconds.
pub const DELAYS: RangeInclusive<i32> = 0..=86_400;
/// `minCoveredLosses`: of no cluster, or of any one.
pub const COVERED_LOSSES: RangeInclusive<i32> = 0..=1;
/// Smallest `maxDelaySeconds`: a shorter one would make runs late in a busy minute.
pub const LATENESS: i64 = 10;
