//! What a check of a file or an object for new content leads to. No I/O.

/// Result of one check.
#[derive(Debug)]
pub enum Reload<E> {
    /// The content has not changed, or what is wrong with it was reported already.
    Unchanged,
    /// New content is used from now on.
    Reloaded,
    /// New content cannot be used; the last valid content stays.
    Rejected(E),
}
