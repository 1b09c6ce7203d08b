//! Worked examples (docs/design.md#worked-examples) with pods that run on nodes. Each pod requests one core, so that
//! the cores of a member are the replicas that fit.

use serde_json::{Value, json};

use super::{CORES, MEMBERS, OTHERS, World, deployment, policy};

told! {
    assignments_are_those_of_the_worked_examples,
    pods_without_a_node_are_run_by_the_next_priority,
    candidates_come_and_go,
    the_lowest_priority_shrinks_first,
    headroom_follows_the_room,
    what_a_full_cluster_lacks_others_run,
    a_min_that_finds_no_node_is_held_by_another_cluster_as_long,
    overflow_groups_fill_in_order_and_empty_in_reverse,
}

/// Millicores of one replica here.
const CORE: u32 = 1000;

/// One example: what is there first, what is asked for, and what follows.
struct Example<'a> {
    name: &'a str,
    /// Cores of the members, and what the binding gives them first.
    places: &'a [(u32, u32)],
    bounds: (u32, u32),
    spec: Value,
    /// Bounds of the members' HPAs, where the example names them; none is 0 and 0.
    expected: &'a [(u64, u64)],
    /// Replicas of their entries in the binding, where the example names them.
    entries: &'a [u64],
}

/// Preferences by `staticWeight` or `priority` of the first, second and third member.
pub fn by(type_: &str, key: &str, values: &[u32]) -> Value {
    let one = |(cluster, value): (&str, &u32)| json!({"targetCluster": {"clusterNames": [cluster]}, key: value});
    let preferences: Vec<Value> = MEMBERS.into_iter().zip(values).map(one).collect();
    json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": type_, "clusterAutoscalingPreference": preferences}})
}

pub fn cores_of(name: &str, replicas: u32) -> Value {
    let mut object = deployment(name, replicas);
    object["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(format!("{CORE}m"));
    object
}

/// Load that makes a member want so many replicas at a target of half a core.
pub fn wants<W: World>(world: &W, member: &str, app: &str, replicas: u32) {
    world.load(member, app, replicas * CORE / 2);
}

fn of<'a>(
    name: &'a str,
    places: &'a [(u32, u32)],
    bounds: (u32, u32),
    spec: Value,
    expected: &'a [(u64, u64)],
    entries: &'a [u64],
) -> Example<'a> {
    Example { name, places, bounds, spec, expected, entries }
}

impl Example<'_> {
    fn members(&self) -> impl Iterator<Item = (&'static str, u32, u32)> {
        MEMBERS.into_iter().zip(self.places).map(|(member, (cores, entry))| (member, *cores, *entry))
    }

    /// Sets the example up. Where nothing runs first the FederatedHPA is there before its workload.
    async fn given<W: World>(&self, world: &W) {
        let Self { name, bounds: (min, max), spec, .. } = self;
        for (member, cores, entry) in self.members() {
            world.size(member, cores).await;
            wants(world, member, name, entry.max(1));
        }
        self.is_told(world, false).await;
        let mut policy = policy(name, &MEMBERS[..self.places.len()]);
        let running: u32 = self.members().map(|(.., entry)| entry).sum();
        if running == 0 {
            world.federated(name, *min, *max, spec.clone()).await;
        } else {
            let weight = |(member, _, entry): (&str, u32, u32)| json!({"targetCluster": {"clusterNames": [member]}, "weight": entry});
            let weights: Vec<Value> = self.members().filter(|(.., entry)| *entry > 0).map(weight).collect();
            policy["spec"]["placement"]["replicaScheduling"]["weightPreference"]["staticWeightList"] = json!(weights);
        }
        world.apply(&cores_of(name, running.max(1))).await;
        world.apply(&policy).await;
        if running > 0 {
            world.soon("Karmada divides first", async |world| world.ready(name) == running as usize).await;
            self.is_told(world, true).await;
            world.federated(name, *min, *max, spec.clone()).await;
        }
        self.then(world, self.expected).await;
    }

    /// Waits until Karmada tells of clusters of these sizes, in which what they are to run runs, or nothing.
    async fn is_told<W: World>(&self, world: &W, running: bool) {
        for (member, cores, entry) in self.members() {
            let used = if running { entry * CORE / 1000 } else { 0 };
            world.soon("Karmada tells of its clusters", async |world| world.has(member, cores, used).await).await;
        }
    }

    async fn then<W: World>(&self, world: &W, expected: &[(u64, u64)]) {
        let name = self.name;
        for (member, expected) in MEMBERS.into_iter().zip(expected) {
            let what = format!("{name} has {expected:?} in {member}");
            let has = async |world: &W| world.bounds(member, name).await.unwrap_or_default() == *expected;
            world.soon(&what, has).await;
        }
        let entries = async |world: &W| {
            world.entries(name).await.into_iter().map(|(_, replicas)| replicas).collect::<Vec<_>>() == self.entries
        };
        if !self.entries.is_empty() {
            world.soon(&format!("{name} has the entries {:?}", self.entries), entries).await;
        }
    }
}

