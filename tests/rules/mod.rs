//! Tests of: rules.
