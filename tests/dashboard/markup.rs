//! Pages are well-formed, can be used without a mouse and by a screen reader, and escape what comes from the cluster.

use std::collections::BTreeSet;

use html5ever::parse_document;
use html5ever::tendril::TendrilSink as _;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use serde_json::json;

use super::Stand;
use crate::status::Desk;
use crate::status::objects::{ago, cluster, condition, event, hours, hpa};
use crate::structure::sources::program;

/// An element with its attributes and the text in it.
#[derive(Clone, Debug)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
    /// Names of the elements around it.
    pub within: Vec<String>,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A parsed page.
pub struct Document {
    elements: Vec<Element>,
    pub errors: Vec<String>,
}

impl Document {
    pub fn read(page: &str) -> Self {
        let dom = parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(page);
        let mut elements = Vec::new();
        collect(&dom.document, &mut Vec::new(), &mut elements);
        let errors = dom.errors.borrow().iter().map(ToString::to_string).collect();
        Self { elements, errors }
    }

    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    pub fn of<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Element> {
        self.elements.iter().filter(|element| names.contains(&&*element.name))
    }
}

fn text(node: &Handle) -> String {
    let own = match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => String::new(),
    };
    node.children.borrow().iter().fold(own, |all, child| all + &text(child))
}

fn collect(node: &Handle, within: &mut Vec<String>, found: &mut Vec<Element>) {
    let element = if let NodeData::Element { name, attrs, .. } = &node.data { Some((name, attrs)) } else { None };
    if let Some((name, attrs)) = element {
        let attributes = attrs.borrow();
        let attributes = attributes.iter().map(|one| (one.name.local.to_string(), one.value.to_string())).collect();
        let name = name.local.to_string();
        found.push(Element { name: name.clone(), attributes, text: text(node), within: within.clone() });
        within.push(name);
    }
    for child in node.children.borrow().iter() {
        collect(child, within, found);
    }
    if element.is_some() {
        within.pop();
    }
}

/// What is wrong with a page.
fn faults(page: &str) -> Vec<String> {
    let document = Document::read(page);
    let mut faults = document.errors.clone();
    let ids: Vec<&str> = document.elements().iter().filter_map(|element| element.attribute("id")).collect();
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    if known.len() != ids.len() {
        faults.push(format!("ids are not unique: {ids:?}"));
    }
    // A drawing has titles of its own.
    let count = |name: &str| {
        document.elements().iter().filter(|one| one.name == name && !one.within.contains(&"svg".to_owned())).count()
    };
    for (name, wanted) in [("h1", 1), ("main", 1), ("header", 1), ("footer", 1), ("title", 1)] {
        if count(name) != wanted {
            faults.push(format!("{} elements {name}", count(name)));
        }
    }
    let mut level = 1;
    for heading in document.of(&["h1", "h2", "h3", "h4"]) {
        let next: u32 = heading.name[1..].parse().unwrap();
        if next > level + 1 || heading.text.trim().is_empty() {
            faults.push(format!("heading {} {:?} after level {level}", heading.name, heading.text));
        }
        level = next;
    }
    for element in document.elements() {
        faults.extend(of_element(element, &document, &known));
    }
    faults
}

fn of_element(element: &Element, document: &Document, ids: &BTreeSet<&str>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |what: &str| faults.push(format!("{what}: {element:?}"));
    for (name, value) in &element.attributes {
        match name.as_str() {
            "style" => fault("a style that the policy forbids"),
            handler if handler.starts_with("on") => fault("a handler that the policy forbids"),
            "href" | "src" | "action" if !value.starts_with('/') && !value.starts_with('#') => fault("leads elsewhere"),
            "href" if value.starts_with("//") => fault("leads elsewhere"),
            "aria-labelledby" | "for" if !ids.contains(&**value) => fault("refers to nothing"),
            _ => {}
        }
    }
    let named = element.attribute("aria-label").or(element.attribute("aria-labelledby")).is_some();
    let labels = |id: &str| document.of(&["label"]).any(|label| label.attribute("for") == Some(id));
    match element.name.as_str() {
        "script" | "style" if !element.text.is_empty() => fault("a script or style that the policy forbids"),
        "input" if element.attribute("type") == Some("hidden") => {}
        "input" | "select" | "textarea" => {
            let labelled = element.within.contains(&"label".to_owned()) || element.attribute("id").is_some_and(labels);
            if !labelled {
                fault("a field without a label");
            }
        }
        "nav" | "section" | "svg" | "meter" if !named => fault("it has no name"),
        "a" | "button" if element.text.trim().is_empty() => fault("nothing to read"),
        "th" if element.attribute("scope").is_none() => fault("a heading of what?"),
        "html" if element.attribute("lang").is_none() => fault("no language"),
        _ => {}
    }
    faults
}

const PATHS: &[&str] = &[
    "/",
    "/?q=web&state=attention&sort=pressure",
    "/objects/shop/web",
    "/objects/shop/api",
    "/objects/shop/none",
    "/clusters",
    "/clusters/member2",
    "/cron",
    "/cron/shop/hours",
    "/doctor",
    "/drill",
    "/what-if",
    "/what-if?object=shop/web",
];