/// Takes the example away, and gives members their cores again.
pub async fn ends<W: World>(world: &W, name: &str) {
    world.clear(name).await;
    for member in MEMBERS {
        world.size(member, CORES).await;
    }
}

fn to_zero(mut spec: Value) -> Value {
    spec["scalingToZero"] = json!(true);
    spec
}

/// The assignments by policy.
pub async fn assignments_are_those_of_the_worked_examples<W: World>(world: &mut W) {
    let (weights, priorities) =
        (|| by("StaticWeighted", "staticWeight", &[1, 2, 3]), || by("Prioritized", "priority", &[2, 1]));
    let by_room = |type_: &str| by(type_, "", &[]);
    let (third, fourth): (&[_], &[_]) = (&[(20, 0), (20, 1), (20, 2)], &[(20, 1), (20, 4), (20, 0)]);
    let weighted: &[_] = &[(1, 1), (1, 4), (1, 5)];
    for example in [
        of("g1", &[(20, 11), (20, 11)], (3, 10), by_room("Duplicated"), &[(3, 10), (3, 10)], &[10, 10]),
        of("g3", third, (2, 10), weights(), weighted, &[1, 1, 2]),
        of("g3-to-zero", third, (2, 10), to_zero(weights()), weighted, &[0, 1, 2]),
        of("g4", fourth, (2, 10), weights(), weighted, &[1, 4, 1]),
        of("g4-to-zero", fourth, (2, 10), to_zero(weights()), weighted, &[1, 4, 0]),
        of(
            "g5",
            &[(1, 0), (5, 0), (2, 0)],
            (8, 24),
            by_room("DynamicWeighted"),
            &[(1, 3), (5, 15), (2, 6)],
            &[1, 5, 2],
        ),
        of("g6", &[(8, 0), (2, 0), (2, 0)], (8, 24), by_room("Aggregated"), &[(8, 20), (1, 2), (1, 2)], &[8, 1, 1]),
        of("g7", &[(35, 15), (1, 0)], (8, 24), priorities(), &[(8, 23), (1, 1)], &[15, 1]),
        of("g7-to-zero", &[(35, 15), (1, 0)], (8, 24), to_zero(priorities()), &[(8, 23), (1, 1)], &[15, 0]),
    ] {
        example.given(world).await;
        ends(world, example.name).await;
    }
}

/// G8: six of sixteen pods find no node, and the lower priority runs them.
pub async fn pods_without_a_node_are_run_by_the_next_priority<W: World>(world: &mut W) {
    let name = "g8";
    let spec = by("Prioritized", "priority", &[2, 1]);
    let (places, expected) = (&[(35, 10), (1, 0)], &[(8, 23), (1, 1)]);
    of(name, places, (8, 24), spec, expected, &[]).given(world).await;
    // No more than the ten fit from now on, and there is room elsewhere.
    world.size("member1", 10).await;
    world.size("member2", 40).await;
    wants(world, "member1", name, 16);
    let run = async |world: &W| world.ready_in("member1", name) == 10 && world.ready(name) >= 16;
    world.later(90, "the next priority runs what finds no node", run).await;
    assert!(world.bounds("member1", name).await.unwrap().1 <= 16, "its max comes down to what is ready");
    ends(world, name).await;
}

