//! `fhpa playground` as a process, with the real kubectl where there is one.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Output, Stdio};

use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

fn fhpa(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.arg("playground").args(arguments).env("FHPA_PLAYGROUND", directory).kill_on_drop(true);
    command
}

pub(super) struct Playground {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    said: String,
    directory: tempfile::TempDir,
}

impl Playground {
    pub(super) async fn start(arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut child = fhpa(&directory.path().join("files"), arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        // The last line of what it says names the other commands.
        while !said.contains("also: recover") {
            said.push_str(&output.next_line().await.unwrap().expect("it says what runs"));
            said.push('\n');
        }
        Self { child, output, said, directory }
    }

    fn files(&self) -> std::path::PathBuf {
        self.directory.path().join("files")
    }

    pub(super) async fn word(&self, arguments: &[&str]) -> (bool, String) {
        text(&fhpa(&self.files(), arguments).output().await.unwrap())
    }

    fn doctor(&self) -> Command {
        let mut doctor = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        doctor.args(["doctor", "--kubeconfig"]).arg(self.files().join("kubeconfig"));
        doctor
    }

    async fn shown(&self, arguments: &[&str]) -> (bool, String) {
        let mut status = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        status.arg("status").args(arguments).env("KUBECONFIG", self.files().join("kubeconfig"));
        text(&status.output().await.unwrap())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let config = self.files().join("kubeconfig");
        let mut kubectl = Command::new("kubectl");
        kubectl.env("KUBECONFIG", config).env("HOME", self.directory.path()).args(arguments);
        kubectl
    }

    pub(super) async fn kubectl(&self, arguments: &[&str]) -> (bool, String) {
        text(&self.command(arguments).output().await.unwrap())
    }

    /// Waits until the FederatedHPA, or the Deployment in a member, says so.
    pub(super) async fn waits(&self, context: &str, object: &str, path: &str, value: &str) {
        let condition = format!("--for=jsonpath={path}={value}");
        let done = self.kubectl(&["--context", context, "wait", object, &condition, "--timeout=90s"]).await;
        assert!(done.0, "{done:?}");
    }

    /// The shop's bounds are divided over the members, each with an HPA of its own.
    async fn divides_the_bounds(&self) {
        self.waits("karmada", "fhpa/shop", "{.status.clusterHPADesired[2].clusterName}", "member3").await;
        let bounds =
            "jsonpath={range .status.clusterHPADesired[*]}{.clusterName} {.minReplicas}..{.maxReplicas}\n{end}";
        let desired = self.kubectl(&["get", "fhpa", "shop", "-o", bounds]).await;
        assert_eq!(desired, (true, "member1 1..4\nmember2 1..4\nmember3 1..4\n".into()));
        for member in ["member1", "member2", "member3"] {
            self.waits(member, "hpa/shop", "{.spec.maxReplicas}", "4").await;
        }
    }

    /// Load comes, and the replicas of all members rise in proportion; it goes, and they fall.
    async fn follows_the_load(&self) {
        for (load, total, each) in [("3500m", "12", "4"), ("100m", "3", "1")] {
            assert!(self.word(&["load", "shop", load]).await.0);
            for member in ["member1", "member2", "member3"] {
                self.waits(member, "deployment/shop", "{.status.readyReplicas}", each).await;
            }
            self.waits("karmada", "fhpa/shop", "{.status.currentReplicas}", total).await;
        }
    }

    /// Brings load while kubectl watches the shop in a member, then deletes it everywhere.
    async fn is_watched_scaled_and_deleted(&self) {
        let mut watch = self.command(&["--context", "member1", "get", "pods", "-w", "-o", "name"]);
        let mut child = watch.kill_on_drop(true).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut pods = BTreeSet::from([lines.next_line().await.unwrap().unwrap()]);
        assert!(self.word(&["load", "shop", "3500m"]).await.0);
        while pods.len() < 4 {
            pods.insert(lines.next_line().await.unwrap().unwrap());
        }
        child.kill().await.unwrap();
        let deleted = self.kubectl(&["delete", "deployment,fhpa", "shop"]).await;
        assert!(deleted.0 && deleted.1.lines().count() == 2, "{deleted:?}");
        let gone =
            self.kubectl(&["--context", "member1", "wait", "--for=delete", "pods,hpa", "--all", "--timeout=60s"]).await;
        assert!(gone.0, "{gone:?}");
    }

    pub(super) async fn end(mut self) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &pid]).status().await.unwrap().success());
        let mut last = String::new();
        while let Some(line) = self.output.next_line().await.unwrap() {
            last = line;
        }
        assert!(self.child.wait().await.unwrap().success());
        assert_eq!(last, "The playground is gone, with all that was in it.");
        assert!(!self.files().exists(), "its files are gone");
    }
}

