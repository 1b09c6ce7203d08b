//! Pages follow the cluster, by watches alone.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::Stand;
use crate::status::Desk;
use crate::status::errors::forbid;
use crate::status::objects::{cluster, hpa};

const WEB: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/federatedhpas/web";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_an_object_is_on_its_pages_without_a_further_request() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let requests = || {
        let counts = stand.desk.bed.server().faults().counts();
        counts.into_iter().filter(|((verb, _), _)| verb == "list" || verb == "get").map(|(_, count)| count).sum::<u64>()
    };
    let before = requests();
    assert_eq!(stand.desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": 33}})).await.code, 200);
    stand.until("/", |page| page.contains("10/33")).await;
    stand.until("/objects/shop/web", |page| page.contains("</strong> of 3–33")).await;
    let status = json!({"status": {"currentReplicas": 12, "desiredReplicas": 13}});
    assert_eq!(stand.desk.bed.patch("merge", &format!("{WEB}/status"), &status).await.code, 200);
    stand.until("/", |page| page.contains("12/33")).await;
    stand.page("/clusters/member1").await;
    assert_eq!(requests(), before, "pages ask the API server for nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_come_and_go() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    stand.desk.bring(&hpa("cart", json!({}), json!({"currentReplicas": 4, "desiredReplicas": 4}))).await;
    stand.until("/objects/shop/cart", |page| page.contains("FederatedHPA shop/cart")).await;
    assert_eq!(stand.desk.bed.delete(WEB, &json!({})).await.code, 200);
    stand.until("/objects/shop/web", |page| page.contains("There is no FederatedHPA shop/web")).await;
    assert_eq!(stand.get("/objects/shop/web").await.code, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_fails_shows_on_all_pages() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let gone = json!({"status": {"conditions": [cluster("member1", "False")["status"]["conditions"][0]]}});
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/status";
    assert_eq!(stand.desk.bed.patch("merge", path, &gone).await.code, 200);
    stand.until("/clusters/member1", |page| page.contains("Karmada does not reach this cluster")).await;
    assert!(stand.get("/").await.body.contains("<b title=\"not ready\"> !</b>"));
    assert!(stand.get("/objects/shop/web").await.body.contains("ClusterNotReady"));
    assert!(stand.get("/clusters").await.body.contains(">False<"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_shown_while_more_streams_are_asked_for_than_there_are_places() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let mut streams = Vec::new();
    for _ in 0..500 {
        let mut stream = tokio::net::TcpStream::connect(&stand.browser.host).await.unwrap();
        let (host, cookie) = (&stand.browser.host, &stand.browser.cookie);
        let request = format!("GET /events HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\n\r\n");
        // Those that are refused at once read nothing.
        let _ = stream.write_all(request.as_bytes()).await;
        streams.push(stream);
    }
    // One that was accepted only to be told that there is no place ends before the pages are asked for.
    for stream in streams.iter_mut().skip(64) {
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }
    for path in ["/", "/objects/shop/web", "/clusters", "/style.css"] {
        assert_eq!(stand.get(path).await.code, 200, "{path}");
    }
    let mut head = [0; 15];
    streams[0].read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK", "the first ones have places");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_read_is_told_with_what_to_do() {
    let desk = Desk::with_shop().await;
    for resource in ["events", "clusters", "cronfederatedhpas"] {
        forbid(&desk, "list", resource);
    }
    let stand = Stand::of(desk).await;
    for path in ["/", "/objects/shop/web", "/clusters", "/cron"] {
        let page = stand.page(path).await;
        for resource in ["events", "clusters", "cronfederatedhpas"] {
            assert!(page.contains(&format!("cannot list {resource}: forbidden")), "{path}: {page}");
        }
        assert!(page.contains("allow it the verb &quot;list&quot; on &quot;events&quot;"), "{path}");
    }
    let page = stand.page("/objects/shop/web").await;
    assert!(page.contains("Unschedulable"), "the rest is shown: {page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_who_may_read_nothing_is_told_so() {
    let desk = Desk::with_shop().await;
    for resource in ["federatedhpas", "cronfederatedhpas", "resourcebindings", "clusters", "events"] {
        forbid(&desk, "list", resource);
    }
    let stand = Stand::of(desk).await;
    let page = stand.page("/").await;
    assert!(page.contains("There are no FederatedHPAs that can be read."), "{page}");
    assert!(page.contains("cannot list federatedhpas: forbidden"), "{page}");
    assert_eq!(stand.get("/objects/shop/web").await.code, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_one_namespace_only_its_objects_are_asked_for() {
    let desk = Desk::with_shop().await;
    let mut elsewhere = hpa("far", json!({}), json!({"currentReplicas": 1, "desiredReplicas": 1}));
    elsewhere["metadata"]["namespace"] = "other".into();
    desk.bring(&elsewhere).await;
    let stand = Stand::with(desk, &["--namespace", "other"]).await;
    let page = stand.page("/").await;
    assert!(page.contains("/objects/other/far") && !page.contains("/objects/shop/web"), "{page}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_backup_is_shown_as_it_is() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let server = stand.desk.bed.server();
    let backup = server.backup();
    stand.desk.bring(&hpa("cart", json!({}), json!({"currentReplicas": 4, "desiredReplicas": 4}))).await;
    stand.until("/", |page| page.contains("/objects/shop/cart")).await;
    server.restore(&backup, false);
    stand.until("/", |page| !page.contains("/objects/shop/cart")).await;
    assert_eq!(stand.desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": 33}})).await.code, 200);
    stand.until("/", |page| page.contains("10/33")).await;
}
