//! Modules use only the modules that an arrow allows.

use super::imports::{Import, imports};
use super::sources::{HOUSE, Source, TREES, root, sources};

/// Room -> the rooms it may name. `lib` only lists them. `api`, `decision`, `simulation` and `playground` are crates:
/// the compiler says what these may name.
const ARROWS: &[(&str, &[&str])] = &[
    ("convert", &["api", "decision"]),
    ("admission", &["convert", "decision"]),
    ("runtime", &["api", "convert", "decision"]),
    ("controller", &["api", "convert", "decision", "runtime"]),
    ("estimator", &["api", "controller", "runtime"]),
    ("reconcile", &["api", "controller", "convert", "decision", "estimator", "runtime"]),
    ("overview", &["api", "controller", "convert", "decision", "reconcile", "runtime"]),
    ("dashboard", &["api", "controller", "decision", "estimator", "install", "overview", "runtime"]),
    ("install", &["admission", "api", "controller", "convert", "decision", "estimator", "reconcile", "runtime"]),
    ("run", &["admission", "api", "controller", "convert", "decision", "estimator", "install", "reconcile", "runtime"]),
    ("recovery", &["api", "controller", "convert", "decision", "install", "reconcile", "runtime"]),
    (
        "cli",
        &[
            "admission",
            "api",
            "convert",
            "dashboard",
            "decision",
            "install",
            "overview",
            "recovery",
            "run",
            "runtime",
            "simulation",
        ],
    ),
    ("main", &["cli"]),
    ("lib", &[]),
];

/// What the pure core may not name: clocks, sockets, files, threads, chance, and the crates that bring them.
const IMPURE: &[&str] = &[
    "kube::",
    "k8s_openapi",
    "tokio",
    "hyper",
    "axum",
    "rustls",
    "tracing",
    "rand::",
    "std::fs",
    "std::net",
    "std::env",
    "std::io",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "Timestamp::now",
    "Zoned::now",
    "TimeZone::system",
    "TimeZone::get(",
    "jiff::tz::db",
];

/// The room that a path names, by `crate::room` or by `fhpa::room`.
fn room(import: &Import) -> Option<&str> {
    match import.path.as_slice() {
        [head, room, ..] if ["crate", "fhpa"].contains(&&**head) => Some(room),
        _ => None,
    }
}

fn missing_arrows(source: &Source) -> Vec<String> {
    let own = source.room();
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == own) else {
        return vec![format!("{}: the room `{own}` stands in no arrow", source.path.display())];
    };
    let named = imports(source);
    let rooms = named.iter().filter_map(|import| Some((import.line, room(import)?)));
    rooms
        .filter(|(_, to)| *to != own && !allowed.contains(to))
        .map(|(at, to)| format!("{}:{at}: {own} -> {to}", source.path.display()))
        .collect()
}

#[test]
fn every_module_follows_the_arrows() {
    let missing: Vec<String> = HOUSE.into_iter().flat_map(sources).flat_map(|source| missing_arrows(&source)).collect();
    assert!(missing.is_empty(), "arrows that nobody drew:\n{}", missing.join("\n"));
}

#[test]
fn a_missing_arrow_is_seen() {
    let source = Source { path: "daemon/src/convert/plan.rs".into(), text: "use crate::run::process;\n".into() };
    assert_eq!(missing_arrows(&source), ["daemon/src/convert/plan.rs:1: convert -> run"]);
    let source =
        Source { path: "daemon/src/estimator/mod.rs".into(), text: "use crate::{decision::path, api};\n".into() };
    assert_eq!(missing_arrows(&source), ["daemon/src/estimator/mod.rs:1: estimator -> decision"]);
}

#[test]
fn the_core_is_pure() {
    let mut impure = Vec::new();
    for source in sources("decision/src").into_iter().chain(sources("simulation/src")) {
        for (at, line) in source.code() {
            impure.extend(
                IMPURE
                    .iter()
                    .filter(|name| line.contains(**name))
                    .map(|name| format!("{}:{at}: {name}", source.path.display())),
            );
        }
    }
    assert!(impure.is_empty(), "decision/ or simulation/ names what is not pure:\n{}", impure.join("\n"));
}

/// Rooms of the daemon that the playground may name: what it models must not be what is tested.
const SHARED: [&str; 2] = ["convert", "runtime"];

/// What a source of the playground names of other rooms of the daemon.
fn modelled(source: &Source) -> Vec<String> {
    let of_daemon = |import: &Import| {
        let [head, room, ..] = import.path.as_slice() else { return None };
        (head == "fhpa_daemon" && !SHARED.contains(&&**room))
            .then(|| format!("{}:{}: {room}", source.path.display(), import.line))
    };
    imports(source).iter().filter_map(of_daemon).collect()
}

#[test]
fn the_playground_uses_no_controller() {
    let used: Vec<String> = sources("playground/src").iter().flat_map(modelled).collect();
    assert!(used.is_empty(), "the playground names what it models:\n{}", used.join("\n"));
    let text = "use fhpa_daemon::{convert::scaling, reconcile};\nfn f() { fhpa_daemon::controller::key() }\n";
    let source = Source { path: "playground/src/pass.rs".into(), text: text.into() };
    assert_eq!(modelled(&source), ["playground/src/pass.rs:1: reconcile", "playground/src/pass.rs:2: controller"]);
}

/// The package of the embedded API server.
const EMBEDDED: &str = "embedded-apiserver/src";

#[test]
fn the_embedded_api_server_knows_kubernetes_alone() {
    let manifest = std::fs::read_to_string(root().join("embedded-apiserver/Cargo.toml")).unwrap();
    let knows = |text: &str| ["karmada", "fhpa"].iter().any(|name| text.to_lowercase().contains(name));
    let files = sources(EMBEDDED).into_iter().filter(|source| knows(&source.text));
    let files: Vec<String> = files.map(|source| source.path.display().to_string()).collect();
    assert!(!knows(&manifest) && files.is_empty(), "it names what is not of Kubernetes: {files:?}");
}

#[test]
fn every_file_says_what_it_is() {
    let silent: Vec<String> = TREES
        .into_iter()
        .chain([EMBEDDED])
        .flat_map(sources)
        .filter(|source| !source.text.starts_with("//!"))
        .map(|source| source.path.display().to_string())
        .collect();
    assert!(silent.is_empty(), "files without a first line `//!`: {silent:?}");
}
