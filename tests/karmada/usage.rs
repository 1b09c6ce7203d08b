//! What several processes use together. I/O: reads `/proc`.

use std::time::Duration;

use crate::rig::proc;
use crate::rig::program::Program;

/// Of several processes together.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// Processor time so far.
    pub cpu: Duration,
    /// Resident memory in MiB.
    pub resident: f64,
}

/// Of these processes now.
pub fn of<'a>(programs: impl IntoIterator<Item = &'a Program>) -> Usage {
    programs.into_iter().fold(Usage { cpu: Duration::ZERO, resident: 0.0 }, |sum, program| {
        let resident = f64::from(proc::memory(program.pid(), proc::RESIDENT)) / 1024.0;
        Usage { cpu: sum.cpu + proc::cpu(program.pid()), resident: sum.resident + resident }
    })
}
