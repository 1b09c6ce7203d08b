//! The guides are complete, and their links resolve.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::CommandFactory as _;
use fhpa::cli::Cli;
use fhpa::decision::drill::Shortage;
use fhpa::decision::health;
use fhpa::decision::hpa::stabilization::Stabilized;
use fhpa::install::doctor::{CheckState, TROUBLES};

use super::{path, reference, text};
use crate::structure::documents::anchors;
use crate::structure::sources::{program, sources};

/// What stands before a reason in the code: a constant, the status of a condition, the severity of an Event, a choice.
const BEFORE: &[&str] = &[
    ": &str =",
    "\"True\",",
    "\"False\",",
    "\"Unknown\",",
    "Severity::Normal,",
    "Severity::Warning,",
    "live,",
    "entry,",
    "Foreign(",
    "{",
];

/// Words in such places that are none: types of conditions, and what is read of others.
const NO_REASONS: &[&str] = &[
    "AbleToScale",
    "Exists",
    "FailoverCovered",
    "FailoverPaused",
    "False",
    "Other",
    "Ready",
    "Scheduled",
    "TaintManager",
    "True",
    "Unschedulable",
];

/// Reasons that `decision` names: those of notes on a plan.
fn of_notes(found: &mut BTreeSet<String>) {
    let source = text("decision/src/plan/note.rs");
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
    let of_members = health::REASONS.iter().chain(&health::WELL).chain(&health::OWN);
    found.extend(of_members.map(|reason| (*reason).to_owned()));
    for source in sources("daemon/src/controller")
        .into_iter()
        .chain(sources("daemon/src/reconcile"))
        .chain(sources("daemon/src/install/guard"))
    {
        let code = source.code().map(|(_, line)| line.trim()).collect::<Vec<_>>().join(" ");
        for (at, _) in code.match_indices('"') {
            let word = code[at + 1..].split('"').next().unwrap();
            let before = code[..at].trim_end();
            if like_a_reason(word) && !NO_REASONS.contains(&word) && BEFORE.iter().any(|mark| before.ends_with(mark)) {
                found.insert(word.to_owned());
            }
        }
    }
    found.extend(Shortage::ALL.map(|one| one.code().to_owned()));
    found.extend([Stabilized::No, Stabilized::Up, Stabilized::Down].map(|one| one.reason().to_owned()));
    let report = text("daemon/src/reconcile/federated_hpa/status/report.rs");
    let codes = reference::codes("decision/src/plan/reason.rs", "Why");
    let told =
        report.split("Why::").skip(1).map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap());
    found.extend(told.map(|variant| codes[variant].clone()));
    assert!(
        found.contains("RuleMissed") && found.contains("MemberHPAsReady") && found.contains("Released"),
        "{found:?}"
    );
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
fn reasons_that_other_documents_name_exist() {
    let known = reasons();
    let (mut seen, types) =
        (0, ["AbleToScale", "FailoverCovered", "FailoverPaused", "ScalingActive", "ScalingLimited"]);
    let guides = ["distributed", "centralized", "operations", "cron"].map(|name| format!("docs/{name}.md"));
    let of_the_chart = ["migrate", "emergency"].map(|name| format!("charts/fhpa/docs/{name}.md"));
    for guide in guides.into_iter().chain(of_the_chart) {
        let document = text(&guide);
        let spans = document.split('`').skip(1).step_by(2);
        let reasons = spans.filter_map(|span| {
            let (condition, reason) = span.split_once(' ').unwrap_or(("", span));
            (condition.is_empty() || condition.contains('=')).then_some(reason)
        });
        // Fields and kinds have other words around them; reasons of two words and more are meant.
        let meant = |word: &&str| like_a_reason(word) && word.chars().skip(1).any(|c| c.is_ascii_uppercase());
        for reason in reasons.filter(meant).filter(|word| !types.contains(word)) {
            assert!(known.contains(reason), "{guide}: there is no reason {reason}");
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} reasons were found");
}

#[test]
fn every_finding_of_doctor_is_explained_and_nothing_else() {
    let guide = text("charts/fhpa/docs/troubleshoot.md");
    let (_, table) = guide.split_once("\n## By finding of doctor\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let row = |line: &str| {
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().trim_matches('`').to_lowercase()).collect();
        assert!(cells[3..5].iter().all(|cell| !cell.is_empty()), "{line}");
        format!("{} {}", cells[1], cells[2])
    };
    let explained: Vec<String> = table.lines().filter(|line| line.starts_with("| `")).map(row).collect();
    let state = |state: &CheckState| format!("{state:?}").to_lowercase();
    let known =
        TROUBLES.iter().flat_map(|(check, states)| states.iter().map(move |one| format!("{check} {}", state(one))));
    assert_eq!(explained, known.collect::<Vec<_>>());
}

