//! An Event that repeats is counted by a patch, within limits of time and memory, and is a new one where that fails.

use std::collections::BTreeMap;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::controller::events::{PAUSE, Severity, WINDOW};
use serde_json::{Value, json};

use super::control::Term;
use super::events::{Running, listed, record};

/// A stage for repeats: an API server that records requests, a term, and the task.
struct Repeats {
    server: ApiServer,
    term: Term,
    running: Running,
    told: u64,
}

impl Repeats {
    async fn begin() -> Self {
        let server = ApiServer::builder().build();
        let (term, running) = (Term::begin().await, Running::start(server.client()));
        server.faults().record();
        Self { server, term, running, told: 0 }
    }

    /// Tells the same once more.
    fn tell(&mut self) {
        let mut again = record("default", "member1 does not answer");
        again.at += Duration::from_secs(self.told);
        self.told += 1;
        self.running.events.record(&self.term.leader, again);
    }

    /// Tells the same once more, and waits until it is written.
    async fn tell_slowly(&mut self) {
        self.tell();
        tokio::time::sleep(PAUSE + PAUSE).await;
    }

    /// Requests since the last call, by verb.
    fn asked(&self) -> BTreeMap<String, usize> {
        let mut asked = BTreeMap::new();
        for seen in self.server.faults().recorded() {
            *asked.entry(seen.verb).or_default() += 1;
        }
        self.server.faults().record();
        asked
    }

    /// The count of each Event, the smallest first; 0: it has none.
    async fn counts(&self) -> Vec<u64> {
        let items = listed(&self.server.client(), "default").await;
        let mut counts: Vec<u64> =
            items.iter().map(|one| one["series"]["count"].as_u64().unwrap_or_default()).collect();
        counts.sort_unstable();
        counts
    }

    fn fail(&self, verb: &str, times: usize, error: StatusError) {
        self.server.faults().fail(
            Which { verb: verb.into(), resource: "events".into(), ..Which::default() },
            times,
            error,
        );
    }
}

fn asked<const N: usize>(verbs: [(&str, usize); N]) -> BTreeMap<String, usize> {
    verbs.into_iter().map(|(verb, times)| (verb.to_owned(), times)).collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_told_thirty_times_is_one_event_with_a_count() {
    let mut stage = Repeats::begin().await;
    for _ in 0..30 {
        stage.tell();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tokio::time::sleep(PAUSE).await;
    let events = listed(&stage.server.client(), "default").await;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["series"], json!({"count": 30, "lastObservedTime": "2027-01-15T08:00:29.000000Z"}));
    assert_eq!(events[0]["eventTime"], "2027-01-15T08:00:00.000000Z");
    assert_eq!(events[0]["metadata"]["managedFields"].as_array().map(Vec::len), Some(1));
    // What `kubectl get events --sort-by=.lastTimestamp` sorts by, under its name in this group.
    let times = ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "deprecatedCount"].map(|key| &events[0][key]);
    assert_eq!(json!(times), json!(["2027-01-15T08:00:00Z", "2027-01-15T08:00:29Z", 30]));
    assert_eq!(stage.asked(), asked([("create", 1), ("patch", 3), ("list", 1)]), "repeats are written together");
    assert_eq!(stage.running.end().await.all(), json!({"posted": 30}));
}

#[tokio::test(start_paused = true)]
async fn a_thousand_repeats_in_a_moment_are_two_requests() {
    let mut stage = Repeats::begin().await;
    for _ in 0..1_000 {
        stage.tell();
    }
    tokio::time::sleep(PAUSE + Duration::from_secs(1)).await;
    assert_eq!(stage.asked(), asked([("create", 1), ("patch", 1)]));
    assert_eq!(stage.counts().await, [1_000]);
}

