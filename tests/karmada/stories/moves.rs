//! Worked examples of the design in which replicas and headroom move later: candidates (G2), scale down by priority
//! (G9), the periodic optimization (G10) and help (G11 to G13).

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::examples::{Example, Place, given, preference, size, then, wants};
use crate::operator::Fhpa;
use crate::stand::{MEMBERS, Stand};

fn places(cores_and_entries: [(u32, u32); 3]) -> Vec<Place> {
    let place = |(name, (cores, entry))| Place { name, cores, entry };
    MEMBERS.into_iter().zip(cores_and_entries).map(place).collect()
}

/// Ready pods in each member.
pub fn ready(stand: &Stand, name: &str) -> [usize; 3] {
    MEMBERS.map(|member| stand.observer.ready_in(member, name))
}

/// Until each member runs one pod: the third one shrinks first, and the first one last.
pub async fn empties_in_reverse(stand: &Stand, name: &str) {
    let mut seen = vec![ready(stand, name)];
    let until = fhpa::runtime::clock::steady() + Duration::from_secs(240);
    while fhpa::runtime::clock::steady() < until && ready(stand, name) != [1, 1, 1] {
        let now = ready(stand, name);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("  {seen:?}");
    assert_eq!(ready(stand, name), [1, 1, 1], "{seen:?}");
    for pair in seen.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        assert!(after[0] >= before[0] || before[1..] == [1, 1], "the first shrinks last: {seen:?}");
        assert!(after[1] >= before[1] || before[2] == 1, "the second shrinks after the third: {seen:?}");
    }
}

async fn become_ready(stand: &Stand, name: &str, wanted: [usize; 3]) {
    let patience = tokio::time::timeout(Duration::from_secs(90), async {
        while ready(stand, name) != wanted {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let in_time = patience.await.is_ok();
    assert!(in_time, "{name}: {wanted:?} are to be ready, {:?} are", ready(stand, name));
}

/// G2: who is no candidate leaves, who has too many comes down, who has too few goes up.
pub async fn candidates(stand: &mut Stand) {
    let name = "g2";
    let mut spec = preference("Duplicated", &[]);
    spec["clusterAffinity"] = json!({"clusterNames": ["member1", "member2"]});
    let example = Example {
        name,
        places: places([(40, 1), (40, 20), (40, 5)]),
        bounds: (3, 10),
        spec,
        expected: vec![(3, 10), (3, 10), (0, 0)],
        entries: &[],
    };
    given(stand, &example).await;
    then(stand, &example).await;
    become_ready(stand, name, [3, 10, 0]).await;
    super::examples::ends(stand, name).await;
}

/// G9: the lowest priority shrinks first, and nobody before it.
pub async fn the_lowest_priority_shrinks_first(stand: &mut Stand) {
    let name = "g9";
    let mut spec = preference(
        "Prioritized",
        &[("member1", "priority", 3), ("member2", "priority", 2), ("member3", "priority", 1)],
    );
    for (at, most) in [4, 9].into_iter().enumerate() {
        spec["federatedHPAAssignment"]["clusterAutoscalingPreference"][at]["autoscalingMaxThreshold"] = json!(most);
    }
    spec["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 10}});
    let example = Example {
        name,
        places: places([(40, 4), (40, 9), (40, 4)]),
        bounds: (1, 17),
        spec,
        expected: vec![(1, 4), (1, 9), (1, 4)],
        entries: &[],
    };
    given(stand, &example).await;
    then(stand, &example).await;
    become_ready(stand, name, [4, 9, 4]).await;
    for member in MEMBERS {
        wants(stand, member, name, 1);
    }
    empties_in_reverse(stand, name).await;
    super::examples::ends(stand, name).await;
}

/// G10: headroom follows the room that clusters report, once a period.
pub async fn headroom_follows_the_room(stand: &mut Stand) {
    let name = "g10";
    stand.fhpa.kill_all();
    stand.fhpa = Fhpa::start(&stand.lab, &["--rebalance-period", "20s"]).await;
    let mut example = Example {
        name,
        places: vec![Place { name: "member1", cores: 12, entry: 2 }, Place { name: "member2", cores: 12, entry: 2 }],
        bounds: (2, 20),
        spec: preference("DynamicWeighted", &[]),
        expected: vec![(1, 10), (1, 10)],
        entries: &[],
    };
    given(stand, &example).await;
    then(stand, &example).await;
    size(stand, "member2", 32).await;
    example.expected = vec![(1, 6), (1, 14)];
    then(stand, &example).await;
    super::examples::ends(stand, name).await;
    stand.fhpa.kill_all();
    stand.fhpa = Fhpa::start(&stand.lab, &[]).await;
}

/// One cluster wants ten replicas and has room for six: the others run what it lacks.
async fn helped(stand: &Stand, example: &Example, wanted: [usize; 3]) {
    let name = example.name;
    given(stand, example).await;
    if example.expected.is_empty() {
        stand
            .soon("each has its HPA", async |stand| {
                let mut with = BTreeSet::new();
                for member in MEMBERS {
                    with.extend(stand.bounds(member, name).await.map(|_| member));
                }
                with.len() == MEMBERS.len()
            })
            .await;
    } else {
        then(stand, example).await;
    }
    let before: Vec<usize> = example.places.iter().map(|place| place.entry as usize).collect();
    become_ready(stand, name, [before[0], before[1], before[2]]).await;
    stand.observer.note(name);
    wants(stand, "member1", name, 10);
    become_ready(stand, name, wanted).await;
    assert_eq!(stand.observer.least(name), before.iter().sum::<usize>(), "no pod is ended for it");
    super::examples::ends(stand, name).await;
}

/// G11 to G13: help by static weight, by room, and by filling one cluster after the other.
pub async fn help(stand: &mut Stand) {
    let weights = [("member1", "staticWeight", 4), ("member2", "staticWeight", 3), ("member3", "staticWeight", 1)];
    let priorities = [("member1", "priority", 3), ("member2", "priority", 2), ("member3", "priority", 1)];
    let example =
        |name, places, bounds, spec: Value, expected| Example { name, places, bounds, spec, expected, entries: &[] };
    let by_weight = example(
        "g11",
        places([(6, 6), (50, 3), (50, 2)]),
        (8, 80),
        preference("StaticWeighted", &weights),
        vec![(4, 40), (3, 30), (1, 10)],
    );
    helped(stand, &by_weight, [6, 6, 3]).await;
    let room = places([(6, 6), (52, 2), (52, 2)]);
    helped(stand, &example("g12", room, (3, 80), preference("DynamicWeighted", &[]), vec![]), [6, 4, 4]).await;
    for (name, spec) in
        [("g13-aggregated", preference("Aggregated", &[])), ("g13-prioritized", preference("Prioritized", &priorities))]
    {
        let filled = example(name, places([(6, 6), (5, 2), (3, 2)]), (3, 30), spec, vec![]);
        helped(stand, &filled, [6, 5, 3]).await;
    }
}
