//! Files -> FederatedHPAs and their scenario. Reads files.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::validate::inputs;
use super::super::validate::{Class, Given, Kind, Report, completed, examine, text as findings};
use super::SimulateError;
use super::document::Document;
use super::reader::{seconds, thousandths};
use super::workloads::Workload;
use crate::api::FederatedHPA;
use crate::decision::defaults::Mode;
use crate::decision::finding::{Cause, Violation};
use crate::decision::suggestion::{did_you_mean, nearest};
use crate::decision::validation::Settings;
use crate::runtime::clock;
use crate::simulation::{Curve, Point, Second};

/// Largest file with a load, in bytes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most rows of such a file.
const MAX_ROWS: usize = 50_000;

/// Most points of the loads of all workloads.
const MAX_POINTS: usize = 500_000;

/// Input of a simulation.
#[derive(Debug)]
pub(super) struct SimulationInput {
    /// The FederatedHPA of each workload of the document.
    pub(super) hpas: Vec<Arc<SimulatedHpa>>,
    pub(super) document: Document,
    /// Name of the scenario's file.
    pub(super) name: String,
}

/// A FederatedHPA.
#[derive(Debug)]
pub(super) struct SimulatedHpa {
    pub(super) object: FederatedHPA,
    pub(super) mode: Mode,
}

/// Reads the files; findings are reported as in `fhpa validate`.
pub(super) fn subject(
    paths: &[PathBuf],
    namespace: &str,
    settings: &Settings,
) -> Result<SimulationInput, SimulateError> {
    let (files, mut found) = examine(inputs::read(paths), namespace, settings.clone(), clock::wall());
    let given: Vec<&Given> = files.iter().flatten().flatten().collect();
    let scenarios: Vec<&Given> = given.iter().filter(|given| given.name.kind == "Simulation").copied().collect();
    let hpas = given.iter().filter(|given| matches!(given.subject.class, Class::Known(Kind::FederatedHPA)));
    let hpas: Vec<&Given> = hpas.copied().collect();
    let read = scenarios.first().map(|given| (given, document(given)));
    found.skipped = found.skipped.saturating_sub(scenarios.len());
    if let Some((given, Err(violations))) = &read {
        found.findings.extend(violations.iter().map(|violation| given.violation(violation)));
    }
    let of = read.as_ref().and_then(|(_, document)| document.as_ref().ok()).map(|document| served(document, &hpas));
    if let (Some((given, _)), Some(Err(violations))) = (&read, &of) {
        found.findings.extend(violations.iter().map(|violation| given.violation(violation)));
    }
    print_findings(&found)?;
    let (Some((given, Ok(document))), Some(Ok(Some(of)))) = (read, of) else {
        let message = match (hpas.len(), scenarios.len()) {
            (0, _) => "no FederatedHPA: give one, in the same file or another",
            (_, 0) => "no scenario: give a document of `kind: Simulation`, in the same file or another",
            _ => "more than one FederatedHPA: name the `workloads` of the scenario, each with its `federatedHPA`",
        };
        return Err(SimulateError::wrong(message));
    };
    if scenarios.len() > 1 {
        return Err(SimulateError::wrong("more than one document of `kind: Simulation`: give one"));
    }
    let hpas = hpas.iter().map(|hpa| simulated(hpa, settings)).collect::<Result<Vec<_>, _>>()?;
    let hpas = of.into_iter().filter_map(|at| hpas.get(at).cloned()).collect();
    Ok(SimulationInput { hpas, document, name: given.source.name.clone() })
}

fn simulated(hpa: &Given, settings: &Settings) -> Result<Arc<SimulatedHpa>, SimulateError> {
    let object = completed(hpa.object(), settings.default_mode).unwrap_or_else(|| hpa.object());
    let object: FederatedHPA =
        serde_json::from_value(object).map_err(|error| SimulateError::unreadable(format!("FederatedHPA: {error}")))?;
    let mode = object.spec.mode.as_deref().and_then(Mode::parse).unwrap_or(settings.default_mode);
    Ok(Arc::new(SimulatedHpa { object, mode }))
}

