//! The embedded Karmada compared with recordings of the real one: the same steps, and the same states in the same order
//! at about the same times. `tests/fixtures/karmada/recorded/README.md` describes how they were made.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{deleting, int, items, name, text};
use fhpa::playground::karmada::Timing;
use fhpa::playground::member::Link;
use fhpa::playground::objects::Written;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Stage, kind, plan, seconds};

const MEMBERS: [&str; 2] = ["member1", "member2"];

#[derive(Deserialize)]
struct Recording {
    seconds: f64,
    steps: Vec<Step>,
    tracks: Tracks,
}

#[derive(Deserialize)]
struct Step {
    at: f64,
    /// How long it took until it had its effect.
    #[serde(default)]
    takes: f64,
    #[serde(flatten)]
    act: BTreeMap<String, Value>,
}

/// What each field of each object was, from when on.
type Tracks = BTreeMap<String, Vec<(f64, Value)>>;

fn millis(seconds: f64) -> i64 {
    format!("{:.0}", seconds * 1000.0).parse().unwrap()
}

/// The short times of the laboratory in which the recordings were made.
fn laboratory(evicts: bool) -> Plan {
    let karmada = Timing {
        status_period: seconds(2),
        failure_threshold: seconds(5),
        success_threshold: seconds(5),
        failover: evicts,
        ..Timing::default()
    };
    Plan { karmada, ..plan() }
}

struct Replay {
    stage: Stage,
    start: jiff::Timestamp,
    /// What the servers held when they were last looked at.
    seen: Vec<u64>,
    tracks: Tracks,
}

impl Replay {
    fn say(&mut self, track: String, value: Value) {
        let now = self.stage.fleet.clock().now().duration_since(self.start).as_secs_f64();
        let track = self.tracks.entry(track).or_default();
        if track.last().is_none_or(|(_, last)| *last != value) {
            track.push((now, value));
        }
    }

    async fn look(&mut self) {
        let fleet = &self.stage.fleet;
        let servers = MEMBERS.iter().map(|name| fleet.member(name).unwrap()).chain([fleet.control()]);
        let versions: Vec<u64> = servers.map(|server| server.store().version()).collect();
        if versions == self.seen {
            return;
        }
        self.seen = versions;
        let binding = self.stage.find("ResourceBinding", "web-deployment").await;
        if let Some(binding) = &binding {
            let joined = |list: &[Value], line: &dyn Fn(&Value) -> String| -> Value {
                json!(list.iter().map(line).collect::<Vec<_>>().join(" "))
            };
            let clusters = joined(items(binding, "/spec/clusters"), &|entry| {
                format!("{}={}", text(entry, "/name"), int(entry, "/replicas").unwrap_or_default())
            });
            let tasks = joined(items(binding, "/spec/gracefulEvictionTasks"), &|task| {
                let begun = if text(task, "/creationTimestamp").is_empty() { "new" } else { "begun" };
                format!("{}:{}:{begun}", text(task, "/fromCluster"), text(task, "/reason"))
            });
            let mut reporting = items(binding, "/status/aggregatedStatus").to_vec();
            reporting.retain(|status| status.get("status").is_some());
            let reporting = joined(&reporting, &|status| text(status, "/clusterName").to_owned());
            self.say("binding/clusters".into(), clusters);
            self.say("binding/tasks".into(), tasks);
            self.say("binding/reporting".into(), reporting);
        } else if self.tracks.contains_key("binding/clusters") {
            self.say("binding/clusters".into(), json!("gone"));
        }
        for cluster in MEMBERS {
            self.look_at(cluster).await;
        }
    }

    async fn look_at(&mut self, cluster: &str) {
        let works = self.stage.list("Work", &format!("karmada-es-{cluster}")).await;
        let (state, replicas) = (format!("work/{cluster}"), format!("work/{cluster}/replicas"));
        match works.first() {
            Some(work) => {
                self.say(state, json!(if deleting(work) { "deleting" } else { "there" }));
                let asked = int(work, "/spec/workload/manifests/0/spec/replicas").unwrap_or_default();
                self.say(replicas, json!(asked));
            }
            None if self.tracks.contains_key(&state) => self.say(state, json!("gone")),
            None => {}
        }
        let member = format!("member/{cluster}");
        match self.stage.member(cluster, "Deployment", "web").await {
            Some(web) => self.say(member, json!(int(&web, "/spec/replicas").unwrap_or_default().to_string())),
            None if self.tracks.contains_key(&member) => self.say(member, json!("gone")),
            None => {}
        }
        let object = self.stage.get("Cluster", cluster).await;
        let ready = fhpa::playground::json::condition(&object, "/status/conditions", "Ready");
        self.say(format!("cluster/{cluster}/ready"), json!(ready.map_or("", |ready| text(ready, "/status"))));
        let mut taints: Vec<&str> = items(&object, "/spec/taints").iter().map(|taint| text(taint, "/effect")).collect();
        taints.sort_unstable();
        self.say(format!("cluster/{cluster}/taints"), json!(taints.join(" ")));
    }

    /// Rounds of all controllers, each looked at, until `at`.
    async fn until(&mut self, at: f64) {
        let target = self.start + jiff::SignedDuration::from_millis(millis(at));
        loop {
            let pass = self.stage.fleet.round().await.unwrap();
            self.look().await;
            if pass.writes > 0 {
                continue;
            }
            let clock = self.stage.fleet.clock();
            let next = pass.due.unwrap_or(target).max(clock.now() + jiff::SignedDuration::from_millis(1));
            if clock.now() >= target {
                return;
            }
            clock.move_to(next.min(target));
        }
    }

