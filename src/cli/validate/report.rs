//! Findings and their number. No I/O.

use std::ops::Range;
use std::rc::Rc;

use serde::Serialize;

use super::super::manifest::{Source, SyntaxError};
use super::inputs::Unreadable;
use crate::decision::few::counted;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Severity {
    Error,
    Warning,
}

/// The object of a finding.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectName {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Position of a finding.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    pub(crate) source: Rc<Source>,
    pub(crate) span: Range<usize>,
}

/// One finding.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// Stable name of the rule.
    pub(crate) rule: String,
    /// File as given.
    pub(crate) file: String,
    /// Absent when the file could not be read at all.
    pub(crate) spot: Option<Spot>,
    /// A related position, with a label.
    pub(crate) other: Option<(Spot, String)>,
    pub(crate) object: ObjectName,
    /// Field path in the document; may be empty.
    pub(crate) path: String,
    /// The error: `Invalid value: "x"`.
    pub(crate) head: String,
    /// Explanation or valid values; may be empty.
    pub(crate) detail: String,
    pub(crate) help: Option<String>,
}

impl Finding {
    /// The message of the webhook, without the path.
    pub(crate) fn message(&self) -> String {
        if self.detail.is_empty() { self.head.clone() } else { format!("{}: {}", self.head, self.detail) }
    }

    /// A file that could not be read.
    pub(crate) fn unreadable(unreadable: Unreadable) -> Self {
        Self {
            severity: Severity::Error,
            rule: "unreadable".to_owned(),
            file: unreadable.name,
            spot: None,
            other: None,
            object: ObjectName::default(),
            path: String::new(),
            head: unreadable.message,
            detail: String::new(),
            help: None,
        }
    }

    /// A file that is neither YAML nor JSON.
    pub(crate) fn syntax(source: &Rc<Source>, error: SyntaxError) -> Self {
        let spot = |span| Spot { source: Rc::clone(source), span };
        Self {
            severity: Severity::Error,
            rule: "syntax".to_owned(),
            file: source.name.clone(),
            spot: Some(spot(error.span)),
            other: error.other.map(|(span, label)| (spot(span), label.to_owned())),
            object: ObjectName::default(),
            path: String::new(),
            head: error.message,
            detail: String::new(),
            help: error.help.map(str::to_owned),
        }
    }
}

/// All findings.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    /// FederatedHPAs that were checked.
    pub(crate) federated_hpas: usize,
    /// CronFederatedHPAs that were checked.
    pub(crate) cron_federated_hpas: usize,
    /// Objects of other kinds.
    pub(crate) skipped: usize,
    /// Files that could not be read.
    pub(crate) unreadable: usize,
}

impl Report {
    pub(crate) fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }

    /// Whether nothing was checked.
    fn is_empty(&self) -> bool {
        self.federated_hpas == 0 && self.cron_federated_hpas == 0
    }

    /// 0 fine, 1 invalid, 2 unreadable.
    pub(crate) fn exit_code(&self, strict: bool) -> u8 {
        if self.unreadable > 0 {
            2
        } else {
            let doubtful = || self.is_empty() || self.count(Severity::Warning) > 0;
            u8::from(self.count(Severity::Error) > 0 || strict && doubtful())
        }
    }

    /// One line for users.
    pub(crate) fn summary(&self) -> String {
        let checked = match (self.federated_hpas, self.cron_federated_hpas) {
            (0, 0) => "no FederatedHPA or CronFederatedHPA found".to_owned(),
            (hpas, 0) => format!("{} checked", counted(hpas, "FederatedHPA")),
            (0, crons) => format!("{} checked", counted(crons, "CronFederatedHPA")),
            (hpas, crons) => {
                format!("{} and {} checked", counted(hpas, "FederatedHPA"), counted(crons, "CronFederatedHPA"))
            }
        };
        let counts = [
            (self.count(Severity::Error).saturating_sub(self.unreadable), "error"),
            (self.count(Severity::Warning), "warning"),
            (self.unreadable, "unreadable file"),
        ];
        let found: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(*count, noun)).collect();
        let found = match found.is_empty() {
            true if self.is_empty() => "nothing was checked".to_owned(),
            true => "nothing wrong".to_owned(),
            false => found.join(", "),
        };
        let skipped = match self.skipped {
            0 => String::new(),
            skipped => format!(", {} of other kinds skipped", counted(skipped, "object")),
        };
        format!("{checked}{skipped}: {found}")
    }
}
