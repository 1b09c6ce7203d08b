//! Objects -> one line each. No I/O.

use super::gather::Objects;
use super::model::Overview;
use super::{Clock, cron, summary};

/// All objects, by namespace and name.
#[must_use]
pub fn overview(objects: &Objects, clock: Clock<'_>) -> Overview {
    let mut overview = Overview {
        federated_hpas: objects.federated_hpas.iter().map(summary::summary).collect(),
        cron_federated_hpas: objects.cron_federated_hpas.iter().map(|one| cron::summary(one, clock)).collect(),
        unread: objects.unread.clone(),
    };
    overview.federated_hpas.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    overview.cron_federated_hpas.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    overview
}
