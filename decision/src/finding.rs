//! Findings of the rules in an object: violations that deny it and warnings. Pure.

use std::fmt;

use super::path::Path;
use super::suggestion::nearest;

/// The cause of a violation; names and texts are those of Kubernetes field errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A required member is absent or empty.
    Required,
    /// The value breaks a rule.
    Invalid(BadValue),
    /// The value is not one of the supported ones.
    NotSupported {
        /// What was given.
        value: BadValue,
        /// What may be given instead.
        supported: Vec<String>,
    },
    /// The value must be unique in its list and is not.
    Duplicate(BadValue),
    /// The member may not be set here.
    Forbidden,
    /// The value has more than `max` characters.
    TooLong {
        /// Upper bound.
        max: usize,
    },
    /// The list has more than `max` elements.
    TooMany {
        /// How many it has.
        count: usize,
        /// Upper bound.
        max: usize,
    },
    /// The value has the wrong JSON type.
    TypeInvalid(BadValue),
}

/// A rejected value as the message shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BadValue {
    /// Shown in quotes, shortened when long.
    Text(String),
    /// Shown unchanged.
    Number(i64),
    /// Shown unchanged: JSON of another type.
    Json(String),
}

impl From<&str> for BadValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<i32> for BadValue {
    fn from(value: i32) -> Self {
        Self::Number(value.into())
    }
}

impl From<i64> for BadValue {
    fn from(value: i64) -> Self {
        Self::Number(value)
    }
}

/// Characters of a rejected text that a message repeats.
const TEXT_LENGTH: usize = 120;

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => match text.char_indices().nth(TEXT_LENGTH) {
                Some((end, _)) => write!(f, "{:?}...", text.get(..end).unwrap_or_default()),
                None => write!(f, "{text:?}"),
            },
            Self::Number(number) => write!(f, "{number}"),
            Self::Json(json) => f.write_str(json),
        }
    }
}

/// One reason to reject an object. Displays as Kubernetes prints a field error: `path: Invalid value: "x": detail`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Field path in Kubernetes' style.
    pub path: String,
    /// Kind of the error.
    pub cause: Cause,
    /// What would be valid; may be empty.
    pub detail: String,
    /// Name of the rule, stable, for metrics and audit annotations (`schedule`, `max-below-min` ...).
    pub rule: &'static str,
}

impl Violation {
    /// A violation of `rule` at `path`.
    #[must_use]
    pub fn new(rule: &'static str, path: &Path<'_>, cause: Cause, detail: impl Into<String>) -> Self {
        Self { path: path.to_string(), cause, detail: detail.into(), rule }
    }

    /// The message without the path, as in `details.causes[].message`.
    #[must_use]
    pub fn message(&self) -> String {
        let head = match &self.cause {
            Cause::Required => "Required value".to_owned(),
            Cause::Invalid(value) | Cause::TypeInvalid(value) => format!("Invalid value: {value}"),
            Cause::NotSupported { value, supported } => {
                let supported: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
                format!("Unsupported value: {value}: supported values: {}", supported.join(", "))
            }
            Cause::Duplicate(value) => format!("Duplicate value: {value}"),
            Cause::Forbidden => "Forbidden".to_owned(),
            Cause::TooLong { max } => format!("Too long: may not be more than {max} bytes"),
            Cause::TooMany { count, max } => format!("Too many: {count}: must have at most {max} items"),
        };
        if self.detail.is_empty() { head } else { format!("{head}: {}", self.detail) }
    }

    /// The machine reason of `details.causes[].reason` (Kubernetes `field.ErrorType`).
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self.cause {
            Cause::Required => "FieldValueRequired",
            Cause::Invalid(_) => "FieldValueInvalid",
            Cause::NotSupported { .. } => "FieldValueNotSupported",
            Cause::Duplicate(_) => "FieldValueDuplicate",
            Cause::Forbidden => "FieldValueForbidden",
            Cause::TooLong { .. } => "FieldValueTooLong",
            Cause::TooMany { .. } => "FieldValueTooMany",
            Cause::TypeInvalid(_) => "FieldValueTypeInvalid",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message())
    }
}

/// Information for the user about an admitted object: something to change. An answer has [`WARNING_CHARACTERS`] of it,
/// the command line all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Field path in Kubernetes' style; empty for the whole object.
    pub path: String,
    /// One sentence.
    pub text: String,
    /// Name of the rule, as in [`Violation::rule`].
    pub rule: &'static str,
}

impl Warning {
    /// A warning of `rule` at `path`.
    #[must_use]
    pub fn new(rule: &'static str, path: &Path<'_>, text: impl Into<String>) -> Self {
        Self::shortened(path.to_string(), text.into(), rule)
    }

    /// A warning whose text is truncated where it repeats more of an object than anybody reads.
    #[must_use]
    pub fn shortened(path: String, text: String, rule: &'static str) -> Self {
        match text.char_indices().nth(LONGEST_WARNING) {
            None => Self { path, text, rule },
            Some((end, _)) => Self { path, text: format!("{}...", text.get(..end).unwrap_or_default()), rule },
        }
    }
}

/// Most characters of the text of a warning.
const LONGEST_WARNING: usize = 1_000;
/// Most characters of a warning in an answer, path included: an API server cuts what is longer where all warnings of a
/// request together are too long.
pub const WARNING_CHARACTERS: usize = 256;

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() { f.write_str(&self.text) } else { write!(f, "{}: {}", self.path, self.text) }
    }
}

/// All findings of one object, in the order of its fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons to reject the object; empty means admitted.
    pub violations: Vec<Violation>,
    /// Warnings for the user.
    pub warnings: Vec<Warning>,
}

/// Most findings of either kind that are kept for one object, so that a hostile object costs no more than an invalid
/// one.
const MOST: usize = 256;

impl Findings {
    /// Whether the limit of violations is reached; the rules then need not look further.
    #[must_use]
    pub fn are_full(&self) -> bool {
        self.violations.len() >= MOST
    }

    /// Adds a reason to reject the object.
    pub fn refuse(&mut self, rule: &'static str, path: &Path<'_>, cause: Cause, detail: impl Into<String>) {
        if !self.are_full() {
            self.violations.push(Violation::new(rule, path, cause, detail));
        }
    }

    /// Rejects `value` at `path`.
    pub fn invalid(
        &mut self,
        rule: &'static str,
        path: &Path<'_>,
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) {
        self.refuse(rule, path, Cause::Invalid(value.into()), detail);
    }

    /// Rejects that `path` is absent or empty.
    pub fn required(&mut self, rule: &'static str, path: &Path<'_>, detail: impl Into<String>) {
        self.refuse(rule, path, Cause::Required, detail);
    }

    /// Rejects `value` because it is not one of `supported`; the message names a near miss.
    pub fn not_supported(&mut self, rule: &'static str, path: &Path<'_>, value: &str, supported: &[&str]) {
        let detail = match nearest(value, supported.iter().copied()) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None => String::new(),
        };
        let supported = supported.iter().map(|&word| word.to_owned()).collect();
        self.refuse(rule, path, Cause::NotSupported { value: value.into(), supported }, detail);
    }

    /// Adds a warning for the user.
    pub fn warn(&mut self, rule: &'static str, path: &Path<'_>, text: impl Into<String>) {
        if self.warnings.len() < MOST {
            self.warnings.push(Warning::new(rule, path, text));
        }
    }
}
