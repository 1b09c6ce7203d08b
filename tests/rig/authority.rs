//! Certificates of a control plane, and kubeconfigs. I/O: files.

use std::path::Path;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use serde_json::{Value, json};

/// A CA in memory.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// PEM of a certificate and of its key.
pub struct Pair {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.distinguished_name.push(DnType::CommonName, name);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        Self { issuer: CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap() }
    }

    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// PEM of the CA's key, for a program that signs with it.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// A certificate of a server.
    pub fn server(&self, name: &str, names: &[&str]) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ServerAuth);
        self.sign(&params)
    }

    /// A certificate of a client: user and group, as kube-apiserver reads them.
    pub fn client(&self, user: &str, group: Option<&str>) -> Pair {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        if let Some(group) = group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        params.extended_key_usages.push(ExtendedKeyUsagePurpose::ClientAuth);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Pair {
        let key = KeyPair::generate().unwrap();
        Pair { certificate: params.signed_by(&key, &self.issuer).unwrap().pem(), key: key.serialize_pem() }
    }
}

/// Writes the files that kube-apiserver reads from `home`, and the kubeconfig of an administrator beside them.
pub fn write(home: &Path, port: u16, authority: &Authority) {
    let server = authority.server("kube-apiserver", &["127.0.0.1", "localhost"]);
    let admin = authority.client("admin", Some("system:masters"));
    let account = KeyPair::generate().unwrap();
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        "clusters": [{"name": "test", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": home.join("ca.crt")}}],
        "users": [{"name": "admin", "user": {
            "client-certificate": home.join("admin.crt"), "client-key": home.join("admin.key")}}],
    });
    for (name, text) in [
        ("ca.crt", authority.pem()),
        ("ca.key", authority.key_pem()),
        ("server.crt", server.certificate),
        ("server.key", server.key),
        ("account.key", account.serialize_pem()),
        ("account.pub", account.public_key_pem()),
        ("admin.crt", admin.certificate),
        ("admin.key", admin.key),
        ("kubeconfig", kubeconfig.to_string()),
    ] {
        std::fs::write(home.join(name), text).unwrap();
    }
}

/// The kubeconfig of `text` for a user who may do what roles give, and nothing else.
pub fn impersonating(text: &str, user: &str) -> String {
    let mut kubeconfig: Value = serde_json::from_str(text).unwrap();
    kubeconfig["users"][0]["user"]["as"] = user.into();
    kubeconfig.to_string()
}
