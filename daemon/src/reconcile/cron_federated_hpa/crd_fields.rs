//! Whether fields of a CronFederatedHPA were lost (docs/design.md#law-10-act-only-on-whole-objects). No I/O.

use serde_json::{Value, json};

use crate::api::CronFederatedHPA;
use crate::convert::own;
use crate::decision::cron::Schedule;
use crate::decision::mirror::{self, MirrorState};
use crate::decision::names::pointer_token;
use crate::decision::validation::schedules::delays;

/// State of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FieldState {
    /// Complete.
    #[default]
    Complete,
    /// Complete; the annotation must be set to this text.
    NeedsCopy(Box<str>),
    /// A foreign CRD pruned `maxDelaySeconds` of these rules, given by index, name and value.
    Pruned(Box<[(usize, Box<str>, i64)]>),
}

impl FieldState {
    /// The state of an object. Without a readable copy a rule counts as complete: the lost field is only how late a run
    /// may be.
    #[must_use]
    pub fn of(cron: &CronFederatedHPA) -> Self {
        let notes = own::notes(&mirror::OF_CRON_FEDERATED_HPA, &cron.metadata);
        match mirror::judge(&own::cron_federated_hpa(cron), &notes) {
            MirrorState::Complete | MirrorState::Unrecoverable => Self::Complete,
            MirrorState::NeedsCopy(wanted) => {
                wanted.spec.map_or(Self::Complete, |text| Self::NeedsCopy(text.into_boxed_str()))
            }
            MirrorState::Pruned(lost) => {
                let rules = cron.spec.rules.iter().enumerate();
                let known = rules.filter_map(|(at, rule)| {
                    let seconds = mirror::late_by(&lost, &rule.name)?;
                    // One that the schedule by now allows no more would be refused with each try.
                    let fits =
                        Schedule::parse(&rule.schedule).is_ok_and(|schedule| delays(&schedule).contains(&seconds));
                    fits.then(|| (at, rule.name.as_str().into(), seconds))
                });
                let known: Box<[_]> = known.collect();
                // Rules of these names are gone, too, or have other schedules.
                if known.is_empty() { Self::NeedsCopy("{}".into()) } else { Self::Pruned(known) }
            }
        }
    }

    /// Patch operations to write; empty when the object is complete.
    pub(super) fn operations(&self) -> Vec<Value> {
        match self {
            Self::Complete => Vec::new(),
            Self::NeedsCopy(text) => {
                vec![json!({"op": "add", "path": format!("/metadata/annotations/{}", escaped()), "value": text})]
            }
            Self::Pruned(rules) => {
                let restore = |(at, _, seconds): &(usize, Box<str>, i64)| json!({"op": "add", "path": format!("/spec/rules/{at}/{}", mirror::OF_RULE[0]), "value": seconds});
                rules.iter().map(restore).collect()
            }
        }
    }

    /// `up, down`: the rules that lost the field.
    #[must_use]
    pub fn lost(&self) -> String {
        let Self::Pruned(rules) = self else { return String::new() };
        rules.iter().map(|(_, name, _)| &**name).collect::<Vec<_>>().join(", ")
    }
}

/// The name of the annotation, escaped for a JSON pointer.
fn escaped() -> String {
    pointer_token(mirror::SPEC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(rules: &Value, annotations: &Value) -> CronFederatedHPA {
        serde_json::from_value(json!({"metadata": {"name": "shop", "annotations": annotations}, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "rules": rules}}))
        .unwrap()
    }

    #[test]
    fn a_rule_gets_back_what_it_lost() {
        let copy = json!({"fhpa.karmada.io/spec": r#"{"rules":{"up":{"maxDelaySeconds":60}}}"#});
        let with = json!([{"name": "down", "schedule": "0 1 * * *"}, {"name": "up", "schedule": "0 2 * * *", "maxDelaySeconds": 60}]);
        assert_eq!(FieldState::of(&cron(&with, &copy)), FieldState::Complete);
        assert!(matches!(FieldState::of(&cron(&with, &json!({}))), FieldState::NeedsCopy(_)));
        let without = json!([{"name": "down", "schedule": "0 1 * * *"}, {"name": "up", "schedule": "0 2 * * *"}]);
        let lost = FieldState::of(&cron(&without, &copy));
        assert_eq!(lost.lost(), "up");
        assert_eq!(lost.operations(), [json!({"op": "add", "path": "/spec/rules/1/maxDelaySeconds", "value": 60})]);
        assert_eq!(FieldState::of(&cron(&without, &json!({}))), FieldState::Complete);
        let often = json!([{"name": "up", "schedule": "* * * * *"}]);
        assert_eq!(
            FieldState::of(&cron(&often, &copy)),
            FieldState::NeedsCopy("{}".into()),
            "a minute reaches the next run"
        );
        let other = json!([{"name": "other", "schedule": "0 2 * * *"}]);
        assert_eq!(FieldState::of(&cron(&other, &copy)), FieldState::NeedsCopy("{}".into()));
    }
}
