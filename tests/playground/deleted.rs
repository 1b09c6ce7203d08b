//! Objects that are being deleted while no webhook answers: fhpa's registration does not block them.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::registration::{self, Location};
use serde_json::{Value, json};

use crate::bed::Bed;

const ROOT: &str = "/apis/admissionregistration.k8s.io/v1";
/// How often a server is asked until it has seen a registration.
const ATTEMPTS: usize = 2000;

/// Our entries, for the namespace of the line, with nobody where they point to.
async fn register(bed: &Bed) {
    let nobody = Location { base_url: "https://127.0.0.1:1".to_owned(), ca_bundle: Vec::new() };
    let mutating = json!(registration::mutating(&nobody, &Endpoint::ALL));
    let validating = json!(registration::validating(&nobody, &Endpoint::ALL));
    for (sort, mut configuration) in [("mutating", mutating), ("validating", validating)] {
        configuration["metadata"]["name"] = json!(format!("fhpa.{}", bed.namespace));
        for webhook in configuration["webhooks"].as_array_mut().unwrap() {
            webhook["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": bed.namespace}});
            webhook["clientConfig"].as_object_mut().unwrap().remove("caBundle");
        }
        let made = bed.post(&format!("{ROOT}/{sort}webhookconfigurations"), &configuration).await;
        assert_eq!(made.code, 201, "{made:?}");
    }
}

fn cron(name: &str) -> Value {
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": name, "finalizers": ["example.com/kept"]},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "rules": [{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5}]}})
}

#[tokio::test]
async fn the_finalizer_of_a_deleted_object_falls_while_no_webhook_answers() {
    Bed::same("finalizers while no webhook answers", "line-deleted", async |bed| {
        let crons = bed.path("autoscaling.karmada.io/v1alpha1", "cronfederatedhpas");
        for name in ["going", "staying"] {
            assert_eq!(bed.post(&crons, &cron(name)).await.code, 201);
        }
        assert_eq!(bed.delete(&format!("{crons}/going"), &Value::Null).await.code, 200);
        register(bed).await;
        let mut tries = 0;
        while bed.post(&format!("{crons}?dryRun=All"), &cron("probe")).await.code == 201 {
            tries += 1;
            assert!(tries < ATTEMPTS, "the webhook is never asked");
        }
        let freed = json!({"metadata": {"finalizers": null}});
        let edited = json!({"spec": {"scaleTargetRef": {"name": "other"}}});
        let mut codes = Vec::new();
        for (name, patch) in [("staying", &freed), ("going", &edited), ("staying", &edited), ("going", &freed)] {
            codes.push(bed.patch("merge", &format!("{crons}/{name}"), patch).await.code);
        }
        codes.push(bed.get(&format!("{crons}/going")).await.code);
        assert_eq!(codes, [500, 500, 500, 200, 404]);
        json!(codes)
    })
    .await;
}