/// Names of two words or more of types that are no objects of an API.
fn names_of_types() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for source in program() {
        let path = source.path.to_str().unwrap();
        if path.starts_with("api/") || path.starts_with("decision/src/subject/") {
            continue;
        }
        for (_, line) in source.code() {
            let declared = ["struct ", "enum ", "trait "].iter().find_map(|kind| line.split_once(kind));
            let Some((before, after)) = declared else { continue };
            let name: String = after.chars().take_while(|one| one.is_ascii_alphanumeric()).collect();
            let words =
                name.as_bytes().windows(2).filter(|two| two[0].is_ascii_lowercase() && two[1].is_ascii_uppercase());
            let is_item = before.trim().is_empty() || before.trim().starts_with("pub");
            if is_item && words.count() > 0 {
                names.insert(name);
            }
        }
    }
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_calls_anything_by_the_name_of_a_type_of_the_source() {
    let names = names_of_types();
    assert!(names.contains("ObjectFilter") && names.contains("CheckState"), "{names:?}");
    let stand = Stand::shop().await;
    stand.page("/").await;
    assert_eq!(stand.get("/doctor?run=now").await.code, 303);
    for path in PATHS {
        let page = stand.get(path).await.body;
        let document = Document::read(&page);
        let body = document.of(&["body"]).next().unwrap();
        let words = body.text.split(|one: char| !one.is_ascii_alphanumeric());
        let found: Vec<&str> = words.filter(|word| names.contains(*word)).collect();
        assert!(found.is_empty(), "{path}: {found:?}");
    }
    assert!(stand.get("/").await.body.contains("State <select name=\"state\">"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_page_is_well_formed_and_accessible() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    for path in PATHS {
        let page = stand.get(path).await.body;
        assert!(faults(&page).is_empty(), "{path}: {:#?}", faults(&page));
    }
    assert_eq!(stand.get("/doctor?run=now").await.code, 303);
    assert_eq!(stand.get("/drill?run=now").await.code, 303);
    for path in ["/doctor", "/drill"] {
        let page = stand.get(path).await.body;
        assert!(faults(&page).is_empty(), "{path}: {:#?}", faults(&page));
    }
}

#[test]
fn what_is_wrong_with_a_page_is_seen() {
    let page = "<!DOCTYPE html><html><head><title>a</title></head><body><header></header><main><h1>a</h1><h3>b</h3>\
                <p id=a></p><p id=a></p><input name=b><a href=\"http://x\">x</a><script>x</script><svg></svg></main>\
                <footer></footer></body></html>";
    let found = faults(page);
    for part in ["ids are not unique", "heading h3", "without a label", "leads elsewhere", "a script", "no name"] {
        assert!(found.iter().any(|fault| fault.contains(part)), "{part}: {found:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_leads_somewhere() {
    let stand = Stand::shop().await;
    stand.page("/").await;
    let mut links = BTreeSet::new();
    for path in PATHS {
        let page = stand.get(path).await.body;
        let document = Document::read(&page);
        links.extend(document.of(&["a", "link", "script"]).filter_map(|element| {
            element
                .attribute("href")
                .or(element.attribute("src"))
                .filter(|link| link.starts_with('/'))
                .map(str::to_owned)
        }));
    }
    links.remove("/doctor?run=now");
    links.remove("/drill?run=now");
    assert!(links.len() > 15, "{links:?}");
    for link in links {
        assert_eq!(stand.get(&link).await.code, 200, "{link}");
    }
}

const EVIL: &str = "<script>alert('x')</script>\"><img src=x onerror=alert(1)>";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn markup_from_the_cluster_is_text() {
    let desk = Desk::new().await;
    let status = json!({"observedGeneration": 1, "currentReplicas": 1, "desiredReplicas": 1,
        "conditions": [condition("Ready", "False", "Bad", EVIL, 3), condition("Assigned", EVIL, "Bad", EVIL, 3)],
        "clusterHPADesired": [{"clusterName": EVIL, "minReplicas": 1, "maxReplicas": 2, "reason": EVIL}]});
    let mut web = hpa("web", json!({}), status);
    web["metadata"]["annotations"] = json!({"note": format!("</textarea>{EVIL}")});
    desk.bring(&web).await;
    let mut member = cluster("member1", "True");
    member["spec"]["provider"] = EVIL.into();
    member["spec"]["taints"] = json!([{"key": "a", "value": EVIL, "effect": EVIL}]);
    desk.bring(&member).await;
    desk.bring(&event("a", "Assigned", EVIL, 2)).await;
    let mut cron = hours();
    let failed = json!({"scheduleTime": ago(9), "executionTime": ago(9), "message": EVIL});
    cron["status"]["executionHistories"] = json!([{"ruleName": "evening", "failedExecutions": [failed]}]);
    desk.bring(&cron).await;
    let stand = Stand::of(desk).await;
    stand.page("/").await;
    let paths = [
        "/",
        "/objects/shop/web",
        "/clusters",
        "/clusters/member1",
        "/cron",
        "/cron/shop/hours",
        "/what-if?object=shop/web",
    ];
    for path in paths {
        let page = stand.get(path).await.body;
        assert!(page.contains("&lt;script&gt;alert("), "{path} does not show it: {page}");
        let document = Document::read(&page);
        assert!(document.of(&["img"]).next().is_none() && document.of(&["script"]).count() == 1, "{path}: {page}");
        assert!(faults(&page).is_empty(), "{path}: {:#?}", faults(&page));
    }
    let lost = stand.get("/objects/shop/%3Cscript%3Ealert(1)%3C%2Fscript%3E").await;
    assert!(lost.code == 404 && lost.body.contains("&lt;script&gt;"), "{}", lost.body);
}
