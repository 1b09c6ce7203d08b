//! Law 10: while foreign CRDs are served, objects of both kinds are not written; and no write of fhpa removes a field
//! of the user.

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
            // What only lost fields was pruned by the API server at somebody's write.
            let at = |object| path.iter().try_fold(object, |object: &Value, key| object.get(key));
            if at(before).zip(at(after)).is_some_and(|(before, after)| is_pruned(before, after)) {
                return false;
            }
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

/// Whether fields that the schema does not know are all that is missing.
fn is_pruned(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            after.iter().all(|(key, after)| before.get(key).is_some_and(|before| is_pruned(before, after)))
        }
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(before, after)| is_pruned(before, after))
        }
        _ => before == after,
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
