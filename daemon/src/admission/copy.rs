//! How the webhook maintains the copy of fhpa's fields: it follows changes by the user, and is kept where a foreign CRD
//! hid these fields from all clients, including this webhook (docs/design.md#law-10-act-only-on-whole-objects). No I/O.

use serde_json::{Map, Value};

use crate::decision::defaults::Addition;
use crate::decision::mirror::{self, Copied, Notes, Own, Wanted};
use crate::decision::names::pointer_token;

/// The fhpa fields of an object, and their copy in its annotations.
#[derive(Clone, Debug, Default)]
pub(super) struct CopiedFields<'a> {
    pub(super) own: Own,
    pub(super) notes: Notes<'a>,
    /// Whether it has annotations at all.
    pub(super) annotated: bool,
}

impl CopiedFields<'_> {
    fn is_bare(&self) -> bool {
        self.own.is_empty() && self.notes.copied() != Copied::Nothing
    }
}

/// Whether fields of the object are hidden: it has no fhpa fields, and did not have them before, while a copy has some.
/// `frozen` is whether the CRDs are known to be foreign.
pub(super) fn is_hidden(new: &CopiedFields<'_>, old: Option<&CopiedFields<'_>>, frozen: bool) -> bool {
    let before = old.is_none_or(|old| old.own.is_empty());
    new.own.is_empty() && before && (frozen || new.is_bare() || old.is_some_and(CopiedFields::is_bare))
}

/// Additions to the object with which the copy matches its fields; a copy that a hidden object would lose is kept.
pub(super) fn additions(new: &CopiedFields<'_>, old: Option<&CopiedFields<'_>>, hidden: bool) -> Vec<Addition> {
    let wanted = match old {
        Some(old) if hidden && new.notes.copied() == Copied::Nothing => {
            Wanted { spec: old.notes.spec.map(str::to_owned), mode: old.notes.mode.map(str::to_owned) }
        }
        _ if hidden => return Vec::new(),
        _ => match new.notes.outdated_by(&new.own) {
            Some(wanted) => wanted,
            None => return Vec::new(),
        },
    };
    let known = [(mirror::SPEC, new.notes.spec, wanted.spec), (mirror::MODE, new.notes.mode, wanted.mode)];
    let changed = known.into_iter().filter(|(_, have, want)| want.is_some() && *have != want.as_deref());
    let values: Vec<(&str, Value)> = changed.filter_map(|(name, _, want)| Some((name, want?.into()))).collect();
    if values.is_empty() {
        return Vec::new();
    }
    if !new.annotated {
        let all: Map<String, Value> = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        return vec![Addition { pointer: "/metadata/annotations".to_owned(), value: all.into() }];
    }
    let pointer = |name: &str| format!("/metadata/annotations/{}", pointer_token(name));
    values.into_iter().map(|(name, value)| Addition { pointer: pointer(name), value }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn own(fields: &Value) -> Own {
        mirror::of_federated_hpa(fields)
    }

    const COPY: &str = r#"{"mode":"Distributed","scaleAssist":false}"#;

    fn copied<'a>() -> Notes<'a> {
        Notes { spec: Some(COPY), mode: Some("Distributed"), ..Notes::default() }
    }

    #[test]
    fn the_copy_follows_what_the_user_writes() {
        let new = CopiedFields { own: own(&json!({"mode": "Centralized"})), notes: copied(), annotated: true };
        let old = CopiedFields { own: own(&json!({"mode": "Distributed", "scaleAssist": false})), ..new.clone() };
        assert!(!is_hidden(&new, Some(&old), true), "who sends our fields is served our definition");
        let added = additions(&new, Some(&old), false);
        assert_eq!(added.len(), 2);
        assert_eq!(added[0].pointer, "/metadata/annotations/fhpa.karmada.io~1spec");
        assert_eq!(added[0].value, r#"{"mode":"Centralized"}"#);
        assert!(additions(&old, None, false).is_empty(), "a second time changes nothing");
    }

    #[test]
    fn what_a_foreign_definition_hides_is_not_taken_for_an_edit() {
        let old = CopiedFields { own: Own::new(), notes: copied(), annotated: true };
        assert!(is_hidden(&old, Some(&old), false));
        assert!(additions(&old, Some(&old), true).is_empty());
        // Replaced by a manifest without annotations.
        let new = CopiedFields::default();
        assert!(is_hidden(&new, Some(&old), false));
        let kept = additions(&new, Some(&old), true);
        assert_eq!(kept[0].value, json!({"fhpa.karmada.io/spec": COPY, "fhpa.karmada.io/mode": "Distributed"}));
        // A restored backup.
        assert!(is_hidden(&old, None, false));
    }

    #[test]
    fn fields_that_the_user_takes_out_are_out() {
        let old = CopiedFields { own: own(&json!({"mode": "Distributed"})), notes: copied(), annotated: true };
        let new = CopiedFields { own: Own::new(), notes: copied(), annotated: true };
        assert!(!is_hidden(&new, Some(&old), false));
        assert!(!is_hidden(&CopiedFields::default(), None, false) && is_hidden(&CopiedFields::default(), None, true));
    }
}
