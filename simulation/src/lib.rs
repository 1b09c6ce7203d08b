//! A fleet in virtual time: member clusters with nodes, the pods and HPAs of one workload or of several that share
//! them, loads, faults, and the control plane, which uses the code of `decision` (docs/design.md#distributed-mode). Pure: no
//! clock, no I/O; the same scenario gives the same run everywhere.
//!
//! [`Scenario`] describes the input, [`run`] simulates it second by second and passes on each [`Frame`], [`Figures`]
//! summarize it and a [`Record`] keeps samples. [`run_fleet`] does so for all workloads, and [`optimum()`] knows the
//! future.

mod autoscaler;
mod burden;
mod control;
mod curve;
mod event;
mod figures;
mod frame;
mod member;
mod nodes;
mod optimum;
mod pods;
mod record;
mod scenario;
mod shared;
mod world;

pub use curve::{Curve, Daily, Point, Second};
pub use event::{Event, EventKind};
pub use figures::Figures;
pub use frame::{ClusterFrame, FleetFrame, Frame, Tally};
pub use optimum::optimum;
pub use record::{FleetRecord, FleetSample, Record, Row, Sample};
pub use scenario::{Disruption, Driver, Fault, Growth, Scenario, Sharing, Site, Start, Timing, Workload, one_pod};
pub use world::{FleetFigures, run, run_fleet};
