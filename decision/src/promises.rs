//! Plans of objects that share free capacity: what is promised to others is left to them, and what is asked for is
//! promised (docs/design.md#law-13-promise-capacity-once). Pure.

use jiff::Timestamp;

use super::capacity::{Demand, Summary};
use super::ledger::{AGAIN, Ledger, Standing};
use super::plan::{Plan, Request, plan};

/// At `now`, takes what is promised to others from the free capacity of each cluster. `report`: of a cluster by name; `None` where
/// it is not the report that says what is free.
pub fn leave<'s>(
    ledger: &mut Ledger,
    request: &mut Request<'_>,
    standing: &Standing,
    each: &Demand,
    report: impl Fn(&str) -> Option<&'s Summary>,
    now: Timestamp,
) {
    for cluster in &mut request.clusters {
        if let Some(free) = &mut cluster.available {
            let (current, report) = (cluster.current.unwrap_or_default(), report(cluster.name));
            *free = ledger.left(cluster.name, standing, each, current, (*free, report), now);
        }
    }
}

/// Plans, and promises what is asked for at `now`. `report`: the last one of a cluster by name. Returns when to look again, where
/// something waits.
#[must_use]
pub fn promise<'r, 's>(
    ledger: &mut Ledger,
    request: &'r Request<'_>,
    standing: &Standing,
    each: &Demand,
    report: impl Fn(&str) -> Option<&'s Summary>,
    now: Timestamp,
) -> (Plan<'r>, Option<Timestamp>) {
    let plan = plan(request);
    ledger.ask(standing, each, plan.asks.iter().copied(), report, now);
    let waits = plan.asks.iter().any(|(_, ask)| ask.waiting > 0);
    (plan, now.checked_add(AGAIN).ok().filter(|_| waits))
}
