//! The fields that only fhpa knows, and their copy in annotations, which no CRD prunes
//! (docs/design.md#law-10-act-only-on-whole-objects). Pure.
//!
//! An object that has lost all of these fields, while the copy has some, was written or read with another CRD. One that
//! still has any was edited: then the copy is updated.

use serde_json::{Map, Value};

use super::json::same;

/// Annotation of a FederatedHPA or CronFederatedHPA: the fields of its spec that only fhpa knows, as JSON.
pub const SPEC: &str = "fhpa.karmada.io/spec";
/// Annotation of a FederatedHPA: its `spec.mode`.
pub const MODE: &str = "fhpa.karmada.io/mode";

/// Members of a FederatedHPA's spec that Karmada's definition does not know.
pub const OF_FEDERATED_HPA: [&str; 9] = [
    "autoscaleMultiClusterDelay",
    "clusterAffinity",
    "clusterHPAPreference",
    "federatedHPAAssignment",
    "minCoveredLosses",
    "mode",
    "scaleAssist",
    "scalingToZero",
    "suspend",
];
/// Members of a CronFederatedHPA's rule that Karmada's definition does not know.
pub const OF_RULE: [&str; 1] = ["maxDelaySeconds"];
/// Key of the copy of a CronFederatedHPA.
pub const OF_CRON_FEDERATED_HPA: [&str; 1] = ["rules"];

/// Limit of the API server for all annotations of an object, in bytes.
const ROOM: usize = 256 << 10;
/// Longest copy, in bytes.
const LONGEST: usize = 128 << 10;
/// Key in a copy for fields that did not fit.
const OMITTED: &str = "omitted";

/// Fields that only fhpa knows, by name. For a CronFederatedHPA `rules`: the fields of each rule, by its name.
pub type Own = Map<String, Value>;

/// The fields of `spec` that only fhpa knows.
#[must_use]
pub fn of_federated_hpa(spec: &Value) -> Own {
    let member = |name: &str| Some((name.to_owned(), spec.get(name).filter(|value| !value.is_null())?.clone()));
    OF_FEDERATED_HPA.iter().filter_map(|name| member(name)).collect()
}

/// The fields of rules that only fhpa knows, given with their names and `maxDelaySeconds`.
#[must_use]
pub fn of_rules<'a>(rules: impl Iterator<Item = (&'a str, Option<i64>)>) -> Own {
    let [late] = OF_RULE;
    let known = |(name, seconds): (&str, Option<i64>)| {
        Some((name.to_owned(), Map::from_iter([(late.to_owned(), seconds?.into())]).into()))
    };
    let rules: Map<String, Value> = rules.filter_map(known).collect();
    if rules.is_empty() { Own::new() } else { Own::from_iter([("rules".to_owned(), rules.into())]) }
}

/// The copied `maxDelaySeconds` of the rule called `name`.
#[must_use]
pub fn late_by(own: &Own, name: &str) -> Option<i64> {
    let [late] = OF_RULE;
    own.get("rules")?.get(name)?.get(late)?.as_i64()
}

/// Annotations of an object that the copy depends on.
#[derive(Clone, Copy, Debug)]
pub struct Notes<'a> {
    /// What a copy of its kind may have. Who may write the object can write the copy too, and the leader restores what is
    /// in it with rights of its own: nothing that Karmada's definition has.
    pub known: &'static [&'static str],
    /// [`SPEC`]
    pub spec: Option<&'a str>,
    /// [`MODE`]
    pub mode: Option<&'a str>,
    /// Bytes of all other annotations.
    pub others: usize,
}

/// Those of a FederatedHPA without annotations.
impl Default for Notes<'_> {
    fn default() -> Self {
        Self { known: &OF_FEDERATED_HPA, spec: None, mode: None, others: 0 }
    }
}

