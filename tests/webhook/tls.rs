//! TLS: protocols, client certificates, and the self-signed certificate.

use std::sync::Arc;
use std::time::Duration;

use fhpa::admission::verdict::Verdict;
use fhpa::run::process::{Handle, Options, Server};
use fhpa::runtime::tls::{ClientAuth, MinVersion};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::version::{TLS12, TLS13};

use super::client::{H1, H2, Sender, connector, connector_of, tls};

/// A server under test.
pub struct Running {
    pub address: std::net::SocketAddr,
    pub ca: String,
    pub handle: Handle,
    pub metrics: Arc<fhpa::runtime::metrics::Metrics>,
    pub admin: Option<std::net::SocketAddr>,
    pub ended: tokio::task::JoinHandle<fhpa::run::process::Ended>,
}

pub async fn start(options: Options) -> Running {
    start_with(options, Arc::new(|_, _, _| Verdict::allowed())).await
}

pub async fn start_with(options: Options, judge: fhpa::admission::router::ReviewFn) -> Running {
    let server = Server::bind_with(options, |_| judge).await.unwrap();
    Running {
        address: server.local_addr(),
        ca: server.ca_pem().unwrap_or_default(),
        handle: server.handle(),
        metrics: server.metrics(),
        admin: server.admin_addr(),
        ended: tokio::spawn(server.run()),
    }
}

/// A CA for tests.
pub struct Ca(CertifiedIssuer<'static, KeyPair>);

impl Ca {
    pub fn new() -> Self {
        Self::of(KeyPair::generate().unwrap())
    }

    fn of(key: KeyPair) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "test-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// The same CA with another certificate for the same key.
    pub fn renewed(&self) -> Self {
        Self::of(KeyPair::from_pem(&self.0.key().serialize_pem()).unwrap())
    }

    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// Certificate and key of a server named `localhost`, of which `change` may change something.
    pub fn server(&self, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        change(&mut params);
        self.issue(&params)
    }

    pub fn client(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(&params)
    }

    fn issue(&self, params: &CertificateParams) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.0).unwrap().pem(), key.serialize_pem())
    }
}

#[tokio::test]
async fn both_protocols_answer_over_both_versions_of_tls() {
    let server = start(Options::loopback()).await;
    for alpn in [H1, H2] {
        for version in [&TLS12, &TLS13] {
            let connector = connector_of(&server.ca, alpn, None, &[version]);
            let mut sender = Sender::connect(server.address, &connector).await.unwrap();
            assert_eq!(matches!(sender, Sender::H2(_)), alpn == H2);
            for uid in ["first", "second on the same connection"] {
                assert!(sender.review(uid).await.unwrap().admits(uid));
            }
        }
    }
}

#[tokio::test]
async fn an_old_version_is_refused_when_asked_to() {
    let mut options = Options::loopback();
    options.webhook().certificate.min_version = MinVersion::Tls13;
    let server = start(options).await;
    assert!(tls(server.address, &connector_of(&server.ca, H1, None, &[&TLS12])).await.is_err());
    let mut sender = Sender::connect(server.address, &connector_of(&server.ca, H1, None, &[&TLS13])).await.unwrap();
    assert!(sender.review("u").await.unwrap().admits("u"));
}

#[tokio::test]
async fn only_the_named_client_of_the_right_ca_is_served() {
    let (ca, other) = (Ca::new(), Ca::new());
    let directory = tempfile::tempdir().unwrap();
    let ca_file = directory.path().join("clients.crt");
    std::fs::write(&ca_file, ca.pem()).unwrap();
    let mut options = Options::loopback();
    options.webhook().certificate.client =
        Some(ClientAuth { ca_file, common_names: vec!["karmada-apiserver".to_owned()] });
    let server = start(options).await;
    let served = async |identity: Option<(String, String)>| {
        let identity = identity.as_ref().map(|(chain, key)| (&**chain, &**key));
        let connector = connector(&server.ca, H1, identity);
        // With TLS 1.3 the client learns of the refusal only when it reads.
        match Sender::connect(server.address, &connector).await {
            Ok(mut sender) => sender.review("u").await.is_ok_and(|answer| answer.admits("u")),
            Err(_) => false,
        }
    };
    assert!(served(Some(ca.client("karmada-apiserver"))).await);
    assert!(!served(Some(ca.client("somebody"))).await);
    assert!(!served(Some(other.client("karmada-apiserver"))).await);
    assert!(!served(None).await);
    let text = server.metrics.text();
    assert!(text.contains("fhpa_tls_handshake_failures_total{reason=\"ClientCertificate\"} 3"), "{text}");
}

#[tokio::test]
async fn a_stranger_to_the_ca_does_not_connect() {
    let server = start(Options::loopback()).await;
    assert!(tls(server.address, &connector(&Ca::new().pem(), H2, None)).await.is_err());
}

#[tokio::test]
async fn the_self_signed_certificate_is_for_the_names_that_were_asked_for() {
    let mut options = Options::loopback();
    let names = vec!["localhost".to_owned(), "webhook.karmada-system.svc".to_owned(), "10.0.0.7".to_owned()];
    options.webhook().certificate.source =
        fhpa::runtime::tls::Source::SelfSigned(Box::new(fhpa::runtime::tls::SelfSigned::new(names))).into();
    let directory = tempfile::tempdir().unwrap();
    let ca_output = directory.path().join("ca.crt");
    options.webhook().certificate.ca_output = Some(ca_output.clone());
    let server = start(options).await;
    assert_eq!(std::fs::read_to_string(ca_output).unwrap(), server.ca);
    let connector = connector(&server.ca, H1, None);
    for (name, good) in
        [("localhost", true), ("webhook.karmada-system.svc", true), ("10.0.0.7", true), ("elsewhere", false)]
    {
        let stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
        let name = rustls::pki_types::ServerName::try_from(name).unwrap();
        assert_eq!(connector.connect(name, stream).await.is_ok(), good);
    }
}

#[tokio::test]
async fn a_handshake_that_stops_half_way_is_ended() {
    use tokio::io::AsyncReadExt as _;
    let mut options = Options::loopback();
    options.webhook().limits.first_request = Duration::from_millis(50);
    let server = start(options).await;
    let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    assert_eq!(stream.read(&mut [0; 16]).await.unwrap_or(0), 0);
    let text = server.metrics.text();
    assert!(text.contains("fhpa_tls_handshake_failures_total{reason=\"Timeout\"} 1"), "{text}");
}
