//! The property of the fuzz target on recorded requests and objects with seeded damage, and their memory use.

#[path = "../../fuzz/properties/review_decoder.rs"]
pub mod review_decoder;

use serde_json::Value;

use crate::random::Random;

/// Bytes of memory that a byte of the body may cost at a time, and what a review may cost beyond that.
const PER_BYTE: u64 = 120;
const FIXED: u64 = 1 << 20;
/// Bytes of memory that any review may cost.
const MOST: u64 = 160 << 20;

/// Elements of lists that take most memory for their text.
const ITEMS: [&str; 6] = ["{},", "0,", "[[[]]],", "{\"a\":{}},", "{\"type\":\"Resource\"},", "{\"name\":\"a\"},"];

/// Requests as they were recorded, and objects behind the byte that has them put into a sound request.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (file, member, choice) in [
        ("admission_envelope", "body_raw", 0),
        ("admission_federatedhpa_validate", "object", 3),
        ("admission_cronfederatedhpa_validate", "object", 7),
    ] {
        let path = format!("{}/tests/fixtures/upstream/{file}.jsonl", env!("CARGO_MANIFEST_DIR"));
        for line in std::fs::read_to_string(path).unwrap().lines().step_by(11) {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = match &line[member] {
                Value::Null => continue,
                Value::String(text) => text.clone(),
                object => object.to_string(),
            };
            seeds.push([&[choice], text.as_bytes()].concat());
        }
    }
    seeds
}

/// `seed` with some bytes changed, cut out or doubled.
fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    const MARKS: &[u8] = b"{}[]\":,\\0-e.n t\xff";
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len().max(1)).min(bytes.len().saturating_sub(1));
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            2 if !bytes.is_empty() => bytes[at] = MARKS[random.below(MARKS.len())],
            3 if !bytes.is_empty() => bytes[at] = random.below(256) as u8,
            _ => {
                let mark = MARKS[random.below(MARKS.len())];
                bytes.splice(at..at, vec![mark; random.below(200)]);
            }
        }
    }
    bytes
}

fn assert_cheap(data: &[u8]) {
    let Some((endpoint, body)) = review_decoder::request(data) else { return };
    let cost = allocation_counter::measure(|| drop(review_decoder::answer(endpoint, &body))).bytes_max;
    let allowed = MOST.min(FIXED + PER_BYTE * body.len() as u64);
    let start = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
    assert!(cost <= allowed, "{cost} bytes for a body of {}: {start}", body.len());
}

#[test]
fn damaged_reviews_keep_the_property_of_the_fuzz_target_and_cost_little() {
    let seeds = seeds();
    assert!(seeds.len() > 200, "{} seeds", seeds.len());
    let mut random = Random(0x5eed);
    review_decoder::check(&seeds[0]);
    for _ in 0..8_000 {
        let body = damaged(&seeds[random.below(seeds.len())], &mut random);
        review_decoder::check(&body);
        assert_cheap(&body);
    }
}

#[test]
fn deep_and_wide_bodies_cost_a_bounded_multiple_of_their_size() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}"), ("{\"spec\":{\"metrics\":[", "")] {
        for choice in [0_u8, 3, 7] {
            let body = [&[choice][..], open.repeat(100_000).as_bytes(), close.repeat(100_000).as_bytes()].concat();
            review_decoder::check(&body);
            assert_cheap(&body);
        }
    }
    for (item, times) in ITEMS.iter().flat_map(|item| [10_000, 100_000, 180_000, 400_000].map(|times| (item, times))) {
        let items = item.repeat(times);
        for list in ["metrics", "rules"] {
            let object = format!("{{\"spec\":{{\"{list}\":[{}]}}}}", items.trim_end_matches(','));
            for choice in [3_u8, 7] {
                let body = [&[choice][..], object.as_bytes()].concat();
                review_decoder::check(&body);
                assert_cheap(&body);
            }
        }
    }
}
