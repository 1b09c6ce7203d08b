//! The members of a review in any order, twice or not at all: the answer is that to kube-apiserver's order.

use fhpa::admission::endpoint::Endpoint;
use proptest::prelude::{Just, Strategy, prop, proptest};

use super::smoke::review_decoder::{answer, answer_apart};

const HPA: &str = r#"{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"FederatedHPA","metadata":{"name":"web","namespace":"prod"},
    "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":10}}"#;
const CRON: &str = r#"{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"CronFederatedHPA","metadata":{"name":"web","namespace":"prod"},
    "spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
    "rules":[{"name":"up","schedule":"0 8 * * *","targetReplicas":5},{"name":"down","schedule":"0 8 * * *","targetReplicas":2}]}}"#;
const BINDING: &str = r#"{"apiVersion":"work.karmada.io/v1alpha2","kind":"ResourceBinding","metadata":{"name":"web"},
    "spec":{"resource":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"prod","name":"web"}}}"#;

/// Sound objects, and objects with errors of each kind.
fn objects() -> Vec<String> {
    let sound = [HPA, CRON, BINDING].map(str::to_owned);
    let edits = [
        (HPA, "10", "0"),
        (HPA, "10", r#""ten""#),
        (HPA, r#","maxReplicas":10"#, r#","maxReplicas":10,"mode":"Centralized","behavior":{"scaleUp":{}}"#),
        (HPA, r#","name":"web"},"max"#, r#","nam":"web"},"max"#),
        (HPA, "v1alpha1", "v1"),
        (CRON, "0 8", "0 25"),
        (CRON, "5}", "[]}"),
        (CRON, "Deployment", "FederatedHPA"),
    ];
    let edited = edits.into_iter().map(|(text, from, to)| {
        assert!(text.contains(from), "{from}");
        text.replacen(from, to, 1)
    });
    sound.into_iter().chain(edited).chain(["null", "[]", "7", "{}"].map(str::to_owned)).collect()
}

/// The members of a request in kube-apiserver's order.
fn members(operation: &str, object: &str, stored: &str) -> Vec<String> {
    vec![
        r#""uid":"u-1""#.to_owned(),
        r#""kind":{"group":"autoscaling.karmada.io","version":"v1alpha1","kind":"FederatedHPA"}"#.to_owned(),
        r#""name":"web""#.to_owned(),
        r#""namespace":"prod""#.to_owned(),
        format!(r#""operation":"{operation}""#),
        r#""userInfo":{"username":"admin","groups":["a","b"]}"#.to_owned(),
        format!(r#""object":{object}"#),
        format!(r#""oldObject":{stored}"#),
        r#""dryRun":false"#.to_owned(),
        r#""options":null"#.to_owned(),
    ]
}

fn review(members: &[String], separator: &str) -> Vec<u8> {
    let request = members.join(separator);
    format!(r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{{request}}}}}"#).into_bytes()
}

/// The answer, which is the same whether the objects are decoded in their place or apart.
fn answered(endpoint: Endpoint, body: &[u8]) -> Vec<u8> {
    let answer = answer(endpoint, body);
    assert_eq!(answer, answer_apart(endpoint, body), "{}", String::from_utf8_lossy(body));
    answer.to_vec()
}

proptest! {
    #[test]
    fn the_order_of_the_members_changes_no_answer(
        endpoint in prop::sample::select(Endpoint::ALL.to_vec()),
        operation in prop::sample::select(vec!["CREATE", "UPDATE", "DELETE", "CONNECT", "OTHER"]),
        object in prop::sample::select(objects()),
        stored in prop::sample::select(objects()),
        order in Just((0..10).collect::<Vec<usize>>()).prop_shuffle(),
        separator in prop::sample::select(vec![",", " , ", "\n,\t", ",\r\n  "]),
    ) {
        let usual = members(operation, &object, &stored);
        let shuffled: Vec<String> = order.into_iter().map(|index| usual[index].clone()).collect();
        assert_eq!(answered(endpoint, &review(&shuffled, separator)), answered(endpoint, &review(&usual, ",")));
    }
}

#[test]
fn of_doubled_members_the_last_counts() {
    for endpoint in Endpoint::ALL {
        for first in objects() {
            for second in objects() {
                let mut doubled = members("UPDATE", &second, HPA);
                doubled.insert(6, format!(r#""object":{first}"#));
                doubled.insert(7, format!(r#""oldObject":{first}"#));
                let alone = members("UPDATE", &second, HPA);
                assert_eq!(answered(endpoint, &review(&doubled, ",")), answered(endpoint, &review(&alone, ",")));
            }
        }
    }
}

#[test]
fn an_operation_that_comes_twice_or_late_decides_what_is_done_with_the_stored_object() {
    for endpoint in Endpoint::ALL {
        for (first, last) in [("UPDATE", "CREATE"), ("CREATE", "UPDATE"), ("UPDATE", "DELETE")] {
            let alone = members(last, HPA, CRON);
            let mut twice = members(first, HPA, CRON);
            twice.push(format!(r#""operation":"{last}""#));
            assert_eq!(answered(endpoint, &review(&twice, ",")), answered(endpoint, &review(&alone, ",")));
        }
    }
}

#[test]
fn a_name_in_escapes_is_the_same_member() {
    for endpoint in Endpoint::ALL {
        for object in objects() {
            let usual = members("UPDATE", &object, HPA);
            let answer = answered(endpoint, &review(&usual, ","));
            for (plain, escaped) in [
                (r#""object""#, r#""\u006fbject""#),
                (r#""oldObject""#, r#""oldO\u0062ject""#),
                (r#""dryRun""#, r#""dry\u0052un""#),
            ] {
                let names: Vec<String> = usual.iter().map(|member| member.replacen(plain, escaped, 1)).collect();
                assert_eq!(answered(endpoint, &review(&names, ",")), answer);
            }
        }
    }
}

#[test]
fn a_review_without_an_object_is_one_of_null() {
    for endpoint in Endpoint::ALL {
        for operation in ["CREATE", "UPDATE", "DELETE"] {
            let mut absent = members(operation, "null", HPA);
            let null = answered(endpoint, &review(&absent, ","));
            absent.retain(|member| !member.starts_with(r#""object""#));
            assert_eq!(answered(endpoint, &review(&absent, ",")), null);
            absent.retain(|member| !member.starts_with(r#""oldObject""#));
            answered(endpoint, &review(&absent, ","));
        }
    }
}

#[test]
fn an_object_nests_as_deep_around_as_apart() {
    for depth in [100, 120, 123, 124, 125, 126, 127, 128, 129, 200, 10_000] {
        let deep = format!("{}{}", r#"{"a":"#.repeat(depth), "1".to_owned() + &"}".repeat(depth));
        let lists = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for value in [deep, lists] {
            for place in ["metadata", "spec", "status", "other"] {
                let object = HPA.replacen(r#""metadata""#, &format!(r#""{place}":{value},"metadata""#), 1);
                for endpoint in Endpoint::ALL {
                    answered(endpoint, &review(&members("UPDATE", &object, &object), ","));
                }
            }
        }
    }
}

#[test]
fn an_object_that_is_cut_off_or_followed_by_more_is_refused_in_the_same_words() {
    let whole = review(&members("UPDATE", HPA, HPA), ",");
    for end in 0..whole.len() {
        answered(Endpoint::MutateFederatedHPA, &whole[..end]);
    }
    for tail in ["}", ",", "null", " ", "x"] {
        answered(Endpoint::ValidateFederatedHPA, &[&whole[..], tail.as_bytes()].concat());
    }
}
