//! Stories on a real Karmada: etcd, kube-apiservers, controller managers, schedulers and Karmada's own components as
//! processes on the loopback interface; only kubelets and metrics are the suite's own. The laws check every state.
//!
//! The programs must be in the directory that `KARMADA_ASSETS` names (see [`assets`]). Without it all stories are
//! ignored, and a line reports this. They run one after the other on one Karmada.
#![allow(
    missing_docs,
    unreachable_pub,
    dead_code,
    unused_imports,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::pedantic,
    clippy::string_slice
)]

/// The stories of a module that both worlds tell.
macro_rules! told {
    ($($story:ident $(in $way:ident)?),* $(,)?) => {
        pub const STORIES: &[(&str, crate::stories::Story)] =
            &[$((stringify!($story), |stand| Box::pin($story(stand)))),*];
    };
}

mod assets;
mod audit;
#[path = "../both/mod.rs"]
mod both;
mod custom;
mod estimators;
mod etcd;
mod kubelet;
mod lab;
#[path = "../laws/mod.rs"]
mod laws;
mod link;
mod manifests;
mod member;
mod metrics;
mod observer;
mod operator;
mod plane;
#[path = "../rig/mod.rs"]
mod rig;
mod stand;
mod stories;
mod upstream;
mod usage;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use assets::Assets;
use parking_lot::Mutex;
use stand::Stand;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // One after the other: they share two cores and one Karmada.
    arguments.test_threads = Some(1);
    let found = Assets::find();
    if let Err(missing) = &found {
        rig::absent::without("karmada", "the stories on a real Karmada", missing);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let runtime = Arc::new(runtime);
    let stand: Arc<Mutex<Option<Stand>>> = Arc::default();
    let measured = |name| stories::MEASUREMENTS.iter().any(|(measurement, _)| *measurement == name);
    let trials = stories::all().into_iter().chain(stories::MEASUREMENTS.iter().copied()).map(|(name, story)| {
        let (runtime, stand, found) = (Arc::clone(&runtime), Arc::clone(&stand), found.clone());
        let alone = measured(name);
        let trial = Trial::test(name, move || {
            let assets = found.map_err(|missing| missing.to_string())?;
            let mut stand = stand.lock();
            // One that fails leaves nothing to the next.
            let shared = stand.take().filter(|_| !alone);
            *stand = runtime.block_on(async {
                let mut stand = match shared {
                    Some(stand) => stand,
                    None => Stand::start(assets).await,
                };
                story(&mut stand).await;
                stand.ends_well(name).await;
                Some(stand).filter(|_| !alone)
            });
            Ok(())
        });
        trial.with_ignored_flag(alone || Assets::find().is_err())
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    drop(stand.lock().take());
    conclusion.exit_code()
}
