//! A member cluster: a real API server, controller manager and scheduler, with kubelets of the suite. I/O: processes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::assets::Assets;
use crate::both::wanted;
use crate::kubelet::{self, Pods};
use crate::link::Link;
use crate::metrics;
use crate::plane::{Plane, Ports};
use crate::rig::program::{Program, flags};

/// Controllers that run. Nodes have none: they are always well.
const CONTROLLERS: &str = "namespace-controller,garbage-collector-controller,serviceaccount-controller,\
    serviceaccount-token-controller,legacy-serviceaccount-token-cleaner-controller,deployment-controller,\
    replicaset-controller,statefulset-controller,daemonset-controller,job-controller,\
    horizontal-pod-autoscaler-controller,clusterrole-aggregation-controller,root-ca-certificate-publisher-controller,\
    resourcequota-controller";

/// A member.
pub struct Member {
    pub plane: Plane,
    pub pods: Arc<Pods>,
    /// Karmada talks to the API server over it.
    pub link: Link,
    programs: Vec<Program>,
    /// Between two computations of an HPA.
    period: &'static str,
}

impl Member {
    /// Starts a member with so many nodes of so many cores each.
    pub async fn start(
        assets: &Assets,
        directory: &Path,
        name: &str,
        etcd: &str,
        ports: Ports,
        (count, cores): (usize, u32),
    ) -> Self {
        let plane = Plane::start(assets, directory, name, etcd, ports, "10.97.0.0/16").await;
        plane.is_ready().await;
        let pods = Arc::<Pods>::default();
        wanted::nodes(&plane.client, name, count, cores).await;
        let pair = plane.authority.server("metrics-server", &["localhost", "metrics-server.kube-system.svc"]);
        tokio::spawn(metrics::serve(ports.aggregated, pair, Arc::clone(&pods)));
        tokio::spawn(kubelet::run(plane.client.clone(), Arc::clone(&pods)));
        for (group, service) in [("metrics.k8s.io", "metrics-server"), ("external.metrics.k8s.io", "external-metrics")]
        {
            plane.aggregate(group, "v1beta1", "kube-system", service, ports.aggregated).await;
        }
        let link = Link::start(ports.apiserver).await;
        let mut member = Self { plane, pods, link, programs: Vec::new(), period: "2s" };
        member.control();
        member
    }

    pub fn name(&self) -> &str {
        &self.plane.name
    }

    /// A kubeconfig file with which the API server is found at the other end of the link.
    pub fn linked(&self) -> PathBuf {
        let text = std::fs::read_to_string(self.plane.kubeconfig()).unwrap();
        let at = |port: u16| format!("127.0.0.1:{port}");
        let linked = self.plane.file("linked-kubeconfig");
        std::fs::write(&linked, text.replace(&at(self.plane.ports.apiserver), &at(self.link.port))).unwrap();
        linked
    }

    fn control(&mut self) {
        let kubeconfig = self.plane.kubeconfig();
        let scheduler = flags([
            ("kubeconfig", kubeconfig.clone().into()),
            ("secure-port", "0".into()),
            ("leader-elect", "false".into()),
            ("kube-api-qps", "100".into()),
            ("kube-api-burst", "200".into()),
        ]);
        let mut manager = manager(&self.plane, CONTROLLERS);
        manager.extend(flags([
            ("horizontal-pod-autoscaler-sync-period", self.period.into()),
            ("horizontal-pod-autoscaler-cpu-initialization-period", "1s".into()),
            ("horizontal-pod-autoscaler-initial-readiness-delay", "1s".into()),
            ("concurrent-horizontal-pod-autoscaler-syncs", "10".into()),
        ]));
        self.programs = vec![
            self.plane.program("kube-controller-manager", &manager),
            self.plane.program("kube-scheduler", &scheduler),
        ];
    }

    /// Its HPAs are computed so often from now on.
    pub fn computes_every(&mut self, period: &'static str) {
        self.period = period;
        self.programs.clear();
        self.control();
    }

    /// The whole control plane dies: connections are refused. Its pods go on, as the kubelets do.
    pub fn kill(&mut self) {
        self.programs.clear();
        self.plane.kill();
    }

    /// The API server hangs.
    pub fn hang(&self) {
        self.plane.signal("STOP");
    }

    /// It is back. What watches it is started anew, since their retries may take a minute.
    pub async fn heal(&mut self, hung: bool) {
        if hung {
            self.plane.signal("CONT");
        } else {
            self.plane.serve();
        }
        self.plane.is_ready().await;
        self.programs.clear();
        self.control();
    }
}

/// Arguments of kube-controller-manager.
pub fn manager(plane: &Plane, controllers: &str) -> Vec<OsString> {
    flags([
        ("kubeconfig", plane.kubeconfig().into()),
        ("secure-port", "0".into()),
        ("leader-elect", "false".into()),
        ("controllers", controllers.replace(' ', "").into()),
        ("cluster-name", plane.name.clone().into()),
        ("cluster-signing-cert-file", plane.file("ca.crt").into()),
        ("cluster-signing-key-file", plane.file("ca.key").into()),
        ("root-ca-file", plane.file("ca.crt").into()),
        ("service-account-private-key-file", plane.file("account.key").into()),
        ("kube-api-qps", "100".into()),
        ("kube-api-burst", "200".into()),
    ])
}
