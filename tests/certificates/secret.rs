//! The Secret in an API server: created once, renewed by the first replica that is due, created again, left alone.

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::faults::{Moment, Which};
use embedded_apiserver::status::StatusError;
use fhpa::run::process::{CertificateOrigin, Options, Server, SharedSecret};
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::tls::shared::{Access, SecretName, SecretPoller, Store};
use fhpa::runtime::tls::{CertificateReloader, MinVersion, Source};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{NAME, accepts, noon};
use crate::bed::{Bed, within};
use crate::cli::command::fhpa;

const SECRET: &str = "/api/v1/namespaces/default/secrets/fhpa-tls";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

fn store(bed: &Bed) -> Store {
    Store::new(bed.client.clone(), "default/fhpa-tls".parse().unwrap())
}

fn poller(bed: &Bed) -> SecretPoller {
    SecretPoller::new(store(bed), &[NAME.to_owned()], Arc::new(Metrics::new()))
}

fn day(number: i64) -> Timestamp {
    noon() + SignedDuration::from_hours(24 * number)
}

fn which(verb: &str) -> Which {
    Which { verb: verb.into(), resource: "secrets".into(), ..Which::default() }
}

async fn said(poller: &mut SecretPoller) -> String {
    poller.poll(noon()).await.unwrap_err().to_string()
}

#[test]
fn a_secret_is_named_with_its_namespace() {
    for text in ["fhpa", "/fhpa", "fhpa/", "a/b/c", ""] {
        assert!(text.parse::<SecretName>().unwrap_err().contains("is not NAMESPACE/NAME"));
    }
}

#[tokio::test]
async fn of_two_who_make_it_at_once_one_succeeds_and_both_have_the_same() {
    let bed = Bed::embedded();
    let (mut one, mut two) = (poller(&bed), poller(&bed));
    let hold = bed.server().faults().hold(which("create"), Moment::Arriving);
    let server = bed.server();
    let (first, second, ()) = tokio::join!(one.poll(noon()), two.poll(noon()), async {
        drop(hold);
    });
    let (first, second) = (first.unwrap(), second.unwrap());
    assert_eq!(first, second);
    assert_eq!(server.faults().count("create", "secrets"), 2);
    let secret = bed.get(SECRET).await.body;
    assert_eq!(secret["type"], "kubernetes.io/tls");
    let entries: Vec<&String> = secret["data"].as_object().unwrap().keys().collect();
    assert_eq!(entries, ["ca.crt", "ca.key", "tls.crt", "tls.key"]);
    accepts(&first.bundle(), second.pair().unwrap(), NAME, noon()).unwrap();
}

#[tokio::test]
async fn at_rest_nothing_is_written_and_a_renewal_is_written_once() {
    let bed = Bed::embedded();
    let (mut one, mut two) = (poller(&bed), poller(&bed));
    let made = one.poll(noon()).await.unwrap();
    assert_eq!(two.poll(day(1)).await.unwrap(), made);
    assert_eq!(one.poll(day(59)).await.unwrap(), made);
    assert_eq!(bed.server().faults().count("update", "secrets"), 0);
    let (first, second) = tokio::join!(one.poll(day(61)), two.poll(day(61)));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(first == second || one.poll(day(61)).await.unwrap() == two.poll(day(61)).await.unwrap());
    assert!(first.pair() != made.pair() && first.bundle() == made.bundle());
}

#[tokio::test]
async fn what_people_add_to_the_secret_stays() {
    let bed = Bed::embedded();
    let mut one = poller(&bed);
    one.poll(noon()).await.unwrap();
    let added = json!({"metadata": {"annotations": {"team": "a"}}, "data": {"extra": "eA=="}});
    assert_eq!(bed.patch("merge", SECRET, &added).await.code, 200);
    one.poll(day(61)).await.unwrap();
    let secret = bed.get(SECRET).await.body;
    assert_eq!((&secret["metadata"]["annotations"]["team"], &secret["data"]["extra"]), (&json!("a"), &json!("eA==")));
}

