//! The controller's talk with the API server: the embedded one, and a real one where present.

mod control;
mod events;
mod targets;
