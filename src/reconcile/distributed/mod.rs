//! FederatedHPA, distributed: each member cluster gets an HPA with its share of the bounds (design: Distributed mode).

pub mod capacity;
