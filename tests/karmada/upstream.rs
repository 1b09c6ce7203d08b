//! Karmada's own FederatedHPA controller, and karmada-metrics-adapter, which it needs. I/O: processes.

use crate::lab::{Lab, until};
use crate::rig::program::{Program, flags};

const ADAPTER: &str = "karmada-metrics-adapter";

/// karmada-metrics-adapter, registered for resource metrics.
pub struct Adapter {
    pub program: Program,
}

impl Adapter {
    pub async fn start(lab: &Lab) -> Self {
        let karmada = &lab.karmada;
        let (certificate, key) = lab.server(ADAPTER, &["localhost"]);
        let kubeconfig = karmada.kubeconfig();
        let [port] = crate::rig::program::free_ports();
        let arguments = flags([
            ("kubeconfig", kubeconfig.clone().into()),
            ("authentication-kubeconfig", kubeconfig.clone().into()),
            ("authorization-kubeconfig", kubeconfig.into()),
            ("client-ca-file", karmada.file("ca.crt").into()),
            ("tls-cert-file", certificate.into()),
            ("tls-private-key-file", key.into()),
            ("bind-address", "127.0.0.1".into()),
            ("secure-port", port.to_string().into()),
            ("metrics-bind-address", "127.0.0.1:0".into()),
        ]);
        let program = karmada.program(ADAPTER, &arguments);
        karmada.aggregate("metrics.k8s.io", "v1beta1", "karmada-system", ADAPTER, port).await;
        let metrics = karmada.api("metrics.k8s.io/v1beta1", "PodMetrics", "pods", Some("prod"));
        until("metrics.k8s.io of Karmada answers", async || metrics.list(&Default::default()).await.is_ok()).await;
        Self { program }
    }

    /// Ends it, and takes its API away.
    pub async fn stop(self, lab: &Lab) {
        let services = lab.karmada.api("apiregistration.k8s.io/v1", "APIService", "apiservices", None);
        services.delete("v1beta1.metrics.k8s.io", &Default::default()).await.unwrap();
        let services = lab.karmada.api("v1", "Service", "services", Some("karmada-system"));
        services.delete(ADAPTER, &Default::default()).await.unwrap();
    }
}