fn text(output: &Output) -> (bool, String) {
    let both = [output.stdout.as_slice(), output.stderr.as_slice()].concat();
    (output.status.success(), String::from_utf8(both).unwrap())
}

pub(super) fn kubectl_is_there() -> bool {
    std::process::Command::new("kubectl").args(["version", "--client"]).output().is_ok_and(|done| done.status.success())
}

#[tokio::test]
async fn a_playground_says_what_runs_obeys_words_and_cleans_up() {
    let playground = Playground::start(&["--clusters", "2"]).await;
    let own = format!("\n  export FHPA_PLAYGROUND={}\n", playground.files().display());
    assert!(playground.said.contains(&own), "commands in another shell find it: {}", playground.said);
    for part in ["2 member clusters", "for trying and testing only", "fhpa status -A -w", "refused, with the reasons"] {
        assert!(playground.said.contains(part), "{part:?} is not in\n{}", playground.said);
    }
    assert_eq!(playground.word(&["fail", "member2"]).await, (true, "member2 is cut off; Karmada will notice\n".into()));
    let (well, status) = playground.word(&["status"]).await;
    assert!(well && status.contains("member1      ready      2 nodes    0 pods"), "{status}");
    assert!(status.contains("member2      cut off"), "{status}");
    assert!(playground.word(&["recover", "member2"]).await.0);
    assert_eq!(playground.word(&["nodes", "member1", "+4"]).await.1, "member1 has 6 nodes\n");
    assert_eq!(playground.word(&["nodes", "member1", "-1"]).await.1, "member1 has 5 nodes\n");
    assert_eq!(
        playground.word(&["fail", "member9"]).await,
        (false, "fhpa playground: there is no cluster member9\n".into())
    );
    let (well, refusal) = playground.word(&["load", "shop", "1"]).await;
    assert!(!well && refusal.contains("no Deployment or StatefulSet shop in namespace default"), "{refusal}");
    let (well, open) = playground.word(&["--listen", "0.0.0.0:0"]).await;
    assert!(!well && open.contains("not an address of this machine alone"), "{open}");
    let (well, second) = playground.word(&[]).await;
    assert!(!well && second.contains("a playground runs already"), "{second}");
    let (well, found) = text(&playground.doctor().output().await.unwrap());
    assert!(well && found.contains("ok       registration"), "an installation that works: {found}");
    let files = playground.files();
    playground.end().await;
    let (well, nobody) = text(&fhpa(&files, &["status"]).output().await.unwrap());
    assert!(!well && nobody.contains("no playground runs"), "{nobody}");
}

#[tokio::test]
async fn one_of_a_thing_is_not_told_as_several() {
    let playground = Playground::start(&["--clusters", "1", "--nodes", "1", "--cpu", "1"]).await;
    for part in ["A Karmada with 1 member cluster runs", "member1 with 1 node of 1 CPU\n"] {
        assert!(playground.said.contains(part), "{part:?} is not in\n{}", playground.said);
    }
    let (well, status) = playground.word(&["status"]).await;
    assert!(well && status.contains("member1      ready      1 node     0 pods"), "{status}");
    playground.end().await;
}

