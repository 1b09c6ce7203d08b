//! A fleet in virtual time: member clusters with pods, nodes and HPAs of their own, a load, faults, and the control
//! plane, which uses the code of `decision` (docs/design.md#distributed-mode). Pure: no clock, no I/O; the same scenario
//! gives the same run everywhere.
//!
//! [`Scenario`] describes the input, [`run`] simulates it second by second and passes on each [`Frame`], [`Figures`]
//! summarize it and a [`Record`] keeps samples.

mod autoscaler;
mod control;
mod curve;
mod event;
mod figures;
mod member;
mod pods;
mod record;
mod scenario;
mod world;

pub use curve::{Curve, Daily, Point, Second};
pub use event::{Event, EventKind};
pub use figures::Figures;
pub use record::{Record, Row, Sample};
pub use scenario::{Disruption, Driver, Fault, Growth, Scenario, Site, Timing, Workload};
pub use world::{ClusterFrame, Frame, run};
