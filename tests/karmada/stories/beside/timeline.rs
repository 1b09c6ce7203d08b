//! The load that both controllers get, and what became of the replicas.

use std::time::Duration;

use fhpa::runtime::clock::steady;
use serde_json::json;
use tokio::time::Instant;

use super::curves::{Change, Curves};
use super::{active, object};
use crate::both::{Loss, MEMBERS, REQUEST, World as _, deployment, policy};
use crate::stand::Stand;

/// A Deployment in all members, which is scaled by its processor time.
pub const SHOP: &str = "shop";
/// A StatefulSet in two members: each has a `web-0`.
pub const WEB: &str = "web";

/// A Deployment that is scaled by processor time and memory.
pub mod follow {
    pub const NAME: &str = "pair";
}

/// Whether this many replicas serve a load for so many within the tolerance: no controller changes them then.
pub fn is_near(replicas: u64, needed: u64) -> bool {
    (needed as f64 / replicas as f64 - 1.0).abs() <= 0.1
}

/// Since a phase of the load began, and until the next: what is needed is known.
#[derive(Clone, Debug)]
pub struct Phase {
    pub name: &'static str,
    pub from: Instant,
    /// Replicas that the load of [`SHOP`] needs at its target.
    pub needs: u64,
}

/// What one controller did.
pub struct Run {
    pub name: &'static str,
    pub phases: Vec<Phase>,
    pub end: Instant,
    changes: Vec<Change>,
}

impl Run {
    fn span(&self, phase: &str) -> (Instant, Instant) {
        let at = self.phases.iter().position(|one| one.name == phase).expect(phase);
        (self.phases[at].from, self.phases.get(at + 1).map_or(self.end, |next| next.from))
    }

    fn before(&self, at: Instant, name: &str) -> u64 {
        let changes = self.changes.iter().rev();
        changes.clone().find(|change| change.name == name && change.at <= at).map_or(0, |change| change.replicas)
    }

    pub fn changes(&self, name: &str) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.name == name)
    }

    /// Replicas of a template in all phases.
    pub fn values(&self, name: &str) -> impl Iterator<Item = u64> {
        let first = self.before(self.phases[0].from, name);
        let later = self.changes(name).filter(|change| change.at > self.phases[0].from);
        std::iter::once(first).chain(later.map(|change| change.replicas))
    }

    fn within(&self, phase: &str, name: &str) -> Vec<u64> {
        let (from, until) = self.span(phase);
        let during = self.changes(name).filter(|change| change.at > from && change.at <= until);
        std::iter::once(self.before(from, name)).chain(during.map(|change| change.replicas)).collect()
    }

    pub fn at_start(&self, phase: &str, name: &str) -> u64 {
        self.before(self.span(phase).0, name)
    }

    pub fn at_end(&self, phase: &str, name: &str) -> u64 {
        self.before(self.span(phase).1, name)
    }

    pub fn least(&self, phase: &str, name: &str) -> u64 {
        self.within(phase, name).into_iter().min().unwrap()
    }

    pub fn most(&self, phase: &str, name: &str) -> u64 {
        self.within(phase, name).into_iter().max().unwrap()
    }

    pub fn needed(&self, phase: &str) -> u64 {
        self.phases.iter().find(|one| one.name == phase).expect(phase).needs
    }

    /// From the beginning of a phase to the first change in it.
    pub fn reaction(&self, phase: &str, name: &str) -> Option<Duration> {
        let (from, until) = self.span(phase);
        let first = self.changes(name).find(|change| change.at > from && change.at <= until)?;
        Some(first.at - from)
    }

    pub fn print(&self) {
        println!("  {}", self.name);
        for phase in &self.phases {
            let of = |name: &str| format!("{:?}", self.within(phase.name, name));
            let reaction = self.reaction(phase.name, SHOP);
            let reaction = reaction.map_or("-".to_owned(), |time| format!("{:.1} s", time.as_secs_f64()));
            println!(
                "    {:<24} needs {:>2}, {SHOP} {} after {reaction}, {} {}, {WEB} {}",
                phase.name,
                phase.needs,
                of(SHOP),
                follow::NAME,
                of(follow::NAME),
                of(WEB)
            );
        }
    }
}

/// Plays the load, and notes what becomes of it.
struct Player<'a> {
    stand: &'a mut Stand,
    curves: Curves,
    phases: Vec<Phase>,
}

