//! Near misses: the known word that a user probably meant. Pure.

/// The candidate that `given` most likely means; `None` when none is near. Case-insensitive.
#[must_use]
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.is_empty() || given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let Some(distance) = distance(&given, &candidate.to_lowercase()) else { continue };
        if best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Longer texts get no suggestion; the bound keeps the search cheap.
const LONGEST: usize = 64;

/// Distance of two lower-case words; `None` when it is too great. A word that ends or begins with the other (`rulename`
/// and `name`) is one step further than any misspelling.
fn distance(given: &str, candidate: &str) -> Option<usize> {
    let length = candidate.chars().count().max(given.chars().count());
    let allowed = (length / 3).clamp(1, 3);
    let edits = strsim::osa_distance(given, candidate);
    if edits <= allowed && edits < length {
        return Some(edits);
    }
    let (short, long) = if given.len() < candidate.len() { (given, candidate) } else { (candidate, given) };
    (short.len() >= 4 && (long.ends_with(short) || long.starts_with(short))).then_some(4 + long.len() - short.len())
}

/// `: did you mean "x"?`, or nothing.
#[must_use]
pub fn did_you_mean(suggestion: Option<&str>) -> String {
    suggestion.map(|word| format!(": did you mean {word:?}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_misspelt_word_finds_its_neighbour() {
        assert_eq!(nearest("ruleName", ["name", "schedule", "suspend"]), Some("name"));
        assert_eq!(nearest("Deploymnet", ["Deployment", "DaemonSet"]), Some("Deployment"));
        assert_eq!(nearest("app", ["apps", "batch"]), Some("apps"));
        assert_eq!(nearest("distributed", ["Distributed", "Centralized"]), Some("Distributed"));
        assert_eq!(nearest("timezone", ["timeZone", "name"]), Some("timeZone"));
        assert_eq!(nearest("replicas", ["targetReplicas", "suspend"]), Some("targetReplicas"));
    }

    #[test]
    fn a_word_of_its_own_finds_nothing() {
        assert_eq!(nearest("Queue", ["Deployment", "DaemonSet"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest(&"a".repeat(10_000), ["a"]), None);
    }
}