/// Until each member runs one pod: the third one shrinks first, and the first one last.
async fn empties_in_reverse<W: World>(world: &W, name: &str) {
    let mut seen = vec![world.spread(name)];
    let shrunk = async |world: &W| {
        let now = world.spread(name);
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        now == [1, 1, 1]
    };
    world.later(900, "each member runs one", shrunk).await;
    println!("  {seen:?}");
    for pair in seen.windows(2) {
        let (before, after) = (pair[0], pair[1]);
        assert!(after[0] >= before[0] || before[1..] == [1, 1], "the first shrinks last: {seen:?}");
        assert!(after[1] >= before[1] || before[2] == 1, "the second shrinks after the third: {seen:?}");
    }
}

async fn become_ready<W: World>(world: &W, name: &str, wanted: [usize; 3]) {
    let ready = async |world: &W| world.spread(name) == wanted;
    world.later(90, &format!("{name}: {wanted:?} are ready"), ready).await;
}

/// G2: who is no candidate leaves, who has too many comes down, who has too few goes up.
pub async fn candidates_come_and_go<W: World>(world: &mut W) {
    let name = "g2";
    let mut spec = by("Duplicated", "", &[]);
    spec["clusterAffinity"] = json!({"clusterNames": ["member1", "member2"]});
    let (places, expected) = (&[(40, 1), (40, 20), (40, 5)], &[(3, 10), (3, 10), (0, 0)]);
    of(name, places, (3, 10), spec, expected, &[]).given(world).await;
    become_ready(world, name, [3, 10, 0]).await;
    ends(world, name).await;
}

