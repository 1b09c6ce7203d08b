//! Requests and resources of a while.

use std::collections::BTreeMap;
use std::time::Duration;

use fhpa::runtime::clock::steady;
use tokio::time::Instant;

use crate::audit::Reader;
use crate::operator::USER;
use crate::rig::program::Program;
use crate::stand::Stand;
use crate::upstream::Adapter;
use crate::usage::{self, Usage};

/// Names of Karmada's programs that ask for what autoscaling needs.
const KARMADA: [&str; 2] = ["karmada-controller-manager", "karmada-metrics-adapter"];

/// Measures from its beginning.
pub struct Meter {
    begun: Instant,
    reader: Reader,
    before: Vec<(&'static str, Usage)>,
}

/// What a while took.
pub struct Took {
    pub elapsed: Duration,
    /// Requests of fhpa, by verb and resource; those to members are counted by karmada-apiserver and by the member.
    pub ours: BTreeMap<String, usize>,
    /// Those of karmada-controller-manager and karmada-metrics-adapter.
    pub karmadas: BTreeMap<String, usize>,
    /// Processor time, and resident memory at the end, of each program that ran.
    pub used: Vec<(&'static str, Usage)>,
}

fn now(stand: &Stand, adapter: Option<&Adapter>) -> Vec<(&'static str, Usage)> {
    let members: Vec<&Program> = stand.lab.members.iter().filter_map(|member| member.plane.server()).collect();
    let groups: [(&str, Vec<&Program>); 5] = [
        ("fhpa", stand.fhpa.programs().collect()),
        (KARMADA[0], stand.lab.manager().into_iter().collect()),
        (KARMADA[1], adapter.map(|adapter| &adapter.program).into_iter().collect()),
        ("karmada-apiserver", stand.lab.karmada.server().into_iter().collect()),
        ("kube-apiservers of members", members),
    ];
    groups.into_iter().filter(|(_, one)| !one.is_empty()).map(|(name, one)| (name, usage::of(one))).collect()
}

impl Meter {
    pub fn start(stand: &Stand, adapter: Option<&Adapter>) -> Self {
        Self { before: now(stand, adapter), reader: Reader::new(&stand.lab), begun: steady() }
    }

    pub fn read(&self, stand: &Stand, adapter: Option<&Adapter>) -> Took {
        let (elapsed, after) = (self.begun.elapsed(), now(stand, adapter));
        let used = self.before.iter().zip(after).map(|((name, before), (_, after))| {
            (*name, Usage { cpu: after.cpu.saturating_sub(before.cpu), resident: after.resident })
        });
        let used = used.collect();
        // Nobody has an empty name.
        let (ours, karmadas) = (self.reader.requests(&[], USER), self.reader.requests(&KARMADA, "-"));
        Took { elapsed, ours, karmadas, used }
    }
}

impl Took {
    /// A number of this while, for a minute.
    pub fn a_minute(&self, count: usize) -> f64 {
        count as f64 * 60.0 / self.elapsed.as_secs_f64()
    }

    pub fn print(&self) {
        println!("    within {:.1} s", self.elapsed.as_secs_f64());
        for (name, used) in &self.used {
            let cpu = used.cpu.as_secs_f64();
            let part = 100.0 * cpu / self.elapsed.as_secs_f64();
            println!("      {name}: {cpu:.2} s of a core ({part:.1} %), {:.0} MiB", used.resident);
        }
        for (who, requests) in [("fhpa", &self.ours), ("Karmada's controllers", &self.karmadas)] {
            let all = requests.values().sum();
            println!("      requests of {who}: {all}, {:.0} a minute: {requests:?}", self.a_minute(all));
        }
    }
}
