//! The real Helm engine: `helm` where it is on PATH, else its library in helm-sdkpy. Renders all cases once.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::package::{self, said};
use super::path;
use super::renderings::{self, Case};

const LIBRARY: &str = "tests/chart/helm.requirements.txt";
const CHART: &str = "charts/fhpa";
const KUBERNETES: &str = "v1.33.0";

/// What became of a case: its objects and notes, or what the engine says against its values.
pub type Outcome = Result<Rendered, String>;

/// All that a release is made of.
pub struct Rendered {
    /// The objects, hooks among them, by kind and name.
    pub objects: Vec<Value>,
    /// The text for the one who installs; `helm template` does not tell it.
    pub notes: Option<String>,
}

impl Rendered {
    /// The objects of a kind.
    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }

    /// The only object of a kind.
    pub fn one<'a>(&'a self, kind: &'a str) -> &'a Value {
        let mut of = self.of(kind);
        let one = of.next().unwrap_or_else(|| panic!("no {kind}"));
        assert!(of.next().is_none(), "more than one {kind}");
        one
    }
}

/// All cases.
struct Answers {
    cases: BTreeMap<String, Outcome>,
    faults: Vec<String>,
}

fn answers(shows: &str) -> Option<&'static Answers> {
    static ANSWERS: OnceLock<Result<Answers, String>> = OnceLock::new();
    match ANSWERS.get_or_init(|| helm().unwrap_or_else(library)) {
        Ok(answers) => Some(answers),
        Err(why) => {
            package::without("helm", shows, why);
            None
        }
    }
}

/// What became of each case; none, and a word on it, where there is no engine.
pub fn outcomes(shows: &str) -> Option<&'static BTreeMap<String, Outcome>> {
    answers(shows).map(|answers| &answers.cases)
}

/// The cases whose values the schema admits.
pub fn rendered(shows: &str) -> impl Iterator<Item = (&'static str, &'static Rendered)> {
    let cases = outcomes(shows).into_iter().flatten();
    cases.filter_map(|(name, outcome)| Some((name.as_str(), outcome.as_ref().ok()?)))
}

/// One of them.
pub fn case(name: &str, shows: &str) -> Option<&'static Rendered> {
    let outcomes = outcomes(shows)?;
    let outcome = outcomes.get(name).unwrap_or_else(|| panic!("no case {name}"));
    Some(outcome.as_ref().unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// By `helm`; none where there is none.
fn helm() -> Option<Result<Answers, String>> {
    let mut version = Command::new("helm");
    version.args(["version", "--short"]);
    said(version).ok()?;
    let render = |case: &Case| {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(case.values().to_string().as_bytes()).unwrap();
        let mut helm = Command::new("helm");
        helm.args(["template", case.release]).arg(path(CHART)).args(["--namespace", case.namespace]);
        helm.args(["--kube-version", case.kubernetes.unwrap_or(KUBERNETES), "--values"]).arg(file.path());
        said(helm).map(|manifest| Rendered { objects: objects([manifest.as_str()]), notes: None })
    };
    let cases = renderings::cases().iter().map(|case| (case.name.to_string(), render(case))).collect();
    let mut lint = Command::new("helm");
    lint.arg("lint").arg("--strict").args(["--set", "image.repository=fhpa"]).arg(path(CHART));
    Some(Ok(Answers { cases, faults: said(lint).err().into_iter().collect() }))
}

/// By helm-sdkpy.
fn library() -> Result<Answers, String> {
    let home = package::found(&path(LIBRARY), "import helm_sdkpy", &["cffi"])?;
    let order = |case: &Case| {
        json!({"release": case.release, "namespace": case.namespace, "values": case.values(),
            "kubernetes": case.kubernetes.unwrap_or(KUBERNETES)})
    };
    let cases = renderings::cases();
    let orders: Vec<Value> = cases.iter().map(order).collect();
    let mut python = Command::new("python3");
    python.arg(path("tests/chart/render.py")).env("PYTHONPATH", &home).env("PYTHONDONTWRITEBYTECODE", "1");
    python.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = python.spawn().map_err(|error| format!("python3: {error}"))?;
    let order = json!({"chart": path(CHART), "cases": orders}).to_string();
    let written = child.stdin.take().map(|mut input| input.write_all(order.as_bytes()));
    let output = child.wait_with_output().unwrap();
    let problem = String::from_utf8_lossy(&output.stderr);
    // It was there a moment ago: from here on a failure is one.
    assert!(output.status.success() && matches!(written, Some(Ok(()))), "{problem}");
    let mut answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {problem}"));
    let severities = answer["lint"].as_array().unwrap();
    let faults = severities.iter().filter(|severity| severity.as_i64() > Some(1));
    let faults = faults.map(|severity| format!("a finding of severity {severity}")).collect();
    let told = answer["cases"].as_array_mut().unwrap();
    assert_eq!(told.len(), cases.len());
    let cases = cases.iter().zip(told).map(|(case, told)| (case.name.to_string(), outcome(told))).collect();
    Ok(Answers { cases, faults })
}

fn outcome(told: &Value) -> Outcome {
    if let Some(error) = told["error"].as_str() {
        return Err(error.to_owned());
    }
    let hooks = told["hooks"].as_array().unwrap().iter();
    let texts = hooks.chain([&told["manifest"]]).map(|text| text.as_str().unwrap());
    Ok(Rendered { objects: objects(texts), notes: told["notes"].as_str().map(str::to_owned) })
}

/// The objects of YAML texts, by kind and name.
pub fn objects<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<Value> {
    let mut found: Vec<Value> = texts
        .into_iter()
        .flat_map(|text| text.split("\n---"))
        .map(|text| text.trim_start_matches("---"))
        .filter(|text| text.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#')))
        .map(|text| serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}")))
        .collect();
    let key =
        |object: &Value| [&object["kind"], &object["metadata"]["name"]].map(|part| part.as_str().unwrap().to_owned());
    found.sort_by_cached_key(key);
    found
}

#[test]
fn helm_has_nothing_against_the_chart() {
    let Some(answers) = answers("the chart under Helm's lint") else { return };
    assert_eq!(answers.faults, [""; 0]);
}
