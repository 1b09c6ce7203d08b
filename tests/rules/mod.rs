//! Tests of the rules, through reviews.

mod cases;
mod contradictions;
mod defaults;
mod demands;
mod doubts;
mod effects;
mod hold;
mod laws;
mod neighbours;
pub mod normal;
mod queries;
mod rounds;
mod schema;
mod targets;
mod updates;
mod upstream;
pub mod world;