    async fn act(&self, step: &Step) {
        let fleet = &self.stage.fleet;
        for (act, about) in &step.act {
            let cluster = about.as_str().unwrap_or_default();
            match act.as_str() {
                "create" => self.stage.create(about.clone()).await,
                "patch" => self.patch(about, step).await,
                "delete" => {
                    let (of, object) = self.named(about).await;
                    let written = self.stage.control.delete(&kind(&of), &object).await.unwrap();
                    assert!(matches!(written, Written::Done(_)), "{written:?}");
                }
                "observe" => self.observe(cluster).await,
                "hang" => fleet.cut(cluster, Link::Hangs).unwrap(),
                "fail" => fleet.fail(cluster, true).unwrap(),
                "heal" => fleet.fail(cluster, false).unwrap(),
                // Said with the step it belongs to, or when the fleet was built.
                "with" | "replicas" | "taints" => {}
                other => panic!("unknown step {other}"),
            }
        }
    }

    /// The kind and the object that a step is about.
    async fn named(&self, about: &Value) -> (String, Value) {
        let cluster = text(about, "/work");
        if !cluster.is_empty() {
            return ("Work".into(), self.stage.list("Work", &format!("karmada-es-{cluster}")).await.remove(0));
        }
        let of = text(about, "/kind").to_owned();
        let object = self.stage.get(&of, text(about, "/name")).await;
        (of, object)
    }

    async fn patch(&self, about: &Value, step: &Step) {
        let (of, cluster) = (text(about, "/kind"), text(about, "/cluster"));
        if let Some(replicas) = step.act.get("replicas") {
            let (of, mut work) = self.named(about).await;
            work["spec"]["workload"]["manifests"][0]["spec"]["replicas"] = replicas.clone();
            let written = self.stage.control.replace(&kind(&of), &work).await.unwrap();
            assert!(matches!(written, Written::Done(_)), "{written:?}");
        } else if cluster.is_empty() {
            self.stage.patch(of, text(about, "/name"), step.act["with"].clone()).await;
        } else {
            self.stage.patch_member(cluster, of, text(about, "/name"), step.act["with"].clone()).await;
        }
    }

    async fn observe(&self, binding: &str) {
        let binding = self.stage.get("ResourceBinding", binding).await;
        let mut status = binding["status"].clone();
        status["schedulerObservedGeneration"] = binding["metadata"]["generation"].clone();
        assert!(self.stage.control.set_status(&kind("ResourceBinding"), &binding, &status).await.unwrap());
    }
}

fn recordings() -> Vec<(String, Recording)> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests/fixtures/karmada/recorded"].iter().collect();
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    files.sort();
    let read = |path: &Path| {
        let recording = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), recording)
    };
    files.iter().map(|path| read(path)).collect()
}

/// A track without what was so before the story began, and without what is over before anybody can rely on it: which of
/// two clusters reports first, which of two taints comes first, a Work that goes at once, a result before the scheduler
/// looks.
fn begun(track: &str, states: &[(f64, Value)]) -> Vec<(f64, Value)> {
    let initial = json!(if track.ends_with("/ready") { "True" } else { "" });
    let passing = |value: &Value| {
        matches!(track, "binding/reporting" | "binding/clusters") || track.ends_with("/taints") || *value == "deleting"
    };
    let mut kept: Vec<(f64, Value)> = Vec::new();
    for (at, (begins, value)) in states.iter().enumerate() {
        let lasts = states.get(at + 1).is_none_or(|(ends, _)| ends - begins >= 2.5);
        let first = kept.is_empty() && *value == initial;
        if !first && (lasts || !passing(value)) && kept.last().is_none_or(|(_, last)| last != value) {
            kept.push((*begins, value.clone()));
        }
    }
    kept
}

/// Whether the times are of one class: at once, within seconds, or the same number of minutes. The real one forgets
/// what a cluster said when the next status comes; the embedded one does so at once.
fn alike(track: &str, recorded: f64, replayed: f64) -> bool {
    let slack = 4.0 + recorded.max(replayed) * 0.1;
    replayed - recorded <= slack && (track == "binding/reporting" || recorded - replayed <= slack)
}

fn differences(story: &str, recorded: &Tracks, replayed: &Tracks) -> Vec<String> {
    let mut found = Vec::new();
    let none = Vec::new();
    for track in recorded.keys().chain(replayed.keys()).collect::<std::collections::BTreeSet<_>>() {
        let real = begun(track, recorded.get(track).unwrap_or(&none));
        let ours = begun(track, replayed.get(track).unwrap_or(&none));
        let same = real.len() == ours.len()
            && real.iter().zip(&ours).all(|((at, value), (when, said))| value == said && alike(track, *at, *when));
        if !same {
            found.push(format!("{story} {track}:\n  real     {real:?}\n  embedded {ours:?}"));
        }
    }
    found
}

#[tokio::test]
async fn the_embedded_karmada_does_what_the_real_one_was_seen_to_do() {
    let recordings = recordings();
    assert!(recordings.len() >= 12, "{}", recordings.len());
    let mut found = Vec::new();
    for (story, recording) in recordings {
        let evicts = recording.steps.iter().any(|step| step.act.contains_key("taints"));
        let stage = Stage::new(laboratory(evicts)).await;
        let start = stage.fleet.clock().now();
        let mut replay = Replay { stage, start, seen: Vec::new(), tracks: Tracks::new() };
        for step in &recording.steps {
            replay.until(step.at + step.takes).await;
            replay.act(step).await;
            replay.look().await;
        }
        replay.until(recording.seconds).await;
        assert!(name(&replay.stage.get("Cluster", "member1").await) == "member1");
        found.extend(differences(&story, &recording.tracks, &replay.tracks));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
