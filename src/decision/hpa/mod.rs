//! How many replicas a workload needs: the algorithm of the Kubernetes HorizontalPodAutoscaler
//! (docs/design.md#centralized-mode). Pure. Centralized mode runs it over all clusters at once; the member clusters of the
//! playground run it, and so does all that has to foresee what a member HPA will do.
//!
//! [`proposal`] turns metrics into a number of replicas, [`stabilization`] and [`limits`] turn that number into one that
//! may be written, and [`decide`] puts them together with the conditions that an HPA reports.

pub mod alike;
pub mod behavior;
pub mod clusters;
pub mod decide;
pub mod limits;
pub mod load;
pub mod metric;
pub mod pod;
pub mod proposal;
pub mod replicas;
pub mod stabilization;
