//! Findings -> JSON for programs. The format is stable: members are only added. No I/O.

use serde::Serialize;

use super::report::{Finding, Report, Severity};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Record<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    end_line: usize,
    end_column: usize,
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    path: &'a str,
    severity: Severity,
    rule: &'a str,
    message: String,
}

/// The first `most` findings, as one JSON array. A line of 0 means the whole file.
pub(super) fn render(report: &Report, most: usize) -> String {
    let records: Vec<Record<'_>> = report.findings.iter().take(most).map(record).collect();
    let mut out = serde_json::to_string_pretty(&records).unwrap_or_default();
    out.push('\n');
    out
}

fn record(finding: &Finding) -> Record<'_> {
    let (start, end) = finding.spot.as_ref().map_or(((0, 0), (0, 0)), |spot| {
        let (start, end) = (spot.source.position(spot.span.start), spot.source.position(spot.span.end));
        ((start.line, start.column), (end.line, end.column))
    });
    Record {
        file: &finding.file,
        line: start.0,
        column: start.1,
        end_line: end.0,
        end_column: end.1,
        kind: &finding.object.kind,
        namespace: &finding.object.namespace,
        name: &finding.object.name,
        path: &finding.path,
        severity: finding.severity,
        rule: &finding.rule,
        message: finding.message(),
    }
}
