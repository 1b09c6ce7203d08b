//! Manifests in YAML files.

use std::path::Path;

use serde_json::Value;

/// The texts of all files in the folders of a folder.
pub fn yaml_files(directory: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for group in std::fs::read_dir(directory).unwrap() {
        for file in std::fs::read_dir(group.unwrap().path()).unwrap() {
            texts.push(std::fs::read_to_string(file.unwrap().path()).unwrap());
        }
    }
    texts
}

/// The documents of a YAML file.
pub fn documents(text: &str) -> Vec<Value> {
    let parts = text.split("\n---").map(|part| part.trim_start_matches("---"));
    let parts = parts.filter(|part| part.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#')));
    parts.map(|part| serde_saphyr::from_str(part).unwrap()).collect()
}