/// G9: the lowest priority shrinks first, and nobody before it.
pub async fn the_lowest_priority_shrinks_first<W: World>(world: &mut W) {
    let name = "g9";
    let mut spec = by("Prioritized", "priority", &[3, 2, 1]);
    for (at, most) in [4, 9].into_iter().enumerate() {
        spec["federatedHPAAssignment"]["clusterAutoscalingPreference"][at]["autoscalingMaxThreshold"] = json!(most);
    }
    spec["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 10}});
    let (places, expected) = (&[(40, 4), (40, 9), (40, 4)], &[(1, 4), (1, 9), (1, 4)]);
    of(name, places, (1, 17), spec, expected, &[]).given(world).await;
    become_ready(world, name, [4, 9, 4]).await;
    MEMBERS.iter().for_each(|member| wants(world, member, name, 1));
    empties_in_reverse(world, name).await;
    ends(world, name).await;
}

/// G10: headroom follows the room that clusters report, once a period, and rests then.
pub async fn headroom_follows_the_room<W: World>(world: &mut W) {
    let name = "g10";
    world.restart(&["--rebalance-period", "20s"]).await;
    let (places, expected) = (&[(12, 2), (12, 2)], &[(1, 10), (1, 10)]);
    let spec = by("DynamicWeighted", "", &[]);
    let example = of(name, places, (2, 20), spec, expected, &[]);
    example.given(world).await;
    world.size("member2", 32).await;
    let moved = async |world: &W| world.bounds("member2", name).await == Some((1, 14));
    world.later(150, "headroom moves", moved).await;
    example.then(world, &[(1, 6), (1, 14)]).await;
    let written = world.written("member2", name).await;
    world.rests().await;
    assert_eq!(world.written("member2", name).await, written, "nothing more is written");
    ends(world, name).await;
    world.restart(&[]).await;
}

/// G11 to G13: help by static weight, by room, and by filling one cluster after the other. The first cluster wants ten
/// replicas and has room for six: the others run what it lacks.
pub async fn what_a_full_cluster_lacks_others_run<W: World>(world: &mut W) {
    let (weighted, none): (&[_], &[_]) = (&[(4, 40), (3, 30), (1, 10)], &[]);
    let (weights, roomy): ([_; 3], [_; 3]) = ([(6, 6), (50, 3), (50, 2)], [(6, 6), (52, 2), (52, 2)]);
    let filled = [(6, 6), (5, 2), (3, 2)];
    for (name, places, bounds, spec, expected, wanted) in [
        ("g11", weights, (8, 80), by("StaticWeighted", "staticWeight", &[4, 3, 1]), weighted, [6, 6, 3]),
        ("g12", roomy, (3, 80), by("DynamicWeighted", "", &[]), none, [6, 4, 4]),
        ("g13-aggregated", filled, (3, 30), by("Aggregated", "", &[]), none, [6, 5, 3]),
        ("g13-prioritized", filled, (3, 30), by("Prioritized", "priority", &[3, 2, 1]), none, [6, 5, 3]),
    ] {
        let before: [usize; 3] = places.map(|(_, entry)| entry as usize);
        of(name, &places, bounds, spec, expected, &[]).given(world).await;
        world.soon("each has its HPA", async |world| world.bounded(name).await == MEMBERS).await;
        become_ready(world, name, before).await;
        world.note(name);
        wants(world, "member1", name, 10);
        become_ready(world, name, wanted).await;
        assert_eq!(world.least(name), before.iter().sum::<usize>(), "no pod is ended for it");
        let full = async |world: &W| world.bounds("member1", name).await.unwrap().1 == 6;
        world.soon("it keeps no headroom that it has no room for", full).await;
        ends(world, name).await;
    }
}

/// One of three has no node for its part of the min, and no load asks another cluster for it.
pub async fn a_min_that_finds_no_node_is_held_by_another_cluster_as_long<W: World>(world: &mut W) {
    let name = "held";
    let spec = by("StaticWeighted", "staticWeight", &[1, 1, 1]);
    of(name, &[(6, 1), (1, 1), (0, 0)], (3, 30), spec, &[], &[]).given(world).await;
    let least = async |world: &W| world.bounds("member1", name).await.unwrap_or_default().0;
    let held = async |world: &W| least(world).await == 2 && world.ready(name) == 3;
    world.later(90, "the one with room holds the min that has no node", held).await;
    assert_eq!(world.ready_in("member3", name), 0);
    world.size("member3", 1).await;
    let back = async |world: &W| least(world).await == 1 && world.ready_in("member3", name) == 1;
    world.later(90, "its own cluster runs the min again", back).await;
    ends(world, name).await;
}

/// The own group is member1 with room for six, the first overflow member2 with room for four, the second member3.
pub async fn overflow_groups_fill_in_order_and_empty_in_reverse<W: World>(world: &mut W) {
    let name = "overflow";
    let behavior = json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 10}}});
    let (places, bounds) = (&[(6, 0), (4, 0), (20, 0)], (1, 20));
    let example = of(name, places, bounds, behavior.clone(), &[], &[]);
    for (member, cores, _) in example.members() {
        world.size(member, cores).await;
        wants(world, member, name, 1);
    }
    example.is_told(world, false).await;
    let group = |group: &str, cluster: &str| json!({"affinityName": group, "clusterNames": [cluster]});
    let mut own = group("own", "member1");
    own["overflowAffinities"] = json!([group("near", "member2"), group("far", "member3")]);
    let mut policy = policy(name, &[]);
    policy["spec"]["placement"] = json!({"clusterAffinities": [own],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
    world.federated(name, 1, 20, behavior).await;
    world.apply(&cores_of(name, 1)).await;
    world.apply(&policy).await;
    world.soon("each has its first", async |world| world.spread(name) == [1, 1, 1]).await;
    example.then(world, &[(1, 18), (1, 1), (1, 1)]).await;
    let reasons = world.hpa(name).await.unwrap()["status"]["clusterHPADesired"].clone();
    assert!(reasons.as_array().unwrap().iter().all(|one| one["reason"] == "Prioritized"), "{reasons}");
    world.pass(30).await;
    // More than the own group can run: the near one runs the rest, and the far one nothing more.
    wants(world, "member1", name, 9);
    let near = async |world: &W| world.spread(name) == [6, 4, 1];
    world.later(90, "the near group runs what the own one cannot", near).await;
    // HPAs run every two seconds here: more at once would be more writes than an object may have in a minute.
    wants(world, "member2", name, 4);
    world.pass(45).await;
    wants(world, "member2", name, 6);
    let far = async |world: &W| world.spread(name)[..2] == [6, 4] && world.ready_in(OTHERS[1], name) >= 3;
    world.later(90, "the far group runs what the near one cannot", far).await;
    wants(world, "member3", name, 3);
    world.pass(15).await;
    // Little is left to do: the far group shrinks first, the own one last.
    MEMBERS.iter().for_each(|member| wants(world, member, name, 1));
    empties_in_reverse(world, name).await;
    ends(world, name).await;
}
