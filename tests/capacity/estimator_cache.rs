//! Cached results of estimators, in virtual time: how long they are used, and how long a caller waits.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fhpa::controller::query_cache::{QueryError, Source, Times};
use fhpa::decision::capacity::Answer::{self, Fits, Unknown};
use fhpa::estimator::messages::ObjectReference;
use fhpa::estimator::query::EstimatorQuery;
use fhpa::reconcile::federated_hpa::observe::capacity::{Capacity, Estimators, Requirements, Rooms, cached_answer};
use fhpa::runtime::clock::steady;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use serde_json::json;
use tokio::time::{advance, sleep};

const TIMES: Times = Times {
    fresh: Duration::from_secs(30),
    kept: Duration::from_secs(300),
    patience: Duration::from_secs(1),
    answer: Duration::from_secs(3),
    rest: Duration::from_secs(10),
    absence: Duration::from_secs(60),
};

/// After how long, and what.
type Says = (Duration, Result<i32, QueryError>);

/// Estimators by cluster: how long each takes, and what it says.
#[derive(Clone, Default)]
struct Scripted(Arc<Script>);

#[derive(Default)]
struct Script {
    says: Mutex<HashMap<String, Says>>,
    asked: Mutex<Vec<String>>,
    forgotten: Mutex<Vec<String>>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Scripted {
    fn says(&self, cluster: &str, after: Duration, what: Result<i32, QueryError>) {
        self.0.says.lock().unwrap().insert(cluster.to_owned(), (after, what));
    }

    fn asked(&self) -> usize {
        self.0.asked.lock().unwrap().len()
    }

    fn estimators(&self) -> Estimators {
        Estimators::new(Box::new(self.clone()), TIMES)
    }
}

impl Source<EstimatorQuery, i32> for Scripted {
    fn component(&self) -> &'static str {
        "estimator"
    }

    fn send(&self, cluster: &str, _: &EstimatorQuery) -> BoxFuture<'static, Result<i32, QueryError>> {
        self.0.asked.lock().unwrap().push(cluster.to_owned());
        let (after, what) = self.0.says.lock().unwrap()[cluster].clone();
        let script = Arc::clone(&self.0);
        async move {
            let guard = UnderWay::begin(&script);
            sleep(after).await;
            drop(guard);
            what
        }
        .boxed()
    }

    fn forget(&self, cluster: &str) {
        self.0.forgotten.lock().unwrap().push(cluster.to_owned());
    }
}

/// Counts what is under way, also when it is given up.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn begin(script: &Script) -> Self {
        let now = script.now.fetch_add(1, Ordering::SeqCst) + 1;
        script.most.fetch_max(now, Ordering::SeqCst);
        Self(Arc::clone(&script.now))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

const AT_ONCE: Duration = Duration::ZERO;

fn query(name: &str) -> EstimatorQuery {
    EstimatorQuery::unschedulable(ObjectReference { name: name.to_owned(), ..Default::default() }, Duration::ZERO)
}

