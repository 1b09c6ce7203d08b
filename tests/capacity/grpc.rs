//! Connections to estimators, old and new, valid and invalid.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use fhpa::controller::query_cache::{QueryError, Source as _, Times};
use fhpa::decision::fleet::observation::Room;
use fhpa::estimator::grpc::{Grpc, Settings, TlsFiles};
use fhpa::estimator::messages::{
    MaxAvailableReplicasRequest, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference, Quantity,
    Toleration, UnschedulableReplicasRequest,
};
use fhpa::estimator::query::EstimatorQuery;
use fhpa::reconcile::federated_hpa::observe::capacity::{Capacity as _, Estimators, Requirements, Rooms};
use prost::Message as _;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

use super::server::{Answer, Server, serve};
use crate::webhook::tls::Ca;

fn settings() -> Settings {
    Settings { address: "127.0.0.1:{cluster}".parse().unwrap(), ..Settings::default() }
}

fn requirements() -> Value {
    json!({
        "nodeClaim": {
            "nodeSelector": {"disk": "ssd"},
            "hardNodeAffinity": {"nodeSelectorTerms": [{
                "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}],
                "matchFields": [{"key": "metadata.name", "operator": "Exists"}]}]},
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, {}],
        },
        "resourceRequest": {"cpu": "250m", "memory": "64Mi"}, "namespace": "shop", "priorityClassName": "high",
    })
}

fn query() -> EstimatorQuery {
    EstimatorQuery::available(&serde_json::from_value(requirements()).unwrap())
}

fn web() -> ObjectReference {
    let [api_version, kind, namespace, name] = ["apps/v1", "Deployment", "shop", "web"].map(str::to_owned);
    ObjectReference { api_version, kind, namespace, name }
}

fn affinity() -> NodeSelector {
    let rule = |key: &str, operator: &str, values: &[&str]| NodeSelectorRequirement {
        key: Some(key.to_owned()),
        operator: Some(operator.to_owned()),
        values: values.iter().map(|value| (*value).to_owned()).collect(),
    };
    let match_expressions = vec![rule("zone", "In", &["a", "b"])];
    let match_fields = vec![rule("metadata.name", "Exists", &[])];
    NodeSelector { node_selector_terms: vec![NodeSelectorTerm { match_expressions, match_fields }] }
}

fn tolerations() -> Vec<Toleration> {
    let text = |text: &str| Some(text.to_owned());
    let gpu = Toleration {
        key: text("gpu"),
        operator: text("Exists"),
        value: None,
        effect: text("NoExecute"),
        toleration_seconds: Some(300),
    };
    vec![gpu, Toleration::default()]
}

async fn ask(server: &Server, query: &EstimatorQuery) -> Result<i32, QueryError> {
    Grpc::new(settings()).send(&server.port(), query).await
}

#[tokio::test]
async fn an_older_server_reads_the_typed_fields() {
    let server = serve(None, |method, body| {
        assert_eq!(method, "MaxAvailableReplicas");
        let asked = MaxAvailableReplicasRequest::decode(body).unwrap();
        assert!(asked.cluster.parse::<u16>().is_ok());
        let asked = asked.replica_requirements.unwrap();
        assert_eq!(asked.resource_request["cpu"].string.as_deref(), Some("250m"));
        assert_eq!(asked.resource_request["memory"].string.as_deref(), Some("64Mi"));
        assert_eq!((&*asked.namespace, &*asked.priority_class_name), ("shop", "high"));
        let claim = asked.node_claim.unwrap();
        assert_eq!((claim.node_affinity, claim.tolerations), (Some(affinity()), tolerations()));
        assert_eq!(claim.node_selector["disk"], "ssd");
        Answer::Number(16)
    })
    .await;
    assert_eq!(ask(&server, &query()).await, Ok(16));
}

