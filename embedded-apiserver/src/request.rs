//! Parses path and query of a request. No I/O.

use serde_json::{Value, json};

use super::status::{Cause, StatusDetails, StatusError};

/// A parsed path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Path {
    /// API group; empty for core.
    pub group: String,
    /// Version.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Namespace; empty for all, or for cluster-scoped resources.
    pub namespace: String,
    /// Object; empty for the collection.
    pub name: String,
    /// `status`, `scale`, ...
    pub subresource: String,
    /// The path after the subresource (below `proxy`).
    pub rest: String,
}

impl Path {
    /// Parses `/api/v1/...` and `/apis/<group>/<version>/...` down to a resource; `None` for other paths.
    pub fn parse(path: &str) -> Option<Self> {
        let mut parts = path.trim_start_matches('/').split('/').map(decoded);
        let mut this = Self::default();
        match parts.next()?.as_str() {
            "api" => {}
            "apis" => this.group = parts.next()?,
            _ => return None,
        }
        this.version = parts.next()?;
        let first = parts.next().filter(|part| !part.is_empty())?;
        let mut rest: Vec<String> = parts.collect();
        if rest.last().is_some_and(String::is_empty) {
            rest.pop();
        }
        let mut rest = rest.into_iter();
        this.resource = first;
        if this.resource == "namespaces" {
            let (namespace, resource) = (rest.next(), rest.next());
            match (namespace, resource) {
                (None, _) => return Some(this),
                (Some(name), None) => this.name = name,
                (Some(name), Some(sub)) if matches!(sub.as_str(), "status" | "finalize") => {
                    this.name = name;
                    this.subresource = sub;
                }
                (Some(namespace), Some(resource)) => {
                    (this.namespace, this.resource) = (namespace, resource);
                    this.name = rest.next().unwrap_or_default();
                    this.subresource = rest.next().unwrap_or_default();
                }
            }
        } else {
            this.name = rest.next().unwrap_or_default();
            this.subresource = rest.next().unwrap_or_default();
        }
        this.rest = rest.collect::<Vec<_>>().join("/");
        Some(this)
    }
}

fn decoded(part: &str) -> String {
    if !part.contains('%') {
        return part.to_owned();
    }
    // `+` is a plain character in a path, unlike in a query.
    let query = format!("x={}", part.replace('+', "%2B"));
    form_urlencoded::parse(query.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

/// Query parameters.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pairs: Vec<(String, String)>,
}

/// Handling of unknown fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them with a warning.
    Warn,
    /// Reject the request.
    Strict,
}

impl Options {
    /// Reads a query string.
    pub fn parse(query: &str) -> Self {
        Self { pairs: form_urlencoded::parse(query.as_bytes()).into_owned().collect() }
    }

    /// A parameter; empty where it is missing.
    pub fn get(&self, key: &str) -> &str {
        self.find(key).unwrap_or_default()
    }

    /// A parameter.
    pub fn find(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    /// A boolean parameter.
    pub fn flag(&self, key: &str) -> bool {
        matches!(self.get(key), "true" | "1" | "True" | "TRUE")
    }

    /// A numeric parameter.
    ///
    /// # Errors
    /// 400 when it is not a number.
    pub fn number(&self, key: &str) -> Result<Option<u64>, StatusError> {
        let text = self.get(key);
        if text.is_empty() {
            return Ok(None);
        }
        text.parse()
            .map(Some)
            .map_err(|_| StatusError::bad_request(format!("strconv.ParseInt: parsing \"{text}\": invalid syntax")))
    }

    /// `resourceVersion` as a number.
    ///
    /// # Errors
    /// 400 when it is not a number.
    pub fn resource_version(&self) -> Result<Option<u64>, StatusError> {
        let text = self.get("resourceVersion");
        if text.is_empty() {
            return Ok(None);
        }
        text.parse().map(Some).map_err(|_| {
            StatusError::bad_request(format!(
                "Invalid value: \"{text}\": strconv.ParseUint: parsing \"{text}\": invalid syntax"
            ))
        })
    }

    /// Whether it is a dry run. `options` is the kind in the error message: `CreateOptions`.
    ///
    /// # Errors
    /// 422 for a value other than `All`.
    pub fn dry_run(&self, options: &str) -> Result<bool, StatusError> {
        match self.find("dryRun") {
            None | Some("") => Ok(false),
            Some("All") => Ok(true),
            Some(other) => Err(unsupported(options, "dryRun", &json!([other]), &["All"])),
        }
    }

    /// `fieldValidation`; warns by default.
    ///
    /// # Errors
    /// 422 for an unknown value.
    pub fn field_validation(&self, options: &str) -> Result<FieldValidation, StatusError> {
        match self.get("fieldValidation") {
            "" | "Warn" => Ok(FieldValidation::Warn),
            "Ignore" => Ok(FieldValidation::Ignore),
            "Strict" => Ok(FieldValidation::Strict),
            other => Err(unsupported(options, "fieldValidation", &other.into(), &["", "Ignore", "Strict", "Warn"])),
        }
    }
}

fn unsupported(options: &str, field: &str, value: &Value, supported: &[&str]) -> StatusError {
    StatusError::invalid(
        &StatusDetails::new("meta.k8s.io", options, ""),
        &[Cause::unsupported(field, value, supported)],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(path: &str) -> Option<[String; 6]> {
        let path = Path::parse(path)?;
        Some([path.group, path.version, path.namespace, path.resource, path.name, path.subresource])
    }

    #[test]
    fn paths_are_read_in_all_forms() {
        for (path, expected) in [
            ("/api/v1/pods", ["", "v1", "", "pods", "", ""]),
            ("/api/v1/namespaces", ["", "v1", "", "namespaces", "", ""]),
            ("/api/v1/namespaces/a", ["", "v1", "", "namespaces", "a", ""]),
            ("/api/v1/namespaces/a/status", ["", "v1", "", "namespaces", "a", "status"]),
            ("/api/v1/namespaces/a/pods/p/status", ["", "v1", "a", "pods", "p", "status"]),
            ("/apis/apps/v1/namespaces/a/deployments/", ["apps", "v1", "a", "deployments", "", ""]),
            ("/apis/g.io/v1/things/x%3Ay/scale", ["g.io", "v1", "", "things", "x:y", "scale"]),
        ] {
            assert_eq!(parts(path), Some(expected.map(str::to_owned)), "{path}");
        }
        assert_eq!(parts("/apis/apps/v1"), None);
        assert_eq!(parts("/version"), None);
    }
}
