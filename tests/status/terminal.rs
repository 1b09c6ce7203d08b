//! `fhpa status -w` on a terminal that `script` provides: each change draws the screen anew.

use std::process::Stdio;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use super::Desk;
use crate::rig::absent::without;

const WEB: &str = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/federatedhpas/web";
/// Moves to the first line and removes all below.
const CLEAR: &str = "\x1b[H\x1b[2J";
const COLUMNS: usize = 60;
/// How the last line of the list begins.
const TOTAL: &str = "2 FederatedHPAs, 1 ready";

/// A terminal of 60 columns and 12 lines, on which the command runs.
struct Terminal {
    child: Child,
    shown: String,
}

impl Terminal {
    fn start(desk: &Desk, more: &str) -> Option<Self> {
        let binary = env!("CARGO_BIN_EXE_fhpa");
        let status = format!("exec '{binary}' status -w --kubeconfig '{}' {more}", desk.kubeconfig());
        let mut command = Command::new("script");
        command.args(["-qec", &format!("stty cols {COLUMNS} rows 12 && {status}"), "/dev/null"]);
        command.env("TERM", "xterm").env("NO_COLOR", "1").env("SHELL", "/bin/sh").kill_on_drop(true);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        Some(Self { child, shown: String::new() })
    }

    /// The screen as it was drawn last, once it has `part` and its last line begins with `end`: what is drawn may be read
    /// in pieces.
    async fn until(&mut self, part: &str, end: &str) -> Vec<String> {
        let output = self.child.stdout.as_mut().unwrap();
        loop {
            let last = self.shown.rsplit(CLEAR).next().unwrap_or_default();
            let screen: Vec<_> = last.lines().map(|line| line.trim_end().to_owned()).collect();
            let whole = last.ends_with('\n') && screen.last().is_some_and(|line| line.starts_with(end));
            if whole && last.contains(part) {
                return screen;
            }
            let mut bytes = [0; 4096];
            let read = output.read(&mut bytes).await.unwrap();
            assert!(read > 0, "no {part:?}: {:?}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_terminal_a_change_is_drawn_over_what_was_there_and_ctrl_c_ends_it() {
    let desk = Desk::with_shop().await;
    let Some(mut terminal) = Terminal::start(&desk, "-n shop") else {
        return without("script", "a terminal that is redrawn", "install util-linux");
    };
    let first = terminal.until("NAME", TOTAL).await;
    assert!(terminal.shown.starts_with(CLEAR), "{:?}", terminal.shown);
    for max in [33, 34] {
        assert_eq!(desk.bed.patch("merge", WEB, &json!({"spec": {"maxReplicas": max}})).await.code, 200);
        let next = terminal.until(&format!("3..{max}"), TOTAL).await;
        assert_eq!(next.len(), first.len(), "{next:?}");
        assert!(next[0].starts_with("NAME"), "{next:?}");
        assert!(next.iter().all(|line| line.chars().count() <= COLUMNS), "{next:?}");
    }
    assert_eq!(terminal.shown.matches(CLEAR).count(), 3);
    terminal.child.stdin.as_mut().unwrap().write_all(b"\x03").await.unwrap();
    assert_eq!(terminal.child.wait().await.unwrap().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_fit_on_a_terminal_is_counted() {
    let desk = Desk::with_shop().await;
    let Some(mut terminal) = Terminal::start(&desk, "web -n shop") else {
        return without("script", "a small terminal", "install util-linux");
    };
    let screen = terminal.until("make the window higher", "... and ").await;
    assert_eq!(screen.len(), 11, "the cursor has the last line: {screen:?}");
    assert!(screen[10].starts_with("... and "), "{screen:?}");
}
