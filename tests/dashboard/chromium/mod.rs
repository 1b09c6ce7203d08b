//! Pages in a real browser, where there is one: nothing is loaded from elsewhere, the policy forbids nothing that they
//! need, they follow the cluster, fit small windows and large ones, in the light and in the dark, and can be read by
//! all. Pictures of them are in `target/tmp/dashboard`; with `UPDATE_PICTURES=1` those in `docs/images` are made again.

mod accessible;
mod devtools;
mod follows;
mod foreign;
mod playground;

use std::path::{Path, PathBuf};

use serde_json::json;

use super::Stand;
use crate::rig::absent::without;
use crate::status::Desk;
use crate::status::objects::{ago, cluster, hpa};
use devtools::Chromium;

/// A page, and its name in files.
const PAGES: [(&str, &str); 10] = [
    ("/", "fleet"),
    ("/objects/shop/web", "object"),
    ("/objects/shop/api", "centralized"),
    ("/clusters", "clusters"),
    ("/clusters/member2", "cluster"),
    ("/cron", "crons"),
    ("/cron/shop/hours", "cron"),
    ("/what-if?object=shop/web", "what-if"),
    ("/drill", "drill"),
    ("/doctor", "doctor"),
];
/// Widths of windows.
const WIDTHS: [u32; 2] = [400, 1280];
const SCHEMES: [&str; 2] = ["light", "dark"];
/// Those that documents show.
const KEPT: [&str; 4] = ["fleet-1280-light", "object-1280-light", "cron-1280-light", "object-400-dark"];

/// A browser, or the line that says why there is none.
async fn browser(shows: &str) -> Option<Chromium> {
    let browser = Chromium::start().await;
    if browser.is_none() {
        without("chromium", shows, "install chromium");
    }
    browser
}

/// The address of a page, with the token.
fn address(stand: &Stand, path: &str) -> String {
    let token = stand.browser.cookie.split_once('=').unwrap().1;
    let mark = if path.contains('?') { '&' } else { '?' };
    format!("http://{}{path}{mark}token={token}", stand.browser.host)
}

/// A browser that was admitted, and a shop with a cluster that does not answer.
async fn admitted(shows: &str) -> Option<(Stand, Chromium)> {
    let mut browser = browser(shows).await?;
    let desk = Desk::with_shop().await;
    let mut far = cluster("member4", "False");
    far["spec"] = json!({"syncMode": "Pull", "provider": "own", "region": "north",
        "taints": [{"key": "cluster.karmada.io/not-ready", "effect": "NoExecute", "timeAdded": ago(5)}]});
    far["status"]["resourceSummary"] = json!({"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
        "allocated": {"cpu": "6", "memory": "8Gi", "pods": "11"}});
    desk.bring(&far).await;
    let share = json!({"clusterName": "member4", "minReplicas": 1, "maxReplicas": 9, "reason": "StaticWeighted",
        "lostReplicas": 3, "lostTime": ago(4), "uncoveredReplicas": 1});
    let status = json!({"currentReplicas": 3, "desiredReplicas": 4, "clusterHPADesired": [share]});
    desk.bring(&hpa("cart", json!({}), status)).await;
    let stand = Stand::of(desk).await;
    stand.page("/").await;
    assert_eq!(stand.get("/doctor?run=now").await.code, 303);
    assert_eq!(stand.get("/drill?run=now").await.code, 303);
    // The token sets the cookie of this browser.
    browser.open(&address(&stand, "/")).await;
    Some((stand, browser))
}

fn pictures() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dashboard");
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_shows_the_pages_and_reports_no_error() {
    let Some((stand, mut browser)) = admitted("the dashboard in a browser").await else { return };
    for (path, _) in PAGES {
        browser.open(&format!("http://{}{path}", stand.browser.host)).await;
        if !path.starts_with("/what-if") && path != "/doctor" && path != "/drill" {
            browser.until("document.getElementById('live').textContent === 'live'").await;
        }
        assert_eq!(browser.faults(&stand.browser.host), Vec::<String>::new(), "{path}");
        let text = browser.text().await;
        assert!(text.contains("Nothing is written."), "{path}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_fit_small_windows_and_large_ones_and_are_pictured() {
    let Some((stand, mut browser)) = admitted("pictures of the dashboard").await else { return };
    for (path, name) in PAGES {
        for scheme in SCHEMES {
            for width in WIDTHS {
                browser.dress(width, scheme).await;
                browser.open(&format!("http://{}{path}", stand.browser.host)).await;
                let wide = browser.value("document.documentElement.scrollWidth").await.as_u64().unwrap();
                assert!(wide <= width.into(), "{path} is {wide} wide in a window of {width}");
                let picture = browser.picture(2400).await;
                let name = format!("{name}-{width}-{scheme}");
                std::fs::write(pictures().join(format!("{name}.png")), &picture).unwrap();
                if KEPT.contains(&&*name) && std::env::var_os("UPDATE_PICTURES").is_some_and(|wanted| wanted == "1") {
                    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/images/dashboard-{name}.png"));
                    std::fs::write(kept, &picture).unwrap();
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_print_without_what_only_a_screen_needs() {
    let Some((stand, mut browser)) = admitted("printed pages").await else { return };
    for (path, name) in PAGES {
        browser.dress(1280, "dark").await;
        browser.open(&format!("http://{}{path}", stand.browser.host)).await;
        let printed = browser.printed().await;
        assert!(printed.starts_with(b"%PDF-"), "{path}");
        std::fs::write(pictures().join(format!("{name}.pdf")), &printed).unwrap();
        browser.call("Emulation.setEmulatedMedia", json!({"media": "print"})).await;
        // Paper is as wide as it is: what does not fit is lost.
        browser
            .call(
                "Emulation.setDeviceMetricsOverride",
                json!({"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": false}),
            )
            .await;
        let wide = browser.value("document.documentElement.scrollWidth").await.as_u64().unwrap();
        let cut = browser
            .value("[...document.querySelectorAll('.scroll')].some(one => one.scrollWidth > one.clientWidth + 1)")
            .await;
        assert!(wide <= 718 && cut == json!(false), "{path} is {wide} wide on paper, or a table is cut: {cut}");
        let shown =
            "[...document.querySelectorAll('header nav, form, .pages, .button')].every(one => !one.offsetParent)";
        assert_eq!(browser.value(shown).await, json!(true), "{path}");
        let ground = browser.value("getComputedStyle(document.documentElement).backgroundColor").await;
        assert_eq!(ground, json!("rgb(255, 255, 255)"), "{path}: paper is white, whatever the user prefers on screens");
    }
}
