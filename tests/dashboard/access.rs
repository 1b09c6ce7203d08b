//! Who is admitted, and what may be asked.

use serde_json::json;

use super::Stand;
use super::browser::{Answer, Stream};
use crate::cli::command::fhpa;
use crate::status::Desk;

const MULTI: &str = "application/x-www-form-urlencoded";

fn refused(answer: &Answer) -> bool {
    answer.code == 403 && answer.body.starts_with("forbidden: ") && answer.header("set-cookie").is_none()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_token_or_the_cookie_nothing_is_shown() {
    let stand = Stand::of(Desk::new().await).await;
    let browser = &stand.browser;
    let (host, cookie) = (&*browser.host, &*browser.cookie);
    for path in ["/", "/objects/shop/web", "/style.css", "/events", "/nowhere", "/?token=", "/?token=abc"] {
        let answer = browser.send("GET", path, &[("host", host)], "").await;
        assert!(refused(&answer), "{path}: {answer:?}");
    }
    let wrong = cookie.replace('=', "=x");
    assert!(refused(&browser.send("GET", "/", &[("host", host), ("cookie", &wrong)], "").await));
    assert_eq!(browser.send("GET", "/", &[("host", host), ("cookie", cookie)], "").await.code, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_host_or_origin_is_refused() {
    let stand = Stand::of(Desk::new().await).await;
    let (browser, port) = (&stand.browser, stand.browser.host.rsplit(':').next().unwrap());
    let cookie = ("cookie", &*browser.cookie);
    let local = format!("localhost:{port}");
    for (host, code) in [("evil.example", 403), ("127.0.0.1", 403), (&*local, 200), (&*browser.host, 200)] {
        assert_eq!(browser.send("GET", "/", &[("host", host), cookie], "").await.code, code, "{host}");
    }
    for origin in ["", "null", "http://evil.example", "https://evil.example"] {
        let headers = [("host", &*browser.host), cookie, ("origin", origin), ("content-type", MULTI)];
        assert!(refused(&browser.send("POST", "/what-if", &headers, "manifest=").await), "{origin:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_without_its_own_token_is_refused() {
    let stand = Stand::of(Desk::new().await).await;
    for form in ["manifest=a", "form=&manifest=a", "form=abc&manifest=a"] {
        assert!(refused(&stand.browser.submit("/what-if", form).await), "{form}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_but_reading_and_the_one_form_is_possible() {
    let stand = Stand::of(Desk::new().await).await;
    let browser = &stand.browser;
    let origin = format!("http://{}", browser.host);
    let headers = [("host", &*browser.host), ("cookie", &*browser.cookie), ("origin", &*origin)];
    for (method, path) in [("POST", "/"), ("PUT", "/what-if"), ("DELETE", "/objects/shop/web"), ("PATCH", "/doctor")] {
        let answer = browser.send(method, path, &headers, "").await;
        assert_eq!(answer.code, 405, "{method} {path}");
        assert!(answer.header("allow").is_some_and(|allowed| allowed.starts_with("GET, HEAD")), "{answer:?}");
    }
    let head = browser.send("HEAD", "/", &headers, "").await;
    assert_eq!((head.code, &*head.body), (200, ""));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_is_too_large_is_refused() {
    let stand = Stand::of(Desk::new().await).await;
    let answer = stand.browser.submit("/what-if", &format!("manifest={}", "a".repeat(3 << 20))).await;
    assert_eq!(answer.code, 413, "{}", answer.head);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_says_what_a_page_may_do() {
    let stand = Stand::of(Desk::new().await).await;
    let bare = stand.browser.send("GET", "/", &[("host", &*stand.browser.host)], "").await;
    let mut answers = vec![bare];
    for path in ["/", "/style.css", "/script.js", "/icon.svg", "/nowhere"] {
        answers.push(stand.get(path).await);
    }
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; ") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_number_of_streams_is_limited() {
    let stand = Stand::of(Desk::new().await).await;
    let mut streams = Vec::new();
    loop {
        let (stream, code) = Stream::asked(&stand.browser).await;
        if code == 503 {
            break;
        }
        assert_eq!(code, 200);
        streams.push(stream);
        assert!(streams.len() < 40, "there is no limit");
    }
    assert_eq!(stand.get("/").await.code, 200, "pages are served all the same");
}

#[test]
fn an_address_that_others_reach_is_refused() {
    for (address, why) in [
        ("0.0.0.0:8080", "0.0.0.0 is not an address of this machine alone"),
        ("192.168.1.4:8080", "192.168.1.4 is not an address of this machine alone"),
        ("[::]:0", ":: is not an address of this machine alone"),
        ("localhost:8080", "\"localhost:8080\" is not ADDRESS:PORT"),
    ] {
        let outcome = fhpa(&["dashboard", "--listen", address]);
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""), "{address}");
        assert!(outcome.stderr.contains(why), "{}", outcome.stderr);
    }
}

#[test]
fn an_address_that_is_taken_and_a_missing_kubeconfig_are_refused() {
    let outcome = fhpa(&["dashboard", "--kubeconfig", "/nowhere"]);
    assert_eq!(
        (outcome.code, outcome.stderr.starts_with("fhpa dashboard: kubeconfig: ")),
        (2, true),
        "{}",
        outcome.stderr
    );
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("kubeconfig");
    let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]});
    std::fs::write(&file, kubeconfig.to_string()).unwrap();
    let outcome = fhpa(&["dashboard", "--kubeconfig", file.to_str().unwrap(), "--listen", &address]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains(&format!("{address} cannot be listened on")), "{}", outcome.stderr);
}
