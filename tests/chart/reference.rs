//! The reference of reasons, annotations, metrics and flags is generated from the code. `UPDATE_REFERENCE=1 cargo test --test all --
//! reference` writes it again.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command, CommandFactory as _};
use fhpa::cli::Cli;

use super::{monitoring, path, text};
use crate::structure::sources::{program, sources};

const GUIDE: &str = "charts/fhpa/docs/reference.md";

/// Sources of reasons that are no conditions: file, enum, and the word of the guide for where they are seen.
const WORDS: [(&str, &str, &str); 3] = [
    ("decision/src/plan/reason.rs", "Reason", "bounds"),
    ("decision/src/plan/reason.rs", "Hold", "hold"),
    ("decision/src/plan/reason.rs", "Why", "step"),
];

/// The block of a source that begins like this.
fn block<'a>(source: &'a str, begin: &str) -> &'a str {
    let (_, rest) = source.split_once(begin).unwrap_or_else(|| panic!("no {begin:?}"));
    rest.split_once("\n}\n").unwrap().0
}

/// Words that the method `code` of an enum gives, by its variants.
pub fn codes(file: &str, name: &str) -> BTreeMap<String, String> {
    let source = text(file);
    let arms = block(&source, &format!("\nimpl {name} {{")).lines().filter_map(|line| {
        let (variant, code) = line.trim().strip_prefix("Self::")?.split_once("=> \"")?;
        let variant = variant.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
        Some((variant.to_owned(), code.split('"').next()?.to_owned()))
    });
    arms.collect()
}

/// What the comments of an enum say of its variants.
fn meanings(file: &str, name: &str) -> BTreeMap<String, String> {
    let source = text(file);
    let mut found = BTreeMap::new();
    let mut said: Vec<&str> = Vec::new();
    for line in block(&source, &format!("\npub enum {name} {{")).lines() {
        let Some(line) = line.strip_prefix("    ").filter(|line| !line.starts_with(' ')) else { continue };
        if let Some(words) = line.strip_prefix("/// ") {
            said.push(words);
        } else if line.starts_with(|c: char| c.is_ascii_uppercase()) {
            let variant: String = line.chars().take_while(char::is_ascii_alphanumeric).collect();
            found.insert(variant, std::mem::take(&mut said).join(" "));
        }
    }
    found
}

pub fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('\n', " ").replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | "))
}

pub fn head(cells: &[&str]) -> String {
    row(cells) + &format!("|{}\n", "---|".repeat(cells.len()))
}

fn reasons() -> String {
    let mut out = String::new();
    for (file, name, whence) in WORDS {
        let meanings = meanings(file, name);
        let codes = codes(file, name);
        assert_eq!(codes.keys().collect::<Vec<_>>(), meanings.keys().collect::<Vec<_>>(), "{name}");
        let by_code: BTreeMap<&String, &String> = codes.iter().map(|(variant, code)| (code, variant)).collect();
        for (code, variant) in by_code {
            out.push_str(&row(&[&format!("`{code}`"), &meanings[variant], whence]));
        }
    }
    head(&["reason", "meaning", "where"]) + &out
}

/// Annotations, labels and finalizers: their constants, and what the comments of these say.
fn marks() -> String {
    const NAME: &str = "&str = \"fhpa.karmada.io/";
    let mut found = BTreeMap::new();
    for source in program() {
        let mut said: Vec<&str> = Vec::new();
        for line in source.text.lines() {
            if let Some(words) = line.strip_prefix("/// ") {
                said.push(words);
                continue;
            }
            let comment = std::mem::take(&mut said).join(" ");
            let Some((_, name)) = line.split_once(NAME) else { continue };
            let name = format!("fhpa.karmada.io/{}", name.split('"').next().unwrap());
            // What all of them begin with, and the name of fhpa in Events.
            if name.ends_with('/') || comment.starts_with("`reportingController`") {
                continue;
            }
            let (what, meaning) = comment.split_once(": ").unwrap_or_else(|| panic!("what is {name}? {comment}"));
            let (what, by) = what.strip_suffix(", set by users").map_or((what, "fhpa"), |what| (what, "users"));
            let known = ["Annotation of", "Label of", "Finalizer of"].iter().any(|kind| what.starts_with(kind));
            assert!(known, "what is {name}? {comment}");
            let (first, rest) = meaning.split_at(1);
            let row = row(&[&format!("`{name}`"), what, by, &(first.to_uppercase() + rest)]);
            assert!(found.insert(name, row).is_none(), "{line}");
        }
    }
    head(&["name", "what", "set by", "meaning"]) + &found.into_values().collect::<String>()
}