#[tokio::test]
async fn a_newer_server_reads_the_fields_of_bytes() {
    let server = serve(None, |_, body| {
        let asked = MaxAvailableReplicasRequest::decode(body).unwrap().replica_requirements.unwrap();
        let quantity = |name: &str| Quantity::decode(&*asked.resource_request_bytes[name]).unwrap().string;
        assert_eq!((quantity("cpu").as_deref(), quantity("memory").as_deref()), (Some("250m"), Some("64Mi")));
        let claim = asked.node_claim.unwrap();
        assert_eq!(NodeSelector::decode(&*claim.node_affinity_bytes).unwrap(), affinity());
        let read = claim.tolerations_bytes.iter().map(|one| Toleration::decode(&**one).unwrap());
        assert_eq!(read.collect::<Vec<_>>(), tolerations());
        Answer::Number(-1)
    })
    .await;
    assert_eq!(ask(&server, &query()).await, Ok(-1));
}

/// Wire form of the only request to a server, after the name of the cluster.
async fn wire(query: &EstimatorQuery) -> Vec<u8> {
    let seen: Arc<Mutex<Bytes>> = Arc::default();
    let keep = Arc::clone(&seen);
    let server = serve(None, move |_, body| {
        *keep.lock().unwrap() = body;
        Answer::Number(1)
    })
    .await;
    ask(&server, query).await.unwrap();
    let seen = seen.lock().unwrap().to_vec();
    seen.strip_prefix(&*field(1, server.port().as_bytes())).unwrap().to_vec()
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
        number >>= 7;
    }
    bytes.push(u8::try_from(number).unwrap());
    bytes
}

/// A field of text, bytes or a message.
fn field(tag: u8, content: &[u8]) -> Vec<u8> {
    [&[(tag << 3) | 2], &*varint(content.len() as u64), content].concat()
}

/// A field of a number.
fn number(tag: u8, number: u64) -> Vec<u8> {
    [&[tag << 3], &*varint(number)].concat()
}

/// An entry of a map.
fn entry(tag: u8, key: &str, value: &[u8]) -> Vec<u8> {
    field(tag, &[field(1, key.as_bytes()), field(2, value)].concat())
}

/// The numbers of the fields are those that Karmada and Kubernetes define.
#[tokio::test]
async fn the_question_goes_over_the_wire_as_karmada_encodes_it() {
    let labels = [&*field(1, b"zone"), &*field(2, b"In"), &*field(3, b"a"), &*field(3, b"b")].concat();
    let fields = [field(1, b"metadata.name"), field(2, b"Exists")].concat();
    let affinity = field(1, &[field(1, &labels), field(2, &fields)].concat());
    let gpu = [&*field(1, b"gpu"), &*field(2, b"Exists"), &*field(4, b"NoExecute"), &*number(5, 300)].concat();
    let claim = [
        field(1, &affinity),
        entry(2, "disk", b"ssd"),
        field(3, &gpu),
        field(3, b""),
        field(4, &affinity),
        field(5, &gpu),
        field(5, b""),
    ];
    let requirements = [
        field(1, &claim.concat()),
        entry(2, "cpu", &field(1, b"250m")),
        entry(2, "memory", &field(1, b"64Mi")),
        field(3, b"shop"),
        field(4, b"high"),
        entry(5, "cpu", &field(1, b"250m")),
        entry(5, "memory", &field(1, b"64Mi")),
    ];
    assert_eq!(wire(&query()).await, field(2, &requirements.concat()));
    let half = serde_json::from_value(json!({"resourceRequest": {"cpu": "500m"}})).unwrap();
    let entry = b"\x0a\x03cpu\x12\x06\x0a\x04500m";
    let requirements = [b"\x12\x1e\x12\x0d", &entry[..], b"\x2a\x0d", &entry[..]].concat();
    assert_eq!(wire(&EstimatorQuery::available(&half)).await, requirements);
    let resource = [field(1, b"apps/v1"), field(2, b"Deployment"), field(3, b"shop"), field(4, b"web")].concat();
    assert_eq!(
        wire(&EstimatorQuery::unschedulable(web(), Duration::from_millis(1_500))).await,
        [field(2, &resource), number(3, 1_500_000_000)].concat()
    );
}

