//! Assignment of bounds to member clusters: the worked examples, laws over random fleets, and plans applied step by
//! step.

mod absence;
mod cases;
mod changes;
mod clock;
mod corpus;
mod days;
mod fleet;
mod headroom;
mod help;
mod laws;
mod life;
mod replacement;
mod replacement_laws;
mod scale_up_laws;
mod shared;
mod states;
mod unready;
mod world;
