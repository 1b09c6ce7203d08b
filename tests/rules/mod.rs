//! Tests of the rules, through reviews.

mod bench;
mod cases;
mod defaults;
mod laws;
mod neighbours;
mod normal;
mod schema;
mod updates;
mod upstream;
mod world;
