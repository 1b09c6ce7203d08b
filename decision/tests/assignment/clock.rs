//! Time alone changes what is done only at the moment that a plan named.

use decision::plan::plan;
use jiff::SignedDuration;
use proptest::prelude::*;

use super::fleet::fresh;
use super::scale_up_laws::rules;
use super::world::World;
use crate::random::Random;

/// Longest time without any event: longer than all windows and tolerations.
const LONGEST: i64 = 7_200;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn who_writes_nothing_now_writes_nothing_until_the_time_that_the_plan_names(
        mut request in fresh(),
        period in prop::option::of(Just(SignedDuration::from_secs(60))),
        scale_up in prop::option::of(rules()),
        seed in any::<u64>(),
    ) {
        let seconds = SignedDuration::from_secs;
        (request.window, request.delay, request.period) = (seconds(300), seconds(30), period);
        request.scale_up = scale_up;
        let mut world = World::new(request);
        let mut random = Random(seed | 1);
        world.work = Some(1_000);
        for _ in 0..80 {
            let names = world.names();
            let name = names[random.below(names.len())];
            match random.below(8) {
                0 => world.happen(&mut random),
                1 => world.work = Some([100, 1_000, 4_000][random.below(3)]),
                2 => world.members.get_mut(name).unwrap().room = Some(random.below(20) as u32),
                3 => world.sync(),
                4 => world.calm(),
                5 => world.pass([1, 20, 70, 400][random.below(4)]),
                _ => {}
            }
            if world.reconcile(usize::MAX) > 0 {
                continue;
            }
            let request = world.observe();
            let still = plan(&request);
            // What was noted now leads to writes at once: the object is looked at again when its status changed.
            if still.now().count() > 0 {
                continue;
            }
            let end = still.next.unwrap_or(request.now + seconds(LONGEST));
            let span = end.duration_since(request.now).as_secs().clamp(1, LONGEST);
            for _ in 0..4 {
                let mut later = request.clone();
                later.now += seconds(random.below(span as usize) as i64);
                let planned = plan(&later);
                prop_assert_eq!(
                    planned.now().count(), 0, "at {} and not from {} to {:?}: {:#?} {:#?}", later.now, request.now, still.next, planned.steps, later
                );
            }
        }
    }
}
