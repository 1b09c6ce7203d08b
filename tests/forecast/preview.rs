//! The preview on a dry run of a FederatedHPA: through the router in the process, in virtual time, and with a real
//! process.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use fhpa::admission::review::{Preview, Reviewer};
use fhpa::admission::router::ReviewFn;
use fhpa::decision::capacity::Demand;
use fhpa::decision::defaults::Mode;
use fhpa::decision::lease::Timings;
use fhpa::decision::ledger::{Ask, Rank, Standing};
use fhpa::decision::related_objects::NoRelatedObjects;
use fhpa::decision::validation::Settings;
use fhpa::reconcile::federated_hpa::observe::live_state::LiveState;
use fhpa::run::forecast::{Forecaster, Rooms};
use fhpa::run::process::{AdminPort, ControlPlane, ControllerOptions, Options, Server};
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Readers, Watches};
use fhpa::runtime::{clock, zones::ZoneDatabase};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{fleet, hpa};
use crate::bed::within;
use crate::webhook::client::{H2, Sender, connector, full, request};
use crate::webhook::drain::probe;
use crate::webhook::router::{Notes, ask, desk};

const PATH: &str = "/validate-federatedhpa";

fn review(object: &Value, dry_run: bool) -> Vec<u8> {
    let request = json!({"uid": "u", "operation": "CREATE", "name": "web", "namespace": "prod", "dryRun": dry_run,
        "kind": {"group": "autoscaling.karmada.io", "version": "v1alpha1", "kind": "FederatedHPA"}, "object": object});
    serde_json::to_vec(&json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}))
        .unwrap()
}

fn warnings(response: &Value) -> Vec<String> {
    assert_eq!(response["allowed"], true, "{response}");
    let warnings = response["warnings"].as_array().into_iter().flatten();
    warnings.map(|warning| warning.as_str().unwrap().to_owned()).collect()
}

/// A judge that previews by what watches bring from `server`.
pub struct Judged {
    judge: ReviewFn,
    _watches: JoinSet<()>,
}

impl Judged {
    pub async fn by(server: &ApiServer) -> Self {
        Self::with(server, LiveState::default()).await
    }

