//! The preview on a dry run: the assignment in short lines (docs/validation.md#reviews). No I/O: it reads the caches.

use jiff::Timestamp;
use serde::Deserialize as _;
use serde_json::Value;

use super::centralized::Settings;
use super::{Forecast, forecast};
use crate::admission::review::Preview;
use crate::api::FederatedHPA;
use crate::convert::fleet::number;
use crate::decision::defaults::Mode;
use crate::decision::finding::Warning;
use crate::decision::hpa::decide::History;
use crate::decision::hpa::limits::Range;
use crate::decision::hpa::multi_cluster::compute;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::observe::live_state::LiveState;
use crate::reconcile::federated_hpa::write::binding_replicas::handed_back;

/// Name of the rule of these warnings.
const RULE: &str = "preview";
/// Most characters of a line.
const WIDTH: usize = 120;
/// Most lines of clusters; further clusters are counted.
const LINES: usize = 4;

/// Computes previews from the caches of the controller.
pub struct Forecaster {
    /// Input of the forecast.
    pub live: LiveState,
    /// Default of `spec.mode`.
    pub default_mode: Mode,
}

/// In place of a preview where it is unknown who asks: it would name clusters and policies.
pub struct Withheld;

/// Why there is no preview.
const WITHHELD: &str = "no preview: this webhook does not know its clients (--client-ca); `fhpa plan` computes it";

impl Preview for Withheld {
    fn preview(&self, _: &Value, _: Timestamp) -> Vec<Warning> {
        vec![Warning::shortened(String::new(), WITHHELD.to_owned(), RULE)]
    }
}

impl Preview for Forecaster {
    /// Empty while not everything is in the cache.
    fn preview(&self, object: &Value, now: Timestamp) -> Vec<Warning> {
        let Ok(hpa) = FederatedHPA::deserialize(object) else { return Vec::new() };
        let entry = FederatedHpaEntry::of(&hpa);
        let mode = entry.mode().unwrap_or(self.default_mode);
        let Some(view) = self.live.cache.as_if(entry) else { return Vec::new() };
        if mode == Mode::Centralized {
            return vec![Warning::shortened(String::new(), centralized(&view, now), RULE)];
        }
        let lines = forecast(&view, &self.live, now, lines).unwrap_or_else(|| {
            let target = &hpa.spec.scale_target_ref;
            vec![format!("{} {} has no ResourceBinding: nothing is assigned yet", target.kind, target.name)]
        });
        lines.into_iter().map(|line| Warning::shortened(String::new(), line, RULE)).collect()
    }
}

/// What the mode means for the workload. Metrics are not queried: only bounds that its replicas are outside of decide.
fn centralized(view: &View, now: Timestamp) -> String {
    let spec = &view.federated_hpa.object.spec;
    let target = format!("{} {}", spec.scale_target_ref.kind, spec.scale_target_ref.name);
    let Some(binding) = view.binding.as_deref() else {
        return format!("{target} has no ResourceBinding: nothing is scaled yet");
    };
    let asks = binding.object.spec.replicas.unwrap_or_default();
    let current = handed_back(binding, &view.federated_hpa.key().name).map_or(asks, number);
    let clusters = binding.entries().len();
    let controls = Settings::default().controls(spec);
    let Range { min, max } = controls.policy.range;
    let plural = if clusters == 1 { "" } else { "s" };
    let stands = format!("Centralized: {target} has {current} replicas in {clusters} cluster{plural}");
    if controls.use_metrics(current) {
        return format!("{stands}, scaled as one within {min}..{max}; karmada-scheduler divides them");
    }
    let decision = compute(&controls, current, None, now, &mut History::default());
    match decision.write {
        Some(replicas) => format!("{stands} and is scaled to {replicas}: {}", decision.why),
        None => format!("{stands}: scaling is disabled until it has some"),
    }
}

/// `member1 1..4, member2 1..6 (StaticWeighted, from the PropagationPolicy shop)`, and notes.
fn lines(forecast: &Forecast<'_>) -> Vec<String> {
    let plan = forecast.plan;
    let share = |share: &crate::decision::plan::Share<'_>| {
        let bounds = if share.target.is_some() { share.target.to_string() } else { "none".to_owned() };
        format!("{} {bounds}", share.cluster)
    };
    let policy = format!("({}, from {})", forecast.request.policy.name(), forecast.origin);
    let taking_part = plan.shares.iter().filter(|share| share.kept().is_some());
    let mut lines = packed(taking_part.map(share).collect(), &policy);
    lines.extend(plan.notes.iter().map(ToString::to_string));
    if let Some(first) = forecast.unknown_capacity.first() {
        let others = forecast.unknown_capacity.len().saturating_sub(1);
        let more = if others > 0 { format!(" and {others} more") } else { String::new() };
        lines.push(format!("free capacity of {first}{more} is unknown and counts as zero"));
    }
    lines
}

/// The shares in lines of bounded length, with the policy at the end.
fn packed(shares: Vec<String>, policy: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut shares = shares.into_iter();
    while let Some(share) = shares.next() {
        let full = lines.len() >= LINES;
        match lines.last_mut() {
            Some(line) if width(line) + width(&share) + 2 <= WIDTH => *line = format!("{line}, {share}"),
            _ if full => {
                lines.push(format!("... and {} more clusters", shares.len().saturating_add(1)));
                break;
            }
            _ => lines.push(share),
        }
    }
    match lines.last_mut() {
        Some(line) if width(line) + width(policy) < WIDTH => *line = format!("{line} {policy}"),
        Some(_) => lines.push(policy.to_owned()),
        None => {}
    }
    lines
}

fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, packed};

    fn shares(count: usize) -> Vec<String> {
        (1..=count).map(|number| format!("member{number} 1..{number}")).collect()
    }

    #[test]
    fn a_few_clusters_are_one_line() {
        let lines = packed(shares(2), "(StaticWeighted, from the PropagationPolicy shop)");
        assert_eq!(lines, ["member1 1..1, member2 1..2 (StaticWeighted, from the PropagationPolicy shop)"]);
    }

    #[test]
    fn many_clusters_are_a_few_lines_and_a_count() {
        for count in 0..100 {
            let lines = packed(shares(count), "(Duplicated, from federatedHPAAssignment)");
            assert!(lines.len() <= 6 && lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
            let told = lines.iter().map(|line| line.matches("member").count()).sum::<usize>();
            assert!(told >= count.min(25), "{count}: {lines:#?}");
            let last = lines.last().map(String::as_str).unwrap_or_default();
            assert_eq!(last.contains("(Duplicated, from federatedHPAAssignment)"), count > 0);
            assert_eq!(lines.concat().contains(&format!("... and {} more clusters", count - told)), count > told);
        }
    }
}
