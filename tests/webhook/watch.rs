//! Tests of: watch.
