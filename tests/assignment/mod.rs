//! Assignment of bounds to member clusters: the worked examples, laws over random fleets, and plans applied step by step.

mod cases;
mod fleet;
mod laws;
mod life;
mod world;
