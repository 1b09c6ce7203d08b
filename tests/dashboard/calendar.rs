//! The calendar of cron runs across clock changes, on a dashboard whose clock is set.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use fhpa::dashboard::preview::{Drilled, Preview, Previewed};
use fhpa::dashboard::{Dashboard, Options, Probes};
use fhpa::estimator::grpc::Address;
use fhpa::runtime::zones::ZoneDatabase;
use jiff::Timestamp;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use super::browser::{Browser, Stream};
use crate::status::Desk;
use crate::status::objects::hours;

struct NoPreview;

impl Preview for NoPreview {
    fn preview(&self, _: &Client, _: &str) -> Previewed {
        Previewed::default()
    }

    fn drill(&self, _: &Client, _: usize, _: Duration) -> Result<Drilled, String> {
        Ok(Drilled::default())
    }
}

/// The page of `shop/night` at that time, without its markup but for the days.
async fn page(desk: &Desk, now: &str) -> String {
    let now: Timestamp = now.parse().unwrap();
    let kubeconfig = Kubeconfig::read_from(desk.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let options = Options {
        client: Client::try_from(config).unwrap(),
        namespace: None,
        listen: "127.0.0.1:0".parse().unwrap(),
        clock: Arc::new(move || now),
        zones: Arc::new(ZoneDatabase::bundled()),
        zone: "UTC".to_owned(),
        probes: Probes { lease: (String::new(), String::new()), estimators: Address::default() },
        preview: Arc::new(NoPreview),
    };
    let dashboard = Dashboard::bind(options).await.unwrap();
    let url = dashboard.url();
    let served = tokio::spawn(dashboard.run(pending()));
    let browser = Browser::enter(&url).await;
    let mut changes = Stream::open(&browser).await;
    let page = loop {
        let page = browser.get("/cron/shop/night").await.body;
        if page.contains("CronFederatedHPA shop/night") && !page.contains("are being listed") {
            break page;
        }
        changes.message().await;
    };
    served.abort();
    page
}

/// The run of that day: its time, its offset and its notes.
fn run(page: &str, day: &str) -> String {
    let rest = page.split(&format!("<strong>{day}</strong>")).nth(1).unwrap_or_else(|| panic!("no {day}: {page}"));
    let item = rest.split("</li>").next().unwrap();
    let text: String = item.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_calendar_shows_what_clock_changes_do_to_runs() {
    let desk = Desk::new().await;
    let mut cron = hours();
    cron["metadata"]["name"] = "night".into();
    cron["spec"]["rules"] = json!([
        {"name": "berlin", "schedule": "30 2 * * *", "timeZone": "Europe/Berlin", "targetMinReplicas": 4}]);
    cron["status"] = json!({});
    desk.bring(&cron).await;
    let mut island = cron.clone();
    let spring = page(&desk, "2027-03-25T12:00:00Z").await;
    assert_eq!(run(&spring, "Sat 2027-03-27"), "02:30 +01:00");
    assert_eq!(
        run(&spring, "Sun 2027-03-28"),
        "03:00 +02:00 02:30 is skipped by a clock change, runs at its end clocks went forward by 1h"
    );
    assert_eq!(run(&spring, "Mon 2027-03-29"), "02:30 +02:00");
    let autumn = page(&desk, "2027-10-28T12:00:00Z").await;
    assert_eq!(run(&autumn, "Sun 2027-10-31"), "02:30 +02:00 the time occurs twice, runs the first time only");
    assert_eq!(run(&autumn, "Mon 2027-11-01"), "02:30 +01:00 clocks went back by 1h");
    assert_eq!(autumn.matches(">02:30</time>").count(), 7, "a run each day: {autumn}");

    // A zone whose clocks change by half an hour.
    let path = "/apis/autoscaling.karmada.io/v1alpha1/namespaces/shop/cronfederatedhpas/night";
    island["spec"]["rules"] = json!([
        {"name": "gap", "schedule": "15 2 * * *", "timeZone": "Australia/Lord_Howe", "targetMinReplicas": 4}]);
    assert_eq!(desk.bed.patch("merge", path, &json!({"spec": island["spec"]})).await.code, 200);
    let spring = page(&desk, "2027-10-01T00:00:00Z").await;
    assert_eq!(
        run(&spring, "Sun 2027-10-03"),
        "02:30 +11:00 02:15 is skipped by a clock change, runs at its end clocks went forward by 30m"
    );
    assert_eq!(run(&spring, "Mon 2027-10-04"), "02:15 +11:00");
    island["spec"]["rules"][0]["schedule"] = "45 1 * * *".into();
    assert_eq!(desk.bed.patch("merge", path, &json!({"spec": island["spec"]})).await.code, 200);
    let autumn = page(&desk, "2027-04-01T00:00:00Z").await;
    assert_eq!(run(&autumn, "Sun 2027-04-04"), "01:45 +11:00 the time occurs twice, runs the first time only");
    assert_eq!(run(&autumn, "Mon 2027-04-05"), "01:45 +10:30 clocks went back by 30m");
}
