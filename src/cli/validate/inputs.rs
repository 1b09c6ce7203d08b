//! Paths -> sources. Reads files, directories and standard input.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::manifest::{MAX_BYTES, Source};

/// Most files of one call.
const MAX_FILES: usize = 10_000;
/// Deepest directory level.
const MAX_DEPTH: usize = 32;

/// Paths as the flag of kubectl.
#[derive(Debug, clap::Args)]
pub(crate) struct FilenameArgs {
    /// The same, as kubectl spells it.
    #[arg(short = 'f', long, value_name = "FILE|DIR|-")]
    filename: Vec<PathBuf>,
}

impl FilenameArgs {
    /// The paths that are given without the flag, and those with it.
    pub(crate) fn all(self, mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
        paths.extend(self.filename);
        paths
    }
}

/// A path that could not be read.
#[derive(Debug)]
pub(crate) struct Unreadable {
    pub(crate) name: String,
    pub(crate) message: String,
}

/// A file to read, with its display name.
enum Input {
    Stdin,
    File(PathBuf),
}

/// The sources of all `paths`: files as given, directories with all manifests below them, ordered by name.
pub(crate) fn read(paths: &[PathBuf]) -> Vec<Result<Source, Unreadable>> {
    let mut inputs = Vec::new();
    let mut seen = BTreeSet::new();
    for path in paths {
        if path.as_os_str() == "-" {
            inputs.push(Ok(Input::Stdin));
        } else if path.is_dir() {
            let before = inputs.len();
            directory(path, 0, &mut inputs);
            if inputs.len() == before {
                inputs.push(unreadable(path, "there is no *.yaml, *.yml or *.json file in this directory"));
            }
        } else {
            inputs.push(Ok(Input::File(path.clone())));
        }
    }
    let mut left = MAX_FILES;
    let mut sources = Vec::new();
    for input in inputs {
        let first = match &input {
            Ok(Input::File(path)) => seen.insert(fs::canonicalize(path).unwrap_or_else(|_| path.clone())),
            Ok(Input::Stdin) => seen.insert(PathBuf::from("-")),
            Err(_) => true,
        };
        if !first {
            continue;
        }
        let Some(rest) = left.checked_sub(1) else {
            sources.push(Err(Unreadable {
                name: String::new(),
                message: format!("more than {MAX_FILES} files were given"),
            }));
            break;
        };
        left = rest;
        sources.push(input.and_then(source));
    }
    sources
}

/// Adds the manifests below `path`. Hidden entries are left out, links to directories are not followed.
fn directory(path: &Path, depth: usize, inputs: &mut Vec<Result<Input, Unreadable>>) {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return inputs.push(unreadable(path, &plain(&error))),
    };
    if depth > MAX_DEPTH {
        return inputs.push(unreadable(path, &format!("directories are nested deeper than {MAX_DEPTH} levels")));
    }
    let mut names: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
    names.sort();
    for name in names {
        if inputs.len() > MAX_FILES || name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let child = path.join(&name);
        let is_link = child.is_symlink();
        if child.is_dir() {
            if !is_link {
                directory(&child, depth + 1, inputs);
            }
        } else if is_manifest(&child) {
            inputs.push(Ok(Input::File(child)));
        }
    }
}

fn is_manifest(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

fn source(input: Input) -> Result<Source, Unreadable> {
    let (name, bytes) = match input {
        Input::Stdin => ("<stdin>".to_owned(), bounded(io::stdin().lock())),
        Input::File(path) => (path.display().to_string(), fs::File::open(&path).and_then(bounded)),
    };
    let bytes = bytes.map_err(|error| Unreadable { name: name.clone(), message: plain(&error) })?;
    Source::new(name.clone(), bytes).map_err(|message| Unreadable { name, message })
}

/// Reads one byte more than allowed, so that the excess is detected.
fn bounded(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(path: &Path, message: &str) -> Result<Input, Unreadable> {
    Err(Unreadable { name: path.display().to_string(), message: message.to_owned() })
}

/// The error without the error number of the operating system.
fn plain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
