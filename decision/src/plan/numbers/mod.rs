//! The numbers of replicas of one cluster: each that a stage uses has its name and its meaning here. *observed* has
//! those that are seen, *decided* those that follow from its target and memory. Pure.

mod decided;
mod observed;