/// Names that the code registers, without prefix and unit.
fn registered() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for source in sources("daemon/src/runtime/metrics") {
        let code = source.code().map(|(_, line)| line.trim()).collect::<Vec<_>>().join(" ");
        for call in ["register(", "register_with_unit(", "registered(", "registered::<", "histogram("] {
            for rest in code.split(call).skip(1) {
                // The name is the first text of the call, if it has one.
                let Some((before, rest)) = rest.split_once('"') else { continue };
                let name = rest.split('"').next().unwrap();
                let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                if plain && !before.contains([';', '{']) {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    assert!(found.contains("managed_object_in_sync") && found.contains("leader"), "{found:?}");
    found
}

fn metrics() -> String {
    let series = monitoring::series();
    let text = monitoring::filled().text();
    let told = |kind: &str| -> BTreeMap<String, String> {
        let lines = text.lines().filter_map(|line| line.strip_prefix("# ")?.strip_prefix(kind)?.trim().split_once(' '));
        lines.map(|(name, words)| (name.to_owned(), words.to_owned())).collect()
    };
    let (types, helps) = (told("TYPE"), told("HELP"));
    assert_eq!(types.keys().collect::<Vec<_>>(), helps.keys().collect::<Vec<_>>());
    for name in registered() {
        let known = types.keys().any(|known| known.strip_prefix("fhpa_").is_some_and(|known| known.starts_with(&name)));
        assert!(known, "{name} has no series: see monitoring::filled");
    }
    let mut out = head(&["metric", "type", "labels", "meaning"]);
    for (name, type_) in &types {
        let (shown, one) = match &**type_ {
            "counter" => (format!("{name}_total"), format!("{name}_total")),
            "info" => (format!("{name}_info"), format!("{name}_info")),
            "histogram" => (name.clone(), format!("{name}_bucket")),
            _ => (name.clone(), name.clone()),
        };
        let labels = series.get(&one).unwrap_or_else(|| panic!("{one} is not shown: see monitoring::series"));
        let labels: Vec<String> =
            labels.keys().filter(|label| *label != "le").map(|label| format!("`{label}`")).collect();
        out.push_str(&row(&[&format!("`{shown}`"), type_, &labels.join(", "), helps[name].trim_end_matches('.')]));
    }
    out
}

/// A flag as people write it.
fn shown(flag: &Arg) -> Option<String> {
    let long = format!("--{}", flag.get_long()?);
    let names: Vec<&str> = flag.get_value_names().unwrap_or_default().iter().map(|name| name.as_str()).collect();
    let takes = flag.get_action().takes_values() && !names.is_empty();
    Some(if takes { format!("{long} {}", names.join(" ")) } else { long })
}

/// What a flag is told to mean: with its value and default.
type Meaning = (String, String, String);

fn flags_of(command: &Command, name: &str, found: &mut BTreeMap<Meaning, BTreeSet<String>>) {
    for flag in command.get_arguments().filter(|flag| !flag.is_hide_set()) {
        let Some(long) = shown(flag).filter(|long| long != "--help" && long != "--version") else { continue };
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        let default: Vec<_> = flag.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        let default = if flag.get_action().takes_values() { default.join(" ") } else { String::new() };
        found.entry((long, default, help)).or_default().insert(name.to_owned());
    }
    for below in command.get_subcommands() {
        flags_of(below, below.get_name(), found);
    }
}

fn flags() -> String {
    let mut cli = Cli::command();
    cli.build();
    // What the playground has is told by `fhpa playground --help`; a build without it has the same reference.
    let cli =
        cli.mut_subcommands(
            |command| if command.get_name() == "playground" { Command::new("playground") } else { command },
        );
    let mut found = BTreeMap::new();
    flags_of(&cli, "all", &mut found);
    let mut out = head(&["flag", "of", "default", "meaning"]);
    for ((long, default, help), commands) in found {
        let of = if commands.contains("all") {
            "all".to_owned()
        } else {
            commands.into_iter().collect::<Vec<_>>().join(", ")
        };
        let default = if default.is_empty() { default } else { format!("`{default}`") };
        out.push_str(&row(&[&format!("`{long}`"), &of, &default, &help]));
    }
    out
}

/// The text between the marks of a table, and the guide with another one there.
pub fn exchange(guide: &str, name: &str, table: &str) -> (String, String) {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = guide.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
    let (now, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no {end}"));
    (now.to_owned(), format!("{before}{begin}{table}{end}{after}"))
}

#[test]
fn the_reference_lists_every_reason_annotation_metric_and_flag_and_nothing_else() {
    let before = text(GUIDE);
    let mut guide = before.clone();
    let tables = [("reasons", reasons()), ("annotations", marks()), ("metrics", metrics()), ("flags", flags())];
    for (name, table) in tables {
        let (now, new) = exchange(&guide, name, &format!("\n{table}\n"));
        assert!(table.lines().count() > 10, "{name}: {table}");
        if std::env::var_os("UPDATE_REFERENCE").is_none() {
            let (now, made): (BTreeSet<_>, BTreeSet<_>) = (now.lines().collect(), table.lines().collect());
            let missing: Vec<_> = made.difference(&now).collect();
            let gone: Vec<_> = now.difference(&made).filter(|line| !line.is_empty()).collect();
            assert!(missing.is_empty() && gone.is_empty(), "{GUIDE}: missing {missing:#?}, not in the code {gone:#?}");
        }
        guide = new;
    }
    if std::env::var_os("UPDATE_REFERENCE").is_some() && guide != before {
        std::fs::write(path(GUIDE), &guide).unwrap();
    }
}

#[test]
fn durations_have_units_and_no_flag_is_switched_off_by_a_word() {
    let mut found = BTreeMap::new();
    flags_of(&Cli::command(), "all", &mut found);
    for (long, default, _) in found.keys() {
        // Named and counted as kube-apiserver does.
        let upstream = long.contains("-toleration-seconds");
        assert!(upstream || !long.to_lowercase().contains("second"), "{long}");
        assert!(!long.contains("|none"), "{long}");
        if long.ends_with(" DURATION") {
            assert!(default == "0" || default.ends_with(['s', 'm', 'h']), "{long}: {default}");
        }
    }
}