#[tokio::test]
async fn unschedulable_replicas_are_asked_for_by_workload_and_nanoseconds() {
    let query = EstimatorQuery::unschedulable(web(), Duration::from_millis(1_500));
    let server = serve(None, |method, body| {
        assert_eq!(method, "GetUnschedulableReplicas");
        let asked = UnschedulableReplicasRequest::decode(body).unwrap();
        assert_eq!((asked.resource.as_ref(), asked.unschedulable_threshold), (Some(&web()), 1_500_000_000));
        Answer::Number(4)
    })
    .await;
    assert_eq!(ask(&server, &query).await, Ok(4));
}

#[tokio::test]
async fn an_error_of_the_estimator_is_its_own() {
    let server = serve(None, |_, _| Answer::Error(2, "cluster name mismatch")).await;
    let Err(QueryError::Refused(text)) = ask(&server, &query()).await else { panic!("it was not refused") };
    assert!(text.contains("cluster name mismatch"), "{text}");
}

#[tokio::test]
async fn where_nobody_listens_there_is_no_estimator() {
    let port = serve(None, |_, _| Answer::Never).await.port();
    let absent = Grpc::new(settings()).send(&port, &query()).await;
    assert!(matches!(absent, Err(QueryError::Absent(_))), "{absent:?}");
    let unnamed = Settings { address: "{cluster}.invalid:1".parse().unwrap(), ..settings() };
    let absent = Grpc::new(unnamed).send("a", &query()).await;
    assert!(matches!(absent, Err(QueryError::Absent(_))), "{absent:?}");
}