#[tokio::test]
async fn in_its_usual_directory_it_needs_no_variable() {
    let usual = tempfile::tempdir().unwrap();
    for (variables, below) in [
        (&["XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"][..], "XDG_RUNTIME_DIR"),
        (&["XDG_CACHE_HOME", "HOME"], "XDG_CACHE_HOME"),
        (&["HOME"], "HOME/.cache"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        command.arg("playground").kill_on_drop(true);
        for variable in ["FHPA_PLAYGROUND", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "HOME"] {
            command.env_remove(variable);
        }
        command.envs(variables.iter().map(|variable| (variable, usual.path().join(variable))));
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = String::new();
        while !said.contains("also: recover") {
            said += &lines.next_line().await.unwrap().expect("it says what runs");
        }
        assert!(!said.contains("FHPA_PLAYGROUND"), "{said}");
        let files = usual.path().join(below).join("fhpa-playground");
        assert!(said.contains(files.to_str().unwrap()), "{files:?} is not in {said}");
    }
}

#[tokio::test]
async fn the_first_commands_do_what_they_say() {
    if !kubectl_is_there() {
        return;
    }
    let playground = Playground::start(&[]).await;
    let shop = playground.files().join("shop.yaml");
    let (well, applied) = playground.kubectl(&["apply", "-f", shop.to_str().unwrap()]).await;
    assert!(well && applied.contains("federatedhpa.autoscaling.karmada.io/shop created"), "{applied}");
    let (well, waited) = playground.kubectl(&["rollout", "status", "deployment/shop", "--timeout=60s"]).await;
    assert!(well, "{waited}");
    let (well, there) = playground.kubectl(&["--context", "member3", "get", "pods", "-o", "name"]).await;
    assert!(well && there.lines().count() == 1, "{there}");
    playground.divides_the_bounds().await;
    let (well, again) = playground.kubectl(&["apply", "-f", shop.to_str().unwrap()]).await;
    assert!(well && again.lines().all(|line| line.ends_with("unchanged")), "{again}");
    assert_eq!(playground.kubectl(&["diff", "-f", shop.to_str().unwrap()]).await, (true, String::new()));
    playground.follows_the_load().await;
    let (well, shown) = playground.shown(&["shop"]).await;
    let row = "member3  1    4    1         1      0";
    assert!(well && shown.contains("True MemberHPAsReady") && shown.contains(row), "{shown}");
    assert!(shown.contains("Assigned: member1 1..4 (weight 1 of 3)"), "the controller's Events: {shown}");
    let minutes = playground.files().join("minutes.yaml");
    let (well, applied) = playground.kubectl(&["apply", "-f", minutes.to_str().unwrap()]).await;
    assert!(well && applied.contains("cronfederatedhpa.autoscaling.karmada.io/shop-minutes created"), "{applied}");
    let scheduled = ["wait", "--for=condition=Scheduled", "cronfhpa/shop-minutes", "--timeout=60s"];
    let (well, waited) = playground.kubectl(&scheduled).await;
    assert!(well, "the controller works it off: {waited}");
    let (well, shown) = playground.shown(&["-A"]).await;
    assert!(well && shown.contains("default    shop-minutes  FederatedHPA/shop  in "), "{shown}");
    let (_, columns) = playground.kubectl(&["get", "fhpa,cronfhpa", "-o", "wide"]).await;
    for part in ["Distributed   True    True", "MemberHPAsReady", "RulesReady", "CLUSTERS-READY"] {
        assert!(columns.contains(part), "{part:?} is not in\n{columns}");
    }
    let refused = playground.files().join("refused.yaml");
    let (well, reasons) = playground.kubectl(&["apply", "-f", refused.to_str().unwrap()]).await;
    assert!(!well, "{reasons}");
    for reason in ["minute 61 is out of range 0-59", "Europe/Berlin"] {
        assert!(reasons.contains(reason), "{reason:?} is not in\n{reasons}");
    }
    let mode = playground.kubectl(&["get", "federatedhpa", "shop", "-o", "jsonpath={.spec.mode}"]).await;
    assert_eq!(mode, (true, "Distributed".into()), "the webhook fills in what the file leaves out");
    let short = playground.kubectl(&["get", "fhpa", "shop", "-o", "jsonpath={.spec.mode}"]).await;
    assert_eq!(short, mode);
    playground.is_watched_scaled_and_deleted().await;
    playground.end().await;
}
