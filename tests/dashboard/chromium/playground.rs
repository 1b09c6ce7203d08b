//! The dashboard of a playground under load: its pages have what the API has, and show a cluster that is lost.

use std::path::Path;
use std::process::Stdio;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use super::browser;

/// Milliseconds until a page shows something.
const FIRST_PAINT: f64 = 200.0;
const SHOP: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/federatedhpas/shop";

fn playground(files: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.arg("playground").args(arguments).env("FHPA_PLAYGROUND", files).kill_on_drop(true);
    command
}

async fn said(files: &Path, arguments: &[&str]) {
    let output = playground(files, arguments).output().await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
}

async fn create(client: &Client, object: &Value) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let plural = match &*text("/kind") {
        "PropagationPolicy" => "propagationpolicies".to_owned(),
        kind => kind.to_lowercase() + "s",
    };
    let path = format!("/apis/{}/namespaces/{}/{plural}", text("/apiVersion"), text("/metadata/namespace"));
    let request = http::Request::post(path).header("content-type", "application/json");
    let _: Value = client.request(request.body(object.to_string().into_bytes()).unwrap()).await.unwrap();
}

async fn stored(client: &Client) -> Value {
    client.request(http::Request::get(SHOP).body(Vec::new()).unwrap()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_playground_under_load_is_shown_as_its_api_has_it() {
    let Some(mut browser) = browser("the dashboard of a playground").await else { return };
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("files");
    let mut child = playground(&files, &[]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut url = String::new();
    loop {
        let line = lines.next_line().await.unwrap().expect("it says what runs");
        if let Some(address) = line.trim().strip_prefix("dashboard") {
            address.trim().clone_into(&mut url);
        }
        if line.contains("also: recover") {
            break;
        }
    }
    let host = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()).unwrap().to_owned();
    let config = Kubeconfig::read_from(files.join("kubeconfig")).unwrap();
    let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let manifests = std::fs::read_to_string(files.join("shop.yaml")).unwrap();
    for manifest in manifests.split("\n---\n") {
        create(&client, &serde_saphyr::from_str(manifest).unwrap()).await;
    }
    said(&files, &["load", "shop", "3500m"]).await;
    browser.open(&url).await;
    browser.open(&format!("http://{host}/objects/default/shop")).await;
    browser.until("document.querySelector('dl.facts strong')?.textContent === '12'").await;
    assert_eq!(browser.faults(&host), Vec::<String>::new());
    let object = stored(&client).await;
    assert_eq!(object["status"]["currentReplicas"], 12, "{object}");
    let cells = "[...document.querySelectorAll('section[aria-labelledby=clusters] tbody tr')].map(row =>
        [...row.querySelectorAll('th, td')].map(cell => cell.innerText.trim()).filter((_, at) => [0, 2, 3].includes(at)))";
    let bounds = object["status"]["clusterHPADesired"].as_array().unwrap().iter().map(|share| {
        let number = |name: &str| share[name].to_string();
        json!([share["clusterName"], number("minReplicas"), number("maxReplicas")])
    });
    assert_eq!(browser.value(cells).await, Value::Array(bounds.collect()));
    for path in ["/", "/clusters", "/clusters/member1", "/cron", "/doctor?run=now", "/what-if?object=default/shop"] {
        browser.open(&format!("http://{host}{path}")).await;
        assert_eq!(browser.faults(&host), Vec::<String>::new(), "{path}");
    }
    for path in ["/", "/clusters", "/cron", "/objects/default/shop"] {
        let mut quickest = f64::MAX;
        // Other work of the machine may delay some of them.
        for at in 0..50 {
            if at >= 5 && quickest < FIRST_PAINT {
                break;
            }
            browser.open(&format!("http://{host}{path}")).await;
            quickest = quickest.min(browser.first_paint().await);
        }
        eprintln!("first paint of {path}: {quickest:.0} ms");
        assert!(quickest < FIRST_PAINT, "{path}: {quickest} ms");
    }
    said(&files, &["fail", "member1"]).await;
    browser.until("document.body.innerText.includes('Karmada does not reach this cluster')").await;
    browser.until("document.body.innerText.includes('MembersUnreachable')").await;
    assert_eq!(browser.faults(&host), Vec::<String>::new());
    let pid = child.id().unwrap().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &pid]).status().await.unwrap().success());
    child.wait().await.unwrap();
}
