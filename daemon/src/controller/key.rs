//! Names of objects. No I/O.

use std::fmt;
use std::sync::Arc;

use kube::core::ObjectMeta;

use super::intern;

/// Name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

impl Key {
    /// The key of an object.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// The key of a cached object: objects share namespaces, and names with other kinds and clusters.
    #[must_use]
    pub fn shared(namespace: &str, name: &str) -> Self {
        Self { namespace: intern::text(namespace), name: intern::text(name) }
    }

    /// The key of the cached object that has this metadata.
    #[must_use]
    pub fn of(metadata: &ObjectMeta) -> Self {
        Self::shared(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
