//! The keys of log lines, in the sources and in docs/operations.md.

use std::collections::BTreeSet;

use super::sources::{HOUSE, root, sources};

const LEVELS: [&str; 5] = ["error!(", "warn!(", "info!(", "debug!(", "trace!("];

/// Keys of one event: what is between its parentheses, up to its message.
fn keys(arguments: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let (mut depth, mut begun, mut quoted) = (0_i32, 0, false);
    let mut parts = Vec::new();
    for (at, letter) in arguments.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&arguments[begun..at]);
                begun = at + 1;
            }
            _ => {}
        }
        if depth < 0 {
            parts.push(&arguments[begun..at]);
            break;
        }
    }
    for part in parts.into_iter().map(str::trim) {
        // What follows the message are its arguments.
        if part.starts_with('"') || part.is_empty() {
            break;
        }
        let name = part.split('=').next().unwrap().trim().trim_start_matches(['%', '?']);
        keys.push(name.rsplit('.').next().unwrap().trim_end_matches('_').to_owned());
    }
    keys
}

#[test]
fn every_key_of_a_log_line_is_in_the_operations_guide_and_none_else() {
    let mut used = BTreeSet::new();
    for source in HOUSE.into_iter().flat_map(sources) {
        let code: Vec<&str> = source.code().map(|(_, line)| line).collect();
        let code = code.join("\n");
        for level in LEVELS {
            for (at, _) in code.match_indices(level) {
                used.extend(keys(&code[at + level.len()..]));
            }
        }
    }
    let guide = std::fs::read_to_string(root().join("docs/operations.md")).unwrap();
    let section = guide.split("## Logs").nth(1).expect("a section on logs").split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| `")).map(|line| line.split('|').nth(1).unwrap());
    let told: BTreeSet<String> =
        rows.flat_map(|cell| cell.split(',').map(|key| key.trim().trim_matches('`').to_owned())).collect();
    assert_eq!(told, used);
}
