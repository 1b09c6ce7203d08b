//! Tests of: structure.
