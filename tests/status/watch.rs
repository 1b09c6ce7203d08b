//! `fhpa status -w` as a process.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use super::Desk;
use super::errors::forbid;

struct Watch {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    errors: Lines<BufReader<ChildStderr>>,
}

impl Watch {
    fn start(desk: &Desk, more: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        command.args(["status", "-w", "--kubeconfig", &desk.kubeconfig()]).args(more).kill_on_drop(true);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let errors = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, lines, errors }
    }

    /// Reads until a line has `part`, and returns the lines before it.
    async fn until(&mut self, part: &str) -> Vec<String> {
        let mut before = Vec::new();
        loop {
            let line = self.lines.next_line().await.unwrap().unwrap_or_else(|| panic!("no {part:?} after {before:?}"));
            if line.contains(part) {
                return before;
            }
            before.push(line);
        }
    }

    /// Reads errors until one is `line`.
    async fn says(&mut self, line: &str) {
        while self.errors.next_line().await.unwrap().expect("it goes on") != line {}
    }

    async fn interrupt(mut self) -> Option<i32> {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &pid]).status().await.unwrap().success());
        self.child.wait().await.unwrap().code()
    }
}

const WEB: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/federatedhpas/web";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_shown_as_a_new_table_after_a_blank_line_and_ctrl_c_ends_it_well() {
    let desk = Desk::with_shop().await;
    let mut watch = Watch::start(&desk, &["-n", "shop"]);
    watch.until("2 FederatedHPAs, 1 ready").await;
    assert_eq!(desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": 33}})).await.code, 200);
    let before = watch.until("3..33").await;
    assert_eq!((&*before[0], before[1].starts_with("NAME")), ("", true), "{before:?}");
    assert_eq!(watch.interrupt().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_object_is_followed_through_its_deletion() {
    let desk = Desk::with_shop().await;
    let mut watch = Watch::start(&desk, &["web", "-n", "shop"]);
    watch.until("Next cron runs").await;
    assert_eq!(desk.bed.delete(WEB, &json!({})).await.code, 200);
    watch.until("there is no FederatedHPA web in namespace shop").await;
    desk.bring(&super::objects::shop()[0]).await;
    watch.until("FederatedHPA shop/web: Deployment/web, Distributed").await;
    assert_eq!(watch.interrupt().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_for_programs_has_no_text_of_a_failure_in_it() {
    let desk = Desk::with_shop().await;
    for output in ["json", "yaml"] {
        let mut watch = Watch::start(&desk, &["web", "-n", "shop", "-o", output]);
        watch.until("minReplicas").await;
        assert_eq!(desk.bed.delete(WEB, &json!({})).await.code, 200);
        watch.says("fhpa status: there is no FederatedHPA web in namespace shop").await;
        desk.bring(&super::objects::shop()[0]).await;
        assert_eq!(desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": 77}})).await.code, 200);
        let between = watch.until("77").await;
        assert!(!between.concat().contains("there is no"), "{between:?}");
        assert_eq!(watch.interrupt().await, Some(0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_nothing_may_be_watched_it_is_read_from_time_to_time() {
    let desk = Desk::with_shop().await;
    for resource in ["federatedhpas", "cronfederatedhpas"] {
        forbid(&desk, "watch", resource);
    }
    let mut watch = Watch::start(&desk, &["-n", "shop"]);
    watch.until("2 FederatedHPAs, 1 ready").await;
    assert_eq!(desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": 33}})).await.code, 200);
    watch.until("3..33").await;
    assert_eq!(watch.interrupt().await, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_leaves_ends_it() {
    let desk = Desk::with_shop().await;
    let Watch { mut child, mut lines, .. } = Watch::start(&desk, &["-n", "shop"]);
    assert!(lines.next_line().await.unwrap().is_some());
    drop(lines);
    let changes = async {
        for max in 20..10_000 {
            assert_eq!(desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": max}})).await.code, 200);
            tokio::task::yield_now().await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        code = child.wait() => assert_eq!(code.unwrap().code(), Some(0)),
        () = changes => {}
    }
}
