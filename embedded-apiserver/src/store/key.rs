//! Keys of objects. No I/O.

use std::{fmt, sync::Arc};

/// Key of an object: its bucket (`deployments.apps`) and `namespace/name` in it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    pub(super) bucket: Arc<str>,
    pub(super) path: Arc<str>,
}

impl Key {
    /// The key of an object; cluster-scoped objects have an empty namespace.
    pub fn new(bucket: &Arc<str>, namespace: &str, name: &str) -> Self {
        Self { bucket: bucket.clone(), path: format!("{namespace}/{name}").into() }
    }

    /// `deployments.apps`.
    pub fn bucket(&self) -> &Arc<str> {
        &self.bucket
    }

    /// Namespace; empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.path.split_once('/').map_or("", |(namespace, _)| namespace)
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.path.split_once('/').map_or("", |(_, name)| name)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.bucket, self.path)
    }
}
