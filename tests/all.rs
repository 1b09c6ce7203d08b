//! All integration tests, in one binary.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::pedantic,
    clippy::string_slice
)]

/// The stories of a module that both worlds tell, as tests on the embedded one.
macro_rules! told {
    (@evicts) => { false };
    (@evicts evicting) => { true };
    ($($story:ident $(in $way:ident)?),* $(,)?) => {
        mod embedded {
            use crate::stories::world::Embedded;

            $(#[tokio::test(start_paused = true)]
            async fn $story() {
                let mut world = Embedded::start(told!(@evicts $($way)?)).await;
                super::$story(&mut world).await;
                world.ends_well();
            })*
        }
    };
}

mod bed;
mod both;
mod capacity;
mod certificates;
mod chart;
mod cli;
mod cluster;
mod controller;
mod crds;
mod cron;
mod dashboard;
mod forecast;
mod histories;
mod hpa;
mod install;
mod laws;
mod leader;
mod playground;
mod random;
mod reconcile;
mod rig;
mod rights;
mod rules;
mod simulation;
mod status;
mod stories;
mod stream;
mod structure;
mod webhook;
