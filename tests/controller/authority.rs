//! karmada-apiserver gets another certificate while its clients run: of the same CA, and of another one.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use embedded_apiserver::ApiServer;
use embedded_apiserver::serve::{Listening, kubeconfig};
use fhpa::runtime::control_plane::Client;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::reload::Reload;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::client::connect;
use crate::bed::within;

/// A CA.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A new certificate of the API server.
    fn issues(&self) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().signed_by(&key, &self.0).unwrap();
        let chain = vec![CertificateDer::from(leaf.der().to_vec())];
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        builder.with_no_client_auth().with_single_cert(chain, key).unwrap()
    }
}

/// An API server that speaks TLS at one address, with a certificate that is exchanged by a restart.
struct Plane {
    server: ApiServer,
    plain: Listening,
    address: SocketAddr,
    serving: JoinSet<()>,
}

impl Plane {
    async fn new(config: ServerConfig) -> Self {
        let server = ApiServer::builder().build();
        let plain = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut plane = Self { server, plain, address, serving: JoinSet::new() };
        plane.serve(listener, config);
        plane
    }

    fn serve(&mut self, listener: TcpListener, config: ServerConfig) {
        let (acceptor, to) = (TlsAcceptor::from(Arc::new(config)), self.plain.address());
        self.serving.spawn(async move {
            // Connections end with their server.
            let mut open = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                open.spawn(async move {
                    let Ok(mut tls) = acceptor.accept(tcp).await else { return };
                    let mut plain = TcpStream::connect(to).await.unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut tls, &mut plain).await;
                });
            }
        });
    }

    /// Restarts it with another certificate. All connections end.
    async fn restart(&mut self, config: ServerConfig) {
        self.serving.shutdown().await;
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.serve(listener, config);
    }

    /// Writes a kubeconfig that trusts these.
    fn trust(&self, file: &Path, authorities: &[&Authority]) {
        let pem: String = authorities.iter().map(|authority| authority.0.pem()).collect();
        let config = kubeconfig(&[("karmada", &format!("https://{}", self.address))]);
        let trusted = format!(", certificate-authority-data: {}}}\ncontexts", STANDARD.encode(pem));
        std::fs::write(file, config.replacen("}\ncontexts", &trusted, 1)).unwrap();
    }

    async fn creates(&self, name: &str) {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.server.create(&space).await.unwrap();
    }
}

async fn reaches(client: &Client) -> Result<(), String> {
    Api::<Namespace>::all(client.clone()).get("default").await.map(drop).map_err(|error| format!("{error:?}"))
}

/// The watch goes on where it was: the next object is the one that is created now, and nothing is listed again.
async fn sees(
    events: &mut (impl Stream<Item = Result<watcher::Event<Namespace>, watcher::Error>> + Unpin),
    plane: &Plane,
    name: &str,
) {
    plane.creates(name).await;
    loop {
        match within(events.next()).await.unwrap() {
            Ok(watcher::Event::Apply(space)) => {
                assert_eq!(space.metadata.name.as_deref(), Some(name));
                return;
            }
            Ok(other) => panic!("{other:?}"),
            Err(_) => {}
        }
    }
}

#[tokio::test]
async fn the_certificate_of_karmada_apiserver_is_exchanged_under_a_client_that_goes_on() {
    let (one, two, three) = (Authority::new(), Authority::new(), Authority::new());
    let mut plane = Plane::new(one.issues()).await;
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    plane.trust(&file, &[&one]);
    let (client, mut reloader) = connect(&file, &Metrics::new()).await;
    let mut events = watcher(Api::all(client.clone()), watcher::Config::default()).default_backoff().boxed();
    while !matches!(within(events.next()).await, Some(Ok(watcher::Event::InitDone))) {}
    sees(&mut events, &plane, "first").await;

    // Another certificate of the same CA.
    plane.restart(one.issues()).await;
    assert_eq!(reaches(&client).await, Ok(()));
    sees(&mut events, &plane, "same-authority").await;

    // Another CA, which is trusted before.
    plane.trust(&file, &[&one, &two]);
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    plane.restart(two.issues()).await;
    assert_eq!(reaches(&client).await, Ok(()));
    sees(&mut events, &plane, "known-authority").await;

    // A kubeconfig that trusts only what is not served yet waits for it.
    plane.trust(&file, &[&three]);
    assert!(matches!(reloader.poll().await, Reload::Rejected(_)));
    assert_eq!(reaches(&client).await, Ok(()));
    plane.restart(three.issues()).await;
    let refused = reaches(&client).await.unwrap_err();
    assert!(refused.contains("InvalidCertificate"), "{refused}");
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    assert_eq!(reaches(&client).await, Ok(()));
    sees(&mut events, &plane, "new-authority").await;

    // Another CA, of which the kubeconfig tells afterwards.
    plane.restart(one.issues()).await;
    assert!(reaches(&client).await.is_err());
    plane.trust(&file, &[&one]);
    assert!(matches!(reloader.poll().await, Reload::Reloaded));
    assert_eq!(reaches(&client).await, Ok(()));
    sees(&mut events, &plane, "afterwards").await;
}
