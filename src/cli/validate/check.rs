//! Sources -> report. No I/O: the time and the zone database are passed in.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::manifest::{self, Source, SourceLocation};
use super::inputs::Unreadable;
use super::related_objects::{Collected, GivenObjects};
use super::report::{Finding, ObjectName, Report, Severity, Spot};
use super::rules::{self, Rules, Undecodable};
use super::subject::{Class, InputObject, Kind};
use super::unknown::{self, Unknown};
use crate::decision::cron::zones::Zones;
use crate::decision::defaults::Mode;
use crate::decision::finding::{Violation, Warning};
use crate::decision::validation::Settings;

/// Further input of a check.
pub(super) struct CheckContext {
    pub(super) zones: Arc<dyn Zones>,
    pub(super) now: Timestamp,
    /// Settings of the webhook's operator.
    pub(super) settings: Settings,
}

/// An object and its file.
pub(crate) struct Given {
    pub(crate) source: Rc<Source>,
    pub(crate) subject: InputObject,
    pub(crate) name: ObjectName,
}

/// Checks all objects of all files, each together with the others.
pub(super) fn check(files: &[File], around: &CheckContext) -> Report {
    let known = related_objects(files.iter().flatten().flatten(), around.settings.default_mode);
    let rules = Rules::new(Arc::new(known), Arc::clone(&around.zones), around.settings.clone(), around.now);
    let mut report = Report::default();
    let mut firsts = HashMap::new();
    for file in files {
        match file {
            Ok(objects) => objects.iter().for_each(|object| report.add(object, &rules, &mut firsts)),
            Err(finding) => {
                report.unreadable += 1;
                report.findings.push((**finding).clone());
            }
        }
    }
    report
}

/// Kind, namespace and name of an object -> its first position.
type Firsts = HashMap<(String, String, String), Spot>;

impl Report {
    fn add(&mut self, object: &Given, rules: &Rules, firsts: &mut Firsts) {
        match object.subject.class {
            Class::Known(kind) => {
                match kind {
                    Kind::FederatedHPA => self.federated_hpas += 1,
                    Kind::CronFederatedHPA => self.cron_federated_hpas += 1,
                }
                self.findings.extend(object.twice(firsts));
                self.findings.extend(object.check(kind, rules));
            }
            Class::NearMiss(ref violation) => self.findings.push(object.violation(violation)),
            Class::Doubtful(ref violation) => {
                self.skipped += 1;
                self.findings.push(Finding { severity: Severity::Warning, ..object.violation(violation) });
            }
            Class::Other => self.skipped += 1,
        }
    }
}

/// The objects of a file, or why it could not be read.
pub(crate) type File = Result<Vec<Given>, Box<Finding>>;

pub(crate) fn file(source: Result<Source, Unreadable>, namespace: &str) -> File {
    let source = Rc::new(source.map_err(|unreadable| Box::new(Finding::unreadable(unreadable)))?);
    let documents = manifest::load(&source).map_err(|error| Box::new(Finding::syntax(&source, error)))?;
    let subjects = documents.iter().flat_map(InputObject::all_of);
    Ok(subjects.map(|subject| Given::new(&source, subject, namespace)).collect())
}

/// Facts about the given objects for the rules of other objects.
pub(crate) fn related_objects<'a>(given: impl Iterator<Item = &'a Given>, default_mode: Mode) -> GivenObjects {
    let mut known = Collected::default();
    for object in given {
        let (namespace, value) = (&object.name.namespace, || object.subject.node.to_value());
        match object.subject.class {
            Class::Known(Kind::FederatedHPA) => {
                known.federated_hpas.extend(rules::known_federated_hpa(namespace, value(), default_mode));
            }
            Class::Known(Kind::CronFederatedHPA) => {
                known.cron_federated_hpas.extend(rules::known_cron_federated_hpa(namespace, value()));
            }
            Class::Other => known.scalers.extend(rules::known_scaler(namespace, &object.subject.node)),
            Class::NearMiss(_) | Class::Doubtful(_) => {}
        }
    }
    known.in_order()
}

impl Given {
    fn new(source: &Rc<Source>, subject: InputObject, namespace: &str) -> Self {
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let name = ObjectName {
            kind: text(subject.node.text("kind")),
            namespace: subject.metadata("namespace").filter(|own| !own.is_empty()).unwrap_or(namespace).to_owned(),
            name: text(subject.metadata("name")),
        };
        Self { source: Rc::clone(source), subject, name }
    }

