//! The pure parts of the embedded API server.

mod admission;
mod openapi;
mod ownership;
mod pruning;
mod schema;
mod strategic;

use serde_json::Value;

/// A file below `tests/fixtures`.
pub fn fixture(path: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// One JSON value per line.
pub fn lines(path: &str) -> Vec<Value> {
    fixture(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
