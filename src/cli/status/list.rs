//! All objects -> text: a table for each kind, and a summary. No I/O.

use jiff::Timestamp;

use super::super::terminal::{BOLD, GREEN, PLAIN, RED, YELLOW, aligned, printable};
use super::screen::Layout;
use crate::decision::few::counted;
use crate::overview::age::{since, until};
use crate::overview::model::{ConditionView, CronSummary, FederatedHpaSummary, Overview, Target};

pub(super) fn render(overview: &Overview, layout: Layout) -> String {
    let Overview { federated_hpas, cron_federated_hpas, unread } = overview;
    let mut out = String::new();
    if !federated_hpas.is_empty() {
        let lines = federated_hpas.iter().map(|hpa| line(hpa, layout.now));
        out.push_str(&table(&HEAD, lines, layout.all_namespaces));
        out.push('\n');
    }
    if !cron_federated_hpas.is_empty() {
        let lines = cron_federated_hpas.iter().map(|cron| cron_line(cron, layout.now));
        out.push_str(&table(&CRON_HEAD, lines, layout.all_namespaces));
        out.push('\n');
    }
    if out.is_empty() && unread.is_empty() {
        let all = if layout.all_namespaces { "" } else { " in this namespace (-A shows those of all)" };
        return format!("there are no FederatedHPAs and no CronFederatedHPAs{all}\n");
    }
    out.push_str(&summary(overview));
    out.push_str(&super::unread(unread));
    out
}

const HEAD: [&str; 10] =
    ["NAMESPACE", "NAME", "MODE", "TARGET", "BOUNDS", "REPLICAS", "DESIRED", "READY", "REASON", "SINCE"];
const CRON_HEAD: [&str; 10] =
    ["NAMESPACE", "NAME", "TARGET", "NEXT", "RULE", "LAST", "RESULT", "SUSPENDED", "READY", "REASON"];

fn table<const N: usize>(head: &[&str; N], lines: impl Iterator<Item = [String; N]>, namespaces: bool) -> String {
    let head = head.map(|word| format!("{BOLD}{word}{PLAIN}"));
    let skipped = usize::from(!namespaces);
    let lines: Vec<Vec<String>> =
        std::iter::once(head).chain(lines).map(|line| line.into_iter().skip(skipped).collect()).collect();
    aligned(&lines)
}

fn line(hpa: &FederatedHpaSummary, now: Timestamp) -> [String; 10] {
    let ready = &hpa.ready;
    let reason = if hpa.deleting { format!("{}, deleting", ready.reason) } else { ready.reason.clone() };
    [
        printable(&hpa.namespace),
        printable(&hpa.name),
        printable(hpa.mode.as_deref().unwrap_or("-")),
        printable(&target(&hpa.target)),
        format!("{}..{}", hpa.min_replicas, hpa.max_replicas),
        replicas(hpa),
        number(hpa.desired_replicas),
        status(ready),
        printable(&or_dash(reason)),
        since(ready.since.as_ref(), now),
    ]
}

fn cron_line(cron: &CronSummary, now: Timestamp) -> [String; 10] {
    let next = cron.next_run.as_ref();
    let last = cron.last_run.as_ref();
    let result = last.map(|last| {
        if last.succeeded {
            "succeeded".to_owned()
        } else {
            format!("{RED}failed{PLAIN}: {}", printable(&last.message))
        }
    });
    [
        printable(&cron.namespace),
        printable(&cron.name),
        printable(&target(&cron.target)),
        next.map_or_else(|| "-".to_owned(), |next| until(&next.time, now)),
        printable(&or_dash(next.map(|next| next.rule.clone()).unwrap_or_default())),
        since(last.and_then(|last| last.execution_time.as_ref()), now),
        result.map_or_else(|| "-".to_owned(), |result| super::super::terminal::cut(&result, RESULT)),
        suspended(cron),
        status(&cron.ready),
        printable(&or_dash(cron.ready.reason.clone())),
    ]
}

/// Widest result of a run.
const RESULT: usize = 40;

fn suspended(cron: &CronSummary) -> String {
    match cron.suspended_rules {
        0 => "no".to_owned(),
        some if some == cron.rules => "yes".to_owned(),
        some => format!("{some} of {} rules", cron.rules),
    }
}

pub(super) fn replicas(hpa: &FederatedHpaSummary) -> String {
    let text = number(hpa.current_replicas);
    if hpa.at_max { format!("{YELLOW}{text}{PLAIN}") } else { text }
}

pub(super) fn status(condition: &ConditionView) -> String {
    let color = match &*condition.status {
        "True" => GREEN,
        "False" => RED,
        _ => YELLOW,
    };
    format!("{color}{}{PLAIN}", printable(&condition.status))
}

pub(super) fn target(target: &Target) -> String {
    format!("{}/{}", target.kind, target.name)
}

pub(super) fn number(number: Option<i32>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn summary(overview: &Overview) -> String {
    let hpas = &overview.federated_hpas;
    let crons = &overview.cron_federated_hpas;
    let ready = hpas.iter().filter(|hpa| hpa.ready.status == "True").count();
    let at_max = hpas.iter().filter(|hpa| hpa.at_max).count();
    let mut text = format!("{}, {ready} ready", counted(hpas.len(), "FederatedHPA"));
    match at_max {
        0 => {}
        1 => text.push_str(", 1 at its max"),
        more => text = format!("{text}, {more} at their max"),
    }
    if !crons.is_empty() {
        let ready = crons.iter().filter(|cron| cron.ready.status == "True").count();
        text = format!("{text}; {}, {ready} ready", counted(crons.len(), "CronFederatedHPA"));
    }
    text + "\n"
}
