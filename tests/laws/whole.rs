//! Law 10: while the definitions that are served are not fhpa's, both kinds are left as they are; and no write of fhpa
//! takes a field of the user away.

use serde_json::Value;

use super::managed::{changed, owners};
use super::{Change, Court, Law, is_ours};

#[derive(Default)]
pub struct WholeObjects;

impl Law for WholeObjects {
    fn name(&self) -> &'static str {
        "10 (acts only on whole objects)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        let plural = match change.kind {
            "FederatedHPA" => "federatedhpas",
            "CronFederatedHPA" => "cronfederatedhpas",
            _ => return,
        };
        let Some((before, after)) = change.before.zip(change.after).filter(|_| change.in_control()) else { return };
        let paths = changed(Some(before), after);
        let ours = paths.iter().any(|path| {
            let owners = owners(after, path);
            !owners.is_empty() && owners.iter().all(|owner| is_ours(owner.manager))
        });
        if !ours {
            return;
        }
        if court.world.definitions.get(plural) == Some(&false) {
            court.breaks(change.about(), "it was written while the definition that is served is another's");
        }
        let fell = fallen(before.get("spec"), after.get("spec"));
        if let Some(field) = fell {
            court.breaks(change.about(), format!("a write of fhpa took spec.{field} away"));
        }
    }
}

/// The first field that was there and is not.
fn fallen(before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let (before, after) = (before?.as_object()?, after?.as_object()?);
    before.iter().find_map(|(key, value)| match after.get(key) {
        None => Some(key.clone()),
        Some(inner) => fallen(Some(value), Some(inner)).map(|field| format!("{key}.{field}")),
    })
}