async fn seconds(seconds: u64) {
    advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_is_asked_for_again_when_it_is_no_longer_fresh() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    script.says("a", AT_ONCE, Ok(5));
    assert_eq!(cached_answer(&estimators, "a", &web), Unknown);
    assert!(estimators.refresh(&["a"], &web).await);
    assert_eq!(cached_answer(&estimators, "a", &web), Fits(5));
    script.says("a", AT_ONCE, Ok(6));
    seconds(29).await;
    assert!(estimators.refresh(&["a"], &web).await);
    assert_eq!((cached_answer(&estimators, "a", &web), script.asked()), (Fits(5), 1));
    seconds(1).await;
    assert!(estimators.refresh(&["a"], &web).await);
    assert_eq!((cached_answer(&estimators, "a", &web), script.asked()), (Fits(6), 2));
    assert_eq!(cached_answer(&estimators, "a", &query("other")), Unknown);
    assert_eq!(cached_answer(&estimators, "b", &web), Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_slow_estimator_is_waited_for_a_moment_and_its_answer_is_there_later() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    script.says("quick", Duration::from_millis(20), Ok(3));
    script.says("slow", Duration::from_millis(2_500), Ok(7));
    let start = steady();
    assert!(!estimators.refresh(&["quick", "slow"], &web).await);
    assert_eq!(start.elapsed(), TIMES.patience);
    assert_eq!(
        (cached_answer(&estimators, "quick", &web), cached_answer(&estimators, "slow", &web)),
        (Fits(3), Unknown)
    );
    sleep(Duration::from_secs(2)).await;
    assert_eq!(cached_answer(&estimators, "slow", &web), Fits(7));
    let start = steady();
    assert!(estimators.refresh(&["quick", "slow"], &web).await);
    assert_eq!((start.elapsed(), script.asked()), (Duration::ZERO, 2));
}

#[tokio::test(start_paused = true)]
async fn a_question_is_under_way_once_however_many_ask_it() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    script.says("a", Duration::from_millis(300), Ok(1));
    let many = join_all((0..100).map(|_| estimators.refresh(&["a"], &web))).await;
    assert!(many.into_iter().all(|heard| heard));
    assert_eq!(script.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_estimator_gets_few_questions_at_a_time() {
    let script = Scripted::default();
    let estimators = script.estimators();
    script.says("a", Duration::from_millis(10), Ok(1));
    let queries: Vec<EstimatorQuery> = (0..40).map(|at| query(&format!("web-{at}"))).collect();
    assert!(join_all(queries.iter().map(|one| estimators.refresh(&["a"], one))).await.into_iter().all(|heard| heard));
    assert_eq!((script.asked(), script.0.most.load(Ordering::SeqCst)), (40, 4));
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_answer_is_left_in_peace_and_its_last_answer_used_for_a_while() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    script.says("a", AT_ONCE, Ok(5));
    assert!(estimators.refresh(&["a"], &web).await);
    script.says("a", Duration::from_secs(3_600), Ok(9));
    seconds(30).await;
    assert!(!estimators.refresh(&["a"], &web).await);
    sleep(Duration::from_secs(3)).await;
    assert_eq!((cached_answer(&estimators, "a", &web), script.asked()), (Fits(5), 2));
    assert_eq!(*script.0.forgotten.lock().unwrap(), ["a"], "its connection is not to be trusted");
    // At rest: nobody is asked, and nobody waits.
    let start = steady();
    assert!(estimators.refresh(&["a"], &web).await && estimators.refresh(&["a"], &query("other")).await);
    assert_eq!((start.elapsed(), script.asked()), (Duration::ZERO, 2));
    sleep(Duration::from_secs(10)).await;
    assert!(!estimators.refresh(&["a"], &web).await);
    assert_eq!(script.asked(), 3);
    seconds(300).await;
    assert_eq!(cached_answer(&estimators, "a", &web), Unknown);
}

#[tokio::test(start_paused = true)]
async fn many_questions_to_a_dead_estimator_cost_one_wait() {
    let script = Scripted::default();
    let estimators = script.estimators();
    script.says("dead", Duration::from_secs(3_600), Ok(9));
    let queries: Vec<EstimatorQuery> = (0..200).map(|at| query(&format!("web-{at}"))).collect();
    join_all(queries.iter().map(|one| estimators.refresh(&["dead"], one))).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!((script.asked(), script.0.now.load(Ordering::SeqCst)), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_an_estimator_is_asked_again_after_a_minute() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    script.says("a", AT_ONCE, Err(QueryError::Absent("no such host".to_owned())));
    for (after, asked) in [(0, 1), (59, 1), (1, 2)] {
        seconds(after).await;
        assert!(estimators.refresh(&["a"], &web).await);
        assert_eq!((cached_answer(&estimators, "a", &web), script.asked()), (Unknown, asked));
    }
    script.says("a", AT_ONCE, Ok(2));
    seconds(60).await;
    assert!(estimators.refresh(&["a"], &web).await);
    assert_eq!(cached_answer(&estimators, "a", &web), Fits(2));
}

#[tokio::test(start_paused = true)]
async fn an_estimator_that_starts_anew_is_asked_again_soon() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    let gone = || Err(QueryError::Absent("refused".to_owned()));
    for (after, says, asked) in [(0, Ok(1), 1), (30, gone(), 2), (10, gone(), 3), (59, Ok(3), 3), (1, Ok(3), 4)] {
        script.says("a", AT_ONCE, says);
        seconds(after).await;
        assert!(estimators.refresh(&["a"], &web).await);
        assert_eq!(script.asked(), asked);
    }
    assert_eq!(cached_answer(&estimators, "a", &web), Fits(3));
}

#[tokio::test(start_paused = true)]
async fn a_refused_question_does_not_stop_the_others() {
    let script = Scripted::default();
    let (estimators, web, batch) = (script.estimators(), query("web"), query("batch"));
    script.says("a", AT_ONCE, Err(QueryError::Refused("not supported".to_owned())));
    assert!(estimators.refresh(&["a"], &batch).await && estimators.refresh(&["a"], &batch).await);
    assert_eq!(script.asked(), 1);
    script.says("a", AT_ONCE, Ok(4));
    assert!(estimators.refresh(&["a"], &web).await);
    assert_eq!((cached_answer(&estimators, "a", &web), cached_answer(&estimators, "a", &batch)), (Fits(4), Unknown));
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_nobody_asks_about_is_forgotten() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    for cluster in ["a", "b"] {
        script.says(cluster, AT_ONCE, Ok(1));
        assert!(estimators.refresh(&[cluster], &web).await);
    }
    for _ in 0..11 {
        seconds(60).await;
        assert!(estimators.refresh(&["a"], &web).await);
    }
    assert_eq!(*script.0.forgotten.lock().unwrap(), ["b"]);
    assert_eq!((cached_answer(&estimators, "a", &web), cached_answer(&estimators, "b", &web)), (Fits(1), Unknown));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_waits_for_is_told_when_it_is_another_one() {
    let script = Scripted::default();
    let (estimators, web) = (script.estimators(), query("web"));
    let fresh = Duration::from_secs(10);
    for (says, after, told, asked) in
        [(Ok(2), 0, true, 1), (Ok(2), 9, false, 1), (Ok(2), 1, false, 2), (Ok(3), 10, true, 3)]
    {
        script.says("a", AT_ONCE, says);
        seconds(after).await;
        estimators.refresh_in_background("a", &web, fresh);
        sleep(Duration::from_millis(1)).await;
        assert_eq!((estimators.changed().contains(&web), script.asked()), (told, asked), "{after}");
    }
    script.says("a", AT_ONCE, Err(QueryError::Refused("no".to_owned())));
    for told in [true, false] {
        seconds(10).await;
        estimators.refresh_in_background("a", &web, fresh);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(estimators.changed().contains(&web), told);
        assert!(estimators.get("a", &web).refused.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn pods_without_a_node_are_asked_for_where_an_estimator_knows() {
    let script = Scripted::default();
    let rooms = Rooms::new(Some(script.estimators()));
    let rooms: &dyn Capacity = &rooms;
    let fresh = Duration::from_secs(10);
    let workload = |kind: &str| ObjectReference { kind: kind.to_owned(), ..ObjectReference::default() };
    let web = workload("Deployment");
    script.says("a", AT_ONCE, Ok(4));
    script.says("b", AT_ONCE, Err(QueryError::Absent("no such host".to_owned())));
    assert!(
        rooms.refresh_unschedulable("a", &web, fresh) && rooms.refresh_unschedulable("b", &web, fresh),
        "both may answer"
    );
    rooms.wait_for_change().await;
    sleep(Duration::from_millis(1)).await;
    assert_eq!(rooms.changed(), std::slice::from_ref(&web));
    assert_eq!((rooms.unschedulable("a", &web), rooms.unschedulable("b", &web)), (Some(4), None));
    assert_eq!(
        (rooms.refresh_unschedulable("a", &web, fresh), rooms.refresh_unschedulable("b", &web, fresh)),
        (true, false)
    );
    assert!(!rooms.refresh_unschedulable("a", &workload("StatefulSet"), fresh), "estimators know Deployments only");
}

#[tokio::test(start_paused = true)]
async fn the_smaller_of_both_answers_counts_and_minus_one_is_none() {
    let script = Scripted::default();
    let rooms = Rooms::new(Some(script.estimators()));
    let requirements = Requirements::read(Some(&json!({"resourceRequest": {"cpu": "1"}})));
    let summary = json!({"allocatable": {"cpu": "8", "pods": "110"}});
    let says = [("fewer", 3), ("more", 30), ("unsure", -1), ("none", 0), ("unlimited", i32::MAX)];
    for (cluster, answer) in says {
        script.says(cluster, AT_ONCE, Ok(answer));
    }
    assert!(rooms.refresh(&says.map(|(cluster, _)| cluster), &requirements).await);
    let available = |summary: &serde_json::Value| {
        let summary = fhpa::convert::capacity::summary(summary);
        says.map(|(cluster, _)| rooms.room(cluster, summary.as_ref(), &requirements, 20).available)
    };
    assert_eq!(available(&summary), [Some(3), Some(8), Some(8), Some(0), Some(8)]);
    assert_eq!(available(&json!(null)), [Some(3), Some(30), None, Some(0), Some(20)]);
    assert_eq!(Answer::of(-1), Unknown);
}
