//! OpenAPI v3 documents. No I/O.
