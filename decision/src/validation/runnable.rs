//! The parts of a stored CronFederatedHPA that can run. Pure. The rules are those of admission: an object may have been
//! stored while no webhook answered (docs/design.md#law-1-run-what-is-accepted), and one invalid rule does not stop the
//! others.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use jiff::tz::TimeZone;

use super::scale_target::{self, is_autoscaler, validate_autoscaler_kind};
use super::schedules::{NamedZones, Timing};
use super::{ValidationContext, bounds};
use crate::cron::Schedule;
use crate::cron::ledger::{self, Action};
use crate::cron::size::{self, Weight};
use crate::finding::Findings;
use crate::path::Path;
use crate::subject::{CronFederatedHPA, Rule, TargetRef};

/// Default of the history limits of a rule.
const DEFAULT_HISTORY: i32 = 3;
/// Greatest history limit of a rule.
const MOST_HISTORY: i32 = 32;

/// A CronFederatedHPA, parsed as far as possible.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runnable {
    /// Why no rule can run: the errors of its target.
    pub refusal: Option<Box<str>>,
    /// Its rules, in their order.
    pub rules: Box<[RunnableRule]>,
    /// Bytes that the message of each failed run may have.
    pub message_room: usize,
}

/// A rule, parsed as far as possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnableRule {
    /// Its name.
    pub name: Arc<str>,
    /// When it runs, or why it cannot.
    pub timing: Result<RunnableTiming, Box<str>>,
    /// Whether it is suspended.
    pub suspended: bool,
    /// How late a missed run may still be executed.
    pub max_delay: Option<SignedDuration>,
    /// Number of executions kept in the history.
    pub successful_limit: u8,
    /// Number of failures kept in the history.
    pub failed_limit: u8,
    /// The values that it sets.
    pub action: Action,
}

/// When a rule runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnableTiming {
    /// Its schedule.
    pub schedule: Arc<Schedule>,
    /// The zone of its schedule.
    pub zone: TimeZone,
}

/// Parses `cron` as far as possible.
#[must_use]
pub fn runnable(cron: &CronFederatedHPA<'_>, around: &ValidationContext<'_>) -> Runnable {
    let spec = Path::Root("spec");
    let target = &cron.spec.scale_target_ref;
    let mut findings = Findings::default();
    let path = spec.field("scaleTargetRef");
    scale_target::validate(target, &path, &mut findings);
    validate_autoscaler_kind(target, &path, &mut findings);
    let rules = spec.field("rules");
    let (mut names, mut zones) = (BTreeSet::new(), NamedZones::default());
    let mut understood =
        |(index, rule)| understand(rule, target, around, &rules.index(index), (&mut names, &mut zones));
    Runnable {
        refusal: sentence(&findings),
        rules: cron.spec.rules.iter().enumerate().map(&mut understood).collect(),
        message_room: message_room(cron).unwrap_or_default(),
    }
}

/// Bytes available for the message of each failed run of `cron`; `None` when it could exceed the limit of the store.
#[must_use]
pub fn message_room(cron: &CronFederatedHPA<'_>) -> Option<usize> {
    size::of_messages(cron.spec.rules.iter().map(|rule| Weight {
        name: rule.name.len(),
        timing: rule.schedule.len().saturating_add(rule.time_zone.as_deref().map_or(0, str::len)),
        successful_limit: limit(rule.successful_history_limit, 1).into(),
        failed_limit: limit(rule.failed_history_limit, 0).into(),
    }))
}

fn understand<'a>(
    rule: &'a Rule<'_>,
    target: &TargetRef<'_>,
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    (names, zones): (&mut BTreeSet<&'a str>, &mut NamedZones<'a>),
) -> RunnableRule {
    let mut findings = Findings::default();
    let timing = Timing::of(rule, zones, around, path, &mut findings);
    bounds::validate(rule, target, path, &mut findings);
    if !names.insert(&rule.name) {
        findings.invalid("rule-name", &path.field("name"), &*rule.name, "another rule before it has this name");
    }
    let timing = match (timing, sentence(&findings)) {
        (Some(Timing { schedule, zone }), None) => Ok(RunnableTiming { schedule: Arc::new(schedule), zone }),
        (_, Some(refusal)) => Err(refusal),
        (None, None) => Err(format!("{path}: no zone {:?} is known", around.settings.default_time_zone).into()),
    };
    RunnableRule {
        name: (*rule.name).into(),
        timing,
        suspended: rule.suspend == Some(true),
        max_delay: rule.max_delay_seconds.filter(|delay| *delay >= 0).map(SignedDuration::from_secs),
        successful_limit: limit(rule.successful_history_limit, 1),
        failed_limit: limit(rule.failed_history_limit, 0),
        action: action(rule, target),
    }
}

/// The members that have an effect on the target; admission warns of the others.
fn action(rule: &Rule<'_>, target: &TargetRef<'_>) -> Action {
    if is_autoscaler(target) {
        Action { replicas: None, min_replicas: rule.target_min_replicas, max_replicas: rule.target_max_replicas }
    } else {
        Action { replicas: rule.target_replicas, ..Action::default() }
    }
}

