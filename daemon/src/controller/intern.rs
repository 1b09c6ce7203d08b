//! Values that many cached objects have in common, such as names of clusters: each is stored once. No I/O.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

/// Fewest values before unused ones are looked for.
const FEW: usize = 64;

/// Values of one type, each stored once.
#[derive(Debug)]
pub struct Shared<T: ?Sized>(Mutex<Values<T>>);

#[derive(Debug)]
struct Values<T: ?Sized> {
    all: BTreeSet<Arc<T>>,
    /// With more values than this, unused ones are dropped.
    limit: usize,
}

impl<T: ?Sized> Default for Shared<T> {
    fn default() -> Self {
        Self(Mutex::new(Values { all: BTreeSet::new(), limit: FEW }))
    }
}

impl<T: ?Sized + Ord> Shared<T> {
    /// The stored value that is equal to `value`, which is stored if there is none.
    pub fn get<'a>(&self, value: &'a T) -> Arc<T>
    where
        Arc<T>: From<&'a T>,
    {
        let mut values = self.0.lock();
        if let Some(known) = values.all.get(value) {
            return Arc::clone(known);
        }
        values.keep(Arc::from(value))
    }

    /// As [`Self::get`], for a value that need not be copied.
    pub fn keep(&self, value: T) -> Arc<T>
    where
        T: Sized,
    {
        let mut values = self.0.lock();
        if let Some(known) = values.all.get(&value) {
            return Arc::clone(known);
        }
        values.keep(Arc::new(value))
    }
}

impl<T: ?Sized + Ord> Values<T> {
    fn keep(&mut self, value: Arc<T>) -> Arc<T> {
        if self.all.len() >= self.limit {
            self.all.retain(|value| Arc::strong_count(value) > 1);
            self.limit = self.all.len().saturating_add(self.all.len() / 4).saturating_add(FEW);
        }
        self.all.insert(Arc::clone(&value));
        value
    }
}

/// The shared form of a text, for texts that many objects repeat.
#[must_use]
pub fn text(text: &str) -> Arc<str> {
    static TEXTS: LazyLock<Shared<str>> = LazyLock::new(Shared::default);
    TEXTS.get(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one() {
        let shared = Shared::default();
        let (one, other) = (shared.keep("a".to_owned()), shared.keep("a".to_owned()));
        assert!(Arc::ptr_eq(&one, &other) && !Arc::ptr_eq(&one, &shared.keep("b".to_owned())));
        assert!(Arc::ptr_eq(&text("member1"), &text("member1")));
    }

    #[test]
    fn values_that_nobody_uses_are_dropped() {
        let shared = Shared::default();
        let used: Vec<_> = (0..10).map(|number| shared.keep(number)).collect();
        (10..10_000).for_each(|number| drop(shared.keep(number)));
        let left = shared.0.lock().all.len();
        assert!(left <= 2 * (FEW + used.len()), "{left}");
        assert!(used.iter().all(|value| shared.0.lock().all.contains(value)));
    }
}
