//! Chromium without a window, by its devtools protocol over a pipe: JSON messages that end with a zero byte.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The browser reads commands from descriptor 3 and writes answers to 4.
const PIPES: &str = r#"exec chromium "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;
/// Nothing but this machine can be reached: what a page wants from elsewhere is an error of its console.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-server=direct://",
    "--remote-debugging-pipe",
];
/// Longest answer to one command.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Chromium {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: String,
    last: u64,
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// `None`: it is not installed.
    pub async fn start() -> Option<Self> {
        if Command::new("chromium").arg("--version").output().await.is_err() {
            return None;
        }
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", PIPES, "sh"]).args(FLAGS).arg(format!("--user-data-dir={}", profile.path().display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let session = String::new();
        let mut browser =
            Self { _child: child, input, output, session, last: 0, events: Vec::new(), _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"})).await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        Some(browser)
    }

    /// Sends a command, and returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut message = json!({"id": id, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        self.input.write_all(format!("{message}\0").as_bytes()).await.unwrap();
        loop {
            let answer = self.message().await;
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    async fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.output.read_until(0, &mut bytes)).await;
        assert!(read.expect("the browser answers").unwrap() > 0, "the browser has ended");
        bytes.pop();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Loads a page; what was logged before is forgotten.
    pub async fn open(&mut self, url: &str) {
        self.events.clear();
        let navigated = self.call("Page.navigate", json!({"url": url})).await;
        assert!(navigated["errorText"].is_null(), "{url}: {navigated}");
        self.loaded().await;
    }

    /// Runs a script that leads to another page, and waits until that is there.
    pub async fn leads(&mut self, script: &str) {
        self.events.clear();
        self.value(script).await;
        self.loaded().await;
    }

    /// Waits until the page that is on its way is there.
    async fn loaded(&mut self) {
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.message().await;
            self.events.push(event);
        }
    }

    /// The value of a script; of a promise, what it comes to.
    pub async fn value(&mut self, script: &str) -> Value {
        let evaluate = json!({"expression": script, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", evaluate).await;
        assert!(answer["exceptionDetails"].is_null(), "{script}: {answer}");
        answer["result"]["value"].clone()
    }

    /// When the page showed its first text or picture, in milliseconds since it was asked for.
    pub async fn first_paint(&mut self) -> f64 {
        let paint = "new Promise(done => { const look = () => {
            const [paint] = performance.getEntriesByName('first-contentful-paint');
            paint ? done(paint.startTime) : setTimeout(look, 10); }; look(); })";
        self.value(paint).await.as_f64().unwrap()
    }

    /// Waits until a condition on the page holds.
    pub async fn until(&mut self, condition: &str) {
        let wait = format!(
            "new Promise(done => {{ const look = () => ({condition}) ? done(true) : setTimeout(look, 10); look(); }})"
        );
        assert_eq!(self.value(&wait).await, json!(true), "{condition}");
    }

    /// The text of the page.
    pub async fn text(&mut self) -> String {
        self.value("document.body.innerText").await.as_str().unwrap().to_owned()
    }

    /// Sets the width of the window, and the colours that the user prefers.
    pub async fn dress(&mut self, width: u32, scheme: &str) {
        let metrics = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics).await;
        let scheme = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", scheme).await;
    }

    /// A picture of the page from its top, at most so many pixels high, as PNG.
    pub async fn picture(&mut self, most: i64) -> Vec<u8> {
        let size = self.call("Page.getLayoutMetrics", json!({})).await["cssContentSize"].clone();
        let height = size["height"].as_f64().unwrap().min(most as f64);
        let clip = json!({"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1});
        let shot = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        decoded(&self.call("Page.captureScreenshot", shot).await)
    }

    /// The page as it is printed, as PDF.
    pub async fn printed(&mut self) -> Vec<u8> {
        decoded(&self.call("Page.printToPDF", json!({"printBackground": false})).await)
    }

    /// What went wrong since the page was opened: errors and warnings of its console, and the hosts other than `own`
    /// that it asked.
    pub fn faults(&self, own: &str) -> Vec<String> {
        let mut faults = Vec::new();
        let mut hosts = BTreeSet::new();
        for event in &self.events {
            let params = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => faults.push(params.to_string()),
                "Runtime.consoleAPICalled" => faults.push(params.to_string()),
                "Log.entryAdded" if params["entry"]["level"] != "verbose" => faults.push(params.to_string()),
                "Network.requestWillBeSent" => {
                    let url = params["request"]["url"].as_str().unwrap_or_default();
                    let host = url.split("://").nth(1).and_then(|rest| rest.split('/').next());
                    hosts.insert(host.unwrap_or("").to_owned());
                }
                _ => {}
            }
        }
        assert!(hosts.contains(own), "no request was seen: {hosts:?}");
        faults.extend(hosts.into_iter().filter(|host| host != own).map(|host| format!("it asks {host:?}")));
        faults
    }
}

fn decoded(answer: &Value) -> Vec<u8> {
    BASE64_STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
}
