//! Arguments of a process with a controller: its Lease, what its leader keeps, how it works.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use jiff::SignedDuration;

use super::{duration, not_empty};
use crate::admission::registration::base_url;
use crate::decision::drill::COVERED_LOSSES;
use crate::decision::fleet::tolerance::FailureTolerance;
use crate::decision::hpa::pod::Startup;
use crate::decision::lease::Timings;
use crate::decision::validation::names;
use crate::reconcile::federated_hpa::centralized::{self, MetricsSource};
use crate::reconcile::federated_hpa::observe::failover;
use crate::run::estimators::EstimatorArgs;
use crate::run::process::{ControllerOptions, GuardOptions, Registration};
use crate::runtime::identity;

/// Which Lease.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Controller")]
pub struct LeaseArgs {
    /// Name of the Lease in karmada-apiserver; its holder is the active replica.
    #[arg(long, default_value = "fhpa", value_name = "NAME", value_parser = names::object)]
    pub lease_name: String,
    /// Namespace of the Lease.
    #[arg(long, default_value = "karmada-system", value_name = "NAMESPACE", value_parser = names::namespace)]
    pub lease_namespace: String,
}

/// Arguments of a process with a controller.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Controller")]
pub(in crate::run) struct ControllerArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// How long other processes wait before they take a Lease that is not renewed.
    #[arg(long, default_value = "15s", value_name = "DURATION", value_parser = duration::within_an_hour)]
    lease_duration: Duration,
    /// How long a leader that cannot renew keeps acting.
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = duration::within_an_hour)]
    renew_deadline: Duration,
    /// Pause between two attempts to acquire or renew the Lease.
    #[arg(long, default_value = "2s", value_name = "DURATION", value_parser = duration::within_an_hour)]
    retry_period: Duration,
    /// Name of this process in the Lease; no two processes may have the same. Default: the hostname, which is the
    /// name of the pod, with a random suffix.
    #[arg(long, value_name = "NAME", value_parser = not_empty)]
    identity: Option<String>,
    /// Maximum number of objects that are reconciled at the same time.
    #[arg(long, default_value_t = 64, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1024))]
    max_concurrent_reconciles: u16,
    /// How often headroom is rebalanced across clusters by their free capacity; 0 switches it off.
    #[arg(long, default_value = "1m", value_name = "DURATION", value_parser = duration::within_an_hour)]
    rebalance_period: Duration,
    /// FederatedHPAs with metrics of their own, such as fhpa_federated_hpa_spec_max_replicas; 0 switches them off.
    #[arg(long, default_value_t = 0, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(..=100_000))]
    object_metrics: u32,
    /// Freeze FederatedHPAs and CronFederatedHPAs for this reason: while this process leads, nothing is decided or written
    /// for them. `kubectl annotate lease` does the same without a restart.
    #[arg(long, value_name = "REASON", value_parser = not_empty)]
    freeze: Option<String>,
    #[command(flatten)]
    failover: FailoverArgs,
    #[command(flatten)]
    centralized: CentralizedArgs,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    estimators: EstimatorArgs,
}

/// How long clusters that fail or leave are waited for.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Failover")]
pub(in crate::run) struct FailoverArgs {
    #[command(flatten)]
    tolerance: ToleranceArgs,
    /// Failovers in a second, over all objects; 0 switches them off.
    #[arg(long, default_value_t = 0.5, value_name = "RATE", value_parser = rate)]
    resource_eviction_rate: f64,
    /// How long a cluster that leaves is kept while other clusters do not run its replicas; 0 keeps it forever.
    #[arg(long, default_value = "10m", value_name = "DURATION", value_parser = duration::within_a_day)]
    replacement_timeout: Duration,
    /// `spec.minCoveredLosses` of FederatedHPAs that name none: with 1 the condition FailoverCovered says whether others
    /// would run the replicas of any one cluster that is lost.
    #[arg(long, default_value_t = 0, value_name = "COUNT", value_parser = covered_losses())]
    min_covered_losses: i32,
}

