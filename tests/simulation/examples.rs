//! `examples/simulate/`: each scenario matches its snapshot and its chart.

use std::fs;

use crate::cli::command::fhpa;

fn names() -> Vec<String> {
    let entries = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/simulate")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned)).collect();
    names.sort();
    assert!(names.len() >= 9);
    names
}

#[test]
fn every_scenario_goes_as_its_snapshot_and_its_chart_say() {
    let folder = tempfile::tempdir().unwrap();
    for name in names() {
        let file = format!("examples/simulate/{name}.yaml");
        let chart = folder.path().join(format!("{name}.svg"));
        let outcome = fhpa(&["simulate", &file, "--chart", chart.to_str().unwrap()]);
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{name}: {}", outcome.stdout);
        insta::assert_snapshot!(format!("simulate_{name}"), outcome.stdout);
        let kept = format!("examples/simulate/{name}.svg");
        let same = fs::read_to_string(format!("{}/{kept}", env!("CARGO_MANIFEST_DIR"))).unwrap_or_default()
            == fs::read_to_string(&chart).unwrap();
        assert!(same, "another chart than the kept one: fhpa simulate {file} --chart {kept}");
    }
}

/// Seconds in which replicas are missing.
fn unserved(file: &str) -> i64 {
    let outcome = fhpa(&["simulate", file]);
    let line = outcome.stdout.lines().find(|line| line.starts_with("unserved ")).unwrap();
    let span: jiff::SignedDuration = line.rsplit(' ').next().unwrap().parse().unwrap();
    span.as_secs()
}

#[test]
fn where_the_autoscaler_says_that_no_nodes_come_the_delay_is_not_waited_for() {
    let told = unserved("examples/simulate/no-more-nodes.yaml");
    let text =
        fs::read_to_string(format!("{}/examples/simulate/no-more-nodes.yaml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let silent = text.replace(", nodes: {capacity: 8}", "");
    assert_ne!(silent, text);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("silent.yaml");
    fs::write(&file, silent).unwrap();
    let silent = unserved(file.to_str().unwrap());
    // Of the ten minutes only the time of the HPAs and of the new pods is left.
    assert!(silent >= 600 && told + 400 <= silent, "{told} s with an answer of the autoscaler, {silent} s without");
}

/// The worked examples of help, and what their tables show at one time or another.
const WORKED: [(&str, &[&str]); 6] = [
    ("g8", &["8+2!6 8..23  0 1..1", "10 8..10     1 1..14"]),
    ("g9", &["4 1..4*  9 1..9*  2 1..4", "4 1..7*  2 1..9   1 1..1", "2 1..15  1 1..1   1 1..1"]),
    ("g10", &["6 2..14  6 1..10  6 1..10"]),
    ("g11", &["6!4 4..40  3 3..30    2 1..10", "6 4..6     3+3 3..56  2+1 1..18"]),
    ("g12", &["6 1..6  2+2 2..37  2+2 1..37"]),
    ("g13", &["6!4 2..22  2 1..5     2 1..3", "6 2..6     2+3 1..21  2+1 1..3"]),
];

#[test]
fn the_worked_examples_of_help_happen_over_time() {
    for (name, moments) in WORKED {
        let outcome = fhpa(&["simulate", &format!("tests/fixtures/simulate/{name}.yaml")]);
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{name}: {}", outcome.stdout);
        insta::assert_snapshot!(format!("simulate_{name}"), outcome.stdout);
        for moment in moments {
            assert!(outcome.stdout.contains(moment), "{name}: {moment:?} is not in\n{}", outcome.stdout);
        }
    }
}

#[test]
fn the_cloud_of_an_example_runs_its_min_while_all_fits_into_the_data_centre() {
    let day = "tests/fixtures/simulate/data-centre-first.yaml";
    let outcome = fhpa(&["simulate", "examples/data-centre-first.yaml", day]);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    insta::assert_snapshot!("simulate_data-centre-first", outcome.stdout);
    // By its clusters: the data centre, and two of the cloud that are each a pod at least.
    for moment in ["15    -         15     13 4..58    1 1..1     1 1..1", "20 4..20*   8 1..27    5 1..13"] {
        assert!(outcome.stdout.contains(moment), "{moment:?} is not in\n{}", outcome.stdout);
    }
}

#[test]
fn the_guide_shows_every_chart() {
    let guide = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cli.md")).unwrap();
    for name in names() {
        assert!(guide.contains(&format!("(../examples/simulate/{name}.svg)")), "{name}");
    }
}

#[test]
fn policies_stand_side_by_side() {
    let outcome = fhpa(&["simulate", "examples/simulate/base-stations.yaml", "--compare"]);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    insta::assert_snapshot!("simulate_compare", outcome.stdout);
}