#[tokio::test]
async fn a_connection_is_kept_and_made_again_when_it_broke() {
    let server = serve(None, |_, _| Answer::Number(1)).await;
    let grpc = Grpc::new(settings());
    for _ in 0..3 {
        assert_eq!(grpc.send(&server.port(), &query()).await, Ok(1));
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    server.cut();
    // The end of the connection may be seen by the next question only.
    let first = grpc.send(&server.port(), &query()).await;
    assert!(first.is_ok() || grpc.send(&server.port(), &query()).await.is_ok());
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_slow_estimator_does_not_hold_up_the_others() {
    let (slow, quick) = (serve(None, |_, _| Answer::Never).await, serve(None, |_, _| Answer::Number(2)).await);
    let patience = Duration::from_millis(200);
    let times = Times { patience, ..Times::default() };
    let rooms = Rooms::new(Some(Estimators::new(Box::new(Grpc::new(settings())), times)));
    let requirements = Requirements::read(Some(&requirements()));
    let (slow, quick) = (slow.port(), quick.port());
    let both = [&*slow, &*quick];
    let heard = tokio::time::timeout(Duration::from_secs(2), rooms.refresh(&both, &requirements)).await;
    assert_eq!(heard, Ok(false));
    let summary = json!({"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "5"}});
    let summary = fhpa::convert::capacity::summary(&summary);
    let room = |cluster: &str| rooms.room(cluster, summary.as_ref(), &requirements, 10);
    assert_eq!(room(&quick), Room { available: Some(2), whole: Some(5) });
    assert_eq!(room(&slow), Room { available: Some(5), whole: Some(5) });
}

/// A server that wants a certificate of the client signed by `ca`, or none.
fn acceptor(ca: &Ca, clients: Option<&Ca>) -> TlsAcceptor {
    let (certificate, key) = ca.server(|_| {});
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        rustls::ServerConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = match clients {
        Some(clients) => {
            let mut roots = RootCertStore::empty();
            roots.add(CertificateDer::from_pem_slice(clients.pem().as_bytes()).unwrap()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            builder.unwrap().with_client_cert_verifier(verifier)
        }
        None => builder.unwrap().with_no_client_auth(),
    };
    let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
    let mut config = builder.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

/// Files for TLS in `directory`.
fn files(directory: &Path, ca: &Ca, identity: Option<(String, String)>) -> TlsFiles {
    let write = |name: &str, text: String| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let identity = identity.map(|(certificate, key)| (write("tls.crt", certificate), write("tls.key", key)));
    TlsFiles { ca: write("ca.crt", ca.pem()), identity }
}

fn over_tls(tls: TlsFiles) -> Grpc {
    Grpc::new(Settings { address: "localhost:{cluster}".parse().unwrap(), tls: Some(tls), ..Settings::default() })
}

#[tokio::test]
async fn an_estimator_is_talked_to_over_tls() {
    let (ca, directory) = (Ca::new(), tempfile::tempdir().unwrap());
    let server = serve(Some(acceptor(&ca, None)), |_, _| Answer::Number(3)).await;
    assert_eq!(over_tls(files(directory.path(), &ca, None)).send(&server.port(), &query()).await, Ok(3));
    let stranger = over_tls(files(directory.path(), &Ca::new(), None)).send(&server.port(), &query()).await;
    let Err(QueryError::Unusable(text)) = stranger else { panic!("{stranger:?}") };
    assert!(text.contains("certificate"), "{text}");
}

#[tokio::test]
async fn an_estimator_may_ask_for_a_certificate() {
    let (ca, clients, directory) = (Ca::new(), Ca::new(), tempfile::tempdir().unwrap());
    let server = serve(Some(acceptor(&ca, Some(&clients))), |_, _| Answer::Number(3)).await;
    let asked = async |identity| over_tls(files(directory.path(), &ca, identity)).send(&server.port(), &query()).await;
    assert_eq!(asked(Some(clients.client("fhpa"))).await, Ok(3));
    for identity in [None, Some(Ca::new().client("fhpa"))] {
        let refused = asked(identity).await;
        assert!(matches!(refused, Err(QueryError::Unusable(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn tls_on_one_side_only_is_no_way_to_talk() {
    let (ca, directory) = (Ca::new(), tempfile::tempdir().unwrap());
    let secret = serve(Some(acceptor(&ca, None)), |_, _| Answer::Number(3)).await;
    let open = serve(None, |_, _| Answer::Number(3)).await;
    let asked = ask(&secret, &query()).await;
    assert!(matches!(asked, Err(QueryError::Unusable(_))), "{asked:?}");
    let asked = over_tls(files(directory.path(), &ca, None)).send(&open.port(), &query()).await;
    assert!(matches!(asked, Err(QueryError::Unusable(_))), "{asked:?}");
}

#[tokio::test]
async fn a_new_certificate_is_used_without_a_restart() {
    let (ca, old, new, directory) = (Ca::new(), Ca::new(), Ca::new(), tempfile::tempdir().unwrap());
    let server = serve(Some(acceptor(&ca, Some(&new))), |_, _| Answer::Number(3)).await;
    let tls = Some(files(directory.path(), &ca, Some(old.client("fhpa"))));
    let address = "localhost:{cluster}".parse().unwrap();
    let grpc = Grpc::new(Settings { address, tls, poll: Duration::ZERO, ..Settings::default() });
    assert!(grpc.send(&server.port(), &query()).await.is_err());
    files(directory.path(), &ca, Some(new.client("fhpa")));
    assert_eq!(grpc.send(&server.port(), &query()).await, Ok(3));
    // While the files are gone, what was read before is good.
    std::fs::remove_file(directory.path().join("tls.key")).unwrap();
    assert_eq!(grpc.send(&server.port(), &query()).await, Ok(3));
}

#[tokio::test]
async fn files_that_cannot_be_read_are_named() {
    let ca = "/nowhere/ca.crt".into();
    let failed = over_tls(TlsFiles { ca, identity: None }).send("1", &query()).await;
    let Err(QueryError::Unusable(text)) = failed else { panic!("{failed:?}") };
    assert!(text.contains("/nowhere/ca.crt"), "{text}");
}
