//! Checks of the control plane: connection, versions, clocks, permissions, the Lease, Karmada's own controllers. Talks
//! to the API server.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::PostParams;
use kube::client::Body;
use serde_json::Value;

use super::{CheckState, Context, Finding};
use crate::controller::failure::{Asked, Failure};
use crate::controller::managers;
use crate::decision::freeze::{FREEZE, FROZEN, Freeze};
use crate::decision::lease::{RESERVED, VERSION};
use crate::install::apply::list;
use crate::install::karmada::{Groups, LACKS, TO_DO};
use crate::install::permissions::{PERMISSIONS, PermissionScope};
use crate::reconcile::federated_hpa::observe::upstream::UPSTREAM_IDLE;
use crate::reconcile::federated_hpa::status::conditions::UPSTREAM;
use crate::runtime::leader::handover::PARKED;

/// Oldest minor version of Kubernetes 1 that supports the validation rules of the CRDs.
const OLDEST: u32 = 30;
/// Clock differences that make cron rules late or early: a warning, and a failure.
const CLOCKS: (SignedDuration, SignedDuration) = (SignedDuration::from_secs(2), SignedDuration::from_secs(30));

/// What to do where nothing answers as an API server.
const LEADS: &str = "is karmada-apiserver up, and does the kubeconfig lead there?";

/// Connection, version, clock, and whether it is Karmada's.
pub(super) async fn connection(context: &Context) -> Vec<Finding> {
    let asked = http::Request::get("/version").body(Body::empty());
    let answer = match asked {
        Ok(request) => context.client.send(request).await.map_err(|error| {
            let asked = Asked { verb: "get", group: "", resource: "", object: &"/version" };
            Failure::of(&error, asked).message
        }),
        Err(error) => Err(error.to_string()),
    };
    let (head, body) = match answer {
        Ok(answer) => answer.into_parts(),
        Err(error) => {
            return vec![Finding::fail("connection", error, LEADS)];
        }
    };
    if !head.status.is_success() {
        let to_do = if head.status.as_u16() == 401 { "renew the credentials of the kubeconfig" } else { LEADS };
        return vec![Finding::fail("connection", format!("the API server answers {}", head.status), to_do)];
    }
    let bytes = http_body_util::BodyExt::collect(http_body_util::Limited::new(body, 1 << 16)).await;
    let version: Value = bytes.ok().and_then(|body| serde_json::from_slice(&body.to_bytes()).ok()).unwrap_or_default();
    let Some(text) = version.get("gitVersion").and_then(Value::as_str).map(str::to_owned) else {
        let seen = "what answers is no Kubernetes API server: its /version has no gitVersion";
        return vec![Finding::fail("connection", seen, LEADS)];
    };
    let mut found = vec![Finding::ok("connection", "the API server answers")];
    let minor = text.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
    found.push(match minor {
        Some(minor) if minor < OLDEST => {
            let to_do = "stored objects that break a new rule cannot be changed in other fields before Kubernetes 1.30: update it";
            Finding::new("version", CheckState::Warn, text, to_do)
        }
        _ => Finding::ok("version", text),
    });
    let date = head.headers.get("date").and_then(|date| date.to_str().ok());
    found.push(clocks(
        date.and_then(|date| jiff::fmt::rfc2822::parse(date).ok()).map(|date| date.timestamp()),
        context.now,
    ));
    found.push(karmada(context).await);
    found
}

fn clocks(theirs: Option<Timestamp>, ours: Timestamp) -> Finding {
    let Some(theirs) = theirs else {
        return Finding::new("clock", CheckState::Skipped, "the response of the API server has no time", "");
    };
    let (warn, fail) = CLOCKS;
    // The header has whole seconds.
    let apart = ours.duration_since(theirs).abs();
    let seen = format!("{} s apart from the API server's", apart.as_secs());
    let to_do = "set the clocks by NTP: cron rules run by the clock of the controller";
    match apart {
        apart if apart > fail => Finding::fail("clock", seen, to_do),
        apart if apart > warn => Finding::new("clock", CheckState::Warn, seen, to_do),
        _ => Finding::ok("clock", seen),
    }
}

async fn karmada(context: &Context) -> Finding {
    match Groups::read(&context.client).await {
        Ok(groups) if groups.is_karmada() => Finding::ok("karmada", "it serves Karmada's kinds"),
        Ok(_) => Finding::fail("karmada", LACKS, TO_DO),
        Err(failure) => Finding::fail("karmada", failure.message, ""),
    }
}

