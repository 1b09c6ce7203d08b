//! How many replicas a workload needs: the algorithm of the Kubernetes HorizontalPodAutoscaler
//! (docs/centralized.md#what-it-does). Pure. Centralized mode uses it for all clusters at once; the member clusters of
//! the playground use it, and so does every part that predicts a member HPA.
//!
//! [`proposal`] turns metrics into a number of replicas, [`stabilization`] and [`limits`] turn that number into one
//! that may be written, and [`decide`] combines them with the conditions that an HPA reports.

pub mod behavior;
pub mod decide;
pub mod limits;
pub mod load;
pub mod metric;
pub mod multi_cluster;
pub mod pod;
pub mod proposal;
pub mod replicas;
pub mod selectors;
pub mod stabilization;
pub mod uniform;
