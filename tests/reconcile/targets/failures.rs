//! Failures of a write have a class, which determines retries.

use std::time::Duration;

use embedded_apiserver::faults::Which;
use embedded_apiserver::status;
use fhpa::decision::backoff::ErrorClass;
use fhpa::reconcile::scale_target::Targets;
use kube::Client;

use super::{BOUNDS, bounds, embedded_with, failure, fhpa, requests};
use crate::bed::within;
use crate::reconcile::control::Term;

#[tokio::test(start_paused = true)]
async fn each_failure_of_a_write_has_its_class() {
    let user = "federatedhpas.autoscaling.karmada.io \"web\" is forbidden: User \"fhpa\" cannot patch resource \
                \"federatedhpas\" in API group \"autoscaling.karmada.io\" in the namespace \"default\"";
    let rows = [
        (status::StatusError::too_many_requests(7), ErrorClass::Transient, "Unreachable", Some(7)),
        (status::StatusError::internal("etcd"), ErrorClass::Transient, "Unreachable", None),
        (
            status::StatusError::plain(503, "ServiceUnavailable", "restarting"),
            ErrorClass::Transient,
            "Unreachable",
            None,
        ),
        (status::StatusError::plain(403, "Forbidden", user), ErrorClass::Refused, "Forbidden", None),
        (status::StatusError::plain(422, "Invalid", "is invalid"), ErrorClass::Refused, "Rejected", None),
        (status::StatusError::bad_request("no"), ErrorClass::Refused, "Rejected", None),
    ];
    let server = embedded_with(&[fhpa("web", Some(2), 5)]).await;
    let targets = Targets::new(server.client());
    let term = Term::begin().await;
    let writes = || Which { verb: "patch".into(), ..Which::default() };
    for (fault, class, reason, seconds) in rows {
        let code = fault.code;
        server.faults().fail(writes(), 1, fault);
        let error = targets.set(&term.leader, &BOUNDS, bounds(None, Some(9))).await.unwrap_err();
        let failure = failure(&error);
        assert_eq!((failure.class, failure.reason), (class, reason), "{code}");
        assert_eq!(failure.retry_after, seconds.map(Duration::from_secs), "{code}");
    }
    server.faults().record();
    let raced =
        status::StatusError::modified(&status::StatusDetails::new("autoscaling.karmada.io", "federatedhpas", "web"));
    server.faults().fail(writes(), 4, raced);
    let error = targets.set(&term.leader, &BOUNDS, bounds(None, Some(9))).await.unwrap_err();
    assert_eq!((failure(&error).class, failure(&error).reason), (ErrorClass::Conflict, "Conflict"));
    assert_eq!(requests(&server), ["get federatedhpas", "patch federatedhpas"].repeat(4));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_silent_or_gone_is_unreachable() {
    let server = embedded_with(&[fhpa("web", Some(2), 5)]).await;
    let term = Term::begin().await;
    server.faults().pause(true);
    let error = Targets::new(server.client()).set(&term.leader, &BOUNDS, bounds(None, Some(9))).await.unwrap_err();
    assert_eq!((failure(&error).class, failure(&error).reason), (ErrorClass::Transient, "Unreachable"));
    assert_eq!(
        failure(&error).message,
        "the API server did not answer within 10 s when asked to get FederatedHPA default/web"
    );
}

#[tokio::test]
async fn a_refused_connection_is_unreachable() {
    let term = Term::begin().await;
    let mut config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    config.default_retry = false;
    let targets = Targets::new(Client::try_from(config).unwrap());
    let error = within(targets.set(&term.leader, &BOUNDS, bounds(None, Some(9)))).await.unwrap_err();
    assert_eq!((failure(&error).class, failure(&error).reason), (ErrorClass::Transient, "Unreachable"));
    assert!(failure(&error).message.contains("refused"), "{error}");
}
