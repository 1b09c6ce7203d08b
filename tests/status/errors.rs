//! What cannot be read, and what to do about it.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;

use super::{Desk, upstream};
use crate::cli::command::fhpa;
use crate::cli::output::on_a_full_disk;

pub fn forbid(desk: &Desk, verb: &str, resource: &str) {
    let which = Which { verb: verb.into(), resource: resource.into(), ..Which::default() };
    let said = format!("{resource} is forbidden: User \"a\" cannot {verb} resource \"{resource}\"");
    desk.bed.server().faults().fail(which, usize::MAX, StatusError::plain(403, "Forbidden", &said));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_read_is_said_at_the_end_and_the_rest_is_shown() {
    let desk = Desk::with_shop().await;
    forbid(&desk, "get", "resourcebindings");
    forbid(&desk, "list", "events");
    forbid(&desk, "list", "clusters");
    let shown = desk.shown(&["web", "-n", "shop"]).await;
    let end =
        "\ncannot get resourcebindings: forbidden\ncannot list clusters: forbidden\ncannot list events: forbidden\n";
    assert!(shown.ends_with(end), "{shown}");
    let row = shown.lines().find(|line| line.starts_with("member2")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().take(7).collect();
    assert_eq!(cells, ["member2", "1", "4", "4", "-", "-", "4"], "replicas as its HPA reports them");
    forbid(&desk, "list", "cronfederatedhpas");
    let all = desk.shown(&["-n", "shop"]).await;
    assert!(
        all.contains("2 FederatedHPAs, 1 ready, 1 at its max\ncannot list cronfederatedhpas: forbidden\n"),
        "{all}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_rights_is_told_which_and_to_name_a_namespace() {
    let desk = Desk::with_shop().await;
    forbid(&desk, "list", "federatedhpas");
    let crons = desk.status(&["-A"]).await;
    assert_eq!(crons.code, 0, "what may be read is shown");
    assert!(crons.stdout.ends_with("cannot list federatedhpas: forbidden\n"), "{}", crons.stdout);
    forbid(&desk, "list", "cronfederatedhpas");
    let all = desk.status(&["-A"]).await;
    let said = "fhpa status: the user of the kubeconfig may not list federatedhpas in all namespaces: allow it the verb \
                \"list\" on \"federatedhpas\" in API group \"autoscaling.karmada.io\"";
    assert!(all.stderr.starts_with(said) && all.stderr.ends_with("; or name a namespace with -n\n"), "{}", all.stderr);
    assert_eq!((all.code, &*all.stdout), (1, ""));
    forbid(&desk, "get", "federatedhpas");
    let one = desk.status(&["web", "-n", "shop"]).await;
    assert_eq!((one.code, one.stderr.contains("may not get federatedhpas shop/web")), (1, true), "{}", one.stderr);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_another_namespace_is_found_where_that_is_allowed() {
    let desk = Desk::with_shop().await;
    let lost = desk.status(&["web", "-n", "other"]).await;
    let said = "fhpa status: there is no FederatedHPA web in namespace other";
    assert_eq!((lost.code, &*lost.stdout), (1, ""));
    assert_eq!(lost.stderr, format!("{said}; one of that name is in shop: fhpa status web -n shop\n"));
    forbid(&desk, "list", "federatedhpas");
    assert_eq!(desk.status(&["web", "-n", "other"]).await.stderr, format!("{said}\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_is_named_with_its_namespace_as_others_print_it() {
    let desk = Desk::with_shop().await;
    let shown = desk.shown(&["shop/web"]).await;
    assert!(shown.starts_with("FederatedHPA shop/web: "), "{shown}");
    let lost = desk.status(&["federatedhpa/web"]).await;
    let said = "fhpa status: there is no FederatedHPA web in namespace federatedhpa; one of that name is in shop: fhpa status \
                web -n shop\n";
    assert_eq!((lost.code, &*lost.stderr), (1, said));
    let twice = desk.status(&["shop/web", "-n", "shop"]).await;
    assert!(twice.code == 2 && twice.stderr.contains("the namespace is given twice"), "{}", twice.stderr);
    for wrong in [&["web?watch=1"][..], &["a/b/c"], &["-n", "a/b"], &["web", "-n", "../x"]] {
        let refused = desk.status(wrong).await;
        assert!(refused.code == 2 && refused.stderr.contains("RFC 1123"), "{wrong:?}: {}", refused.stderr);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_of_a_cron_federated_hpa_is_told_apart() {
    let desk = Desk::with_shop().await;
    let all: serde_json::Value = serde_json::from_str(&desk.shown(&["-n", "shop", "-o", "json"]).await).unwrap();
    let name = all["cronFederatedHPAs"][0]["name"].as_str().unwrap();
    let lost = desk.status(&[name, "-n", "shop"]).await;
    let said = format!(
        "fhpa status: there is no FederatedHPA {name} in namespace shop; a CronFederatedHPA has that name: fhpa status -n shop\n"
    );
    assert_eq!((lost.code, lost.stderr), (1, said));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_written_is_told() {
    let desk = Desk::with_shop().await;
    for arguments in [&["status", "-A"][..], &["status", "-A", "-o", "json"], &["doctor"]] {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let arguments = [arguments, vec!["--kubeconfig".to_owned(), desk.kubeconfig()]].concat();
        let run = move || on_a_full_disk(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        let (code, said) = tokio::task::spawn_blocking(run).await.unwrap();
        assert!(code == 2 && said.contains("standard output: No space left on device"), "{code} {said}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_the_kinds_and_one_that_is_away_are_told_apart() {
    let desk = Desk::bare().await;
    let said = "fhpa status: the API server does not serve FederatedHPAs: give the kubeconfig of karmada-apiserver; if \
                this is the one, run `fhpa install`\n";
    for more in [&[][..], &["web"]] {
        let outcome = desk.status(more).await;
        assert_eq!((outcome.code, &*outcome.stderr), (1, said));
    }
    let kubeconfig = desk.kubeconfig();
    let text = std::fs::read_to_string(&kubeconfig).unwrap();
    let at = text.find("127.0.0.1:").unwrap();
    let port: String = text[at + 10..].chars().take_while(char::is_ascii_digit).collect();
    std::fs::write(&kubeconfig, text.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:1")).unwrap();
    let away = desk.status(&[]).await;
    assert_eq!((away.code, &*away.stdout), (1, ""));
    assert!(away.stderr.contains("could not be reached to list federatedhpas"), "{}", away.stderr);
    assert!(away.stderr.ends_with("is karmada-apiserver up, and does the kubeconfig lead there?\n"), "{}", away.stderr);
}

#[test]
fn arguments_that_contradict_each_other_and_a_kubeconfig_that_is_not_there_are_refused() {
    for words in [&["web", "-A"][..], &["-A", "-n", "shop"], &["--all-clusters"], &["--kubeconfig", "/nowhere"]] {
        let outcome = fhpa(&[&["status"], words].concat());
        assert_eq!((outcome.code, &*outcome.stdout, outcome.stderr.is_empty()), (2, "", false), "{words:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_a_karmada_without_fhpa_are_shown_as_they_are() {
    let desk = Desk::bare().await;
    for definition in upstream() {
        desk.create(&definition).await;
    }
    let space = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    desk.create(&space).await;
    desk.create(&super::objects::hpa("web", serde_json::json!({}), serde_json::Value::Null)).await;
    let shown = desk.shown(&["-n", "shop"]).await;
    let row = shown.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(row, ["web", "-", "Deployment/web", "3..14", "-", "-", "Unknown", "-", "-"]);
    let one = desk.shown(&["web", "-n", "shop"]).await;
    assert!(one.contains("Waiting for\n  SpecNotObserved: the controller has not answered"), "{one}");
    assert!(one.contains("cannot get resourcebindings: not served"), "{one}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_cannot_be_decoded_is_counted_and_hides_no_other() {
    let desk = Desk::bare().await;
    for mut definition in upstream() {
        let open = serde_json::json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = open;
        desk.create(&definition).await;
    }
    desk.create(&serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})).await;
    for (name, max) in [("web", serde_json::json!(3)), ("odd", "many".into())] {
        let hpa = super::objects::hpa(name, serde_json::json!({"maxReplicas": max}), serde_json::Value::Null);
        desk.create(&hpa).await;
    }
    let shown = desk.shown(&["-n", "shop"]).await;
    let end = "1 FederatedHPA, 0 ready\ncannot decode federatedhpas: 1 of them\n";
    assert!(shown.ends_with(end), "{shown}");
}
