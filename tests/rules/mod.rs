//! Tests of the rules, through reviews.

mod bench;
mod upstream;
mod world;
