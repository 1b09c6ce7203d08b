//! Custom kinds: structural schema, pruning, defaulting, validation with CEL, ratcheting. No I/O.

mod check;
mod embedded;
mod formats;
mod lists;
mod node;
mod rules;
mod shape;
mod violations;

use serde_json::Value;

use self::node::{Node, Others};

pub use super::field::{Fault, FieldError};

/// A compiled `openAPIV3Schema`.
#[derive(Debug)]
pub struct Structural {
    root: Node,
    has_rules: bool,
}

impl Structural {
    /// Compiles a schema.
    ///
    /// # Errors
    /// The schema is not structural, or a pattern or a CEL rule in it does not compile: `path: error`.
    pub fn compile(schema: &Value) -> Result<Self, String> {
        let root = Node::compile(schema)?;
        if let Some(error) = first_rule_error(&root) {
            return Err(format!("spec.validation.openAPIV3Schema: Invalid value: compilation failed: {error}"));
        }
        let has_rules = root.has_rules();
        Ok(Self { root, has_rules })
    }

    /// Removes unknown members; returns their paths, sorted: `spec.items[0].nmae`.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        shape::prune(&self.root, object)
    }

    /// Removes nulls that are not values and sets defaults.
    pub fn default(&self, object: &mut Value) {
        shape::drop_nulls(Some(&self.root), object);
        shape::fill(&self.root, object);
    }

    /// Errors of the object. Unchanged errors of `old` are ignored.
    #[must_use]
    pub fn validate(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = check::validate(&self.root, new, old);
        embedded::check(&self.root, "", new, &mut errors);
        if old.is_none_or(|old| lists::check(&self.root, "", old).is_empty()) {
            errors.extend(lists::check(&self.root, "", new));
        }
        if !self.has_rules {
            return errors;
        }
        let blocking = |error: &FieldError| {
            matches!(
                error.fault,
                Fault::NotSupported | Fault::Required | Fault::TooLong | Fault::TooMany | Fault::TypeInvalid
            )
        };
        if errors.iter().any(blocking) {
            errors.push(FieldError::new(Fault::Invalid, "", Value::Null, UNCHECKED));
        } else {
            violations::check(&self.root, new, old, &mut errors);
        }
        errors
    }
}

const UNCHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing \
                         errors to complete validation";

fn first_rule_error(node: &Node) -> Option<String> {
    let own = node.rules.as_ref().and_then(|rules| rules.errors().into_iter().next());
    let others = match &node.others {
        Others::Like(node) => Some(node.as_ref()),
        _ => None,
    };
    own.or_else(|| {
        let below = node.properties.values().chain(&node.all_of).chain(node.items.as_deref()).chain(others);
        below.into_iter().find_map(first_rule_error)
    })
}