/// Whether the user of the kubeconfig has every permission of the table.
pub(super) async fn rights(context: &Context) -> Option<Finding> {
    let reviews: Api<SelfSubjectAccessReview> = Api::all(context.client.clone());
    let mut missing = Vec::new();
    let mut asked = 0_usize;
    for row in PERMISSIONS.iter().filter(|row| row.place != PermissionScope::Members) {
        for (resource, verb) in
            row.resources.iter().flat_map(|resource| row.verbs.iter().map(move |verb| (resource, verb)))
        {
            let (plural, sub) = resource.split_once('/').unwrap_or((resource, ""));
            let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            let attributes = ResourceAttributes {
                group: given(row.group),
                resource: given(plural),
                subresource: given(sub),
                verb: given(verb),
                name: row.names.first().map(|name| (*name).to_owned()),
                namespace: (row.place == PermissionScope::LeaseNamespace).then(|| context.lease.0.clone()),
                ..ResourceAttributes::default()
            };
            let spec = SelfSubjectAccessReviewSpec {
                resource_attributes: Some(attributes),
                ..SelfSubjectAccessReviewSpec::default()
            };
            let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
            asked = asked.saturating_add(1);
            match reviews.create(&PostParams::default(), &review).await {
                Ok(review) if review.status.as_ref().is_some_and(|status| status.allowed) => {}
                Ok(_) => missing.push(format!("{verb} {resource}")),
                Err(error) => return Some(Finding::new("rights", CheckState::Skipped, error.to_string(), "")),
            }
        }
    }
    Some(if missing.is_empty() {
        Finding::ok("rights", format!("the user of this kubeconfig has all {asked}"))
    } else {
        let seen = format!("missing: {}", missing.join(", "));
        Finding::fail("rights", seen, "run `fhpa install --user NAME` with the user of the processes")
    })
}

/// Which process leads, and whether an operator froze it.
pub(super) async fn lease(context: &Context) -> Vec<Finding> {
    const CHECK: &str = "lease";
    let (namespace, name) = &context.lease;
    let leases: Api<Lease> = Api::namespaced(context.client.clone(), namespace);
    match leases.get_opt(name).await {
        Ok(Some(lease)) => {
            vec![
                holder(CHECK, &lease.metadata, lease.spec.unwrap_or_default(), context),
                freeze(lease.metadata, context),
            ]
        }
        Ok(None) => {
            let seen = format!("there is no Lease {namespace}/{name}");
            let to_do = "no controller has led yet: is one running, with these --lease flags?";
            vec![Finding::new(CHECK, CheckState::Warn, seen, to_do)]
        }
        Err(error) => vec![Finding::fail(CHECK, error.to_string(), "")],
    }
}

fn holder(check: &'static str, metadata: &ObjectMeta, lease: LeaseSpec, context: &Context) -> Finding {
    let holder = lease.holder_identity.unwrap_or_default();
    let age = lease.renew_time.map(|time| context.now.duration_since(time.0));
    let reserved = lease.lease_duration_seconds == i32::try_from(RESERVED.as_secs()).ok();
    let lasts = SignedDuration::from_secs(lease.lease_duration_seconds.unwrap_or_default().max(15).into());
    match age {
        _ if holder == PARKED || reserved => {
            let to_do = "`fhpa install` frees it: an uninstallation has reserved the Lease";
            Finding::new(check, CheckState::Warn, "it is kept from controllers", to_do)
        }
        _ if holder.is_empty() => Finding::new(check, CheckState::Warn, "it has no holder", "is a controller running?"),
        Some(age) if age > lasts.saturating_mul(2) => {
            let seen = format!("{holder} has not renewed it for {} s", age.as_secs());
            Finding::fail(check, seen, "no controller acts: see the logs of its pods")
        }
        _ => {
            let version = metadata.annotations.as_ref().and_then(|annotations| annotations.get(VERSION));
            let version = version.map(|version| format!(", version {version}")).unwrap_or_default();
            Finding::ok(check, format!("{holder} leads{version}"))
        }
    }
}