#[tokio::test(start_paused = true)]
async fn what_differs_in_note_reason_or_object_is_another_event() {
    let stage = Repeats::begin().await;
    let first = || record("default", "member1 does not answer");
    let mut others = [first(), first(), first(), first()];
    others[0].note = "member2 does not answer".into();
    others[1].reason = "RuleMissed".into();
    others[2].regarding.uid = "1a1a".into();
    others[3].severity = Severity::Warning;
    stage.running.events.record(&stage.term.leader, first());
    others.into_iter().for_each(|other| stage.running.events.record(&stage.term.leader, other));
    tokio::time::sleep(PAUSE).await;
    assert_eq!(stage.counts().await, [0; 5]);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_again_after_the_window_is_a_new_event() {
    let mut stage = Repeats::begin().await;
    stage.tell_slowly().await;
    tokio::time::sleep(WINDOW - PAUSE - PAUSE - Duration::from_secs(1)).await;
    stage.tell_slowly().await;
    assert_eq!(stage.counts().await, [2]);
    tokio::time::sleep(WINDOW).await;
    stage.tell_slowly().await;
    assert_eq!(stage.counts().await, [0, 2]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_gone_is_followed_by_a_new_one() {
    let mut stage = Repeats::begin().await;
    stage.tell_slowly().await;
    let client = stage.server.client();
    let name = listed(&client, "default").await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let path = format!("/apis/events.k8s.io/v1/namespaces/default/events/{name}");
    client.request::<Value>(http::Request::delete(path).body(Vec::new()).unwrap()).await.unwrap();
    stage.asked();
    stage.tell_slowly().await;
    assert_eq!(stage.asked(), asked([("patch", 1), ("create", 1)]));
    assert_eq!(stage.counts().await, [2]);
    stage.tell_slowly().await;
    assert_eq!(stage.counts().await, [3], "the new one counts");
    assert_eq!(stage.running.end().await.all(), json!({"posted": 3}));
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_patch_each_repeat_is_an_event() {
    let mut stage = Repeats::begin().await;
    stage.fail("patch", 1_000, StatusError::plain(403, "Forbidden", "events is forbidden: User \"a\" cannot patch"));
    stage.tell_slowly().await;
    for _ in 0..3 {
        stage.tell_slowly().await;
    }
    assert_eq!(stage.asked(), asked([("create", 4), ("patch", 3)]));
    assert_eq!(stage.counts().await, [0; 4]);
    for _ in 0..500 {
        stage.tell();
    }
    tokio::time::sleep(PAUSE + PAUSE).await;
    assert_eq!(stage.counts().await, [0, 0, 0, 0, 0, 499], "many at once are no storm");
    assert_eq!(stage.running.end().await.all(), json!({"posted": 504}));
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_given_later_is_used() {
    let mut stage = Repeats::begin().await;
    stage.fail("patch", 1, StatusError::plain(403, "Forbidden", "events is forbidden: User \"a\" cannot patch"));
    stage.tell_slowly().await;
    for _ in 0..2 * WINDOW.as_secs() / 60 {
        stage.tell();
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
    assert_eq!(stage.counts().await, [0, 2 * WINDOW.as_secs() / 60 + 1], "the first one counts all");
}

#[tokio::test(start_paused = true)]
async fn repeats_that_could_not_be_written_are_counted_with_the_next() {
    let mut stage = Repeats::begin().await;
    stage.tell_slowly().await;
    stage.fail("patch", 4, StatusError::plain(503, "ServiceUnavailable", "down"));
    stage.tell_slowly().await;
    stage.tell_slowly().await;
    assert_eq!(stage.counts().await, [3]);
    assert_eq!(stage.running.end().await.all(), json!({"failed": 1, "posted": 2}));
}

#[tokio::test(start_paused = true)]
async fn a_stop_writes_the_repeats_that_wait() {
    let mut stage = Repeats::begin().await;
    for _ in 0..7 {
        stage.tell();
    }
    let Repeats { server, running, term: _term, .. } = stage;
    assert_eq!(running.end().await.all(), json!({"posted": 7}));
    let events = listed(&server.client(), "default").await;
    assert_eq!(events.iter().map(|one| one["series"]["count"].clone()).collect::<Vec<_>>(), [json!(7)]);
}