fn limit(given: Option<i32>, least: i32) -> u8 {
    u8::try_from(given.unwrap_or(DEFAULT_HISTORY).clamp(least, MOST_HISTORY)).unwrap_or(u8::MAX)
}

/// All violations in one text; `None` when there are none.
fn sentence(findings: &Findings) -> Option<Box<str>> {
    let texts: Vec<String> = findings.violations.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("; ").into())
}

impl RunnableRule {
    /// The rule for the ledger, with its schedule ready to step.
    #[must_use]
    pub fn ledger<'a>(&'a self, schedule: &'a Schedule, zone: &'a TimeZone) -> ledger::Rule<'a> {
        ledger::Rule {
            name: &self.name,
            schedule,
            zone,
            suspended: self.suspended,
            max_delay: self.max_delay,
            successful_limit: self.successful_limit.into(),
            failed_limit: self.failed_limit.into(),
            action: self.action,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::cron::zones::Zones;
    use crate::related_objects::NoRelatedObjects;
    use crate::subject::cron_federated_hpa::CronFederatedHPASpec;
    use crate::validation::Settings;

    struct OnlyUtc;

    impl Zones for OnlyUtc {
        fn get(&self, name: &str) -> Option<TimeZone> {
            (name == "UTC").then_some(TimeZone::UTC)
        }
        fn names(&self) -> &[String] {
            &[]
        }
        fn version(&self) -> &'static str {
            ""
        }
    }

    fn understood(kind: (&'static str, &'static str), rules: Vec<Rule<'static>>) -> Runnable {
        let settings = Settings::default();
        let around = ValidationContext {
            related_objects: &NoRelatedObjects,
            zones: &OnlyUtc,
            settings: &settings,
            now: Timestamp::UNIX_EPOCH,
        };
        let scale_target_ref = TargetRef { api_version: kind.0.into(), kind: kind.1.into(), name: "web".into() };
        let spec = CronFederatedHPASpec { scale_target_ref, rules };
        runnable(&CronFederatedHPA { spec, ..CronFederatedHPA::default() }, &around)
    }

    const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");

    fn rule(name: &'static str, schedule: &'static str, replicas: Option<i32>) -> Rule<'static> {
        Rule { name: name.into(), schedule: schedule.into(), target_replicas: replicas, ..Rule::default() }
    }

    #[test]
    fn a_bad_rule_does_not_stop_the_others() {
        let all = understood(
            DEPLOYMENT,
            vec![
                rule("seconds", "0 0 9 * * *", Some(3)),
                rule("nothing", "0 9 * * *", None),
                rule("good", "0 9 * * *", Some(3)),
                rule("good", "0 10 * * *", Some(4)),
            ],
        );
        let runs: Vec<bool> = all.rules.iter().map(|rule| rule.timing.is_ok()).collect();
        assert_eq!((all.refusal, runs), (None, vec![false, false, true, false]));
        let text = |index: usize| all.rules[index].timing.as_ref().unwrap_err().clone();
        assert!(text(0).starts_with("spec.rules[0].schedule: Invalid value: \"0 0 9 * * *\""), "{}", text(0));
        assert!(text(1).starts_with("spec.rules[1].targetReplicas: Required value"), "{}", text(1));
        assert!(text(3).starts_with("spec.rules[3].name: Invalid value: \"good\""), "{}", text(3));
    }

    #[test]
    fn a_target_that_cannot_be_scaled_refuses_all() {
        let all = understood(("autoscaling.karmada.io/v1alpha1", "CronFederatedHPA"), vec![]);
        assert!(all.refusal.unwrap().contains("only a FederatedHPA can be a target"));
        assert!(understood(("", "Deployment"), vec![]).refusal.is_some());
    }

    #[test]
    fn limits_beyond_the_schema_are_brought_back_into_it() {
        let mut odd = rule("a", "0 9 * * *", Some(1));
        odd.successful_history_limit = Some(-4);
        odd.failed_history_limit = Some(4000);
        odd.max_delay_seconds = Some(-1);
        let all = understood(DEPLOYMENT, vec![odd, rule("b", "0 9 * * *", Some(1))]);
        let limits = |index: usize| (all.rules[index].successful_limit, all.rules[index].failed_limit);
        assert_eq!((limits(0), limits(1), all.rules[0].max_delay), ((1, 32), (3, 3), None));
    }

    #[test]
    fn only_what_has_an_effect_on_the_target_is_set() {
        let mut both = rule("a", "0 9 * * *", Some(9));
        both.target_max_replicas = Some(5);
        let hpa = understood(("autoscaling.karmada.io/v1alpha1", "FederatedHPA"), vec![both.clone()]);
        assert_eq!(hpa.rules[0].action, Action { max_replicas: Some(5), ..Action::default() });
        let workload = understood(DEPLOYMENT, vec![both]);
        assert_eq!(workload.rules[0].action, Action { replicas: Some(9), ..Action::default() });
    }
}