/// Which of the FederatedHPAs serves each workload; `None` where there is none, or several and nothing says which.
fn served(document: &Document, hpas: &[&Given]) -> Result<Option<Vec<usize>>, Vec<Violation>> {
    if hpas.is_empty() || hpas.len() > 1 && !document.is_shared {
        return Ok(None);
    }
    let (mut of, mut wrong) = (Vec::new(), Vec::new());
    for Workload { name, federated_hpa, path, .. } in &document.workloads {
        let wanted = federated_hpa.as_ref().or((hpas.len() > 1).then_some(name));
        let found = wanted.map_or(Some(0), |wanted| hpas.iter().position(|hpa| hpa.name.name == *wanted));
        match (found, wanted) {
            (None, Some(wanted)) => wrong.push(unserved(wanted, path, hpas)),
            (found, _) => of.extend(found),
        }
    }
    if wrong.is_empty() { Ok(Some(of)) } else { Err(wrong) }
}

fn unserved(wanted: &str, path: &str, hpas: &[&Given]) -> Violation {
    let meant = did_you_mean(nearest(wanted, hpas.iter().map(|hpa| hpa.name.name.as_str())));
    let detail = format!("no FederatedHPA has this name: give one, or name one that is given{meant}");
    Violation { path: path.to_owned(), cause: Cause::Invalid(wanted.into()), detail, rule: "simulation" }
}

/// Prints the findings; an error ends the command.
fn print_findings(found: &Report) -> Result<(), SimulateError> {
    let code = found.exit_code(false);
    if code != 0 {
        return Err(SimulateError { code, message: findings::render(found, usize::MAX), findings: true });
    }
    anstream::eprint!("{}", findings::warnings(found));
    Ok(())
}

/// The document, with the loads of its files.
fn document(given: &Given) -> Result<Document, Vec<Violation>> {
    let mut document = Document::read(&given.subject.node.to_value())?;
    let violation =
        |path: &str, cause, detail| vec![Violation { path: path.to_owned(), cause, detail, rule: "simulation" }];
    let mut points = 0_usize;
    for workload in &mut document.workloads {
        if let Some(file) = &workload.load.file {
            let beside = Path::new(&given.source.name).parent().unwrap_or(Path::new(""));
            let path = &workload.load.path;
            workload.load.curve.points = rows(&beside.join(file))
                .map_err(|why| violation(&format!("{path}.file"), Cause::Invalid(file.as_str().into()), why))?;
        }
        points = points.saturating_add(workload.load.curve.points.len());
        if points > MAX_POINTS {
            let detail = format!("the loads of all workloads have more than {MAX_POINTS} points");
            return Err(violation("workloads", Cause::TooLong { max: MAX_POINTS }, detail));
        }
    }
    Ok(document)
}

/// The rows `time,replicas` of a file.
fn rows(path: &Path) -> Result<Vec<Point>, String> {
    let mut text = String::new();
    let file = fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    file.take(MAX_BYTES.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Point>, String> {
    let mut rows: Vec<(Second, u64)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at.saturating_add(1);
        let line = line.trim();
        let header = rows.is_empty() && line.chars().next().is_some_and(char::is_alphabetic);
        if line.is_empty() || line.starts_with('#') || header {
            continue;
        }
        let row = line.split_once(',').and_then(|(time, load)| {
            let time = seconds(time).filter(|second| *second >= 0)?;
            Some((time, thousandths(load, 10_000_000)?))
        });
        let row = row.ok_or_else(|| format!("line {number}: write TIME,REPLICAS, such as 90s,12.5"))?;
        if rows.last().is_some_and(|last| last.0 >= row.0) {
            return Err(format!("line {number}: the time must be after that of the row above"));
        }
        if rows.len() >= MAX_ROWS {
            return Err(format!("has more than {MAX_ROWS} rows"));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err("has no rows: write TIME,REPLICAS, such as 90s,12.5".to_owned());
    }
    Ok(Curve::through(&rows))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn rows_are_read_with_their_heading_and_remarks() {
        let points = parse("time,replicas\n# night\n0,1\n\n1m,2.5\n").unwrap();
        assert_eq!(
            points.iter().map(|point| (point.at, point.ramp, point.load)).collect::<Vec<_>>(),
            [(0, 0, 1000), (0, 60, 2500)]
        );
    }

    #[test]
    fn a_wrong_row_is_named_with_what_to_write() {
        assert_eq!(parse("0,1\nx,1").unwrap_err(), "line 2: write TIME,REPLICAS, such as 90s,12.5");
        assert_eq!(parse("5,1\n5,2").unwrap_err(), "line 2: the time must be after that of the row above");
        assert!(parse("time,load\n").unwrap_err().starts_with("has no rows"));
    }
}
