//! Tests of: cron.
