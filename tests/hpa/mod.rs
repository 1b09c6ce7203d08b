//! The HPA algorithm against the decisions of the program it follows, and its laws.

mod agreement;
mod laws;
mod vectors;
