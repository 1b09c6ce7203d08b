//! A member that karmada-agent registers: Karmada cannot write into it.

use crate::both::examples::{by, cores_of, ends, wants};
use crate::both::{World as _, federated, policy};
use crate::stand::Stand;

/// The pods of member1 find no node, and member3, which pulls its work, runs them by the min of its HPA.
pub async fn a_member_that_pulls_helps_within_one_sync(stand: &mut Stand) {
    let name = "pulled";
    stand.lab.unjoins("member3");
    stand.lab.pulls("member3").await;
    let clusters = stand.api("", "Cluster", "");
    assert_eq!(clusters.get("member3").await.unwrap().data["spec"]["syncMode"], "Pull");
    for (member, cores) in [("member1", 6), ("member3", 20)] {
        stand.size(member, cores).await;
        wants(stand, member, name, 2);
    }
    stand
        .soon("Karmada tells of empty clusters of these sizes", async |stand| {
            stand.is_empty("member1", 6).await && stand.is_empty("member3", 20).await
        })
        .await;
    stand.apply(&cores_of(name, 4)).await;
    stand.apply(&policy(name, &["member1", "member3"])).await;
    stand.soon("both run two", async |stand| stand.ready(name) == 4).await;
    let preference = by("DynamicWeighted", "", &[]);
    stand.apply(&federated(name, 2, 24, preference)).await;
    stand.soon("both have an HPA", async |stand| bounds(stand, name).await.iter().all(Option::is_some)).await;
    stand.pass(20).await;
    wants(stand, "member1", name, 10);
    stand.soon("member1 is full", async |stand| stand.ready_in("member1", name) == 6).await;
    let full = fhpa::runtime::clock::steady();
    stand
        .later(30, "member3 is asked for more by its min", async |stand| {
            bounds(stand, name).await[1].is_some_and(|(min, _)| min > 2)
        })
        .await;
    let asked = full.elapsed();
    let min = bounds(stand, name).await[1].unwrap().0;
    let all = usize::try_from(min).unwrap();
    stand.soon("member3 runs what it is asked for", async |stand| stand.ready_in("member3", name) >= all).await;
    println!("  asked {asked:.1?} after the last pod that fits, run after {:.1?}", full.elapsed());
    wants(stand, "member3", name, u32::try_from(min).unwrap());
    stand
        .later(150, "its HPA has taken over", async |stand| {
            bounds(stand, name).await[1].is_some_and(|(now, _)| now < min)
        })
        .await;
    assert!(stand.ready_in("member3", name) >= all, "its HPA runs as many by itself");
    ends(stand, name).await;
    stand.lab.pulls_no_more("member3").await;
    stand.lab.joins("member3");
    stand.cluster_is("member3", "True").await;
}

async fn bounds(stand: &Stand, name: &str) -> [Option<(u64, u64)>; 2] {
    [stand.bounds("member1", name).await, stand.bounds("member3", name).await]
}
