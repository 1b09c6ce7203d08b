//! Karmada's own FederatedHPA controller or fhpa, for more and more Centralized objects.

use std::time::Duration;

use serde_json::{Value, json};

use super::crowd::{Crowd, Step};
use super::meter::{Meter, Took};
use super::{PATIENCE, REST, WINDOW, prepare};
use crate::both::{MEMBERS, World as _};
use crate::stand::Stand;
use crate::stories::beside::only_karmada;
use crate::upstream::Adapter;

/// Between two computations of an object, by default.
const PERIOD: Duration = Duration::from_secs(15);

/// One size under one of the two.
struct Row {
    rest: Took,
    step: Step,
}

/// Karmada's controller. At least some objects are scaled for each size.
pub async fn theirs(stand: &mut Stand, namespaces: usize, sizes: &[usize]) {
    prepare(stand).await;
    let adapter = only_karmada(stand, &[]).await;
    for row in rows(stand, namespaces, sizes, Some(&adapter)).await {
        let Step { objects, scaled, .. } = row.step;
        assert!(!scaled.is_empty(), "none of {objects} objects is scaled within {PATIENCE} s");
    }
}

/// fhpa. Its requests are the lists of its namespaces, whatever the number of objects, and it scales all of them within
/// two periods.
pub async fn ours(stand: &mut Stand, namespaces: usize, sizes: &[usize]) {
    prepare(stand).await;
    for row in rows(stand, namespaces, sizes, None).await {
        let used = row.step.objects.min(namespaces) * MEMBERS.len();
        let lists = row.rest.a_minute(row.rest.ours.get("member: list pods.metrics").copied().unwrap_or_default());
        assert!(lists > 0.0 && lists < 1.5 * 4.0 * used as f64, "{lists} lists a minute for {used} namespaces");
        let last = row.step.scaled.last().expect("some are scaled");
        assert!(row.step.ready.is_some() && *last < 2 * PERIOD, "the last one is scaled after {last:?}");
    }
}

async fn rows(stand: &Stand, namespaces: usize, sizes: &[usize], adapter: Option<&Adapter>) -> Vec<Row> {
    let mode: Value = if adapter.is_some() { json!({}) } else { json!({"mode": "Centralized"}) };
    let mut crowd = Crowd::new(stand, namespaces).await;
    let mut rows = Vec::new();
    for objects in sizes {
        crowd.grow(stand, *objects, &mode).await;
        stand.pass(REST).await;
        let meter = Meter::start(stand, adapter);
        stand.pass(WINDOW).await;
        let rest = meter.read(stand, adapter);
        // Objects are computed at the instants at which they were made: the load must not rise at one of them.
        tokio::time::sleep(PERIOD / 2).await;
        let row = Row { rest, step: crowd.step(stand).await };
        row.print(namespaces);
        rows.push(row);
    }
    rows
}

impl Row {
    fn print(&self, namespaces: usize) {
        let Step { objects, scaled, ready } = &self.step;
        println!("  {objects} objects in {namespaces} namespaces");
        self.rest.print();
        let at = |part: usize| scaled.get(scaled.len().saturating_sub(1) * part / 2).copied().unwrap_or_default();
        println!(
            "    scaled after a higher load: {} of {objects}, first {:.1?}, half {:.1?}, last {:.1?}; all pods ready: {ready:.1?}",
            scaled.len(),
            at(0),
            at(1),
            at(2)
        );
    }
}
