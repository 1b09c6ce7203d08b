//! Tests of: drain.
