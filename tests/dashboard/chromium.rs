//! Pages in a real browser, where there is one: the policy forbids nothing that they need, and the script
//! starts.

use std::time::Duration;

use tokio::process::Command;

use super::Stand;
use crate::rig::absent::without;

/// Longest run of a browser.
const PATIENCE: Duration = Duration::from_secs(120);

/// The page as it is when it was loaded, and what the browser logged.
async fn opened(url: &str) -> Option<(String, String)> {
    let profile = tempfile::tempdir().unwrap();
    let mut browser = Command::new("chromium");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
    browser.args(["--disable-background-networking", "--enable-logging=stderr", "--dump-dom"]);
    // Nothing else can be reached: what a page wants from elsewhere is an error of its console.
    browser.args(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--proxy-server=direct://"]);
    browser.arg(format!("--user-data-dir={}", profile.path().display())).arg(url).kill_on_drop(true);
    let output = match tokio::time::timeout(PATIENCE, browser.output()).await.expect("the browser ends") {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => panic!("chromium: {error}"),
    };
    Some((String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr).into_owned()))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_browser_shows_the_pages_and_reports_no_error() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let token = stand.browser.cookie.split_once('=').unwrap().1;
    for path in ["/", "/objects/shop/web", "/cron/shop/hours", "/what-if"] {
        let url = format!("http://{}{path}?token={token}", stand.browser.host);
        let Some((page, log)) = opened(&url).await else {
            return without("chromium", "the dashboard in a browser", "install chromium");
        };
        let said: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
        assert!(said.is_empty(), "{path}: {said:#?}");
        assert!(page.contains("<h1>") && page.contains("</footer>"), "{path}: {page}");
    }
}
