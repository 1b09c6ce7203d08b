//! Parts that all controllers share: queue, delays, conditions, Events, ownership, requests while leading. Talks to the
//! API server; knows neither FederatedHPA nor CronFederatedHPA.

pub mod condition;
pub mod delay_queue;
pub mod engine;
pub mod events;
pub mod failure;
pub mod intern;
pub mod json_list;
pub mod key;
pub mod managers;
pub mod owned_api;
pub mod pages;
pub mod query_cache;
pub mod request;
pub mod table;
