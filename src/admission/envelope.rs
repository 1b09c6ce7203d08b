//! The admission.k8s.io/v1 AdmissionReview as it comes in, borrowed from the request body. No I/O.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// What the API server is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// The object goes away.
    Delete,
    /// A connection to a subresource.
    Connect,
    /// Anything else.
    Unknown,
}

/// One request for a verdict.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Identifies the request; repeated in the answer.
    pub uid: Cow<'a, str>,
    /// What is done.
    pub operation: Operation,
    /// Namespace of the object.
    pub namespace: Cow<'a, str>,
    /// Name of the object; may be empty on CREATE.
    pub name: Cow<'a, str>,
    /// Subresource, empty for the object itself.
    pub sub_resource: Cow<'a, str>,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// The new object; absent on DELETE.
    pub object: Option<&'a RawValue>,
    /// The stored object; absent on CREATE.
    pub old_object: Option<&'a RawValue>,
}
