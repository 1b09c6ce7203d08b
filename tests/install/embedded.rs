//! On the embedded API server, with Karmada's own CRDs and webhooks.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::playground::karmada::customizations;
use serde_json::json;

use super::WebhookState;
use super::stand::Stand;
use crate::bed::Bed;
use crate::bed::webhook::Webhook;

impl Stand {
    async fn is_there(&self, path: &str) -> bool {
        self.bed.get(path).await.code == 200
    }

    /// Versions of everything that an installation writes.
    async fn versions(&self) -> Vec<String> {
        let mut versions = Vec::new();
        for path in WRITTEN {
            let list = self.get(path).await;
            versions.extend(
                list["items"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|item| format!("{} {}", item["metadata"]["name"], item["metadata"]["resourceVersion"])),
            );
        }
        versions
    }
}

const WRITTEN: [&str; 8] = [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/karmada-system/roles",
    "/apis/rbac.authorization.k8s.io/v1/namespaces/karmada-system/rolebindings",
    "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations",
];
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_karmada_is_brought_to_what_is_needed_and_a_second_run_changes_nothing() {
    let stand = Stand::with_webhooks().await;
    let before = stand.versions().await;
    let tried = stand.desk.install(&["--dry-run"]).await;
    assert_eq!((tried.code, stand.versions().await), (0, before), "a dry run stores nothing: {}", tried.stdout);
    let first = stand.desk.install(&[]).await;
    assert_eq!((first.code, &*first.stderr), (0, ""));
    insta::assert_snapshot!(first.stdout);
    let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/operations.md")).unwrap();
    assert!(guide.contains(&format!("```text\n{}```", first.stdout)), "the guide shows what is printed");
    let would = tried.stdout.replace(" (nothing was stored)", "");
    assert_eq!(would, first.stdout, "a dry run says what a run does");
    let installed = stand.versions().await;
    let second = stand.desk.install(&[]).await;
    assert!(second.stdout.contains("\n0 created, 0 changed, 13 unchanged, 2 not served\n"), "{}", second.stdout);
    assert_eq!(stand.versions().await, installed);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn karmadas_own_webhook_is_asked_no_more_and_after_the_removal_again() {
    let stand = Stand::new().await;
    let theirs = Webhook::start(|review| {
        (
            200,
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "response": {"uid": review["request"]["uid"], "allowed": true}}),
        )
    })
    .await;
    let rules = json!([{"operations": ["CREATE", "UPDATE"], "apiGroups": ["autoscaling.karmada.io"], "apiVersions": ["*"],
        "resources": ["federatedhpas"], "scope": "Namespaced"}]);
    let entry = theirs.entry("autoscaling.karmada.io", json!({"rules": rules, "failurePolicy": "Fail"}));
    let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "mutating-config"}, "webhooks": [entry]});
    stand.bed.server().create(&configuration).await.unwrap();
    let hpa = |name: &str| {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"}, "spec": {"maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
    };
    stand.bed.server().create(&hpa("one")).await.unwrap();
    assert_eq!(theirs.calls(), 1);
    // Ours is not registered here: nobody serves it.
    let installed = stand.desk.fhpa("install", &["--user", "fhpa", "--default-mode", "Centralized"]).await;
    assert!(installed.stdout.contains("The webhook is not registered"), "{}", installed.stdout);
    stand.bed.server().create(&hpa("two")).await.unwrap();
    assert_eq!(theirs.calls(), 1, "set aside");
    let removed = stand.desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!((removed.code, &*removed.stderr), (0, ""), "{}", removed.stdout);
    stand.bed.server().create(&hpa("three")).await.unwrap();
    assert_eq!(theirs.calls(), 2, "given back");
    assert_eq!(stand.get(&format!("{MUTATING}/mutating-config")).await["webhooks"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_leaves_definitions_and_objects_and_can_be_run_again() {
    let stand = Stand::with_webhooks().await;
    let installed = stand.desk.install(&[]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    let first = stand.desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!((first.code, &*first.stderr), (0, ""));
    insta::assert_snapshot!(first.stdout);
    let again = stand.desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!(again.code, 0, "{}", again.stdout);
    assert!(!again.stdout.contains("deleted"), "{}", again.stdout);
    let hpas = "/apis/autoscaling.karmada.io/v1alpha1/federatedhpas";
    assert!(stand.is_there(hpas).await);
    let with_crds = stand.desk.fhpa("uninstall", &["--yes", "--crds"]).await;
    assert_eq!(with_crds.code, 0, "{}", with_crds.stdout);
    assert!(!stand.is_there(hpas).await);
    assert_eq!(stand.desk.fhpa("uninstall", &["--yes"]).await.code, 0, "where nothing is left, nothing is to be done");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_leaves_what_another_installation_registered() {
    let stand = Stand::new().await;
    assert_eq!(stand.desk.install(&[]).await.code, 0);
    let before = stand.versions().await;
    let other = stand.desk.fhpa("uninstall", &["--yes", "--only-if-url", "https://fhpa.karmada-system.svc:44/"]).await;
    assert_eq!((other.code, stand.versions().await), (1, before), "{}", other.stdout);
    let said = "The webhook is registered with https://fhpa.karmada-system.svc:443/";
    assert!(other.stdout.starts_with(said), "{}", other.stdout);
    for _ in 0..2 {
        let own = ["--yes", "--only-if-url", "https://fhpa.karmada-system.svc:443/"];
        let removed = stand.desk.fhpa("uninstall", &own).await;
        assert_eq!((removed.code, &*removed.stderr), (0, ""), "{}", removed.stdout);
        assert!(!stand.is_there(&format!("{MUTATING}/fhpa")).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_that_ends_the_scaling_in_members_is_asked_for() {
    let stand = Stand::new().await;
    assert_eq!(stand.desk.install(&[]).await.code, 0);
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-member1"}});
    stand.bed.server().create(&space).await.unwrap();
    let work = json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work", "spec": {"workload": {"manifests": []}},
        "metadata": {"name": "web", "namespace": "karmada-es-member1", "labels": {"app.kubernetes.io/managed-by": "fhpa"}}});
    stand.bed.server().create(&work).await.unwrap();
    let asked = stand.desk.fhpa("uninstall", &[]).await;
    assert_eq!(asked.code, 1);
    let said = "This deletes 1 HPA in 1 member cluster and hands 0 workloads back to Karmada. Pods stay, and nothing";
    assert!(asked.stdout.starts_with(said) && asked.stdout.contains("Nothing was done"), "{}", asked.stdout);
    assert!(stand.is_there(&format!("{MUTATING}/fhpa")).await);
    let told = stand.desk.fhpa("uninstall", &["--dry-run"]).await;
    assert!(told.code == 0 && told.stdout.starts_with(said), "{}", told.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_reads_objects_page_by_page() {
    let stand = Stand::new().await;
    let counts = || {
        let faults = stand.bed.server().faults();
        ["federatedhpas", "cronfederatedhpas", "resourcebindings", "works"].map(|kind| faults.count("list", kind))
    };
    let removed = stand.desk.fhpa("uninstall", &["--dry-run"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stdout);
    let small = counts();
    for number in 0..1001 {
        let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": format!("b{number}"), "namespace": "prod",
                "annotations": {"fhpa.karmada.io/suspended-for": "web"}},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": format!("b{number}")}}});
        stand.bed.server().create(&binding).await.unwrap();
    }
    let removed = stand.desk.fhpa("uninstall", &["--dry-run"]).await;
    assert!(removed.stdout.contains("ResourceBindings  1001 suspended here"), "{}", removed.stdout);
    let large = counts().into_iter().zip(small).map(|(both, small)| both - 2 * small);
    assert_eq!(large.collect::<Vec<_>>(), [0, 0, 2 * small[2], 0], "three pages in place of one");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_webhook_is_not_registered_when_something_before_it_failed() {
    let stand = Stand::new().await;
    let said = "clusterroles.rbac.authorization.k8s.io is forbidden: User \"a\" cannot patch resource \"clusterroles\"";
    let which = Which { resource: "clusterroles".into(), verb: "patch".into(), ..Which::default() };
    stand.bed.server().faults().fail(which, 1, StatusError::plain(403, "Forbidden", said));
    let outcome = stand.desk.install(&[]).await;
    assert_eq!(outcome.code, 1);
    assert!(
        outcome.stdout.contains("ClusterRole fhpa  failed: the user of the kubeconfig may not patch"),
        "{}",
        outcome.stdout
    );
    assert!(outcome.stdout.contains("not applied: something before it failed"), "{}", outcome.stdout);
    assert!(!stand.is_there(&format!("{MUTATING}/fhpa")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_roles_come_alone_and_are_those_of_the_whole_installation() {
    let stand = Stand::new().await;
    // Nobody has said yet what objects without a mode become.
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    stand.bed.server().create(&hpa).await.unwrap();
    let roles = ["--only-roles", "--user", "fhpa", "--scale-kind", "argoproj.io/rollouts", "--manage-karmada=false"];
    let first = stand.desk.fhpa("install", &roles).await;
    assert_eq!((first.code, &*first.stderr), (0, ""), "{}", first.stdout);
    assert!(first.stdout.ends_with("\n4 created, 0 changed, 0 unchanged\n"), "{}", first.stdout);
    let rules = stand.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/fhpa").await["rules"].clone();
    let whole = ["--scale-kind", "argoproj.io/rollouts", "--default-mode", "Centralized"];
    let whole = stand.desk.install(&whole).await;
    assert!(whole.stdout.contains("ClusterRole fhpa  unchanged"), "{}", whole.stdout);
    assert_eq!(stand.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/fhpa").await["rules"], rules);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_karmada_has_too_is_left_when_so_told() {
    let stand = Stand::with_webhooks().await;
    let outcome = stand.desk.install(&["--manage-karmada=false"]).await;
    let lacks = "CustomResourceDefinition federatedhpas.autoscaling.karmada.io  failed: left as Karmada has it \
                 (--manage-karmada=false), it lacks ";
    assert!(outcome.code == 1 && outcome.stdout.contains(lacks), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("run the same with --manage-karmada=true once"), "{}", outcome.stdout);
    let entries = stand.get(&format!("{MUTATING}/mutating-config")).await;
    assert!(!entries.to_string().contains("objectSelector\":{\"match"), "{entries}");
    assert!(stand.is_there(&format!("{MUTATING}/fhpa")).await);
    // Somebody else has brought the fields.
    assert_eq!(stand.desk.install(&[]).await.code, 0);
    let outcome = stand.desk.install(&["--manage-karmada=false"]).await;
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_karmada_it_says_so() {
    let desk = WebhookState::new("apiVersion: v1\nkind: Config\nclusters: []\n");
    let outcome = desk.install(&[]).await;
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.starts_with("fhpa install: kubeconfig: "), "{}", outcome.stderr);
    let bare = Bed::embedded();
    let listening = bare.listen().await;
    let desk = WebhookState::new(&listening.kubeconfig("host"));
    let said = "the API server is not that of Karmada: it does not serve Works and ResourceBindings; give the kubeconfig of \
                karmada-apiserver, not that of the host cluster\n";
    for more in [&[][..], &["--dry-run"], &["--only-roles"]] {
        let more: Vec<&str> = [&["--user", "fhpa"], more].concat();
        let outcome = desk.fhpa("install", &more).await;
        assert_eq!((outcome.code, &*outcome.stdout), (2, ""));
        assert_eq!(outcome.stderr, format!("fhpa install: nothing was done: {said}"));
    }
    for path in &WRITTEN[..7] {
        let stored = bare.get(path).await.body;
        assert_eq!(stored["items"].as_array().map_or(0, Vec::len), 0, "{path}: {stored}");
    }
    for more in [&["--yes"][..], &["--dry-run"]] {
        let outcome = desk.fhpa("uninstall", more).await;
        assert_eq!((outcome.code, outcome.stdout), (1, format!("Nothing was done: {said}")));
    }
    for more in [&["--yes"][..], &["--dry-run"]] {
        let outcome = desk.fhpa("recover", more).await;
        assert_eq!((outcome.code, outcome.stdout), (1, format!("Nothing was written: {said}")));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_discovery_that_fails_is_not_taken_for_another_api_server() {
    let stand = Stand::new().await;
    let forbidden = || StatusError::plain(403, "Forbidden", "forbidden: User \"a\" cannot get path \"/apis\"");
    let discovery = Which { resource: "/apis".into(), ..Which::default() };
    stand.bed.server().faults().fail(discovery, usize::MAX, forbidden());
    let installed = stand.desk.install(&[]).await;
    assert_eq!(installed.code, 0, "{}{}", installed.stdout, installed.stderr);
    let removed = stand.desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_removal_works_where_the_definitions_of_karmada_are_half_gone() {
    const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let stand = Stand::new().await;
    assert_eq!(stand.desk.install(&[]).await.code, 0);
    for gone in ["works.work.karmada.io", "resourcebindings.work.karmada.io"] {
        assert_eq!(stand.bed.delete(&format!("{CRDS}/{gone}"), &json!({})).await.code, 200, "{gone}");
    }
    let removed = stand.desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stdout);
    assert!(!stand.is_there(&format!("{MUTATING}/fhpa")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_of_the_lease_that_is_missing_is_named() {
    let stand = Stand::new().await;
    let outcome = stand.desk.install(&["--lease-namespace", "nosuch"]).await;
    let said = "Role fhpa  failed: namespace nosuch does not exist, and Role fhpa would be in it: create it, or choose \
                another one with --lease-namespace\n";
    assert!(outcome.code == 1 && outcome.stdout.contains(said), "{}", outcome.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customization_of_somebody_else_is_left_and_keeps_nothing_from_being_installed() {
    let stand = Stand::new().await;
    stand.bed.server().admit_by("resourceinterpretercustomizations", &customizations::webhook());
    let theirs = json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "theirs"}, "spec": {"target": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
        "customizations": {"statusReflection": {"luaScript": "function ReflectStatus(o) return o.status end"}}}});
    stand.bed.server().create(&theirs).await.unwrap();
    let outcome = stand.desk.install(&[]).await;
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
    let left = "ResourceInterpreterCustomization fhpa-horizontalpodautoscaler-v2  left to another customization: ";
    let line =
        outcome.stdout.lines().find(|line| line.starts_with(left)).unwrap_or_else(|| panic!("{}", outcome.stdout));
    assert!(
        line.contains("InterpreterOperation(InterpretStatus) of existing ResourceInterpreterCustomization(theirs)"),
        "{line}"
    );
    assert!(stand.is_there(&format!("{MUTATING}/fhpa")).await, "the webhook is registered");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_keep_the_replicas_of_a_kind_that_is_named_and_of_no_other() {
    const CUSTOMIZATIONS: &str = "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations";
    let stand = Stand::new().await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "stores.shop.example.com"}, "spec": {"group": "shop.example.com", "scope": "Namespaced",
        "names": {"plural": "stores", "singular": "store", "kind": "Store", "listKind": "StoreList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": any, "status": any}}},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.size.count", "statusReplicasPath": ".status.count"}}}]}});
    stand.bed.server().create(&definition).await.unwrap();
    let kinds = ["shop.example.com/stores", "batch/jobs", "nowhere.example.com/things"];
    let arguments: Vec<String> = kinds.iter().map(|kind| format!("--scale-kind={kind}")).collect();
    let outcome = stand.desk.install(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(outcome.code, 1, "{}", outcome.stdout);
    assert!(
        outcome.stdout.contains("--scale-kind  failed: batch/jobs cannot be scaled: Karmada retains fields"),
        "{}",
        outcome.stdout
    );
    assert!(
        outcome.stdout.contains("failed: nowhere.example.com/things cannot be scaled: the API server"),
        "{}",
        outcome.stdout
    );
    let store = stand.get(&format!("{CUSTOMIZATIONS}/fhpa-store-shop.example.com-v1")).await;
    let script = store["spec"]["customizations"]["retention"]["luaScript"].as_str().unwrap();
    assert!(script.contains("desiredObj.spec.size.count = observedObj.spec.size.count"), "{script}");
    assert_eq!(stand.get(CUSTOMIZATIONS).await["items"].as_array().unwrap().len(), 4);
    assert!(stand.is_there(&format!("{MUTATING}/fhpa")).await, "the webhook is registered");
    let removed = stand.desk.fhpa("uninstall", &["--yes"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stdout);
    assert!(stand.get(CUSTOMIZATIONS).await["items"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn doctor_and_a_removal_find_a_binding_that_was_suspended_for_nobody() {
    const BINDINGS: &str = "/apis/work.karmada.io/v1alpha2/namespaces/prod/resourcebindings";
    let stand = Stand::new().await;
    stand.bed.server().create(&crate::bed::objects::deployment("web", 2)).await.unwrap();
    let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "prod", "annotations": {"fhpa.karmada.io/suspended-for": "web"}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": "web"},
            "placement": {}, "suspension": {"scheduling": true}}});
    stand.bed.server().create(&binding).await.unwrap();
    let (code, _, found) = super::doctor::found(&stand.desk).await;
    let finding = super::doctor::of(&found, "suspended bindings");
    assert_eq!((code, &finding["state"]), (1, &json!("fail")));
    assert_eq!(
        finding["seen"],
        "no FederatedHPA acts on prod/web-deployment (for web), and karmada-scheduler is suspended for them"
    );
    let removed = stand.desk.fhpa("uninstall", &["--yes", "--timeout", "60s"]).await;
    assert_eq!(removed.code, 0, "{}", removed.stdout);
    let given_back = stand.get(&format!("{BINDINGS}/web-deployment")).await;
    assert_ne!(given_back["spec"]["suspension"]["scheduling"], true);
    assert!(
        given_back["metadata"].get("annotations").is_none_or(|all| all.get("fhpa.karmada.io/suspended-for").is_none())
    );
    let (_, _, found) = super::doctor::found(&stand.desk).await;
    assert_eq!(super::doctor::of(&found, "suspended bindings")["state"], "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_karmada_ran_are_asked_for_before_anything_is_written() {
    let stand = Stand::new().await;
    let hpa = |name: String| {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"}, "spec": {"maxReplicas": 3,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
    };
    for at in 0..12 {
        stand.bed.server().create(&hpa(format!("web{at:02}"))).await.unwrap();
    }
    let (before, mut question) = (stand.versions().await, String::new());
    for more in [&[][..], &["--dry-run"]] {
        let asked = stand.desk.fhpa("install", more).await;
        assert_eq!((asked.code, &*asked.stdout, stand.versions().await), (2, "", before.clone()));
        question = asked.stderr;
    }
    insta::assert_snapshot!(question, @r"
        fhpa install: 12 FederatedHPAs are stored without spec.mode: prod/web00, prod/web01, prod/web02, prod/web03, prod/web04, prod/web05, prod/web06, prod/web07, prod/web08, prod/web09 and 2 more
        Karmada ran them as Centralized. Nothing was changed. Say what they become, and start the processes with the same:
          --default-mode Centralized  (chart: rules.defaultMode=Centralized)  keeps what Karmada ran
          --default-mode Distributed  (chart: rules.defaultMode=Distributed)  gives each member cluster an HPA of its own
        ");
    let kept = stand.desk.fhpa("install", &["--default-mode", "centralized"]).await;
    assert_eq!(kept.code, 0, "{}{}", kept.stdout, kept.stderr);
    // The leader writes the answer into the objects: then an upgrade does not ask again.
    let mode = json!({"spec": {"mode": "Centralized"}});
    for at in 0..12 {
        let path = format!("/apis/autoscaling.karmada.io/v1alpha1/namespaces/prod/federatedhpas/web{at:02}");
        assert_eq!(stand.bed.patch("merge", &path, &mode).await.code, 200);
    }
    assert_eq!(stand.desk.fhpa("install", &[]).await.code, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_an_uninstallation_reserved_is_free_while_the_question_is_open() {
    let stand = Stand::new().await;
    let undecided = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    stand.bed.server().create(&undecided).await.unwrap();
    let reserved = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "fhpa", "namespace": "karmada-system"},
        "spec": {"holderIdentity": "fhpa-uninstall", "leaseDurationSeconds": i32::MAX}});
    stand.bed.server().create(&reserved).await.unwrap();
    let lease = "/apis/coordination.k8s.io/v1/namespaces/karmada-system/leases/fhpa";
    let asked = stand.desk.fhpa("install", &["--dry-run"]).await;
    assert_eq!((asked.code, &*asked.stdout), (2, ""));
    assert_eq!(stand.get(lease).await["spec"]["holderIdentity"], "fhpa-uninstall");
    let asked = stand.desk.fhpa("install", &[]).await;
    let freed = "Lease fhpa  freed: an uninstallation had reserved it\n";
    assert_eq!((asked.code, &*asked.stdout), (2, freed), "{}", asked.stderr);
    assert_eq!(stand.get(lease).await["spec"]["holderIdentity"], "");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_of_the_definitions_that_is_no_longer_wanted_goes() {
    let stand = Stand::new().await;
    // As an API server does that is new enough.
    for (kind, plural) in [("Policy", "policies"), ("PolicyBinding", "policybindings")] {
        let (kind, plural) = (format!("MutatingAdmission{kind}"), format!("mutatingadmission{plural}"));
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": open}});
        let served = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.admissionregistration.k8s.io")},
            "spec": {"group": "admissionregistration.k8s.io", "scope": "Cluster", "versions": [version],
                "names": {"kind": kind, "plural": plural}}});
        stand.bed.server().create(&served).await.unwrap();
    }
    assert_eq!(stand.desk.install(&[]).await.code, 0);
    let policies = ["policies", "policybindings"]
        .map(|plural| format!("/apis/admissionregistration.k8s.io/v1/mutatingadmission{plural}/fhpa"));
    for path in &policies {
        assert!(stand.is_there(path).await, "{path}");
    }
    let told = stand.desk.install(&["--guard-definitions=false", "--dry-run"]).await;
    assert!(told.code == 0 && told.stdout.contains("would be deleted: --guard-definitions=false"), "{}", told.stdout);
    assert!(stand.is_there(&policies[0]).await);
    let installed = stand.desk.install(&["--guard-definitions=false"]).await;
    assert_eq!(installed.code, 0, "{}", installed.stdout);
    for path in &policies {
        assert!(!stand.is_there(path).await, "{path}");
    }
    let again = stand.desk.install(&["--guard-definitions=false"]).await;
    assert!(again.code == 0 && !again.stdout.contains("deleted"), "{}", again.stdout);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_that_cannot_be_listed_keep_the_question_open() {
    let stand = Stand::new().await;
    let which = Which { resource: "federatedhpas".into(), verb: "list".into(), ..Which::default() };
    let said = "federatedhpas.autoscaling.karmada.io is forbidden: User \"a\" cannot list resource \"federatedhpas\"";
    stand.bed.server().faults().fail(which, 1, StatusError::plain(403, "Forbidden", said));
    let refused = stand.desk.install(&[]).await;
    assert_eq!((refused.code, &*refused.stdout), (2, ""));
    assert!(refused.stderr.contains("with --default-mode MODE it is not asked for"), "{}", refused.stderr);
}
