//! Law 6: no cron execution is lost or recorded twice.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::world::{Name, items, text};
use super::{Change, Court, Law};

/// What is known of one rule of one object.
#[derive(Clone, Debug, Default)]
struct Ledger {
    /// The latest instant that has a record.
    latest: Option<Timestamp>,
    /// What the rule says, with what stands above it.
    rule: Value,
    next: Option<Timestamp>,
}

#[derive(Default)]
pub struct ExactlyOnce {
    ledgers: BTreeMap<(String, String), Ledger>,
}

impl Law for ExactlyOnce {
    fn name(&self) -> &'static str {
        "6 (exactly once in the record)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if !change.in_control() || change.kind != "CronFederatedHPA" {
            return;
        }
        let Some(after) = change.after else { return };
        let uid = text(after, "/metadata/uid").to_owned();
        let rules = items(after, "/spec/rules");
        self.ledgers.retain(|(of, name), _| *of != uid || rules.iter().any(|rule| text(rule, "/name") == name));
        for history in items(after, "/status/executionHistories") {
            let name = text(history, "/ruleName");
            let Some(rule) = rules.iter().find(|rule| text(rule, "/name") == name) else { continue };
            let ledger = self.ledgers.entry((uid.clone(), name.to_owned())).or_default();
            let about = format!("CronFederatedHPA {}, rule {name}", Name::of(after));
            ledger.saw(rule, history, &about, court);
        }
        for ((_, name), ledger) in self.ledgers.iter_mut().filter(|((of, _), _)| *of == uid) {
            if let Some(rule) = rules.iter().find(|rule| text(rule, "/name") == name) {
                // An edited rule begins anew.
                if ledger.rule != *rule {
                    *ledger = Ledger { rule: rule.clone(), latest: ledger.latest, next: None };
                }
            }
        }
    }
}

impl Ledger {
    fn saw(&mut self, rule: &Value, history: &Value, about: &str, court: &mut Court<'_>) {
        let mut instants = Vec::new();
        for list in ["successfulExecutions", "failedExecutions"] {
            let of = |run: &Value| text(run, "/scheduleTime").parse::<Timestamp>().ok();
            instants.extend(items(history, &format!("/{list}")).iter().filter_map(of));
        }
        instants.sort_unstable();
        if let Some(twice) = instants.windows(2).find(|pair| pair[0] == pair[1]) {
            court.breaks(about, format!("{} is recorded twice", twice[0]));
        }
        let next = text(history, "/nextExecutionTime").parse::<Timestamp>().ok();
        let latest = instants.last().copied();
        // What was due is recorded when the ledger goes on to the next, unless the user edited or suspended the rule.
        let edited = self.rule != *rule;
        if let Some(due) = self.next.filter(|due| !edited && next.is_some_and(|next| next > *due)) {
            let kept = |list: &str| rule.get(list).and_then(Value::as_i64) != Some(0);
            let all_kept = kept("successfulHistoryLimit") && kept("failedHistoryLimit");
            if all_kept && latest.is_none_or(|latest| latest < due) && due <= court.world.now {
                court
                    .breaks(about, format!("{due} was due, and the ledger goes on to {next:?} without a record of it"));
            }
        }
        // A record that comes later than one of a later instant was there before, or is made up out of order.
        if let (Some(known), Some(latest)) = (self.latest, latest)
            && latest < known
            && !instants.is_empty()
            && next.is_some_and(|next| next <= known)
            && !edited
        {
            court.breaks(about, format!("{known} was recorded, and {next:?} is to come again"));
        }
        *self = Self { latest: self.latest.max(latest), rule: rule.clone(), next };
    }
}