impl<'a> Notes<'a> {
    /// Reads all annotations of an object whose copy may have what is `known`.
    pub fn of(known: &'static [&'static str], annotations: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut notes = Self { known, ..Self::default() };
        for (name, value) in annotations {
            match name {
                SPEC => notes.spec = Some(value),
                MODE => notes.mode = Some(value),
                _ => notes.others = notes.others.saturating_add(name.len()).saturating_add(value.len()),
            }
        }
        notes
    }

    /// The copied fields.
    #[must_use]
    pub fn copied(&self) -> Copied {
        let Some(text) = self.spec else {
            return self
                .mode
                .map_or(Copied::Nothing, |mode| Copied::Fields(Own::from_iter([("mode".to_owned(), mode.into())])));
        };
        match serde_json::from_str::<Own>(text) {
            Ok(own) if own.contains_key(OMITTED) => Copied::Omitted,
            Ok(mut own) => {
                own.retain(|name, _| self.known.contains(&name.as_str()));
                if own.is_empty() { Copied::Nothing } else { Copied::Fields(own) }
            }
            Err(_) => Copied::Omitted,
        }
    }

    /// The copy that `own` wants; `None` where the copy is equal to it.
    #[must_use]
    pub fn outdated_by(&self, own: &Own) -> Option<Wanted> {
        let wanted = self.wanted(own);
        let same_spec = match (self.spec, &wanted.spec) {
            (Some(have), Some(want)) => {
                let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
                have == want || same(&read(have), &read(want))
            }
            // There is nothing to copy, or no space for it.
            (_, None) => true,
            (None, Some(_)) => false,
        };
        let same_mode = wanted.mode.is_none() || self.mode == wanted.mode.as_deref();
        if same_spec && same_mode { None } else { Some(wanted) }
    }

    /// The copy of `own`, as far as it fits; `None` where nothing fits. Where a copy exists and there is nothing left
    /// to copy, the copy is empty.
    #[must_use]
    pub fn wanted(&self, own: &Own) -> Wanted {
        let mode = own.get("mode").and_then(Value::as_str).map(str::to_owned);
        if own.is_empty() {
            return Wanted { spec: self.spec.map(|_| "{}".to_owned()), mode };
        }
        let names = SPEC.len().saturating_add(MODE.len());
        let used = self.others.saturating_add(names).saturating_add(mode.as_ref().map_or(0, String::len));
        let fits = |text: &String| text.len() <= ROOM.saturating_sub(used).min(LONGEST);
        let text = |own: &Own| serde_json::to_string(own).ok().filter(fits);
        match text(own).or_else(|| text(&omitted(own))) {
            Some(spec) => Wanted { spec: Some(spec), mode },
            None => Wanted::default(),
        }
    }
}

/// The short form of a copy.
fn omitted(own: &Own) -> Own {
    let mode = own.get("mode").map(|mode| ("mode".to_owned(), mode.clone()));
    mode.into_iter().chain([(OMITTED.to_owned(), true.into())]).collect()
}

/// Values of the annotations; `None`: not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// [`SPEC`]
    pub spec: Option<String>,
    /// [`MODE`]
    pub mode: Option<String>,
}

/// Content of the annotations.
#[derive(Clone, Debug, PartialEq)]
pub enum Copied {
    /// The object has none of these fields, or was never copied.
    Nothing,
    /// These fields.
    Fields(Own),
    /// The object has such fields, but their values are not known: they did not fit, or the text cannot be parsed.
    Omitted,
}

/// State of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum MirrorState {
    /// Complete.
    Complete,
    /// Complete; the copy must be updated.
    NeedsCopy(Wanted),
    /// It has lost these fields.
    Pruned(Own),
    /// It has lost fields whose values are not known.
    Unrecoverable,
}

