//! Tests of: webhook.
