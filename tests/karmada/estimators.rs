//! karmada-scheduler-estimators of the members, as Karmada's scheduler and fhpa find them. I/O: processes, sockets.

use std::ffi::OsString;
use std::net::Ipv4Addr;

use serde_json::json;
use tokio::net::TcpStream;

use crate::lab::{Lab, until};
use crate::link::Link;
use crate::rig::program::{Program, flags, free_ports};

/// Port at which karmada-scheduler looks for the service of an estimator.
const PORT: u16 = 10352;

/// An estimator for each member. Members are named by numbers below 255: the estimator of member 7 answers at 127.0.1.7,
/// all at the same port, because fhpa knows one address with a place for the name.
pub struct Estimators {
    port: u16,
    _programs: Vec<Program>,
}

impl Estimators {
    /// Starts all, and registers their services with karmada-apiserver; `gates`: features to switch on.
    pub async fn start(lab: &Lab, gates: &str) -> Self {
        let [port] = free_ports();
        let mut programs = Vec::new();
        for member in &lab.members {
            let [own] = free_ports();
            let number: u8 = member.name().parse().expect("the name of a member is a number");
            let address = Ipv4Addr::new(127, 0, 1, number);
            programs.push(member.plane.program(
                "karmada-scheduler-estimator",
                &flags([
                    ("kubeconfig", member.plane.kubeconfig().into()),
                    ("cluster-name", member.name().into()),
                    ("server-port", own.to_string().into()),
                    ("metrics-bind-address", "0".into()),
                    ("health-probe-bind-address", "0".into()),
                    ("feature-gates", gates.into()),
                ]),
            ));
            Link::at((address, port).into(), own).await;
            let name = format!("karmada-scheduler-estimator-{}", member.name());
            lab.karmada
                .apply(
                    "services",
                    &json!({"apiVersion": "v1", "kind": "Service",
                        "metadata": {"name": name, "namespace": "karmada-system"},
                        "spec": {"type": "ExternalName", "externalName": address.to_string(),
                            "ports": [{"port": PORT, "targetPort": port, "protocol": "TCP"}]}}),
                )
                .await;
            until(&format!("{name} answers"), async || TcpStream::connect(("127.0.0.1", own)).await.is_ok()).await;
        }
        Self { port, _programs: programs }
    }

    /// How fhpa finds them.
    pub fn arguments(&self) -> [OsString; 4] {
        let address = format!("127.0.1.{{cluster}}:{}", self.port);
        ["--estimators".into(), "auto".into(), "--estimator-address".into(), address.into()]
    }
}
