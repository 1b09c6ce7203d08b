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
// Without the playground some helpers have no user.
#![cfg_attr(not(feature = "playground"), allow(dead_code))]

/// The stories of a module that both worlds tell, as tests on the embedded one.
#[cfg(feature = "playground")]
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

#[cfg(feature = "playground")]
mod bed;
#[cfg(feature = "playground")]
mod both;
mod capacity;
mod certificates;
mod chart;
mod cli;
mod cluster;
#[cfg(feature = "playground")]
mod controller;
mod crds;
mod cron;
#[cfg(feature = "playground")]
mod dashboard;
#[cfg(feature = "playground")]
mod forecast;
#[cfg(feature = "playground")]
mod histories;
mod hpa;
#[cfg(feature = "playground")]
mod install;
#[cfg(feature = "playground")]
mod laws;
#[cfg(feature = "playground")]
mod leader;
#[cfg(feature = "playground")]
mod playground;
mod random;
#[cfg(feature = "playground")]
mod reconcile;
mod rig;
#[cfg(feature = "playground")]
mod rights;
mod rules;
mod simulation;
#[cfg(feature = "playground")]
mod status;
#[cfg(feature = "playground")]
mod stories;
#[cfg(feature = "playground")]
mod stream;
mod structure;
mod webhook;
