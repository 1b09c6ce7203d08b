//! AdmissionReview -> decode -> default / validate -> respond. No sockets: the runtime brings the bytes.

pub mod endpoint;
pub mod envelope;
pub mod review;
pub mod verdict;
