//! The controller's requests to the API server: the embedded one, and a real one where present.

mod control;
mod event_series;
mod events;
mod recovery;
mod targets;
