//! The guides are complete, and lead where they say.

use std::collections::BTreeSet;

use super::{path, text};
use crate::structure::sources::sources;

/// Words in the code of the controller that look like reasons and are none: kinds, types of conditions, values of Karmada's
/// fields, actions of Events, names of types.
const NO_REASONS: &[&str] = &[
    "AbleToScale",
    "Applied",
    "Apply",
    "Assign",
    "ClusterPropagationPolicy",
    "Controller",
    "CronFederatedHPA",
    "Deployment",
    "Directly",
    "Disabled",
    "Events",
    "False",
    "FederatedHPA",
    "Gracefully",
    "HorizontalPodAutoscaler",
    "Immediately",
    "Never",
    "Normal",
    "Poster",
    "PropagationPolicy",
    "Ready",
    "Resource",
    "ResourceInterpreterCustomization",
    "Scale",
    "Scheduled",
    "Success",
    "TaintUntolerated",
    "Targets",
    "True",
    "Warning",
    "Work",
];

/// Reasons that `decision` names: those of notes on a plan.
fn of_notes(found: &mut BTreeSet<String>) {
    let source = text("src/decision/plan/reason.rs");
    let (_, notes) = source.split_once("impl Note {").unwrap();
    let (codes, _) = notes.split_once("\n}\n").unwrap();
    found.extend(codes.lines().filter_map(|line| line.split_once("=> \"")?.1.split('"').next()).map(str::to_owned));
}

/// Whether a word is written as reasons are: `TwoWords` or `Word`.
fn like_a_reason(word: &str) -> bool {
    word.len() > 2
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && word.chars().all(|c| c.is_ascii_alphabetic())
        && word.chars().any(|c| c.is_ascii_lowercase())
}

/// Every reason that a condition or an Event can have.
fn reasons() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    of_notes(&mut found);
    assert!(found.contains("NoCandidates"), "the notes were not read");
    for source in sources("src/reconcile") {
        for (_, line) in source.code() {
            let words = line.split('"').skip(1).step_by(2).filter(|word| like_a_reason(word));
            found.extend(words.filter(|word| !NO_REASONS.contains(word)).map(str::to_owned));
        }
    }
    found
}

#[test]
fn every_reason_is_explained_and_nothing_else() {
    let guide = text("charts/fhpa/docs/troubleshoot.md");
    let (_, tables) = guide.split_once("\n## By reason\n").unwrap();
    let rows = tables.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let explained: BTreeSet<String> = rows.map(str::to_owned).collect();
    let reasons = reasons();
    let missing: Vec<_> = reasons.difference(&explained).collect();
    assert!(missing.is_empty(), "not in troubleshoot.md (or words that are no reasons, see NO_REASONS): {missing:?}");
    let gone: Vec<_> = explained.difference(&reasons).collect();
    assert!(gone.is_empty(), "in troubleshoot.md and not in the code: {gone:?}");
}

#[test]
fn links_lead_to_files_and_sections_that_exist() {
    for guide in guides() {
        let folder = path(&guide).parent().unwrap().to_owned();
        for link in text(&guide).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if link.contains("://") {
                continue;
            }
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path(&guide) } else { folder.join(file) };
            assert!(target.exists(), "{guide}: {link}");
            if !section.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                let found = text.lines().any(|line| line.starts_with('#') && anchor(line) == section);
                assert!(found, "{guide}: {link}");
            }
        }
    }
}

/// The name of a heading in links.
fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

fn guides() -> Vec<String> {
    let folder = std::fs::read_dir(path("charts/fhpa/docs")).unwrap();
    let docs = folder.map(|entry| format!("charts/fhpa/docs/{}", entry.unwrap().file_name().to_string_lossy()));
    ["README.md", "charts/fhpa/README.md"].map(str::to_owned).into_iter().chain(docs).collect()
}

#[test]
fn every_guide_can_be_reached_from_the_readme() {
    let readme = text("README.md") + &text("charts/fhpa/README.md");
    for guide in guides() {
        let name = guide.rsplit('/').next().unwrap();
        assert!(readme.contains(&format!("docs/{name}")) || name == "README.md", "{guide} is linked nowhere");
    }
    assert!(readme.contains("(charts/fhpa/README.md)"));
}

#[test]
fn values_that_guides_set_exist() {
    let schema: serde_json::Value = serde_json::from_str(&text("charts/fhpa/values.schema.json")).unwrap();
    let mut seen = 0;
    for guide in guides() {
        for setting in text(&guide).split("--set ").skip(1) {
            let name = setting.split(['=', ' ', '`']).next().unwrap();
            let mut node = &schema;
            for part in name.split('.') {
                node = &node["properties"][part.split('[').next().unwrap()];
            }
            assert!(node.is_object(), "{guide}: {name} is no value");
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}
