//! The status of both kinds, read for its types only: a status that cannot be decoded is rejected, as in Karmada. No
//! I/O.

use super::scalar::StrictQuantity;
use crate::decision::subject::Text;
use crate::decision::subject::federated_hpa::FederatedHPAStatus;
use crate::decision::subject::hpa::{MetricIdentifier, TargetRef};
use crate::decision::subject::metadata::Time;

#[derive(Default)]
struct Condition;
#[derive(Default)]
struct MetricStatus;
#[derive(Default)]
struct NamedStatus;
#[derive(Default)]
struct IdentifiedStatus;
#[derive(Default)]
struct ValueStatus;
#[derive(Default)]
struct Desired;
#[derive(Default)]
struct RecentScaleUp;
#[derive(Default)]
struct ClusterStatus;
#[derive(Default)]
struct Counts;
#[derive(Default)]
pub(super) struct CronStatus;
#[derive(Default)]
struct History;
#[derive(Default)]
struct Execution;

reads! {
    FederatedHPAStatus {
        "currentReplicas" => current_replicas,
        "desiredReplicas" => desired_replicas;
        shape
        "observedGeneration": Option<i64>,
        "lastScaleTime": Option<Time<'de>>,
        "currentMetrics": Vec<MetricStatus>,
        "conditions": Vec<Condition>,
        "clusterHPADesired": Vec<Desired>,
        "assignmentHash": Text<'de>,
        "lastRebalanceTime": Option<Time<'de>>,
        "idleStartTime": Option<Time<'de>>,
        "lastFailoverResumeTime": Option<Time<'de>>,
        "handBackStartTime": Option<Time<'de>>,
        "clusters": Option<Counts>,
        "aggregatedStatus": Vec<ClusterStatus>,
        "aggregatedStatusOmitted": Option<i32>,
    }
    Counts {
        ; shape
        "total": i32,
        "ready": i32,
        "limited": i32,
        "unknown": i32,
        "scaledToZero": i32,
    }
    Condition {
        ; shape
        "type": Text<'de>,
        "status": Text<'de>,
        "observedGeneration": Option<i64>,
        "lastTransitionTime": Time<'de>,
        "reason": Text<'de>,
        "message": Text<'de>,
    }
    MetricStatus {
        ; shape
        "type": Text<'de>,
        "resource": Option<NamedStatus>,
        "containerResource": Option<NamedStatus>,
        "pods": Option<IdentifiedStatus>,
        "object": Option<IdentifiedStatus>,
        "external": Option<IdentifiedStatus>,
    }
    NamedStatus {
        ; shape
        "name": Text<'de>,
        "container": Text<'de>,
        "current": ValueStatus,
    }
    IdentifiedStatus {
        ; shape
        "metric": MetricIdentifier<'de>,
        "current": ValueStatus,
        "describedObject": TargetRef<'de>,
    }
    ValueStatus {
        ; shape
        "value": Option<StrictQuantity>,
        "averageValue": Option<StrictQuantity>,
        "averageUtilization": Option<i32>,
    }
    Desired {
        ; shape
        "clusterName": Text<'de>,
        "minReplicas": Option<i32>,
        "maxReplicas": Option<i32>,
        "reason": Option<Text<'de>>,
        "scaleUpBlockedReason": Option<Text<'de>>,
        "scaleUpBlockedTime": Option<Time<'de>>,
        "lastDonatedTime": Option<Time<'de>>,
        "lastReceivedTime": Option<Time<'de>>,
        "coveredReplicas": Option<i32>,
        "assistReplicas": Option<i32>,
        "assistTime": Option<Time<'de>>,
        "recentScaleUps": Vec<RecentScaleUp>,
        "scaledToZero": Option<bool>,
        "replacementMinReplicas": Option<i32>,
        "replacementTime": Option<Time<'de>>,
        "lostReplicas": Option<i32>,
        "uncoveredReplicas": Option<i32>,
        "lostTime": Option<Time<'de>>,
        "otherReplicas": Option<i32>,
        "evictionTime": Option<Time<'de>>,
        "failures": Option<i32>,
        "lastFailureTime": Option<Time<'de>>,
    }
    RecentScaleUp {
        ; shape
        "replicas": i32,
        "time": Option<Time<'de>>,
    }
    ClusterStatus {
        ; shape
        "clusterName": Text<'de>,
        "status": FederatedHPAStatus,
    }
    CronStatus {
        ; shape
        "observedGeneration": Option<i64>,
        "nextExecutionTime": Option<Time<'de>>,
        "lastExecutionTime": Option<Time<'de>>,
        "suspendedRules": Option<i32>,
        "conditions": Vec<Condition>,
        "executionHistories": Vec<History>,
    }
    History {
        ; shape
        "ruleName": Text<'de>,
        "nextExecutionTime": Option<Time<'de>>,
        "successfulExecutions": Vec<Execution>,
        "failedExecutions": Vec<Execution>,
    }
    Execution {
        ; shape
        "scheduleTime": Option<Time<'de>>,
        "executionTime": Option<Time<'de>>,
        "message": Text<'de>,
        "appliedReplicas": Option<i32>,
        "appliedMinReplicas": Option<i32>,
        "appliedMaxReplicas": Option<i32>,
    }
}
