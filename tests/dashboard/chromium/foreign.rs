//! Pages of other origins, and browsers without the token: they are shown nothing.

use axum::Router;
use axum::response::Html;
use serde_json::json;
use tokio::net::TcpListener;

use super::{admitted, browser};

/// A page of another origin on this machine, to which the browser would send the cookie, too.
async fn elsewhere() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let page = async || Html("<!doctype html><title>elsewhere</title><body>");
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(page)).await });
    format!("http://{address}/")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_of_another_origin_reads_nothing_and_asks_for_nothing() {
    let Some((stand, mut browser)) = admitted("a page of another origin").await else { return };
    let dashboard = format!("http://{}", stand.browser.host);
    browser.open(&elsewhere().await).await;
    for path in ["/", "/objects/shop/web", "/events", "/style.css"] {
        let read =
            format!("fetch('{dashboard}{path}', {{credentials: 'include'}}).then(() => 'read', () => 'refused')");
        assert_eq!(browser.value(&read).await, json!("refused"), "{path}");
    }
    let follow = format!(
        "new Promise(done => {{ const events = new EventSource('{dashboard}/events', {{withCredentials: true}});
         events.onopen = () => done('open'); events.onerror = () => done('refused'); }})"
    );
    assert_eq!(browser.value(&follow).await, json!("refused"));
    let submit = format!(
        "(() => {{ const form = document.body.appendChild(document.createElement('form'));
         form.method = 'post'; form.action = '{dashboard}/what-if'; form.submit(); }})()"
    );
    browser.leads(&submit).await;
    let text = browser.text().await;
    assert!(text.starts_with("forbidden: "), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_without_the_token_is_shown_nothing() {
    let Some((stand, _)) = admitted("a browser with the token").await else { return };
    let Some(mut other) = browser("a browser without the token").await else { return };
    for path in ["/", "/objects/shop/web", "/?token=abc"] {
        other.open(&format!("http://{}{path}", stand.browser.host)).await;
        let text = other.text().await;
        assert!(text.starts_with("forbidden: "), "{path}: {text}");
    }
}
