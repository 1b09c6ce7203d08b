//! What `fhpa recover` needs before its first write: that nobody else writes, and that every member is read, through
//! the cluster proxy or with a kubeconfig of its own, or is left out by name.

use std::collections::BTreeMap;
use std::time::Duration;

use embedded_apiserver::faults::{Access, Which};
use embedded_apiserver::status::StatusError;
use fhpa::playground::fleet::Plan;
use fhpa::playground::member::Profile;
use fhpa::recovery::Recovery;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Api;
use kube::api::{ObjectMeta, Patch, PatchParams};

use super::Stage;
use super::departures::{ALL, least, ready, roomy};
use super::recovery::{grows, restore, run};
use crate::bed::role::AGENT;
use crate::stories::Process;

/// Three members, of which the third pulls its work, after a restore of a backup from before they had grown.
async fn one_pulls() -> Stage {
    let pulls = Profile { pulls: true, ..Profile::default() };
    let stage = Stage::with(Plan { profiles: BTreeMap::from([("member3".to_owned(), pulls)]), ..roomy() }).await;
    restored(&stage).await;
    stage
}

async fn restored(stage: &Stage) {
    let (one, backup) = grows(stage).await;
    restore(stage, &backup, one).await;
    stage.fleet.control().faults().follow(AGENT);
}

/// With the rights of an administrator, who may read the Leases of karmada-agents, too.
fn administrator(stage: &Stage) -> impl Fn(&mut Recovery) + '_ {
    |recovery| recovery.client = agent(stage.fleet.control().client())
}

/// A client whose writes are counted as those of fhpa.
fn agent(client: kube::Client) -> kube::Client {
    let send = move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().insert(http::header::USER_AGENT, http::HeaderValue::from_static(AGENT));
        let client = client.clone();
        async move { client.send(request).await }
    };
    kube::Client::new(tower::service_fn(send), "default")
}

/// Reads member3 with a kubeconfig of its own.
fn with_own(stage: &Stage) -> impl Fn(&mut Recovery) + '_ {
    move |recovery| {
        administrator(stage)(recovery);
        let own = stage.fleet.member("member3").unwrap().client();
        recovery.members.insert("member3".to_owned(), own);
    }
}

/// The command refuses, says so, and wrote nothing. Returns what it printed.
async fn refused(stage: &Stage, change: impl FnOnce(&mut Recovery)) -> String {
    let (done, said) = run(stage, false, change).await;
    assert!(!done && said.starts_with("Nothing was written: "), "{said}");
    assert_eq!(stage.fleet.control().faults().requests_of(AGENT, Access::Write), vec![], "{said}");
    said
}

