//! The form says what `fhpa plan` says, and writes nothing.

use serde_json::json;

use super::Stand;
use super::markup::Document;
use crate::cli::command::fhpa_with_input;

/// The token that the form has.
async fn token(stand: &Stand) -> String {
    let page = stand.get("/what-if").await.body;
    let document = Document::read(&page);
    let hidden = document.of(&["input"]).find(|input| input.attribute("name") == Some("form")).unwrap();
    hidden.attribute("value").unwrap().to_owned()
}

async fn submitted(stand: &Stand, manifest: &str) -> String {
    let mut form = form_urlencoded::Serializer::new(String::new());
    form.append_pair("form", &token(stand).await).append_pair("manifest", manifest);
    let answer = stand.browser.submit("/what-if", &form.finish()).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    answer.body
}

/// The text of the first element with this class.
fn block(page: &str, class: &str) -> Option<String> {
    let document = Document::read(page);
    document.of(&["pre"]).find(|element| element.attribute("class") == Some(class)).map(|element| element.text.clone())
}

/// What the command prints for the manifest.
pub async fn planned(stand: &Stand, manifest: &str) -> (i32, String) {
    let (kubeconfig, manifest) = (stand.desk.kubeconfig(), manifest.to_owned());
    let run = move || fhpa_with_input(&["plan", "--kubeconfig", &kubeconfig, "-"], manifest.as_bytes());
    let outcome = tokio::task::spawn_blocking(run).await.unwrap();
    (outcome.code, outcome.stdout)
}

/// The manifest that the form begins with.
async fn offered(stand: &Stand, object: &str) -> String {
    let page = stand.get(&format!("/what-if?object={object}")).await.body;
    let document = Document::read(&page);
    document.of(&["textarea"]).next().unwrap().text.clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_is_planned_as_by_the_command_and_nothing_is_written() {
    let stand = Stand::shop().await;
    let placed = json!({"spec": {"placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}}});
    let path = "/apis/work.karmada.io/v1alpha2/namespaces/shop/resourcebindings/web-deployment";
    assert_eq!(stand.desk.bed.patch("merge", path, &placed).await.code, 200);
    stand.page("/").await;
    let manifest = offered(&stand, "shop/web").await;
    assert!(manifest.contains("kind: FederatedHPA") && manifest.contains("maxReplicas: 14"), "{manifest}");
    let edited = manifest.replace("maxReplicas: 14", "maxReplicas: 20");
    let before = stand.desk.bed.server().store().version();
    let page = submitted(&stand, &edited).await;
    let (code, plan) = planned(&stand, &edited).await;
    assert_eq!((code, block(&page, "plan")), (0, Some(plan.clone())), "{:?}", block(&page, "findings"));
    assert!(plan.contains("FederatedHPA shop/web: Deployment web, 3..20"), "{plan}");
    assert!(page.contains("Differences from the bounds now"), "{page}");
    assert!(page.contains("kubectl apply -f FILE"), "{page}");
    assert_eq!(stand.desk.bed.server().store().version(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_would_be_refused_is_explained_as_by_the_command() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let edited = offered(&stand, "shop/web").await.replace("maxReplicas: 14", "maxReplicas: 2");
    let page = submitted(&stand, &edited).await;
    let (code, findings) = planned(&stand, &edited).await;
    assert_eq!(code, 1);
    let shown = block(&page, "findings").unwrap();
    assert_eq!(shown.replace("manifest", "<stdin>"), findings.replace("manifest", "<stdin>"));
    assert!(block(&page, "plan").is_none() && !page.contains("kubectl apply"), "{page}");
    assert!(page.contains("maxReplicas: 2"), "the edit stays in the form");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_objects_than_a_page_plans_are_counted_and_refused() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let one = offered(&stand, "shop/web").await;
    let many: String = (0..1000).map(|at| one.replace("name: web", &format!("name: web-{at}")) + "---\n").collect();
    let page = submitted(&stand, &many).await;
    let said = "the page plans at most 50 objects, not 1000: give fewer, or `fhpa plan FILE` with all of them";
    assert_eq!(block(&page, "findings").as_deref(), Some(said));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_manifest_gets_a_clear_answer() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    for (manifest, words) in [
        ("", "no FederatedHPA: give a file with one"),
        ("a: [", "manifest"),
        ("kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n", "no FederatedHPA: give a file with one"),
    ] {
        let page = submitted(&stand, manifest).await;
        let shown = block(&page, "findings").unwrap_or_else(|| panic!("{manifest:?}: {page}"));
        assert!(shown.contains(words), "{manifest:?}: {shown}");
    }
    assert_eq!(offered(&stand, "shop/none").await, "");
    assert_eq!(json!(offered(&stand, "%3C").await), json!(""));
}
