//! A fleet in virtual time: member clusters with pods, nodes and HPAs of their own, a load, faults, and the control plane
//! that decides with the very code of `decision` (docs/design.md#processes). Pure: no clock, no I/O; the
//! same scenario gives the same run everywhere.
//!
//! [`Scenario`] is what happens, [`run`] lets it happen second by second and shows each [`Frame`], [`Figures`] sum it up and
//! a [`Record`] keeps samples of it.

mod autoscaler;
mod control;
mod curve;
mod figures;
mod member;
mod pods;
mod record;
mod scenario;
mod world;

pub use curve::{Curve, Daily, Point};
pub use figures::Figures;
pub use record::{Event, EventKind, Record, Row, Sample};
pub use scenario::{Disruption, Driver, Fault, Growth, Scenario, Second, Site, Timing, Workload};
pub use world::{ClusterFrame, Frame, run};
