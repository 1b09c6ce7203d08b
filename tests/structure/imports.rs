//! The modules that a file names, read from its text: the trees of its `use` lines, and paths in its code.

use std::collections::BTreeMap;

use super::sources::Source;

/// Where a path can begin.
const HEADS: [&str; 5] = ["crate", "fhpa", "fhpa_daemon", "self", "super"];

/// A path that a file names.
pub struct Import {
    /// The line that names it, from 1.
    pub line: usize,
    /// Its segments as written: `crate`, `decision`, `plan`.
    pub path: Vec<String>,
    /// The name by which a `pub use` exports it.
    pub exported: Option<String>,
}

/// All paths that begin with `crate`, `fhpa`, `fhpa_daemon`, `self` or `super`, and all that a `use` names.
pub fn imports(source: &Source) -> Vec<Import> {
    let tokens: Vec<(usize, &str)> =
        source.code().flat_map(|(at, line)| tokens(line).into_iter().map(move |token| (at, token))).collect();
    let token = |at: usize| tokens.get(at).map_or("", |(_, token)| *token);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let before = if at == 0 { "" } else { token(at - 1) };
        if token(at) == "use" {
            let mut tree = Tree { tokens: &tokens, exports: ["pub", ")"].contains(&before), found: &mut found };
            at = tree.read(at + 1, &[]);
        } else if HEADS.contains(&token(at)) && [token(at + 1), token(at + 2)] == [":", ":"] && before != ":" {
            at = Tree { tokens: &tokens, exports: false, found: &mut found }.read(at, &[]);
        } else {
            at += 1;
        }
    }
    found
}

/// Names, and all other characters one by one.
fn tokens(line: &str) -> Vec<&str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = if is_name(first) { rest.find(|c| !is_name(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// A tree of a `use`, or one path.
struct Tree<'t> {
    tokens: &'t [(usize, &'t str)],
    exports: bool,
    found: &'t mut Vec<Import>,
}

impl Tree<'_> {
    fn token(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |(_, token)| *token)
    }

    /// Reads what begins at `at`, below `above`. Returns where it ends.
    fn read(&mut self, mut at: usize, above: &[String]) -> usize {
        let line = self.tokens.get(at).map_or(0, |(line, _)| *line);
        let mut path = above.to_vec();
        loop {
            match self.token(at) {
                "{" => return self.group(at + 1, &path),
                "*" => return at + 1,
                // The module itself.
                "self" if !path.is_empty() => {}
                name => path.push(name.to_owned()),
            }
            at += 1;
            if self.token(at) != ":" || self.token(at + 1) != ":" {
                break;
            }
            at += 2;
        }
        let alias = (self.token(at) == "as").then(|| self.token(at + 1).to_owned());
        at += if alias.is_some() { 2 } else { 0 };
        let exported = alias.or_else(|| path.last().cloned()).filter(|_| self.exports);
        self.found.push(Import { line, path, exported });
        at
    }

    fn group(&mut self, mut at: usize, above: &[String]) -> usize {
        while !["}", ""].contains(&self.token(at)) {
            at = if self.token(at) == "," { at + 1 } else { self.read(at, above) };
        }
        at + 1
    }
}

/// A module's path below the crate: `decision`, `plan`.
pub type Module = Vec<String>;

/// The modules of a tree, and what they export by other paths.
pub struct Modules {
    imports: BTreeMap<Module, Vec<Import>>,
    exports: BTreeMap<Module, Module>,
}

impl Modules {
    pub fn of(sources: &[Source]) -> Self {
        let imports = sources.iter().map(|source| (module(source), imports(source))).collect();
        let mut modules = Self { imports, exports: BTreeMap::new() };
        for (module, imports) in &modules.imports {
            for import in imports {
                let exported = import.exported.as_ref().zip(modules.absolute(module, &import.path));
                if let Some((name, path)) = exported {
                    modules.exports.insert([&**module, std::slice::from_ref(name)].concat(), path);
                }
            }
        }
        modules
    }

    /// Each module with those that it names.
    pub fn arrows(&self) -> Vec<(&Module, Module)> {
        let mut arrows = Vec::new();
        for (module, imports) in &self.imports {
            let paths = imports.iter().filter_map(|import| self.absolute(module, &import.path));
            arrows.extend(paths.filter_map(|path| self.target(path)).map(|target| (module, target)));
        }
        arrows
    }

    /// The path below the crate; `None` for one of another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Module> {
        let (head, rest) = path.split_first()?;
        let supers = path.iter().take_while(|name| *name == "super").count();
        match &**head {
            "crate" | "fhpa" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => Some([module.get(..module.len().checked_sub(supers)?)?, &path[supers..]].concat()),
            _ => Some([module, path].concat()).filter(|path| self.imports.contains_key(&path[..=module.len()])),
        }
    }

    /// The module that has what `path` names, wherever it is exported.
    fn target(&self, mut path: Module) -> Option<Module> {
        // No chain of exports is longer.
        for _ in 0..8 {
            let exported = (1..=path.len()).rev().find_map(|end| {
                let (name, rest) = path.split_at(end);
                let known =
                    self.exports.get(name).filter(|known| *known != name && !self.imports.contains_key(name))?;
                Some([known.as_slice(), rest].concat())
            });
            let Some(exported) = exported else { break };
            path = exported;
        }
        (1..=path.len()).rev().map(|end| path[..end].to_vec()).find(|module| self.imports.contains_key(module))
    }
}

fn module(source: &Source) -> Module {
    let path = source.path.with_extension("");
    let mut parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
    assert!(parts.any(|part| part == "src"), "{} is in no `src`", path.display());
    let mut module: Module = parts.collect();
    if module.last().is_some_and(|last| ["mod", "lib"].contains(&&**last)) {
        module.pop();
    }
    module
}
