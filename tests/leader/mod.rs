//! Leader election on the embedded API server, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::{Moment, Which};
use embedded_apiserver::status::StatusError;
use fhpa::controller::failure::{Asked, WriteError};
use fhpa::controller::request::write;
use fhpa::decision::lease::Timings;
use fhpa::runtime::clock;
use fhpa::runtime::leader::{Candidate, Leader, compete};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

struct Contender {
    leadership: watch::Receiver<Option<Leader>>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Contender {
    fn new(server: &ApiServer, identity: &str) -> Self {
        let (told, leadership) = watch::channel(None);
        let (stop, stopped) = watch::channel(false);
        let candidate =
            Candidate { lease: "fhpa".into(), identity: identity.into(), timings: Timings::default().check().unwrap() };
        let task = tokio::spawn(compete(leases(server), candidate, told, stopped));
        Self { leadership, stop, task }
    }

    async fn leads(&mut self) -> Leader {
        self.leadership.wait_for(Option::is_some).await.unwrap().clone().unwrap()
    }

    fn leads_now(&self) -> bool {
        self.leadership.borrow().as_ref().is_some_and(|leader| leader.check().is_ok())
    }

    async fn stop(self) {
        self.stop.send_replace(true);
        self.task.await.unwrap();
    }
}

fn leases(server: &ApiServer) -> Api<Lease> {
    Api::namespaced(server.client(), "karmada-system")
}

async fn server() -> Arc<ApiServer> {
    let server = ApiServer::builder().build();
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}});
    server.create(&space).await.unwrap();
    Arc::new(server)
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_releases_the_lease_and_the_next_one_leads_at_once() {
    let server = server().await;
    let mut one = Contender::new(&server, "one");
    let first = one.leads().await;
    let mut two = Contender::new(&server, "two");
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(first.check().is_ok() && !two.leads_now(), "a leader that renews keeps the lease");
    let stopped = clock::steady();
    one.stop().await;
    assert!(first.check().is_err(), "whoever stopped may not write any more");
    two.leads().await;
    assert!(stopped.elapsed() <= Duration::from_secs(3), "{:?}", stopped.elapsed());
    let spec = leases(&server).get("fhpa").await.unwrap().spec.unwrap();
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("two"), Some(1)));
}

#[tokio::test(start_paused = true)]
async fn the_lease_names_the_version_of_its_holder_while_it_is_held() {
    let server = server().await;
    let version = async || {
        let lease = leases(&server).get("fhpa").await.unwrap();
        lease.metadata.annotations.unwrap_or_default().get("fhpa.karmada.io/version").cloned()
    };
    let mut one = Contender::new(&server, "one");
    one.leads().await;
    assert_eq!(version().await.as_deref(), Some(fhpa::runtime::identity::VERSION.as_str()));
    one.stop().await;
    assert_eq!(version().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_dies_is_followed_after_the_lease_and_never_leads_beside_the_next() {
    let server = server().await;
    let mut one = Contender::new(&server, "one");
    let first = one.leads().await;
    let mut two = Contender::new(&server, "two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let died = clock::steady();
    one.task.abort();
    two.leads().await;
    assert!(first.check().is_err(), "the dead leader's right has ended before");
    assert!(
        died.elapsed() >= Duration::from_secs(13) && died.elapsed() <= Duration::from_secs(18),
        "{:?}",
        died.elapsed()
    );
}

fn of_leases(verb: &str) -> Which {
    Which { verb: verb.into(), resource: "leases".into(), name: String::new() }
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_by_hand_is_not_taken_beside_its_holder() {
    let server = server().await;
    let mut one = Contender::new(&server, "one");
    let first = one.leads().await;
    let two = Contender::new(&server, "two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    let deleted = clock::steady();
    one.task.abort();
    leases(&server).delete("fhpa", &Default::default()).await.unwrap();
    while !two.leads_now() {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!(two.leads_now() && first.check().is_ok()), "two lead after {:?}", deleted.elapsed());
        assert!(deleted.elapsed() < Duration::from_secs(20), "nobody leads");
    }
}

#[tokio::test(start_paused = true)]
async fn the_holder_of_a_lease_that_is_deleted_makes_it_anew_and_leads_on() {
    let server = server().await;
    let mut one = Contender::new(&server, "one");
    let first = one.leads().await;
    let two = Contender::new(&server, "two");
    tokio::time::sleep(Duration::from_secs(5)).await;
    leases(&server).delete("fhpa", &Default::default()).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert!(first.check().is_ok() && !two.leads_now());
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_stopped_while_it_takes_the_lease_gives_it_back() {
    let server = server().await;
    let mut held = server.faults().hold(of_leases("create"), Moment::Answered);
    let one = Contender::new(&server, "one");
    held.reached().await;
    one.stop().await;
    let stopped = clock::steady();
    let mut two = Contender::new(&server, "two");
    two.leads().await;
    assert!(stopped.elapsed() <= Duration::from_secs(3), "{:?}", stopped.elapsed());
}

#[tokio::test(start_paused = true)]
async fn one_request_that_is_never_answered_does_not_cost_the_lease() {
    let server = server().await;
    let mut one = Contender::new(&server, "one");
    let leader = one.leads().await;
    let mut held = server.faults().hold(of_leases("update"), Moment::Arriving);
    held.reached().await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(leader.check().is_ok() && one.leads_now());
}

#[tokio::test(start_paused = true)]
async fn a_write_is_given_up_before_somebody_else_may_lead() {
    let server = server().await;
    let mut one = Contender::new(&server, "one");
    let leader = one.leads().await;
    let renewed = clock::steady();
    server.faults().fail(of_leases("update"), usize::MAX, StatusError::plain(503, "ServiceUnavailable", "down"));
    tokio::time::sleep(Duration::from_secs(9)).await;
    let which = Which { verb: "get".into(), resource: "namespaces".into(), name: String::new() };
    let _held = server.faults().hold(which, Moment::Arriving);
    let request = kube::core::Request::new("/api/v1/namespaces").get("karmada-system", &Default::default());
    let asked = Asked { verb: "get", group: "", resource: "namespaces", object: &"karmada-system" };
    let written = write::<serde_json::Value>(&server.client(), &leader, request, asked).await;
    assert!(matches!(written, Err(WriteError::Failed(_))), "{written:?}");
    // Timers count in milliseconds.
    let end = Timings::default().lease + Duration::from_millis(2);
    assert!(renewed.elapsed() <= end, "{:?}", renewed.elapsed());
}

#[tokio::test(start_paused = true)]
async fn of_many_candidates_one_leads() {
    let server = server().await;
    let contenders: Vec<Contender> = (0..6).map(|number| Contender::new(&server, &format!("c{number}"))).collect();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(contenders.iter().filter(|contender| contender.leads_now()).count() <= 1);
    }
    assert_eq!(contenders.iter().filter(|contender| contender.leads_now()).count(), 1);
}
