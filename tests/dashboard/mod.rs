//! `fhpa dashboard` as a process, on an embedded API server with objects as a controller leaves them.

mod access;
mod browser;
mod calendar;
mod chromium;
mod drill;
mod live;
mod markup;
mod pages;
mod sizes;
mod what_if;

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use crate::status::Desk;
use browser::{Answer, Browser, Stream};

/// A dashboard that runs, and a browser that was admitted.
pub struct Stand {
    pub desk: Desk,
    pub browser: Browser,
    _child: Child,
    _lines: Lines<BufReader<ChildStdout>>,
}

impl Stand {
    pub async fn shop() -> Self {
        Self::of(Desk::with_shop().await).await
    }

    pub async fn of(desk: Desk) -> Self {
        Self::with(desk, &[]).await
    }

    pub async fn with(desk: Desk, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        command.args(["dashboard", "--kubeconfig", &desk.kubeconfig()]).args(more).env("TZ", "UTC").kill_on_drop(true);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines.next_line().await.unwrap().expect("an address");
        let browser = Browser::enter(&url).await;
        Self { desk, browser, _child: child, _lines: lines }
    }

    /// The page, when all objects were listed.
    pub async fn page(&self, path: &str) -> String {
        self.until(path, |page| !page.contains("are being listed")).await
    }

    /// The page as soon as it is as it should be; it is asked for at each message of the server.
    pub async fn until(&self, path: &str, is: impl Fn(&str) -> bool) -> String {
        let mut stream = Stream::open(&self.browser).await;
        loop {
            let page = self.browser.get(path).await.body;
            if is(&page) {
                return page;
            }
            stream.message().await;
        }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.browser.get(path).await
    }
}
