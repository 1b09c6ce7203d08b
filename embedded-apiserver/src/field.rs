//! Field errors with the texts of kube-apiserver. No I/O.

use std::fmt;

use serde_json::Value;

/// Kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A required member is absent.
    Required,
    /// The value breaks a rule.
    Invalid,
    /// The value has the wrong type.
    TypeInvalid,
    /// The value is not one of those allowed.
    NotSupported,
    /// The value must be unique.
    Duplicate,
    /// The member may not be set.
    Forbidden,
    /// Too many characters.
    TooLong,
    /// Too many elements.
    TooMany,
}

impl Fault {
    /// The machine reason of `details.causes[].reason`.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Required => "FieldValueRequired",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Required => "Required value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Duplicate => "Duplicate value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

/// One reason to reject an object.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// Kind of the error.
    pub fault: Fault,
    /// Path: `spec.rules[0].name`; `<nil>` for the whole object.
    pub field: String,
    /// The rejected value; `None`: not shown.
    pub value: Option<Value>,
    /// Valid values; may be empty.
    pub detail: String,
}

/// The field of errors that concern the whole object.
pub const WHOLE: &str = "<nil>";

impl FieldError {
    /// An error that shows the value.
    pub fn new(fault: Fault, field: &str, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        let mut value = value.into();
        stored_form(&mut value);
        Self { fault, field: path(field), value: Some(value), detail: detail.into() }
    }

    /// An error that does not show the value.
    pub fn bare(fault: Fault, field: &str, detail: impl Into<String>) -> Self {
        Self { fault, field: path(field), value: None, detail: detail.into() }
    }

    /// The text without the field, as in `details.causes[].message`.
    #[must_use]
    pub fn message(&self) -> String {
        let mut text = self.fault.text().to_owned();
        if let Some(value) = &self.value {
            text = format!("{text}: {value}");
        }
        if self.detail.is_empty() { text } else { format!("{text}: {}", self.detail) }
    }
}

/// Converts a value to the stored form of Kubernetes: whole numbers without a fraction, `5.0` as `5`.
pub fn stored_form(value: &mut Value) {
    match value {
        Value::Object(members) => members.values_mut().for_each(stored_form),
        Value::Array(items) => items.iter_mut().for_each(stored_form),
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 1e15);
            if let Some(whole) = whole.and_then(|number| format!("{number:.0}").parse::<i64>().ok()) {
                *value = whole.into();
            }
        }
        _ => {}
    }
}

fn path(field: &str) -> String {
    let field = field.strip_prefix('.').unwrap_or(field);
    if field.is_empty() { WHOLE.to_owned() } else { field.to_owned() }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// All errors in one text: unchanged when there is one, in brackets when there are several; each text once.
#[must_use]
pub fn summary(errors: &[FieldError]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