fn covered_losses() -> clap::builder::RangedI64ValueParser<i32> {
    let (fewest, most) = COVERED_LOSSES.into_inner();
    clap::value_parser!(i32).range(i64::from(fewest)..=i64::from(most))
}

/// When clusters fail: arguments of each command that decides about it.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Failover")]
pub struct ToleranceArgs {
    /// Seconds for which a cluster that is not ready keeps what it has, where the placement names no toleration for
    /// that.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=86_400))]
    default_not_ready_toleration_seconds: u32,
    /// Seconds for which a cluster that is unreachable keeps what it has, where the placement names no toleration for
    /// that.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=86_400))]
    default_unreachable_toleration_seconds: u32,
    /// While more than this part of the clusters (of two: both) is not ready, none of them fails over.
    #[arg(long, default_value_t = 0.5, value_name = "PART", value_parser = part)]
    unhealthy_cluster_threshold: f64,
}

impl ToleranceArgs {
    /// The settings of these arguments.
    #[must_use]
    pub fn settings(self) -> FailureTolerance {
        let seconds = |seconds: u32| SignedDuration::from_secs(seconds.into());
        FailureTolerance {
            not_ready: seconds(self.default_not_ready_toleration_seconds),
            unreachable: seconds(self.default_unreachable_toleration_seconds),
            threshold: self.unhealthy_cluster_threshold,
        }
    }
}

impl FailoverArgs {
    fn settings(self) -> failover::Settings {
        let tolerance = self.tolerance.settings();
        let replacement = SignedDuration::try_from(self.replacement_timeout).ok().filter(SignedDuration::is_positive);
        let Self { resource_eviction_rate: rate, min_covered_losses, .. } = self;
        failover::Settings { tolerance, replacement, rate, min_covered_losses }
    }
}

/// How Centralized workloads are scaled; names and defaults are those of kube-controller-manager.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Centralized mode")]
pub struct CentralizedArgs {
    /// How often the replicas of a Centralized workload are computed.
    #[arg(long, default_value = "15s", value_name = "DURATION", value_parser = duration::positive_within_a_day)]
    horizontal_pod_autoscaler_sync_period: Duration,
    /// How long the highest recommendation holds, where the behavior of an object names no window for scaling down.
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = duration::within_an_hour)]
    horizontal_pod_autoscaler_downscale_stabilization: Duration,
    /// Relative distance from the target that causes no scaling, where the behavior of an object names none.
    #[arg(long, default_value_t = 0.1, value_name = "PART", value_parser = part)]
    horizontal_pod_autoscaler_tolerance: f64,
    /// How long after the start of a pod its CPU samples may be skipped.
    #[arg(long, default_value = "5m", value_name = "DURATION", value_parser = duration::within_an_hour)]
    horizontal_pod_autoscaler_cpu_initialization_period: Duration,
    /// How long after the start of a pod a change of its readiness counts as its first.
    #[arg(long, default_value = "30s", value_name = "DURATION", value_parser = duration::within_an_hour)]
    horizontal_pod_autoscaler_initial_readiness_delay: Duration,
    /// External metrics that are read from the member clusters and summed; the others are read from karmada-apiserver.
    /// Several are separated by commas.
    #[arg(long, value_name = "METRIC", value_delimiter = ',', value_parser = not_empty)]
    external_metrics_sum: Vec<String>,
    /// Where metrics of pods and objects are read: from the metrics APIs of the members, or from karmada-apiserver,
    /// where karmada-metrics-adapter answers for all members and does not say which of them failed.
    #[arg(long, value_name = "WHERE", value_enum, default_value_t = Metrics::Members)]
    metrics_source: Metrics,
}

/// Values of `--metrics-source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Metrics {
    /// The members.
    Members,
    /// karmada-apiserver.
    Adapter,
}

