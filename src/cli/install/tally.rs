//! Counts what became of the objects that `fhpa install` applies, and words it. No I/O.

use crate::install::apply::Outcome;
use crate::install::manifests::{Manifest, Part};

/// Number of objects by result.
#[derive(Debug, Default)]
pub(super) struct Tally {
    created: usize,
    changed: usize,
    unchanged: usize,
    left: usize,
    unserved: usize,
    pub(super) failed: usize,
    /// An object that the webhook needs failed.
    pub(super) broken: bool,
}

impl Tally {
    /// Counts an object, and says what was done with it.
    pub(super) fn count(&mut self, manifest: &Manifest, outcome: Outcome) -> String {
        let (counter, message) = match outcome {
            Outcome::Created => (&mut self.created, "created".to_owned()),
            Outcome::Changed(_) if matches!(manifest.part, Part::SetAside(_)) => {
                (&mut self.changed, "changed: Karmada's own webhooks for these kinds are disabled".to_owned())
            }
            Outcome::Changed(places) => (&mut self.changed, format!("changed: {}", places.join(", "))),
            Outcome::Unchanged => (&mut self.unchanged, "unchanged".to_owned()),
            Outcome::Absent => {
                (&mut self.unchanged, "unchanged: Karmada has no webhook for these kinds there".to_owned())
            }
            Outcome::Unserved => {
                self.unserved += 1;
                return "not served: the webhook preserves the fields, if it is registered".to_owned();
            }
            Outcome::Taken(why) => (&mut self.left, format!("left to another customization: {why}")),
            Outcome::Lacking(fields) => (
                &mut self.failed,
                format!(
                    "failed: left as Karmada has it (--manage-karmada=false), it lacks {fields}, and nothing is decided or \
                     written until it has them: run the same with --manage-karmada=true once"
                ),
            ),
            Outcome::Left(places) => (
                &mut self.left,
                format!("left as Karmada has it, and wrong for fhpa (--manage-karmada=false): {}", places.join(", ")),
            ),
        };
        *counter += 1;
        message
    }

    /// All counts in one line.
    pub(super) fn summary(&self, dry_run: bool) -> String {
        let Self { created, changed, unchanged, left, unserved, failed, broken: _ } = self;
        let would = if dry_run { " (nothing was stored)" } else { "" };
        let more = [(left, "left as they are"), (unserved, "not served"), (failed, "failed")];
        let more = more.iter().filter(|(count, _)| **count > 0).map(|(count, what)| format!(", {count} {what}"));
        let more = more.collect::<Vec<_>>().concat();
        format!("{created} created, {changed} changed, {unchanged} unchanged{more}{would}")
    }
}
