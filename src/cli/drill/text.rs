//! Losses -> text for users. No I/O.

use super::super::terminal::{aligned, printable};
use crate::decision::drill::{Loss, ObjectLoss};

/// A sentence for each loss, with a table of what would run nowhere.
pub(super) fn render(losses: &[Loss]) -> String {
    if losses.is_empty() {
        return "No loss leaves a cluster; --lose, --lose-zone, --lose-region and --lose-provider name one all the same\n"
            .to_owned();
    }
    let mut text = Vec::new();
    for Loss { lost, replicas, short, objects, .. } in losses {
        let said = match (replicas, short) {
            (0, _) => "nothing of any FederatedHPA runs there".to_owned(),
            (1, 0) => "its only replica runs elsewhere".to_owned(),
            (1, _) => "its only replica runs nowhere".to_owned(),
            (all, 0) => format!("all {all} replicas run elsewhere"),
            (all, short) => format!("{short} of {all} replicas run nowhere"),
        };
        text.push(format!("{}\n", printable(&format!("If {lost} is lost: {said}"))));
        let header = ["OBJECT", "REPLICAS", "SHORT", "WHAT WOULD LET THEM RUN"].map(str::to_owned).to_vec();
        let row = |object: &ObjectLoss| {
            let name = printable(&format!("{}/{}", object.namespace, object.name));
            let remedy = object.remedy.as_deref().map(printable).unwrap_or_default();
            vec![name, object.replicas.to_string(), object.short.to_string(), remedy]
        };
        let rows: Vec<Vec<String>> = objects.iter().filter(|object| object.short > 0).map(row).collect();
        if !rows.is_empty() {
            text.push(aligned(&[vec![header], rows].concat()));
        }
    }
    text.concat()
}
