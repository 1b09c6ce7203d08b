//! The modules of a folder have an order of reading: none imports another in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Modules;
use super::sources::{Source, TREES, sources};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// What each child of a folder imports of the others, by folder.
fn folders(modules: &Modules) -> BTreeMap<Vec<String>, Graph> {
    let mut folders: BTreeMap<Vec<String>, Graph> = BTreeMap::new();
    for (from, to) in modules.arrows() {
        let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        // A folder and what is in it know each other.
        if let (Some(one), Some(other)) = (from.get(shared), to.get(shared)) {
            let folder = folders.entry(from[..shared].to_vec()).or_default();
            folder.entry(one.clone()).or_default().insert(other.clone());
        }
    }
    folders
}

fn reached(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        for to in graph.get(next).into_iter().flatten() {
            if reached.insert(to.clone()) {
                open.push(to);
            }
        }
    }
    reached
}

/// `folder: child, child`, for each set of children that import each other.
fn circles(sources: &[Source]) -> BTreeSet<String> {
    let mut circles = BTreeSet::new();
    for (folder, graph) in folders(&Modules::of(sources)) {
        let reached: BTreeMap<&String, BTreeSet<String>> =
            graph.keys().map(|child| (child, reached(&graph, child))).collect();
        for (child, others) in &reached {
            let back = |other: &&String| reached.get(other).is_some_and(|them| them.contains(*child));
            let circle: Vec<&str> = others.iter().filter(back).map(String::as_str).collect();
            if !circle.is_empty() {
                circles.insert(format!("{}: {}", folder.join("/"), circle.join(", ")));
            }
        }
    }
    circles
}

#[test]
fn siblings_import_each_other_in_no_circle() {
    for tree in TREES.into_iter().chain(["embedded-apiserver/src"]) {
        let found = circles(&sources(tree));
        assert!(found.is_empty(), "{tree}: these import each other in a circle: {found:#?}");
    }
}

#[test]
fn a_circle_is_seen_by_any_path() {
    let file = |path: &str, text: &str| Source { path: path.into(), text: text.to_owned() };
    let of = |one: &str, two: &str| {
        let parent = "//! Room.\nmod one;\nmod two;\npub use one::{One as First, inner::Deep};\n";
        circles(&[
            file("src/lib.rs", "pub mod room;\n"),
            file("src/room/mod.rs", parent),
            file("src/room/one.rs", one),
            file("src/room/two.rs", two),
        ])
    };
    let forward = "use super::two::{self,\n    Two};\n";
    let circle = BTreeSet::from(["room: one, two".to_owned()]);
    assert_eq!(of(forward, "use crate::room::one::One;\n"), circle, "by path");
    assert_eq!(of(forward, "use crate::{other, room::First};\n"), circle, "by a name that the folder exports");
    assert_eq!(of("fn f() { super::two::f() }\n", "use super::Deep;\n"), circle, "without a `use`");
    assert_eq!(of(forward, "use super::Parent;\nuse std::one::One;\n"), BTreeSet::new());
    assert_eq!(of(forward, "// use super::one::One;\n#[cfg(test)]\nmod tests { use super::one; }\n"), BTreeSet::new());
}
