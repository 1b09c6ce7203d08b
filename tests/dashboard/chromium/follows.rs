//! An open page follows the cluster, and its form says what the command says.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Stand, admitted};

const WEB: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/federatedhpas/web";
/// A change is on an open page no later than this.
const SOON: Duration = Duration::from_secs(2);

async fn changes(stand: &Stand, path: &str, change: Value) {
    assert_eq!(stand.desk.bed.patch("merge", path, &change).await.code, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::disallowed_methods)]
async fn an_open_page_shows_what_the_api_has_within_two_seconds() {
    let Some((stand, mut browser)) = admitted("an open page that follows").await else { return };
    for path in ["/", "/objects/shop/web", "/clusters/member2"] {
        browser.open(&format!("http://{}{path}", stand.browser.host)).await;
        browser.until("document.getElementById('live').textContent === 'live'").await;
        let mut quickest = Duration::MAX;
        // Other work of the machine may delay one of them.
        for at in 0..5 {
            let max = 40 + at + 10 * i32::try_from(path.len()).unwrap();
            let began = Instant::now();
            changes(&stand, WEB, json!({"spec": {"maxReplicas": max}})).await;
            let shares = json!([{"clusterName": "member2", "minReplicas": 1, "maxReplicas": max, "reason": "Moved"}]);
            let status = json!({"status": {"currentReplicas": max - 1, "clusterHPADesired": shares}});
            changes(&stand, &format!("{WEB}/status"), status).await;
            let shown = if path == "/" { format!("{}/{max}", max - 1) } else { max.to_string() };
            let has = format!("[...document.querySelectorAll('td')].some(cell => cell.innerText.trim() === '{shown}')");
            browser.until(&has).await;
            quickest = quickest.min(began.elapsed());
            let stored = stand.desk.bed.get(WEB).await.body;
            assert_eq!(stored["spec"]["maxReplicas"], max);
        }
        assert!(quickest < SOON, "{path}: {quickest:?}");
        assert_eq!(browser.faults(&stand.browser.host), Vec::<String>::new(), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_fails_shows_on_open_pages() {
    let Some((stand, mut browser)) = admitted("a failed cluster on a page").await else { return };
    browser.open(&format!("http://{}/objects/shop/web", stand.browser.host)).await;
    browser.until("document.getElementById('live').textContent === 'live'").await;
    let before = browser.text().await;
    assert!(!before.contains("ClusterNotReady"), "{before}");
    let down = json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "ClusterNotReachable",
        "message": "", "lastTransitionTime": crate::status::objects::ago(1)}]}});
    changes(&stand, "/apis/cluster.karmada.io/v1alpha1/clusters/member1/status", down).await;
    browser.until("document.body.innerText.includes('ClusterNotReady: Karmada does not reach this cluster')").await;
    browser.open(&format!("http://{}/", stand.browser.host)).await;
    let heads = "[...document.querySelectorAll('th.cluster')].map(one => one.innerText.trim()).join(' ')";
    assert_eq!(browser.value(heads).await, json!("member1 ! member2 member3 member4 !"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_form_shows_the_plan_of_the_command_in_a_browser() {
    let Some((stand, mut browser)) = admitted("the form in a browser").await else { return };
    let placed = json!({"spec": {"placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}}});
    let binding = "/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/web-deployment";
    changes(&stand, binding, placed).await;
    browser.open(&format!("http://{}/what-if?object=shop/web", stand.browser.host)).await;
    let edit = "(() => { const field = document.querySelector('textarea');
        field.value = field.value.replace('maxReplicas: 14', 'maxReplicas: 20'); return field.value; })()";
    let manifest = browser.value(edit).await.as_str().unwrap().to_owned();
    assert!(manifest.contains("maxReplicas: 20"), "{manifest}");
    browser.leads("document.querySelector('form.whatif').requestSubmit()").await;
    let shown = browser.value("document.querySelector('pre.plan')?.textContent ?? document.body.innerText").await;
    let (code, plan) = crate::dashboard::what_if::planned(&stand, &manifest).await;
    assert_eq!((code, shown.as_str()), (0, Some(&*plan)));
    assert!(plan.contains("3..20"), "{plan}");
    assert_eq!(browser.faults(&stand.browser.host), Vec::<String>::new());
}
