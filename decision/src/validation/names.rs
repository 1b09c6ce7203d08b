//! The name formats of Kubernetes. Pure: each function returns why a text is not valid, or `None`.

/// Longest DNS subdomain.
const SUBDOMAIN: usize = 253;
/// Longest DNS label, and longest name part of a qualified name.
pub(super) const LABEL: usize = 63;

/// Why `text` is not an RFC 1123 subdomain, as names of objects are.
pub fn subdomain(text: &str) -> Option<String> {
    if text.len() > SUBDOMAIN {
        return Some(format!("must be no more than {SUBDOMAIN} characters"));
    }
    (!text.split('.').all(is_label)).then(|| {
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
         and end with an alphanumeric character (e.g. 'example.com')"
            .to_owned()
    })
}

/// Why `text` is not an RFC 1123 label, as names of namespaces are.
pub fn label(text: &str) -> Option<String> {
    if text.len() > LABEL {
        return Some(format!("must be no more than {LABEL} characters"));
    }
    (!is_label(text)).then(|| {
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
         with an alphanumeric character (e.g. 'my-name')"
            .to_owned()
    })
}

/// The name of a namespace.
///
/// # Errors
/// Why `text` is none.
pub fn namespace(text: &str) -> Result<String, String> {
    label(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// The name of an object.
///
/// # Errors
/// Why `text` is none.
pub fn object(text: &str) -> Result<String, String> {
    subdomain(text).map_or_else(|| Ok(text.to_owned()), Err)
}

fn is_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Why `text` is not a qualified name (`name` or `prefix/name`).
pub(super) fn qualified_name(text: &str) -> Option<String> {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if name.contains('/') {
        return Some("a valid key has at most one '/' (e.g. 'example.com/my-name')".to_owned());
    }
    if let Some(prefix) = prefix {
        if prefix.is_empty() {
            return Some("the part before '/' must not be empty (e.g. 'example.com/my-name')".to_owned());
        }
        if let Some(problem) = subdomain(prefix) {
            return Some(format!("the part before '/': {problem}"));
        }
    }
    if name.is_empty() {
        return Some("the name part must not be empty (e.g. 'my-name' or 'example.com/my-name')".to_owned());
    }
    if name.len() > LABEL {
        return Some(format!("the name part must be no more than {LABEL} bytes"));
    }
    (!is_wide_label(name)).then(|| {
        "the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName')"
            .to_owned()
    })
}

/// Why `text` is not a label value.
pub(super) fn label_value(text: &str) -> Option<String> {
    if text.len() > LABEL {
        return Some(format!("must be no more than {LABEL} bytes"));
    }
    (!text.is_empty() && !is_wide_label(text)).then(|| {
        "a label value must be empty or consist of alphanumeric characters, '-', '_' or '.', and must start and end \
         with an alphanumeric character (e.g. 'my_value')"
            .to_owned()
    })
}

fn is_wide_label(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    text.bytes().all(inner) && edge(text.as_bytes().first()) && edge(text.as_bytes().last())
}

/// Why `text` cannot be a part of a URL path, in the words of Kubernetes.
pub(super) fn path_segment(text: &str) -> Option<&'static str> {
    match text {
        "." => Some("may not be '.'"),
        ".." => Some("may not be '..'"),
        _ if text.contains('/') => Some("may not contain '/'"),
        _ if text.contains('%') => Some("may not contain '%'"),
        _ => None,
    }
}

/// Whether an object of this kind and name is another namespace than `namespace`: its metrics are not for users of that.
#[must_use]
pub fn is_other_namespace(kind: &str, name: &str, namespace: &str) -> bool {
    kind == "Namespace" && name != namespace
}

/// Why `text` cannot be the kind or the name of an object to write: a text that is special in a URL would direct the
/// controller, with its permissions, to another object.
#[must_use]
pub fn reference(text: &str) -> Option<&'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte);
    path_segment(text)
        .or_else(|| (!text.bytes().all(plain)).then_some("may only have letters, digits and the characters -._~:@"))
}
