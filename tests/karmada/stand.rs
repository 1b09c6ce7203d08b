//! A real Karmada with an installation and an observer, as the world of stories.

use jiff::Timestamp;
use kube::Client;

use crate::assets::Assets;
use crate::both::pods::Pods;
use crate::both::{Loss, MEMBERS, World};
use crate::kubelet;
use crate::lab::Lab;
use crate::observer::Observer;
use crate::operator::Fhpa;

/// All of it.
pub struct Stand {
    pub lab: Lab,
    pub fhpa: Fhpa,
    pub observer: Observer,
}

impl Drop for Stand {
    /// Shows what the replicas said last, when a story fails.
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.fhpa.tail(40));
        }
    }
}

impl Stand {
    pub async fn start(assets: Assets) -> Self {
        Self::of(assets, &MEMBERS).await
    }

    /// With members of these names.
    pub async fn of(assets: Assets, members: &[&str]) -> Self {
        let lab = Lab::start(assets, members).await;
        let fhpa = Fhpa::start(&lab, &[]).await;
        let observer = Observer::start(&lab);
        Self { lab, fhpa, observer }
    }

    /// No law was broken.
    pub async fn ends_well(&mut self, name: &str) {
        let broken = self.observer.broken();
        let lines: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "{name}:\n{}\n{}", lines.join("\n"), self.fhpa.tail(10));
    }
}

impl World for Stand {
    fn client(&self, place: &str) -> Client {
        let plane = if place.is_empty() { &self.lab.karmada } else { &self.lab.member(place).plane };
        plane.client.clone()
    }

    fn pods(&self) -> &Pods {
        &self.observer.pods
    }

    fn now(&self) -> Timestamp {
        fhpa::runtime::clock::wall()
    }

    fn limit(&self, _: u64, real: u64) -> u64 {
        real
    }

    async fn rests(&self) {
        self.pass(20).await;
    }

    fn load(&self, member: &str, app: &str, millicores: u32) {
        self.lab.member(member).pods.load(app, |load| load.total = millicores);
    }

    async fn starts(&self, member: &str, app: &str, starts: bool) {
        self.lab.member(member).pods.load(app, |load| load.starts = starts);
        if starts {
            kubelet::begin(&self.client(member), app).await;
        }
    }

    async fn loses(&mut self, member: &str, how: Loss) {
        let member = self.lab.member_mut(member);
        match how {
            Loss::Dies => member.kill(),
            Loss::Hangs => member.hang(),
            Loss::Cut => member.link.cut(),
        }
    }

    async fn heals(&mut self, member: &str, how: Loss) {
        let member = self.lab.member_mut(member);
        match how {
            Loss::Cut => member.link.mend(),
            how => member.heal(how == Loss::Hangs).await,
        }
    }

    fn manage(&mut self, runs: bool) {
        self.lab.manage(runs);
    }

    async fn leader(&self) -> &'static str {
        self.fhpa.leads(&self.lab).await
    }

    async fn kill(&mut self, replica: &str) {
        self.fhpa.kill(replica);
    }

    fn run(&mut self, replica: &'static str) {
        self.fhpa.run(replica);
    }

    async fn restart(&mut self, arguments: &[&str]) {
        self.fhpa.kill_all();
        self.fhpa = Fhpa::start(&self.lab, arguments).await;
    }
}
