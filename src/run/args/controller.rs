//! Arguments of a process with a controller: its Lease, what its leader keeps, how it works.

use std::path::PathBuf;
use std::time::Duration;

use clap::ArgAction;
use jiff::SignedDuration;

use super::{not_empty, seconds};
use crate::admission::registration::base_url;
use crate::decision::fleet::patience::Patience;
use crate::decision::lease::Timings;
use crate::reconcile::distributed::failover;
use crate::run::estimators::EstimatorArgs;
use crate::run::process::{ControllerOptions, GuardOptions, Registration};
use crate::runtime::identity;

/// Which Lease.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Controller")]
pub struct LeaseArgs {
    /// Name of the Lease in karmada-apiserver; who holds it acts, all others stand by.
    #[arg(long, default_value = "fhpa", value_name = "NAME", value_parser = not_empty)]
    pub lease_name: String,
    /// Namespace of the Lease.
    #[arg(long, default_value = "karmada-system", value_name = "NAMESPACE", value_parser = not_empty)]
    pub lease_namespace: String,
}

/// Of a process with a controller.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Controller")]
pub(in crate::run) struct ControllerArgs {
    #[command(flatten)]
    lease: LeaseArgs,
    /// Seconds after which a Lease that is not renewed may be taken over.
    #[arg(long, default_value = "15", value_name = "SECONDS", value_parser = seconds)]
    lease_duration: Duration,
    /// Seconds after which a leader that could not renew stops acting.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    renew_deadline: Duration,
    /// Seconds between two tries to get or to renew the Lease.
    #[arg(long, default_value = "2", value_name = "SECONDS", value_parser = seconds)]
    retry_period: Duration,
    /// Name of this process in the Lease; no two processes may have the same. Default: the host's name, which is the pod's,
    /// and something random.
    #[arg(long, value_name = "NAME", value_parser = not_empty)]
    identity: Option<String>,
    /// Objects that are worked on at a time.
    #[arg(long, default_value_t = 64, value_name = "TURNS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// Seconds between two divisions of the headroom of clusters by the room they have; `none` for no such division.
    #[arg(long, default_value = "60", value_name = "SECONDS|none", value_parser = period)]
    optimize_period: Period,
    #[command(flatten)]
    failover: FailoverArgs,
    #[command(flatten)]
    guard: GuardArgs,
    #[command(flatten)]
    estimators: EstimatorArgs,
}

/// How long clusters that fail or leave are waited for.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Failover")]
pub(in crate::run) struct FailoverArgs {
    /// Seconds for which a cluster that is not ready keeps what it has, where the placement names no toleration for that.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=86_400))]
    default_not_ready_toleration_seconds: u32,
    /// Seconds for which a cluster that is unreachable keeps what it has, where the placement names no toleration for that.
    #[arg(long, default_value_t = 300, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(..=86_400))]
    default_unreachable_toleration_seconds: u32,
    /// While more than this part of the clusters (of three or more) is not ready, none of them fails over.
    #[arg(long, default_value_t = 0.5, value_name = "PART", value_parser = part)]
    unhealthy_cluster_threshold: f64,
    /// Failovers in a second, over all objects; 0: none.
    #[arg(long, default_value_t = 0.5, value_name = "RATE", value_parser = rate)]
    resource_eviction_rate: f64,
    /// After this time a cluster that leaves goes although others do not run what it runs; 0: never.
    #[arg(long, default_value = "10m", value_name = "DURATION", value_parser = duration)]
    replacement_timeout: SignedDuration,
}

impl FailoverArgs {
    fn settings(self) -> failover::Settings {
        let seconds = |seconds: u32| SignedDuration::from_secs(seconds.into());
        let patience = Patience {
            not_ready: seconds(self.default_not_ready_toleration_seconds),
            unreachable: seconds(self.default_unreachable_toleration_seconds),
            threshold: self.unhealthy_cluster_threshold,
        };
        let replacement = Some(self.replacement_timeout).filter(SignedDuration::is_positive);
        failover::Settings { patience, replacement, rate: self.resource_eviction_rate }
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

/// `90s`, `10m`, `1h30m`; `0`.
fn duration(text: &str) -> Result<SignedDuration, String> {
    if text == "0" {
        return Ok(SignedDuration::ZERO);
    }
    let duration: SignedDuration = text.parse().map_err(|_| format!("{text:?} is no duration such as 90s or 10m"))?;
    let day = SignedDuration::from_hours(24);
    if duration.is_negative() || duration > day { Err("not between 0 and 24h".to_owned()) } else { Ok(duration) }
}

/// How often something is done.
#[derive(Clone, Copy, Debug)]
enum Period {
    Never,
    Each(Duration),
}

fn period(text: &str) -> Result<Period, String> {
    match text {
        "none" => Ok(Period::Never),
        _ => match seconds(text)? {
            Duration::ZERO => Err("0 is no period; `none` turns it off".to_owned()),
            each => Ok(Period::Each(each)),
        },
    }
}

/// What the leader keeps as it is to be.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Installation")]
struct GuardArgs {
    /// Whether the leader puts back what a Karmada upgrade restores: its definitions of both kinds, and its own webhooks for
    /// them. Otherwise it only reports.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    manage_karmada: bool,
    /// Whether the webhook that the leader keeps registered keeps the fields of fhpa in the definitions of both kinds when others
    /// are applied over them; the same as for `fhpa install`.
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
            concurrency,
            optimize_period,
            failover,
            guard,
            estimators,
        } = self;
        let timings = Timings { lease, renew_deadline, retry }.check().map_err(|problem| {
            let [lease, renew_deadline, retry] = [lease, renew_deadline, retry].map(|time| time.as_secs_f64());
            format!("{problem}: --lease-duration is {lease}, --renew-deadline {renew_deadline}, --retry-period {retry}")
        })?;
        Ok(ControllerOptions {
            namespace: lease_namespace,
            lease: lease_name,
            identity: identity.unwrap_or_else(identity::unique),
            timings,
            concurrency: usize::from(concurrency),
            optimize_period: match optimize_period {
                Period::Never => None,
                Period::Each(each) => Some(each),
            },
            failover: failover.settings(),
            estimators: estimators.settings(true),
            guard: Some(guard.options()),
        })
    }
}
