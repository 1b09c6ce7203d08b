//! Credentials and certificates are exchanged while reviews are answered, as charts/fhpa/docs/day2.md and upgrade.md
//! have it.

use std::sync::Arc;
use std::time::Duration;

use fhpa::runtime::clock::steady;
use kube::api::{Patch, PatchParams};
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use super::day2::{SPREAD, WHOLE, cleared, fleet};
use crate::both::{MEMBERS, World as _};
use crate::rig::authority::Authority;
use crate::stand::Stand;

/// Reviews that were asked for, and what was said of those that failed.
#[derive(Default)]
struct Reviews {
    asked: usize,
    refused: Vec<String>,
}

/// Asks for a review all the time, by writes of which nothing is stored.
fn reviews(stand: &Stand) -> (Arc<Mutex<Reviews>>, JoinSet<()>) {
    let counted = Arc::<Mutex<Reviews>>::default();
    let api = stand.api("", "FederatedHPA", "prod");
    let counts = Arc::clone(&counted);
    let mut task = JoinSet::new();
    task.spawn(async move {
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        loop {
            let asked = counts.lock().asked;
            let edit = json!({"spec": {"maxReplicas": 24 + asked % 8}});
            let answer = api.patch(WHOLE, &params, &Patch::Merge(&edit)).await;
            {
                let mut counts = counts.lock();
                counts.asked += 1;
                counts.refused.extend(answer.err().map(|error| error.to_string()));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    (counted, task)
}

/// Whether both configurations of the webhook have this CA.
async fn registered(stand: &Stand, bundle: &str) -> bool {
    use base64::Engine as _;
    let wanted = base64::engine::general_purpose::STANDARD.encode(bundle);
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        let Ok(configuration) = stand.api("", kind, "").get("fhpa").await else { return false };
        let hooks = configuration.data["webhooks"].as_array().cloned().unwrap_or_default();
        if hooks.is_empty() || hooks.iter().any(|hook| hook["clientConfig"]["caBundle"] != wanted.as_str()) {
            return false;
        }
    }
    true
}

/// The credentials of the pods, the serving certificate and its CA are exchanged one after the other: no review fails,
/// no leader changes, and no pod ends.
pub async fn exchanged_without_a_failed_review(stand: &mut Stand) {
    fleet(stand).await;
    let [before, after] = ["old clients", "new clients"].map(Authority::new);
    let own = stand.lab.karmada.authority.pem();
    let trust = |stand: &Stand, more: &[&Authority]| {
        let more: String = more.iter().map(|authority| authority.pem()).collect();
        std::fs::write(stand.lab.karmada.file("ca.crt"), format!("{own}{more}")).unwrap();
    };
    trust(stand, &[&before, &after]);
    let old = stand.fhpa.credentials(&stand.lab, &before);
    stand.soon("karmada-apiserver knows the old ones", async |_| known(&old).await).await;
    let arguments = stand.fhpa.registration();
    stand.fhpa.begin(&arguments);
    let leader = stand.leader().await;
    let (counted, task) = reviews(stand);

    let begun = steady();
    let new = stand.fhpa.credentials(&stand.lab, &after);
    let used = "the kubeconfig has changed and is used";
    stand.soon("both replicas use the new ones", async |stand| stand.fhpa.say(used)).await;
    println!("  credentials used after {:.1?}", begun.elapsed());
    trust(stand, &[&after]);
    stand.soon("the old ones are refused", async |_| !known(&old).await).await;
    assert!(known(&new).await);

    // The same CA, another certificate.
    let begun = steady();
    let served = "serving a new certificate";
    stand.fhpa.serves(&stand.lab.karmada.authority);
    stand.soon("both replicas serve it", async |stand| stand.fhpa.say(served)).await;
    println!("  certificate served after {:.1?}", begun.elapsed());

    // Another CA: both are registered, the pair is exchanged, the old one goes.
    let another = Authority::new("another authority");
    let begun = steady();
    let both = format!("{own}{}", another.pem());
    stand.fhpa.place("ca.crt", &both);
    stand.soon("both CAs are registered", async |stand| registered(stand, &both).await).await;
    println!("  both CAs registered after {:.1?}", begun.elapsed());
    stand.fhpa.serves(&another);
    stand.soon("both replicas serve its pair", async |stand| stand.fhpa.says(served) >= 4).await;
    stand.fhpa.place("ca.crt", &another.pem());
    stand.soon("the old CA has gone", async |stand| registered(stand, &another.pem()).await).await;
    println!("  another CA after {:.1?}", begun.elapsed());

    assert_eq!(stand.leader().await, leader, "the leader stays");
    stand.each_wants(WHOLE, [4; 3]);
    stand.runs(WHOLE, &MEMBERS.map(|member| (member, 4))).await;
    drop(task);
    let Reviews { asked, refused } = std::mem::take(&mut *counted.lock());
    println!("  {asked} reviews, {} refused", refused.len());
    assert!(asked > 100 && refused.is_empty(), "{} of {asked}: {:?}", refused.len(), refused.first());
    assert_eq!((stand.least(SPREAD), stand.least(WHOLE)), (15, 9), "no pod was ended");
    stand.fhpa.begin(&[]);
    cleared(stand).await;
}

/// Whether karmada-apiserver knows who has this kubeconfig.
async fn known(kubeconfig: &kube::config::Kubeconfig) -> bool {
    let config = kube::Config::from_custom_kubeconfig(kubeconfig.clone(), &Default::default()).await.unwrap();
    let client = kube::Client::try_from(config).unwrap();
    client.apiserver_version().await.is_ok()
}
