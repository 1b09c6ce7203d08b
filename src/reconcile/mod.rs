//! The controller: watch -> observe -> decide -> apply(&Leader) -> status. Talks to the API server; decisions are made
//! in `decision`.

pub mod events;
pub mod failure;
pub mod managers;
pub mod request;
pub mod target;