    /// The object as the API server would store it: in a namespace.
    pub(crate) fn object(&self) -> Value {
        let mut object = self.subject.node.to_value();
        if let Some(members) = object.as_object_mut() {
            let metadata = members.entry("metadata").or_insert(Value::Null);
            if metadata.is_null() {
                *metadata = Value::Object(serde_json::Map::new());
            }
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("namespace".to_owned(), Value::String(self.name.namespace.clone()));
            }
        }
        object
    }

    fn check(&self, kind: Kind, rules: &Rules) -> Vec<Finding> {
        let unknown = unknown::find(kind, &self.subject.node);
        let mut findings = Vec::new();
        match rules.review(kind, &self.name.namespace, &self.name.name, self.object()) {
            Ok(found) => {
                let renamed = |path: &str| unknown.iter().any(|unknown| unknown.meant.as_deref() == Some(path));
                let violations = found.violations.iter().filter(|violation| !renamed(&violation.path));
                findings.extend(violations.map(|violation| self.violation(violation)));
                findings.extend(found.warnings.iter().map(|warning| self.warning(warning)));
            }
            Err(Undecodable { path, message }) => {
                let place = SourceLocation::of(&self.subject.node, &path, &self.source);
                findings.push(self.finding(Severity::Error, "decode", &path, place, message));
            }
        }
        findings.extend(unknown.into_iter().map(|unknown| self.unknown_field(unknown)));
        findings.sort_by_key(|finding| finding.spot.as_ref().map_or(0, |spot| spot.span.start));
        findings
    }

    fn finding(&self, severity: Severity, rule: &str, path: &str, place: SourceLocation, head: String) -> Finding {
        Finding {
            severity,
            rule: rule.to_owned(),
            file: self.source.name.clone(),
            spot: Some(Spot { source: Rc::clone(&self.source), span: place.span }),
            other: None,
            object: self.name.clone(),
            path: self.full_path(path),
            head,
            detail: String::new(),
            help: None,
        }
    }

    fn full_path(&self, path: &str) -> String {
        let dot = if self.subject.prefix.is_empty() || path.is_empty() { "" } else { "." };
        format!("{}{dot}{path}", self.subject.prefix)
    }

    fn unknown_field(&self, unknown: Unknown) -> Finding {
        let place = SourceLocation::of_key(&self.subject.node, &unknown.path, &self.source);
        let finding = self.finding(Severity::Error, "unknown-field", &unknown.path, place, "unknown field".to_owned());
        Finding { detail: unknown.detail, ..finding }
    }

    /// A finding at the position of the violation.
    pub(crate) fn violation(&self, violation: &Violation) -> Finding {
        let place = SourceLocation::of(&self.subject.node, &violation.path, &self.source);
        let message = violation.message();
        let head = message.strip_suffix(&violation.detail).and_then(|head| head.strip_suffix(": "));
        let head = head.filter(|_| !violation.detail.is_empty());
        let detail = head.map_or("", |_| &violation.detail).to_owned();
        let head = head.unwrap_or(&message).to_owned();
        Finding { detail, ..self.finding(Severity::Error, violation.rule, &violation.path, place, head) }
    }

    fn warning(&self, warning: &Warning) -> Finding {
        let place = SourceLocation::of(&self.subject.node, &warning.path, &self.source);
        self.finding(Severity::Warning, warning.rule, &warning.path, place, warning.text.clone())
    }

    /// A warning when the same object was given before: only one of the two can be applied.
    fn twice(&self, firsts: &mut Firsts) -> Option<Finding> {
        let ObjectName { kind, namespace, name } = self.name.clone();
        let place = SourceLocation::of(&self.subject.node, "metadata.name", &self.source);
        if name.is_empty() {
            return None;
        }
        let spot = Spot { source: Rc::clone(&self.source), span: place.span.clone() };
        let first = match firsts.entry((kind, namespace, name)) {
            std::collections::hash_map::Entry::Occupied(first) => first.into_mut().clone(),
            std::collections::hash_map::Entry::Vacant(vacant) => {
                vacant.insert(spot);
                return None;
            }
        };
        let line = first.source.position(first.span.start).line;
        let text =
            format!("{} {:?} is given twice, first in {}:{line}", self.name.kind, self.name.name, first.source.name);
        let mut finding = self.finding(Severity::Warning, "given-twice", "metadata.name", place, text);
        finding.other = Some((first, "first here".to_owned()));
        Some(finding)
    }
}