impl CentralizedArgs {
    /// The settings of these arguments.
    #[must_use]
    pub fn settings(self) -> centralized::Settings {
        let signed = |duration: Duration| SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX);
        centralized::Settings {
            period: self.horizontal_pod_autoscaler_sync_period,
            downscale_window: signed(self.horizontal_pod_autoscaler_downscale_stabilization),
            tolerance: self.horizontal_pod_autoscaler_tolerance,
            startup: Startup {
                cpu_initialization: signed(self.horizontal_pod_autoscaler_cpu_initialization_period),
                initial_readiness: signed(self.horizontal_pod_autoscaler_initial_readiness_delay),
            },
            external_sum: self.external_metrics_sum,
            metrics_source: match self.metrics_source {
                Metrics::Members => MetricsSource::Members,
                Metrics::Adapter => MetricsSource::Adapter,
            },
        }
    }
}

fn part(text: &str) -> Result<f64, String> {
    let part: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (0.0..=1.0).contains(&part) { Ok(part) } else { Err("not between 0 and 1".to_owned()) }
}

fn rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (0.0..=1000.0).contains(&rate) { Ok(rate) } else { Err("not between 0 and 1000".to_owned()) }
}

/// Objects of the installation that the leader keeps in sync.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Installation")]
struct GuardArgs {
    /// Whether the leader corrects what a Karmada upgrade restores: its definitions of both kinds, and its own
    /// webhooks for them. Otherwise it only reports.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    manage_karmada: bool,
    /// Whether the webhook that the leader keeps registered keeps the fields of fhpa in the definitions of both kinds
    /// when others are applied over them; the same as for `fhpa install`.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    guard_definitions: bool,
    /// Where karmada-apiserver reaches the webhook: https://NAME:PORT/. The leader then keeps the webhook registered, with the
    /// CA of --webhook-ca-file or that of --cert-secret.
    #[arg(long, value_name = "URL", value_parser = base_url)]
    webhook_url: Option<String>,
    /// PEM file with the CA of the webhook's certificate; new content is registered without a restart.
    #[arg(long, value_name = "FILE", requires = "webhook_url")]
    webhook_ca_file: Option<PathBuf>,
}

impl GuardArgs {
    fn options(self) -> GuardOptions {
        let Self { manage_karmada, guard_definitions, webhook_url, webhook_ca_file } = self;
        let registration = webhook_url.map(|base_url| Registration { base_url, ca_file: webhook_ca_file });
        GuardOptions { manage_karmada, guard_definitions, registration }
    }
}

impl ControllerArgs {
    pub(in crate::run) fn options(self) -> Result<ControllerOptions, String> {
        let Self {
            lease: LeaseArgs { lease_name, lease_namespace },
            lease_duration: lease,
            renew_deadline,
            retry_period: retry,
            identity,
            max_concurrent_reconciles,
            rebalance_period,
            object_metrics,
            freeze,
            failover,
            centralized,
            guard,
            estimators,
        } = self;
        let timings = Timings { lease, renew_deadline, retry }.check().map_err(|problem| {
            let [lease, renew_deadline, retry] = [lease, renew_deadline, retry].map(|time| time.as_secs_f64());
            format!(
                "{problem}: --lease-duration is {lease}s, --renew-deadline {renew_deadline}s, --retry-period {retry}s"
            )
        })?;
        Ok(ControllerOptions {
            namespace: lease_namespace,
            lease: lease_name,
            identity: identity.unwrap_or_else(identity::unique),
            timings,
            concurrency: usize::from(max_concurrent_reconciles),
            rebalance_period: Some(rebalance_period).filter(|period| !period.is_zero()),
            object_metrics: usize::try_from(object_metrics).unwrap_or(usize::MAX),
            failover: failover.settings(),
            centralized: centralized.settings(),
            estimators: estimators.settings(true),
            guard: Some(guard.options()),
            freeze,
        })
    }
}