#[tokio::test(start_paused = true)]
async fn a_member_that_pulls_is_read_with_a_kubeconfig_of_its_own() {
    let stage = one_pulls().await;
    let said = refused(&stage, administrator(&stage)).await;
    assert!(said.contains("\n  member3: ") && said.contains("--member CLUSTER=KUBECONFIG"), "{said}");
    assert!(!said.contains("member1") && !said.contains("member2"), "{said}");
    let bounds = stage.bounds().await;
    let (done, said) = run(&stage, false, with_own(&stage)).await;
    assert!(done && said.contains("  member3: HPA ") && said.contains("spec.maxReplicas 30 -> 48"), "{said}");
    let (done, again) = run(&stage, false, with_own(&stage)).await;
    assert!(done && again.starts_with("0 of 1 workloads differ from what 3 clusters run"), "{again}");
    stage.budget.most();
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, 39, "Karmada alone:\n{said}");
    assert_eq!(stage.bounds().await, bounds, "what Karmada applies is what was there");
    let mut two = Process::start(stage.fleet.control(), "two", &stage.wall);
    two.leads().await;
    assert_eq!(least(&stage, &ALL, 120).await, 39, "with fhpa: {:?}", stage.messages().await);
    assert!(stage.budget.most() <= 48, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_that_a_member_refuses_stops_it_also_after_the_hpas_were_read() {
    let stage = one_pulls().await;
    let faults = stage.fleet.member("member3").unwrap().faults();
    let of = |verb: &str, resource: &str| Which { verb: verb.into(), resource: resource.into(), ..Which::default() };
    let who = || StatusError::plain(401, "Unauthorized", "Unauthorized");
    for (verb, resource) in [("list", "horizontalpodautoscalers"), ("get", "deployments/scale")] {
        faults.fail(of(verb, resource), usize::MAX, who());
        let said = refused(&stage, with_own(&stage)).await;
        assert!(said.contains("\n  member3: ") && said.contains("--without CLUSTER"), "{resource}: {said}");
        faults.heal();
    }
    let (done, said) = run(&stage, false, with_own(&stage)).await;
    assert!(done, "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_member_that_is_lost_is_left_out_by_name_and_the_backup_counts_there() {
    let stage = Stage::with(roomy()).await;
    restored(&stage).await;
    stage.fleet.fail("member2", true).unwrap();
    let said = refused(&stage, |_| {}).await;
    assert!(said.contains("\n  member2: "), "{said}");
    // A name that was mistyped leaves nobody out.
    let said = refused(&stage, |recovery| recovery.without = ["member2".to_owned(), "member9".to_owned()].into()).await;
    assert!(said.contains("has no cluster named member9"), "{said}");
    let without = |recovery: &mut Recovery| recovery.without = ["member2".to_owned()].into();
    let (done, said) = run(&stage, false, without).await;
    assert!(done, "{said}");
    assert!(said.starts_with("member2 is not read: what the backup says of it is applied there\n"), "{said}");
    assert!(said.contains("  member1: HPA ") && !said.contains("  member2: "), "{said}");
    assert!(said.contains("differ from what 2 clusters run"), "{said}");
    stage.fleet.halt_karmada(false);
    let read = ["member1", "member3"];
    assert_eq!(least(&stage, &read, 60).await, 31, "Karmada alone:\n{said}");
    let mut two = Process::start(stage.fleet.control(), "two", &stage.wall);
    two.leads().await;
    assert_eq!(least(&stage, &read, 120).await, 31, "with fhpa: {:?}", stage.messages().await);
}

/// Writes a Lease.
async fn write_lease(stage: &Stage, (namespace, name): (&str, &str)) {
    let leases: Api<Lease> = Api::namespaced(stage.fleet.control().client(), namespace);
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let spec = LeaseSpec {
        holder_identity: Some(format!("{name}-1")),
        lease_duration_seconds: Some(15),
        renew_time: Some(MicroTime(stage.wall.clock()())),
        ..LeaseSpec::default()
    };
    let lease = Patch::Apply(Lease { metadata, spec: Some(spec) });
    leases.patch(name, &PatchParams::apply("elector").force(), &lease).await.unwrap();
}

/// What the command says while a process renews its Lease every two seconds.
async fn while_renewed(stage: &Stage, lease: (&str, &str), change: impl FnOnce(&mut Recovery)) -> (bool, String) {
    let renews = async {
        loop {
            write_lease(stage, lease).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
    };
    tokio::select! {
        biased;
        never = renews => never,
        said = async { tokio::task::yield_now().await; run(stage, false, change).await } => said,
    }
}

#[tokio::test(start_paused = true)]
async fn it_refuses_while_one_of_karmadas_controllers_renews_its_lease() {
    let stage = Stage::with(roomy()).await;
    restored(&stage).await;
    for name in ["karmada-controller-manager", "karmada-scheduler", "karmada-descheduler"] {
        let (done, said) = while_renewed(&stage, ("karmada-system", name), |_| {}).await;
        assert!(!done && said.contains(&format!("{name} runs ({name}-1). Stop it first.")), "{said}");
        assert_eq!(stage.fleet.control().faults().requests_of(AGENT, Access::Write), vec![], "{said}");
    }
    // All three are still there, held by processes that ended.
    let (done, said) = run(&stage, false, |_| {}).await;
    assert!(done && said.contains("Written."), "{said}");
}

#[tokio::test(start_paused = true)]
async fn it_refuses_while_the_agent_of_a_member_that_pulls_renews_its_lease() {
    let stage = one_pulls().await;
    let lease = ("karmada-cluster", "member3");
    let (done, said) = while_renewed(&stage, lease, with_own(&stage)).await;
    assert!(!done && said.contains("karmada-agent of member3 runs. Stop it first."), "{said}");
    // The pods may not read that Lease: whoever runs the command with their rights is told.
    let said = refused(&stage, |_| {}).await;
    assert!(
        said.contains("the Leases of those that write could not be read") && said.contains("karmada-cluster"),
        "{said}"
    );
    // What is left out may go on as it likes.
    let without = |recovery: &mut Recovery| recovery.without = ["member3".to_owned()].into();
    let (done, said) = while_renewed(&stage, lease, without).await;
    assert!(done && said.starts_with("member3 is not read"), "{said}");
    assert_eq!(ready(&stage, &ALL).await, 39);
}