    async fn with(server: &ApiServer, live: LiveState) -> Self {
        let cache = Arc::clone(&live.cache);
        let (mut readers, readiness) = (Readers::default(), Readiness::default());
        cache.read_by(&mut readers);
        let mut watches = JoinSet::new();
        watches.spawn(Watches::new(readers, &readiness).run(server.client(), Arc::new(Metrics::new())));
        within(async {
            while !readiness.missing(clock::wall()).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        Self { judge: judge(live), _watches: watches }
    }

    pub async fn told(&self, object: &Value, dry_run: bool) -> Vec<String> {
        told(&self.judge, object, dry_run).await
    }
}

fn judge(live: LiveState) -> ReviewFn {
    let preview: Arc<dyn Preview> = Arc::new(Forecaster { live, default_mode: Mode::default() });
    let reviewer = Reviewer {
        related_objects: Arc::new(NoRelatedObjects),
        zones: Arc::new(ZoneDatabase::bundled()),
        settings: Settings::default(),
        preview: Some(preview),
        frozen: None,
        idle: None,
    };
    Arc::new(move |endpoint, request, now| reviewer.review(endpoint, request, now))
}

async fn told(judge: &ReviewFn, object: &Value, dry_run: bool) -> Vec<String> {
    let request = http::Request::post(PATH).header("content-type", "application/json");
    let request = request.body(review(object, dry_run).into()).unwrap();
    let (_, _, body) = ask(desk(judge.clone(), Arc::new(Notes::default())), request).await;
    warnings(&serde_json::from_slice::<Value>(&body).unwrap()["response"])
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_is_told_its_assignment_and_nothing_else_is() {
    let fleet = fleet().await;
    let judged = Judged::by(fleet.control()).await;
    let web = hpa(10, json!({}));
    let expected = ["member1 1..1, member2 1..4, member3 1..5 (StaticWeighted, from the PropagationPolicy shop)"];
    assert_eq!(judged.told(&web, true).await, expected);
    assert_eq!(judged.told(&web, false).await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_policy_of_the_object_goes_before_that_of_the_placement() {
    let fleet = fleet().await;
    let judged = Judged::by(fleet.control()).await;
    let own = |type_: &str| {
        hpa(
            9,
            json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": type_}, "clusterAffinity": {"exclude": ["member2"]}}),
        )
    };
    let told = judged.told(&own("Duplicated"), true).await;
    assert_eq!(told[0], "member1 2..9, member3 2..9 (Duplicated, from federatedHPAAssignment)");
    assert!(told[1].starts_with("2 replicas of leaving or failed clusters are not ready elsewhere"), "{told:?}");
    let told = judged.told(&own("DynamicWeighted"), true).await;
    assert_eq!(told.last().unwrap(), "free capacity of member1 and 1 more is unknown and counts as zero");
}

#[tokio::test(start_paused = true)]
async fn what_the_leader_promised_to_others_is_not_given_to_a_dry_run() {
    let fleet = fleet().await;
    let live = LiveState { capacity: Arc::new(Rooms::default()), ..LiveState::default() };
    let judged = Judged::with(fleet.control(), live.clone()).await;
    let web = hpa(90, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}}));
    let before = judged.told(&web, true).await;
    assert!(before[0].starts_with("member1 ") && !before[0].contains("member3 1..1 "), "{before:?}");
    let first = Standing { rank: Rank::Replace, priority: Reverse(0), created: None, name: "prod/other".to_owned() };
    let asks = [("member3", Ask { asked: 100_000, current: 0, waiting: 0 })];
    let each = Demand::read([("cpu", "1")]).unwrap();
    live.ledger.lock().ask(&first, &each, asks, |_| None, clock::wall());
    let after = judged.told(&web, true).await;
    assert!(after[0].contains("member3 1..1 "), "{before:?} {after:?}");
}

#[tokio::test(start_paused = true)]
async fn what_stands_in_the_way_is_told_too() {
    let fleet = fleet().await;
    let judged = Judged::by(fleet.control()).await;
    let nowhere = hpa(9, json!({"clusterAffinity": {"clusterNames": ["nowhere"]}}));
    let said = "no cluster is a candidate: check the placement of the workload, spec.clusterAffinity, and which \
                clusters serve its kind";
    assert!(judged.told(&nowhere, true).await.contains(&said.to_owned()), "{:?}", judged.told(&nowhere, true).await);
    let mut unbound = hpa(9, json!({}));
    unbound["spec"]["scaleTargetRef"]["name"] = "other".into();
    let expected = ["Deployment other has no ResourceBinding: nothing is assigned yet"];
    assert_eq!(judged.told(&unbound, true).await, expected);
}

#[tokio::test(start_paused = true)]
async fn centralized_mode_says_in_one_line_what_it_means() {
    let fleet = fleet().await;
    let judged = Judged::by(fleet.control()).await;
    let centralized = |max: i32, more: Value| {
        let mut web = hpa(max, json!({"mode": "Centralized"}));
        web["spec"].as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        web
    };
    let within = "Centralized: Deployment web has 3 replicas in 3 clusters, scaled as one within 2..9; karmada-scheduler \
                  divides them";
    assert_eq!(judged.told(&centralized(9, json!({})), true).await, [within]);
    let below = "Centralized: Deployment web has 3 replicas in 3 clusters and is scaled to 5: Current number of replicas \
                 below Spec.Min";
    let told = judged.told(&centralized(9, json!({"minReplicas": 5})), true).await;
    assert!(matches!(told.as_slice(), [line] if line.starts_with(&below[..100])), "{told:?}");
    let mut unbound = centralized(9, json!({}));
    unbound["spec"]["scaleTargetRef"]["name"] = "other".into();
    let expected = ["Deployment other has no ResourceBinding: nothing is scaled yet"];
    assert_eq!(judged.told(&unbound, true).await, expected);
    assert_eq!(judged.told(&centralized(9, json!({})), false).await, [""; 0]);
}

#[tokio::test]
async fn nothing_is_told_before_everything_was_listed() {
    assert_eq!(told(&judge(LiveState::default()), &hpa(9, json!({})), true).await, [""; 0]);
}

/// What a whole process, with or without a controller, answers to a dry run.
async fn served(controller: bool) -> Vec<String> {
    served_on(controller, [127, 0, 0, 1]).await
}

async fn served_on(controller: bool, listen: [u8; 4]) -> Vec<String> {
    let fleet = fleet().await;
    let mut options = Options::loopback();
    options.webhook.as_mut().unwrap().listen = (listen, 0).into();
    options.admin = AdminPort::At(([127, 0, 0, 1], 0).into());
    options.control_plane = ControlPlane::Watched(fleet.control().client());
    options.controller = controller.then(|| ControllerOptions {
        namespace: "karmada-system".into(),
        lease: "fhpa".into(),
        identity: "one".into(),
        timings: Timings::default(),
        concurrency: 4,
        rebalance_period: None,
        object_metrics: 0,
        failover: fhpa::reconcile::federated_hpa::observe::failover::Settings::default(),
        centralized: fhpa::run::process::Centralized::default(),
        freeze: None,
        estimators: None,
        guard: None,
    });
    let server = Server::bind(options).await.unwrap();
    let (port, ca, handle) = (server.local_addr().port(), server.ca_pem().unwrap(), server.handle());
    let (address, admin) = (([127, 0, 0, 1], port).into(), server.admin_addr().unwrap());
    let ended = tokio::spawn(server.run());
    let answer = within(async {
        while probe(admin, "/readyz").await.0 != 200 {}
        let mut connection = Sender::connect(address, &connector(&ca, H2, None)).await.unwrap();
        connection.send(request(PATH, full(review(&hpa(10, json!({})), true)))).await.unwrap()
    })
    .await;
    handle.shut_down();
    ended.await.unwrap();
    warnings(&answer.response())
}

#[tokio::test]
async fn a_process_with_a_controller_previews_and_a_webhook_alone_does_not() {
    let expected = ["member1 1..1, member2 1..4, member3 1..5 (StaticWeighted, from the PropagationPolicy shop)"];
    assert_eq!(served(true).await, expected);
    assert_eq!(served(false).await, [""; 0]);
}

#[tokio::test]
async fn a_process_that_does_not_know_who_asks_names_no_cluster_and_no_policy() {
    let expected = ["no preview: this webhook does not know its clients (--client-ca); `fhpa plan` computes it"];
    assert_eq!(served_on(true, [0, 0, 0, 0]).await, expected);
    assert_eq!(served_on(false, [0, 0, 0, 0]).await, [""; 0]);
}
