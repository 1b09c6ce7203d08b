//! Manifests -> the rules of the CronFederatedHPAs in them. Reads files.

use std::path::PathBuf;

use serde::Serialize;

use super::super::manifest::{self, Content, Node, Source};
use super::super::validate::inputs;
use crate::decision::api_version::GROUP;

/// A rule with its location.
pub(super) struct Rule {
    pub(super) place: RuleLocation,
    pub(super) schedule: String,
    pub(super) time_zone: Option<String>,
}

/// Location of a rule.
#[derive(Serialize)]
pub(super) struct RuleLocation {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) namespace: String,
    #[serde(rename = "name")]
    pub(super) object: String,
    pub(super) rule: String,
    pub(super) suspended: bool,
}

/// The rules of all files.
#[derive(Default)]
pub(super) struct Found {
    pub(super) rules: Vec<Rule>,
    /// Files that could not be read, and why.
    pub(super) errors: Vec<String>,
}

/// Reads all rules in `paths`.
pub(super) fn read(paths: &[PathBuf]) -> Found {
    let mut found = Found::default();
    for source in inputs::read(paths) {
        let source = match source {
            Ok(source) => source,
            Err(error) => {
                found.errors.push(format!("{}: {}", error.name, error.message));
                continue;
            }
        };
        match manifest::load(&source) {
            Ok(documents) => documents.iter().for_each(|document| objects(&source, document, &mut found.rules)),
            Err(error) => {
                let at = source.position(error.span.start);
                found.errors.push(format!("{}:{}:{}: {}", source.name, at.line, at.column, error.message));
            }
        }
    }
    found
}

/// The object itself, or each item of a list.
fn objects(source: &Source, document: &Node, rules: &mut Vec<Rule>) {
    match document.entry("items").map(|items| &items.value.content) {
        Some(Content::List(items)) => items.iter().for_each(|item| object_rules(source, item, rules)),
        _ => object_rules(source, document, rules),
    }
}

fn object_rules(source: &Source, object: &Node, rules: &mut Vec<Rule>) {
    let group = object.text("apiVersion").and_then(|version| version.split('/').next());
    if object.text("kind") != Some("CronFederatedHPA") || group != Some(GROUP) {
        return;
    }
    let member = |name: &str| {
        let metadata = object.entry("metadata").map(|metadata| &metadata.value);
        metadata.and_then(|metadata| metadata.text(name)).unwrap_or_default().to_owned()
    };
    let listed = object.entry("spec").and_then(|spec| spec.value.entry("rules")).map(|rules| &rules.value.content);
    let Some(Content::List(listed)) = listed else { return };
    rules.extend(listed.iter().map(|rule| Rule {
        place: RuleLocation {
            file: source.name.clone(),
            line: source.position(rule.span.start).line,
            namespace: member("namespace"),
            object: member("name"),
            rule: rule.text("name").unwrap_or_default().to_owned(),
            suspended:
                rule.entry("suspend").is_some_and(|suspend| matches!(suspend.value.content, Content::Bool(true))),
        },
        schedule: rule.text("schedule").unwrap_or_default().to_owned(),
        time_zone: rule.text("timeZone").map(str::to_owned),
    }));
}