/// The links of a guide that lead into this tree: as they are written, the file, and the section or nothing.
fn links(guide: &str) -> Vec<(String, PathBuf, String)> {
    let folder = path(guide).parent().unwrap().to_owned();
    let text = text(guide);
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    links
        .filter(|link| !link.contains("://"))
        .map(|link| {
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path(guide) } else { folder.join(file) };
            (link.to_owned(), target, section.to_owned())
        })
        .collect()
}

#[test]
fn links_lead_to_files_and_sections_that_exist() {
    for guide in guides() {
        for (link, target, section) in links(&guide) {
            assert!(target.exists(), "{guide}: {link}");
            if !section.is_empty() {
                let text = std::fs::read_to_string(&target).unwrap();
                assert!(anchors(&text).contains(&section), "{guide}: {link}");
            }
        }
    }
}

/// All guides.
pub fn guides() -> Vec<String> {
    let mut all = Vec::new();
    for folder in ["", "charts/fhpa/", "charts/fhpa/docs/", "docs/", "docs/decisions/"] {
        let names = std::fs::read_dir(path(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with(".md"));
        all.extend(names.map(|name| format!("{folder}{name}")));
    }
    all.sort_unstable();
    all
}

#[test]
fn every_guide_can_be_reached_from_the_readme() {
    let all: BTreeMap<PathBuf, String> =
        guides().into_iter().map(|guide| (path(&guide).canonicalize().unwrap(), guide)).collect();
    let (mut reached, mut open) = (BTreeSet::new(), vec!["README.md".to_owned()]);
    while let Some(guide) = open.pop() {
        let targets = links(&guide).into_iter().filter_map(|(_, target, _)| target.canonicalize().ok());
        open.extend(targets.filter_map(|target| all.get(&target).cloned()).filter(|guide| !reached.contains(guide)));
        reached.insert(guide);
    }
    let lost: Vec<&String> = all.values().filter(|guide| !reached.contains(*guide)).collect();
    assert!(lost.is_empty(), "no link leads to {lost:?}");
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

/// `fhpa` as it is called in a text: in code spans, and in lines of blocks.
fn calls(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let blocks = joined.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(|line| line.trim_start_matches("$ ").to_owned());
    let spans = text.split('`').skip(1).step_by(2).map(|span| span.replace('\n', " "));
    lines.chain(spans).filter(|call| call.starts_with("fhpa ")).collect()
}

#[test]
fn commands_and_flags_that_guides_name_exist() {
    let mut cli = Cli::command();
    // Adds `help`.
    cli.build();
    let (mut seen, mut absent) = (0, Vec::new());
    for guide in guides() {
        for call in calls(&text(&guide)) {
            let words: Vec<&str> = call.split_whitespace().take_while(|word| *word != "|").collect();
            let Some(command) = cli.find_subcommand(words[1]) else {
                // Upper case stands for any command.
                if words[1].chars().any(|c| c.is_ascii_lowercase()) {
                    absent.push(words[1].to_owned());
                }
                continue;
            };
            let flags =
                words.iter().filter_map(|word| word.strip_prefix("--")).map(|flag| flag.split('=').next().unwrap());
            for flag in flags.filter(|flag| *flag != "help") {
                let known = command.get_arguments().any(|argument| argument.get_long() == Some(flag));
                assert!(known, "{guide}: `{call}`: no --{flag}");
                seen += 1;
            }
        }
    }
    assert!(seen > 5, "{seen}");
    assert_eq!(absent, [""; 0], "there are no such commands");
}

/// Lines of the log and messages: quoted, of four words and more, and no commands.
fn quoted_sentences(guide: &str) -> Vec<String> {
    let document = text(guide);
    let prose = document.split("```").step_by(2).flat_map(str::lines);
    let spans = prose.flat_map(|line| line.split('`').skip(1).step_by(2));
    let plain = |span: &&str| span.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, ' ' | ','));
    let command = |span: &&str| ["fhpa", "helm", "kctl", "kubectl"].contains(&span.split(' ').next().unwrap());
    spans.filter(|span| span.split(' ').count() > 3 && plain(span) && !command(span)).map(str::to_owned).collect()
}

#[test]
fn messages_that_guides_quote_are_those_of_the_code() {
    let code: String = program().iter().map(|source| source.text.as_str()).collect();
    // A text that is broken by `\` is one.
    let code = code.split("\\\n").map(str::trim_start).collect::<String>();
    let mut seen = 0;
    for guide in ["runbooks", "troubleshoot", "emergency", "day2"] {
        for sentence in quoted_sentences(&format!("charts/fhpa/docs/{guide}.md")) {
            assert!(code.contains(&sentence), "{guide}.md quotes what the code does not say: {sentence}");
            seen += 1;
        }
    }
    assert!(seen > 3, "only {seen} messages are quoted");
}
