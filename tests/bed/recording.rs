//! Recorded responses of a real kube-apiserver to the lines of [`Bed::same`](super::Bed::same): a file of
//! `tests/fixtures/conformance` for each. I/O: files, environment.

use std::path::PathBuf;

use serde_json::{Value, json};

/// Writes the recordings anew, by the real kube-apiserver that is there.
const UPDATE: &str = "UPDATE_CONFORMANCE";
const FOLDER: &str = "tests/fixtures/conformance";

/// Whether recordings are to be written.
pub fn is_updated() -> bool {
    std::env::var_os(UPDATE).is_some_and(|value| value == "1")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(FOLDER)
}

fn text(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

/// Keeps what a kube-apiserver of this version said in the line `name`.
pub fn write(name: &str, shows: &str, version: &str, said: &Value) {
    let recording = json!({"shows": shows, "kube-apiserver": version, "said": said});
    std::fs::write(folder().join(format!("{name}.json")), text(&recording) + "\n").unwrap();
}

/// Fails where `who` says something else in the line `name` than the recording does.
pub fn compare(name: &str, shows: &str, who: &str, said: &Value) {
    let to_do = format!("{UPDATE}=1, with KUBEBUILDER_ASSETS, makes it");
    let file = format!("{FOLDER}/{name}.json");
    let recorded = std::fs::read_to_string(folder().join(format!("{name}.json")));
    let recorded = recorded.unwrap_or_else(|error| panic!("{shows}: {file}: {error}; {to_do}"));
    let recorded: Value = serde_json::from_str(&recorded).unwrap_or_else(|error| panic!("{file}: {error}"));
    assert_eq!(recorded["shows"], shows, "{file} is of another line; {to_do} anew");
    let (version, theirs) = (&recorded["kube-apiserver"], &recorded["said"]);
    assert!(said == theirs, "{shows}\n--- {who}\n{}\n--- {file}, {version}\n{}", text(said), text(theirs));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::folder;
    use crate::structure::sources::sources;

    /// The literals of the source from here on: what a line shows, and its name.
    fn literals(call: &str) -> Vec<&str> {
        call.split('"').skip(1).step_by(2).take(2).collect()
    }

    #[test]
    fn every_line_has_one_recording_and_every_recording_a_line() {
        let call = concat!("Bed::", "same(");
        let mut lines = BTreeSet::new();
        for source in sources("tests") {
            let code: Vec<&str> = source.text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for rest in code.join("\n").split(call).skip(1) {
                let [_, name] = literals(rest)[..] else { panic!("a line of {}", source.path.display()) };
                assert!(lines.insert(format!("{name}.json")), "two lines are called {name}");
            }
        }
        let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let recordings: BTreeSet<String> = files.filter(|name| name != "README.md").collect();
        assert_eq!(lines, recordings);
    }
}
