//! AdmissionReview -> decode -> default / validate -> respond. No sockets: the runtime passes the requests.

pub mod body;
mod copy;
pub mod endpoint;
pub mod envelope;
mod hold;
pub mod registration;
pub mod response;
pub mod review;
pub mod router;
pub mod verdict;
