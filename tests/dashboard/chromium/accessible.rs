//! Contrast, labels and structure by axe-core, a checker of the rules of WCAG, in a world of its own beside the page's
//! scripts. It comes with a Python package, which `FHPA_FETCH=1` lets `pip` bring.

use serde_json::{Value, json};

use super::{PAGES, SCHEMES, WIDTHS, admitted};
use crate::chart::package::{found, without};

const PACKAGE: &str = "tests/dashboard/chromium/axe.requirements.txt";
/// The levels A and AA, and what is known to help.
const RUN: &str = "axe.run(document, {resultTypes: ['violations'],
    runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then(found => JSON.stringify(
    found.violations.map(one => [one.id, one.help, one.nodes.slice(0, 3).map(node => node.html + ' ' + node.failureSummary)])))";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn axe_finds_no_violation_on_any_page_in_the_light_and_in_the_dark() {
    let shows = "accessibility of the dashboard";
    let requirements = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(PACKAGE);
    let package = tokio::task::spawn_blocking(move || found(&requirements, "pass", &[])).await.unwrap();
    let axe = match package {
        Ok(home) => std::fs::read_to_string(home.join("axe_playwright_python/axe.min.js")).unwrap(),
        Err(why) => return without("axe", shows, &why),
    };
    let Some((stand, mut browser)) = admitted(shows).await else { return };
    let mut checks = 0;
    for (path, _) in PAGES {
        for (scheme, width) in SCHEMES.into_iter().zip(WIDTHS).chain(SCHEMES.into_iter().zip([1280, 400])) {
            browser.dress(width, scheme).await;
            browser.open(&format!("http://{}{path}", stand.browser.host)).await;
            let frame = browser.call("Page.getFrameTree", json!({})).await["frameTree"]["frame"]["id"].clone();
            let world = browser.call("Page.createIsolatedWorld", json!({"frameId": frame, "worldName": "axe"})).await;
            let world = world["executionContextId"].clone();
            let script = json!({"expression": axe, "contextId": world});
            browser.call("Runtime.evaluate", script).await;
            let run = json!({"expression": RUN, "contextId": world, "awaitPromise": true, "returnByValue": true});
            let answer = browser.call("Runtime.evaluate", run.clone()).await;
            let found = answer["result"]["value"].as_str().unwrap_or_else(|| panic!("{path}: {answer}"));
            let found: Vec<Value> = serde_json::from_str(found).unwrap();
            assert!(found.is_empty(), "{path}, {scheme}, {width}: {found:#?}");
            checks += 1;
            if checks > 1 {
                continue;
            }
            // What is wrong is found.
            browser.value("document.documentElement.removeAttribute('lang')").await;
            let answer = browser.call("Runtime.evaluate", run).await;
            assert!(answer["result"]["value"].as_str().unwrap().contains("html-has-lang"), "{answer}");
        }
    }
    assert_eq!(checks, PAGES.len() * 4);
}