#[tokio::test]
async fn a_secret_of_somebody_else_is_left_alone() {
    let bed = Bed::embedded();
    let labelled = json!({"app.kubernetes.io/managed-by": "fhpa"});
    let opaque = json!({"metadata": {"name": "fhpa-tls", "labels": labelled}, "data": {"password": "eA=="}});
    let tls =
        json!({"metadata": {"name": "fhpa-tls"}, "type": "kubernetes.io/tls", "data": {"tls.crt": "", "tls.key": ""}});
    for (foreign, what) in [(opaque, "its type is \"Opaque\""), (tls, "it lacks the label")] {
        assert_eq!(bed.post(SECRETS, &foreign).await.code, 201);
        let said = said(&mut poller(&bed)).await;
        assert!(said.contains(what) && said.contains("name another one with --cert-secret"), "{said}");
        assert_eq!(bed.get(SECRET).await.body["data"], foreign["data"]);
        assert_eq!(bed.delete(SECRET, &Value::Null).await.code, 200);
    }
}

#[tokio::test]
async fn a_missing_right_is_named() {
    let bed = Bed::embedded();
    for verb in ["get", "create", "update"] {
        let words =
            format!("secrets is forbidden: User \"system:serviceaccount:a:fhpa\" cannot {verb} resource \"secrets\"");
        bed.server().faults().fail(which(verb), 1, StatusError::plain(403, "Forbidden", &words));
        if verb == "update" {
            let mut one = poller(&bed);
            one.poll(noon()).await.unwrap();
            let said = one.poll(day(61)).await.unwrap_err().to_string();
            assert!(said.contains("allow it the verb \"update\" on \"secrets\""), "{said}");
        } else {
            let said = said(&mut poller(&bed)).await;
            assert!(said.contains(&format!("allow it the verb {verb:?} on \"secrets\"")), "{said}");
            assert!(said.contains("system:serviceaccount:a:fhpa"), "{said}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_start_waits_for_the_api_server_and_ends_with_the_reason() {
    let bed = Bed::embedded();
    let busy = || StatusError::plain(503, "ServiceUnavailable", "busy");
    bed.server().faults().fail(which("get"), 3, busy());
    poller(&bed).begin(Duration::from_secs(30), noon).await.unwrap();
    bed.server().faults().fail(which("get"), usize::MAX, busy());
    let error = poller(&bed).begin(Duration::from_secs(30), noon).await.unwrap_err().to_string();
    assert_eq!(error, "the Secret default/fhpa-tls cannot be read: busy");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_secret_gets_it_or_gives_up() {
    let bed = Bed::embedded();
    assert!(store(&bed).wait(Duration::from_secs(5)).await.unwrap().is_none());
    let made = poller(&bed).poll(noon()).await.unwrap();
    assert_eq!(store(&bed).wait(Duration::from_secs(5)).await.unwrap().unwrap(), *made);
}

#[tokio::test]
async fn a_deleted_secret_comes_back_as_it_was() {
    let bed = Bed::embedded();
    let (mut one, mut two) = (poller(&bed), poller(&bed));
    let before = one.poll(noon()).await.unwrap();
    two.poll(noon()).await.unwrap();
    assert_eq!(bed.delete(SECRET, &Value::Null).await.code, 200);
    let (first, second) = tokio::join!(one.poll(day(1)), two.poll(day(1)));
    assert_eq!((first.unwrap(), second.unwrap()), (Arc::clone(&before), before));
}

#[tokio::test]
async fn a_secret_that_was_made_anew_by_another_process_is_joined_by_who_serves() {
    let bed = Bed::embedded();
    let (mut one, mut two) = (poller(&bed), poller(&bed));
    let before = one.poll(noon()).await.unwrap();
    assert_eq!(bed.delete(SECRET, &Value::Null).await.code, 200);
    let anew = two.poll(day(1)).await.unwrap();
    let joined = one.poll(day(1)).await.unwrap();
    assert!(joined.pair() == before.pair(), "what is registered stays served");
    assert_eq!(joined.bundle(), [anew.bundle(), before.bundle()].concat());
    assert_eq!(two.poll(day(1)).await.unwrap(), joined);
    assert_eq!(one.poll(day(1)).await.unwrap(), joined);
    let renewed = one.poll(day(61)).await.unwrap();
    accepts(&anew.bundle(), renewed.pair().unwrap(), NAME, day(61)).unwrap();
}

#[tokio::test]
async fn a_spoilt_secret_is_counted_and_made_anew() {
    let bed = Bed::embedded();
    let metrics = Arc::new(Metrics::new());
    let mut one = SecretPoller::new(store(&bed), &[NAME.to_owned()], Arc::clone(&metrics));
    let before = one.poll(noon()).await.unwrap();
    assert_eq!(bed.patch("merge", SECRET, &json!({"data": {"ca.crt": "eA=="}})).await.code, 200);
    let after = one.poll(noon()).await.unwrap();
    assert_eq!(after, before, "it is remembered");
    let text = metrics.text();
    assert!(text.contains("fhpa_certificate_secret_failures_total 1\n"), "{text}");
    assert_eq!(bed.patch("merge", SECRET, &json!({"data": {"tls.crt": "eA=="}})).await.code, 200);
    assert_eq!(one.poll(noon()).await.unwrap(), before, "the CA is not a day old");
    assert!(metrics.text().contains("fhpa_certificate_secret_failures_total 2\n"));
    assert!(text.contains("fhpa_certificate_authority_not_after_timestamp_seconds 21"), "{text}");
}

#[tokio::test]
async fn new_connections_are_served_with_the_leaf_that_the_secret_brings() {
    let bed = Bed::embedded();
    let metrics = Arc::new(Metrics::new());
    let mut one = poller(&bed);
    let latest = one.begin(Duration::from_secs(5), noon).await.unwrap();
    let source = Source::Shared(latest);
    let reloader = CertificateReloader::load(source, None, MinVersion::Tls12, None, metrics, noon()).unwrap();
    assert_eq!(reloader.ca_pem().unwrap().matches("BEGIN CERTIFICATE").count(), 1);
    let current = reloader.current();
    let before = current.load().not_after;
    let keeps = tokio::spawn(reloader.run(Duration::from_secs(3600), || day(61)));
    one.poll(day(61)).await.unwrap();
    within(async {
        while current.load().not_after == before {
            tokio::task::yield_now().await;
        }
    })
    .await;
    keeps.abort();
}

#[tokio::test]
async fn a_process_without_the_right_ends_and_names_it() {
    let bed = Bed::embedded();
    let words = "secrets is forbidden: User \"a\" cannot get resource \"secrets\"";
    bed.server().faults().fail(which("get"), usize::MAX, StatusError::plain(403, "Forbidden", words));
    let mut options = Options::loopback();
    options.webhook().certificate.source = CertificateOrigin::Secret(SharedSecret {
        secret: "default/fhpa-tls".parse().unwrap(),
        access: Access::Given(bed.client.clone()),
        names: vec![NAME.to_owned()],
        patience: Duration::from_millis(200),
    });
    let Err(error) = Server::bind(options).await else { panic!("it starts") };
    let said = error.to_string();
    assert!(said.starts_with("no certificate to serve: the account may not get the Secret default/fhpa-tls"), "{said}");
}

#[test]
fn what_is_missing_is_said_at_once() {
    let serve =
        ["webhook", "--offline", "--listen", "127.0.0.1:0", "--health-probe-bind-address", "0", "--cert-secret", "a/b"];
    let unnamed = fhpa(&serve);
    assert_eq!(unnamed.code, 2);
    assert!(unnamed.stderr.contains("--tls-san <NAME>"), "{}", unnamed.stderr);
    let nowhere = fhpa(&[&serve[..], &["--tls-san", NAME, "--cert-kubeconfig", "nowhere"]].concat());
    assert_eq!(nowhere.code, 2);
    assert!(
        nowhere.stderr.contains("the Secret a/b cannot be reached: --cert-kubeconfig nowhere:"),
        "{}",
        nowhere.stderr
    );
}
