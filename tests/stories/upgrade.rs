//! CronFederatedHPAs while Karmada's CRDs are served.

use fhpa::api;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::Stage;
use crate::install::DEFINITIONS;

impl Stage {
    async fn define(&self, texts: &[String]) {
        let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let api: Api<DynamicObject> = Api::all_with(self.server.client(), &ApiResource::from_gvk(&gvk));
        for text in texts {
            let new: Value = serde_saphyr::from_str(text).unwrap();
            let patch = Patch::Merge(json!({"spec": {"versions": new["spec"]["versions"]}}));
            api.patch(new["metadata"]["name"].as_str().unwrap(), &PatchParams::default(), &patch).await.unwrap();
        }
    }

    async fn annotate(&self) {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"note": "somebody"}}}));
        self.crons().patch("shop", &PatchParams::default(), &patch).await.unwrap();
    }

    async fn max_delay(&self) -> Option<i64> {
        self.crons().get("shop").await.unwrap().spec.rules[0].max_delay_seconds
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_due_in_the_window_is_made_up_and_its_limit_is_not_lost() {
    let stage = Stage::with_web("2026-11-20T07:50:00Z").await;
    stage.cron(json!([{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5, "maxDelaySeconds": 600}])).await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T07:58:00Z").await;
    stage.define(&DEFINITIONS.map(str::to_owned)).await;
    stage.pass(5).await;
    stage.annotate().await;
    assert_eq!(stage.max_delay().await, None);
    // A new leader knows no more than it is shown.
    one.stop().await;
    let _two = stage.leads("two").await;
    stage.server.faults().record();
    stage.until("2026-11-20T08:03:00Z").await;
    assert_eq!((stage.replicas("web").await, stage.writes()), (2, Vec::new()));
    stage.define(&api::crd::files().unwrap().map(|(_, text)| text)).await;
    stage.pass(10).await;
    assert_eq!((stage.replicas("web").await, stage.max_delay().await), (5, Some(600)));
    let history = stage.history().await;
    assert!(history[0].contains("08:00:00 executed 08:03:0"), "{history:?}");
    assert_eq!(stage.events().await.iter().filter(|event| event.contains("FieldsRestored")).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_another_schedule_does_not_allow_any_more_stops_no_rule() {
    let stage = Stage::with_web("2026-11-20T07:50:00Z").await;
    stage.cron(json!([{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5, "maxDelaySeconds": 43200}])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T07:58:00Z").await;
    stage.define(&DEFINITIONS.map(str::to_owned)).await;
    stage.pass(5).await;
    let hourly = json!([{"name": "up", "schedule": "30 * * * *", "targetReplicas": 5}]);
    let patch = Patch::Merge(json!({"spec": {"rules": hourly}}));
    stage.crons().patch("shop", &PatchParams::default(), &patch).await.unwrap();
    stage.define(&api::crd::files().unwrap().map(|(_, text)| text)).await;
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!((stage.replicas("web").await, stage.max_delay().await), (5, None), "{:?}", stage.events().await);
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_passed_in_the_window_holds_after_it() {
    let stage = Stage::with_web("2026-11-20T07:50:00Z").await;
    stage.cron(json!([{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5, "maxDelaySeconds": 60}])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T07:58:00Z").await;
    stage.define(&DEFINITIONS.map(str::to_owned)).await;
    stage.pass(5).await;
    stage.annotate().await;
    stage.until("2026-11-20T08:05:00Z").await;
    stage.define(&api::crd::files().unwrap().map(|(_, text)| text)).await;
    stage.pass(10).await;
    // Without the copy the run would be made up, as one without a limit is.
    assert_eq!((stage.replicas("web").await, stage.max_delay().await), (2, Some(60)));
    let history = stage.history().await;
    assert!(history[0].contains("08:00:00 failed"), "{history:?}");
}