/// Whether an operator froze the controllers, and whether the leader confirms that.
fn freeze(lease: ObjectMeta, context: &Context) -> Finding {
    const CHECK: &str = "freeze";
    let annotations = lease.annotations.unwrap_or_default();
    let asked = Freeze::of(annotations.get(FREEZE).map(String::as_str), None);
    let (namespace, name) = &context.lease;
    match (asked, annotations.get(FROZEN)) {
        (None, None) => Finding::ok(CHECK, "no operator froze the controllers"),
        (Some(asked), confirmed) => {
            let confirmed = match confirmed {
                Some(_) => "the controllers are frozen, members keep scaling",
                None => "a freeze is asked for, and no leader has confirmed it yet",
            };
            let to_do = format!("`kubectl annotate lease {name} --namespace {namespace} {FREEZE}-` ends it");
            Finding::new(CHECK, CheckState::Warn, format!("{confirmed} ({})", asked.confirmation()), to_do)
        }
        (None, Some(confirmed)) => {
            let seen = format!("the controllers are frozen, members keep scaling ({confirmed})");
            Finding::new(
                CHECK,
                CheckState::Warn,
                seen,
                "it ends with a leader that is started without the flag --freeze",
            )
        }
    }
}

/// Whether Karmada's own controllers write FederatedHPAs or CronFederatedHPAs.
pub(super) async fn upstream(context: &Context) -> Vec<Finding> {
    const CHECK: &str = "upstream controllers";
    let mut found = Vec::new();
    let mut writes = Vec::new();
    for plural in ["federatedhpas", "cronfederatedhpas"] {
        let path = format!("/apis/autoscaling.karmada.io/v1alpha1/{plural}");
        match list(&context.client, &path, "autoscaling.karmada.io", plural).await {
            Ok(objects) if objects.iter().any(|object| upstream_wrote(object, context.now)) => writes.push(plural),
            Ok(_) => {}
            Err(failure) => found.push(Finding::fail(CHECK, failure.message, "")),
        }
    }
    if !writes.is_empty() {
        let to_do = "start karmada-controller-manager with \
                     --controllers=*,-federatedHorizontalPodAutoscaler,-cronFederatedHorizontalPodAutoscaler";
        found.push(Finding::fail(CHECK, format!("karmada-controller-manager writes {}", writes.join(" and ")), to_do));
    } else if found.is_empty() {
        found.push(Finding::ok(CHECK, "karmada-controller-manager wrote none of these kinds of late"));
    }
    found
}

/// Whether the object is one that they write: over what fhpa wrote, or of late where fhpa wrote nothing since.
fn upstream_wrote(object: &Value, now: Timestamp) -> bool {
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let all = |path| object.pointer(path).and_then(Value::as_array).into_iter().flatten();
    let last = |managers: &[&str]| {
        let theirs = all("/metadata/managedFields").filter(|share| managers.contains(&&*text(share, "manager")));
        theirs.filter_map(|share| text(share, "time").parse::<Timestamp>().ok()).max()
    };
    let ours = last(&[managers::STATUS, managers::CRON_STATUS]);
    let since = last(&["karmada-controller-manager"]).filter(|theirs| ours.is_none_or(|ours| *theirs >= ours));
    let noticed = all("/status/conditions").any(|condition| text(condition, "reason") == UPSTREAM);
    let of_late = |written: Option<Timestamp>| written.is_some_and(|at| now.duration_since(at) < UPSTREAM_IDLE);
    of_late(since) || noticed && of_late(ours)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn karmadas_controllers_run_where_fhpa_wrote_nothing_since_or_says_so() {
        let now: Timestamp = "2026-11-20T08:00:00Z".parse().unwrap();
        let share = |manager: &str, time: &str| json!({"manager": manager, "subresource": "status", "time": time});
        let theirs = |time| share("karmada-controller-manager", time);
        let ours = |time| share(managers::STATUS, time);
        let ready = |reason: &str| json!([{"type": "Ready", "status": "False", "reason": reason}]);
        for (shares, conditions, runs) in [
            (json!([theirs("2026-11-20T07:59:00Z")]), json!(null), true),
            (json!([theirs("2026-11-20T07:50:00Z")]), json!(null), false),
            (json!([theirs("2026-11-20T07:59:00Z"), ours("2026-11-20T07:59:05Z")]), ready("HandingBack"), false),
            (json!([theirs("2026-11-20T07:59:05Z"), ours("2026-11-20T07:59:00Z")]), ready("HandingBack"), true),
            (json!([ours("2026-11-20T07:59:05Z")]), ready(UPSTREAM), true),
            (json!([ours("2026-11-20T06:59:05Z")]), ready(UPSTREAM), false),
        ] {
            let object = json!({"metadata": {"managedFields": shares}, "status": {"conditions": conditions}});
            assert_eq!(upstream_wrote(&object, now), runs, "{object}");
        }
    }
}