/// The state of an object with these fields and annotations.
#[must_use]
pub fn judge(own: &Own, notes: &Notes<'_>) -> MirrorState {
    if own.is_empty() {
        return match notes.copied() {
            Copied::Nothing => MirrorState::Complete,
            Copied::Fields(own) => MirrorState::Pruned(own),
            Copied::Omitted => MirrorState::Unrecoverable,
        };
    }
    notes.outdated_by(own).map_or(MirrorState::Complete, MirrorState::NeedsCopy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own(spec: &Value) -> Own {
        of_federated_hpa(spec)
    }

    fn notes(wanted: &Wanted) -> Notes<'_> {
        Notes { spec: wanted.spec.as_deref(), mode: wanted.mode.as_deref(), ..Notes::default() }
    }

    #[test]
    fn a_copy_says_what_was_copied_and_a_second_one_changes_nothing() {
        let spec = own(
            &json!({"maxReplicas": 3, "mode": "Distributed", "scaleAssist": null, "clusterAffinity": {"exclude": ["a"]}}),
        );
        let MirrorState::NeedsCopy(wanted) = judge(&spec, &Notes::default()) else { panic!("copied") };
        assert_eq!(wanted.spec.as_deref(), Some(r#"{"clusterAffinity":{"exclude":["a"]},"mode":"Distributed"}"#));
        assert_eq!(judge(&spec, &notes(&wanted)), MirrorState::Complete);
        assert_eq!(notes(&wanted).wanted(&spec), wanted);
    }

    #[test]
    fn fields_that_are_gone_as_a_whole_are_lost_and_others_are_edits() {
        let before = own(&json!({"mode": "Distributed", "scaleAssist": false}));
        let copy = Notes::default().wanted(&before);
        assert_eq!(judge(&Own::new(), &notes(&copy)), MirrorState::Pruned(before));
        let edited = own(&json!({"mode": "Centralized"}));
        assert!(matches!(judge(&edited, &notes(&copy)), MirrorState::NeedsCopy(_)));
        let mode = Notes { mode: Some("Centralized"), ..Notes::default() };
        assert_eq!(judge(&Own::new(), &mode), MirrorState::Pruned(edited));
    }

    #[test]
    fn what_karmada_has_too_is_not_part_of_a_copy() {
        let of = |copy: Value| {
            let text = copy.to_string();
            judge(&Own::new(), &Notes { spec: Some(&text), ..Notes::default() })
        };
        let others = json!({"maxReplicas": 100, "minReplicas": 50, "scaleTargetRef": {"name": "x"}, "rules": {}});
        assert_eq!(of(others), MirrorState::Complete);
        let lost = own(&json!({"suspend": true}));
        assert_eq!(of(json!({"maxReplicas": 100, "suspend": true})), MirrorState::Pruned(lost));
    }

    #[test]
    fn an_object_that_was_never_copied_has_lost_nothing() {
        assert_eq!(judge(&Own::new(), &Notes::default()), MirrorState::Complete);
        assert_eq!(judge(&Own::new(), &Notes { spec: Some("{}"), ..Notes::default() }), MirrorState::Complete);
    }

    #[test]
    fn what_does_not_fit_is_known_to_be_lost() {
        let big = own(&json!({"mode": "Distributed", "clusterAffinity": {"exclude": ["x".repeat(LONGEST)]}}));
        let copy = Notes::default().wanted(&big);
        assert_eq!(copy.spec.as_deref(), Some(r#"{"mode":"Distributed","omitted":true}"#));
        assert_eq!(judge(&big, &notes(&copy)), MirrorState::Complete);
        assert_eq!(judge(&Own::new(), &notes(&copy)), MirrorState::Unrecoverable);
        let small = own(&json!({"mode": "Distributed", "clusterAffinity": {"exclude": ["x".repeat(100)]}}));
        let crowded = Notes { others: ROOM - 150, ..Notes::default() };
        assert_eq!(crowded.wanted(&small).spec.as_deref(), Some(r#"{"mode":"Distributed","omitted":true}"#));
        let full = Notes { others: ROOM, ..Notes::default() };
        assert_eq!((full.wanted(&small), judge(&small, &full)), (Wanted::default(), MirrorState::Complete));
        assert_eq!(
            judge(&Own::new(), &Notes { spec: Some("[nonsense"), ..Notes::default() }),
            MirrorState::Unrecoverable
        );
    }

    #[test]
    fn rules_are_known_by_their_names() {
        let rules = of_rules([("up", Some(60)), ("down", None)].into_iter());
        let copy = Notes::default().wanted(&rules);
        assert_eq!(copy, Wanted { spec: Some(r#"{"rules":{"up":{"maxDelaySeconds":60}}}"#.into()), mode: None });
        assert_eq!((late_by(&rules, "up"), late_by(&rules, "down")), (Some(60), None));
        assert!(of_rules([("down", None)].into_iter()).is_empty());
        let of_cron = Notes { known: &OF_CRON_FEDERATED_HPA, ..notes(&copy) };
        let MirrorState::Pruned(lost) = judge(&Own::new(), &of_cron) else { panic!("lost") };
        assert_eq!(judge(&Own::new(), &notes(&copy)), MirrorState::Complete, "a FederatedHPA has none");
        assert_eq!(late_by(&lost, "up"), Some(60));
    }

    #[test]
    fn a_copy_in_other_words_is_the_same_copy() {
        let spec = own(
            &json!({"mode": "Distributed", "clusterHPAPreference": [{"clusterName": "a", "maxResourceUsage": 1.0}]}),
        );
        let text =
            r#"{"clusterHPAPreference":[{"clusterName":"a","maxResourceUsage":1,"none":null}],"mode":"Distributed"}"#;
        assert_eq!(Notes { spec: Some(text), mode: Some("Distributed"), ..Notes::default() }.outdated_by(&spec), None);
    }
}
