//! Tests of: process.
