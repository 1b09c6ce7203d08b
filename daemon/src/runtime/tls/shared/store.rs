//! The Secret that contains CA and leaf. Talks to the API server of the host cluster.
//!
//! There is no lock except the API server's own: of several clients that create an object of one name, one succeeds; an
//! update names the version on which it is based, and fails when there is another one.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::core::ObjectMeta;

use super::content::{Content, Found};
use crate::decision::excerpt::{ERROR, excerpt};

/// Type of the Secret.
const TYPE: &str = "kubernetes.io/tls";
/// Label of Secrets that fhpa created.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "fhpa");

/// Name of a Secret, as `NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!("{text:?} is not NAMESPACE/NAME")),
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Why the Secret cannot be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// A role is missing.
    #[error(
        "the account may not {verb} the Secret {secret}: allow it the verb {verb:?} on \"secrets\" in that namespace, as the \
         chart's Role does; the API server says: {said}"
    )]
    Forbidden {
        /// The verb.
        verb: &'static str,
        /// The Secret.
        secret: SecretName,
        /// Message of the API server.
        said: String,
    },
    /// Another owner created it.
    #[error(
        "the Secret {secret} was not made by fhpa ({what}) and is left as it is: name another one with --cert-secret, or serve \
         this one with --cert-dir"
    )]
    Foreign {
        /// The Secret.
        secret: SecretName,
        /// What shows this.
        what: String,
    },
    /// The API server rejects the request, is busy, or is unreachable.
    #[error("the Secret {secret} cannot be {done}: {said}")]
    Failed {
        /// The attempted action, as a participle.
        done: &'static str,
        /// The Secret.
        secret: SecretName,
        /// The error.
        said: String,
    },
    /// There is no access to its API server.
    #[error("the Secret {secret} cannot be reached: {said}")]
    NoAccess {
        /// The Secret.
        secret: SecretName,
        /// Why not.
        said: String,
    },
    /// The API server did not respond.
    #[error("the Secret {0} cannot be read: its API server does not answer in time")]
    Silent(SecretName),
    /// Another client wrote first at every attempt.
    #[error("the Secret {0} was changed by another client at every attempt to write it; it is retried")]
    Contested(SecretName),
}

/// A Secret as read.
pub(super) struct Read {
    /// Its content.
    pub(super) found: Found,
    /// The object as the API server returned it.
    secret: Option<Secret>,
}

/// Reads and writes the Secret.
#[derive(Clone)]
pub struct Store {
    api: Api<Secret>,
    secret: SecretName,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Store({})", self.secret)
    }
}

impl Store {
    /// Access to one Secret.
    #[must_use]
    pub fn new(client: Client, secret: SecretName) -> Self {
        Self { api: Api::namespaced(client, &secret.namespace), secret }
    }

    /// The name of the Secret.
    #[must_use]
    pub const fn secret(&self) -> &SecretName {
        &self.secret
    }

    fn failed(&self, verb: &'static str, done: &'static str, error: &kube::Error) -> StoreError {
        let secret = self.secret.clone();
        match error {
            kube::Error::Api(status) if status.code == 403 => {
                StoreError::Forbidden { verb, secret, said: excerpt(&status.message, ERROR).to_owned() }
            }
            kube::Error::Api(status) => {
                StoreError::Failed { done, secret, said: excerpt(&status.message, ERROR).to_owned() }
            }
            error => StoreError::Failed { done, secret, said: excerpt(&error.to_string(), ERROR).to_owned() },
        }
    }

    /// Reads the Secret.
    ///
    /// # Errors
    /// It cannot be read, or was not created by fhpa.
    pub(super) async fn read(&self) -> Result<Read, StoreError> {
        let secret = self.api.get_opt(&self.secret.name).await.map_err(|error| self.failed("get", "read", &error))?;
        let found = secret.as_ref().map(|secret| self.content(secret)).transpose()?.unwrap_or(Found::Absent);
        Ok(Read { found, secret })
    }

    fn content(&self, secret: &Secret) -> Result<Found, StoreError> {
        let foreign = |what: String| Err(StoreError::Foreign { secret: self.secret.clone(), what });
        let kind = secret.type_.as_deref().unwrap_or_default();
        if kind != TYPE {
            return foreign(format!("its type is {kind:?}, not {TYPE:?}"));
        }
        let (label, ours) = LABEL;
        if secret.metadata.labels.as_ref().and_then(|labels| labels.get(label)).is_none_or(|value| value != ours) {
            return foreign(format!("it lacks the label {label}: {ours}"));
        }
        let entries = secret.data.clone().unwrap_or_default();
        let entries: BTreeMap<String, Vec<u8>> = entries.into_iter().map(|(key, value)| (key, value.0)).collect();
        Ok(Content::read(&entries).map_or_else(Found::Broken, Found::Held))
    }

    /// Writes `content` over what was read; returns false when another client wrote first.
    ///
    /// # Errors
    /// The API server rejects the request or is unreachable.
    pub(super) async fn write(&self, before: Read, content: &Content) -> Result<bool, StoreError> {
        let parameters = PostParams { field_manager: Some("fhpa-certificate".to_owned()), ..PostParams::default() };
        let new = before.secret.is_none();
        let mut secret = before.secret.unwrap_or_else(|| self.blank());
        let entries = content.entries().into_iter().map(|(key, value)| (key, ByteString(value)));
        secret.data.get_or_insert_default().extend(entries);
        secret.metadata.managed_fields = None;
        let (written, verb, done) = if new {
            (self.api.create(&parameters, &secret).await, "create", "created")
        } else {
            (self.api.replace(&self.secret.name, &parameters, &secret).await, "update", "written")
        };
        match written {
            Ok(_) => Ok(true),
            // It already exists, was changed, or is gone.
            Err(kube::Error::Api(status)) if status.code == 409 || (!new && status.code == 404) => Ok(false),
            Err(error) => Err(self.failed(verb, done, &error)),
        }
    }

    fn blank(&self) -> Secret {
        let labels = [LABEL, ("app.kubernetes.io/name", "fhpa"), ("app.kubernetes.io/component", "certificate")];
        let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let metadata = ObjectMeta {
            name: Some(self.secret.name.clone()),
            namespace: Some(self.secret.namespace.clone()),
            labels: Some(labels),
            ..ObjectMeta::default()
        };
        Secret { metadata, type_: Some(TYPE.to_owned()), ..Secret::default() }
    }
}
