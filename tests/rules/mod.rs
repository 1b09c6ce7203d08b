//! Tests of the rules, through reviews.

mod bench;
mod cases;
mod normal;
mod upstream;
mod world;
