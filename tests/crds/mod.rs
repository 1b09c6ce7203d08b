//! Tests of: crds.
