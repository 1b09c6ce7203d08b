//! The leader's guard over the installation.

use fhpa::install::permissions::PermissionScope::ControlPlane;
use serde_json::Value;

use super::{Story, same};
use crate::bed::role::Role;
use crate::install::guard::Stage;

pub const GUARDS: Story = Story {
    tell: |role| Box::pin(guard(role)),
    needs: &[
        (ControlPlane, "customresourcedefinitions", &["get", "list", "watch", "patch"]),
        (ControlPlane, "mutatingwebhookconfigurations", &["get", "list", "watch", "patch", "create"]),
        (ControlPlane, "validatingwebhookconfigurations", &["get", "list", "watch", "patch", "create"]),
    ],
};

/// Of both kinds: Karmada's own, and ours.
const CONFIGURATIONS: [(&str, &str, &str); 2] = [
    ("mutatingwebhookconfigurations", "mutating-config", "fhpa"),
    ("validatingwebhookconfigurations", "validating-config", "fhpa"),
];

fn path(plural: &str, name: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{plural}/{name}")
}

/// What an upgrade of Karmada restores, and somebody deletes, is put back.
async fn guard(role: Role) -> Result<(), String> {
    let stage = Stage::of(true, role).await;
    stage.restore().await;
    for (plural, theirs, ours) in CONFIGURATIONS {
        let asked_again = |object: &mut Value| {
            for webhook in object["webhooks"].as_array_mut().unwrap() {
                webhook.as_object_mut().unwrap().remove("objectSelector");
            }
        };
        stage.replace(&path(plural, theirs), asked_again).await;
        assert_eq!(stage.bed.delete(&path(plural, ours), &Value::Null).await.code, 200);
    }
    stage.pass(60).await;
    same("the definition is ours", stage.is_ours().await, true)?;
    for (plural, theirs, ours) in CONFIGURATIONS {
        let aside = stage.get(&path(plural, theirs)).await.to_string().contains("reviewed-by-fhpa");
        same("set aside", aside, true)?;
        same("registered", stage.bed.get(&path(plural, ours)).await.code, 200)?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn to_guard_the_installation_takes_every_right_on_it() {
    GUARDS.holds().await;
}
