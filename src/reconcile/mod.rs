//! The controller: watch -> observe -> decide -> apply(&Leader) -> status. Talks to the API server; decisions are made
//! in `decision`.