impl Player<'_> {
    fn phase(&mut self, name: &'static str, needs: u64) {
        self.phases.push(Phase { name, from: steady(), needs });
    }

    fn shop(&self, each: [u32; 3]) {
        for (member, replicas) in MEMBERS.iter().zip(each) {
            self.stand.wants(member, SHOP, replicas);
        }
    }

    /// Waits until so many run, within the tolerance.
    async fn reaches(&self, name: &str, replicas: u64) {
        let settled = || {
            let now = self.curves.now(name).unwrap_or_default();
            is_near(now, replicas) && u64::from(self.stand.lab.ready(name)) == now
        };
        let all = async {
            while !settled() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(90), all).await.is_err() {
            let (now, ready) = (self.curves.now(name), self.stand.lab.ready(name));
            let status = self.stand.hpa(name).await.unwrap_or_default()["status"].clone();
            panic!("{name} has {now:?} replicas and {ready} ready pods, not {replicas}: {status}");
        }
    }

    async fn passes(&self, seconds: u64) {
        self.stand.pass(seconds).await;
    }

    fn silence(&self, members: &[&str], silent: bool) {
        for member in members {
            self.stand.lab.member(member).pods.silence(silent);
        }
    }

    fn memory(&self, mebibytes: u32) {
        for member in MEMBERS {
            self.stand.lab.member(member).pods.load(follow::NAME, |load| load.memory = Some(mebibytes));
        }
    }

    /// A step, a ramp, a spike, and two metrics: Karmada is right.
    async fn rises_and_falls(&mut self) {
        self.phase("step", 9);
        self.shop([3; 3]);
        self.reaches(SHOP, 9).await;
        self.passes(4).await;
        self.phase("two metrics", 9);
        self.memory(300);
        self.reaches(follow::NAME, 9).await;
        self.passes(4).await;
        self.phase("ramp", 18);
        self.memory(100);
        for each in [4, 5, 6] {
            self.shop([each; 3]);
            self.passes(4).await;
        }
        self.reaches(SHOP, 18).await;
        self.passes(4).await;
        self.phase("spike", 27);
        self.shop([9; 3]);
        self.passes(6).await;
        self.phase("after the spike", 9);
        self.shop([3; 3]);
        self.reaches(SHOP, 9).await;
        self.passes(4).await;
    }

    /// The metrics of one member are away, then the member: the load is there.
    async fn loses_a_member(&mut self) {
        self.phase("member3 has no metrics", 12);
        self.silence(&["member3"], true);
        self.shop([1, 1, 10]);
        self.passes(16).await;
        self.phase("all answer", 12);
        self.silence(&["member3"], false);
        self.reaches(SHOP, 12).await;
        self.passes(4).await;
        self.phase("member3 is lost", 12);
        self.stand.dies("member3").await;
        self.passes(16).await;
        self.phase("member3 is back", 12);
        self.stand.returns("member3", Loss::Dies).await;
        self.reaches(SHOP, 12).await;
        // While copies are on their way, Karmada's controller overshoots: longer than its window.
        self.passes(14).await;
    }

    /// More is needed than what Karmada's controller may run too much by then: both must act.
    async fn loses_all_metrics(&mut self) {
        self.phase("no metrics", 21);
        self.silence(&MEMBERS, true);
        self.shop([7; 3]);
        self.passes(24).await;
        self.phase("metrics are back", 21);
        self.silence(&MEMBERS, false);
        self.reaches(SHOP, 21).await;
        self.passes(4).await;
    }
}

/// Makes the objects, plays the load, and takes the objects away.
pub async fn play(stand: &mut Stand, mode: Option<&str>) -> Run {
    make(stand, mode).await;
    let curves = Curves::start(&stand.lab, Some("prod"));
    crate::lab::until("the templates are listed", async || {
        [SHOP, follow::NAME, WEB].iter().all(|name| curves.now(name).is_some())
    })
    .await;
    let mut player = Player { stand, curves, phases: Vec::new() };
    // Of the two pods that are called `web-0`, one is busy and one is idle: on the mean they are at their target.
    for (member, millicores) in [("member1", 180), ("member2", 20)] {
        player.stand.lab.member(member).pods.load(WEB, |load| load.total = millicores);
    }
    player.rises_and_falls().await;
    player.loses_a_member().await;
    player.loses_all_metrics().await;
    let (changes, phases) = (player.curves.changes(), player.phases);
    let run = Run { name: mode.map_or("Karmada", |_| "fhpa"), phases, end: steady(), changes };
    clear(stand).await;
    run
}

async fn make(stand: &Stand, mode: Option<&str>) {
    let memory = json!({"type": "Resource",
        "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "100Mi"}}});
    for (name, metrics) in [(SHOP, json!({})), (follow::NAME, json!({"metrics": [memory]}))] {
        for member in MEMBERS {
            stand.wants(member, name, 1);
            stand.lab.member(member).pods.load(follow::NAME, |load| load.memory = Some(100));
        }
        stand.workload(name, 3, &MEMBERS).await;
        let mut object = object(mode, name, "Deployment", 40, json!({}));
        if let Some(more) = metrics["metrics"].as_array() {
            object["spec"]["metrics"].as_array_mut().unwrap().extend(more.iter().cloned());
        }
        stand.apply(&object).await;
    }
    for member in ["member1", "member2"] {
        stand.lab.member(member).pods.load(WEB, |load| load.total = REQUEST);
    }
    let mut set = deployment(WEB, 4);
    set["kind"] = "StatefulSet".into();
    set["spec"]["serviceName"] = WEB.into();
    set["spec"]["podManagementPolicy"] = "Parallel".into();
    stand.apply(&set).await;
    let mut placed = policy(WEB, &["member1", "member2"]);
    placed["spec"]["resourceSelectors"][0]["kind"] = "StatefulSet".into();
    stand.apply(&placed).await;
    stand.apply(&object(mode, WEB, "StatefulSet", 12, json!({}))).await;
    for (name, replicas) in [(SHOP, 3), (follow::NAME, 3), (WEB, 4)] {
        let ready = async |stand: &Stand| stand.lab.ready(name) == replicas;
        stand.soon(&format!("{name} runs {replicas}"), ready).await;
        active(stand, name).await;
    }
}

async fn clear(stand: &Stand) {
    for name in [SHOP, follow::NAME, WEB] {
        stand.delete("FederatedHPA", name).await;
        stand.is_gone(name, 60).await;
    }
    stand.delete("StatefulSet", WEB).await;
    for name in [SHOP, follow::NAME] {
        stand.delete("Deployment", name).await;
    }
    for name in [SHOP, follow::NAME, WEB] {
        stand.delete("PropagationPolicy", name).await;
        let gone = async |stand: &Stand| stand.lab.ready(name) == 0;
        stand.later(180, &format!("the pods of {name} go"), gone).await;
    }
}
