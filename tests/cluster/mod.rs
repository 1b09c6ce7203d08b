//! Tests that need a real kube-apiserver. Without one they report this and pass.

pub mod admission;
pub mod control_plane;
mod crds;
mod restore;
mod status;

use control_plane::ControlPlane;

#[tokio::test]
async fn a_control_plane_answers_its_clients() {
    let Some(plane) = ControlPlane::shared("the control plane itself") else { return };
    let version = plane.client().await.apiserver_version().await.unwrap();
    let (answered, said) = plane.kubectl(&["version"], "");
    assert!(answered, "{said}");
    assert!(said.contains(&version.git_version), "{said}");
    let namespace = plane.namespace("answers");
    let (_, said) = plane.kubectl(&["get", "namespace", namespace, "-o", "name"], "");
    assert_eq!(said, "namespace/answers\n");
}
