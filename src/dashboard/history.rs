//! The last hour of one object, as seen since the process started: a bounded list of changes. No I/O.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use crate::overview::drawing::{Figures, Point};

/// How far back it reaches.
pub(super) const SPAN: SignedDuration = SignedDuration::from_hours(1);
/// Changes within this time become one.
const STEP: SignedDuration = SignedDuration::from_secs(30);
/// Most changes: one for each step, and the state before the first of them.
const MOST: usize = 121;

/// The changes of one object, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct History(VecDeque<Point>);

impl History {
    /// Adds the figures of `at`, and forgets what is older than the span.
    pub(super) fn record(&mut self, at: Timestamp, figures: Figures) {
        // The first point stays: it says since when the object is seen.
        let several = self.0.len() > 1;
        match self.0.back_mut() {
            Some(last) if last.figures == figures => {}
            Some(last) if several && at.duration_since(last.at) < STEP => last.figures = figures,
            _ => {
                // Most objects have few.
                self.0.reserve_exact(1);
                self.0.push_back(Point { at, figures });
            }
        }
        // The last state before the span is that at its start.
        let begin = at.checked_sub(SPAN).unwrap_or(Timestamp::MIN);
        while self.0.len() > MOST || self.0.get(1).is_some_and(|second| second.at <= begin) {
            self.0.pop_front();
        }
    }

    /// The changes, oldest first.
    pub(super) fn points(&self) -> impl Iterator<Item = Point> {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(current: i32) -> Figures {
        Figures { current: Some(current), desired: Some(current), min: 1, max: 9 }
    }

    fn recorded(changes: impl IntoIterator<Item = (i64, i32)>) -> Vec<(i64, i32)> {
        let mut history = History::default();
        for (second, current) in changes {
            history.record(Timestamp::from_second(second).unwrap(), figures(current));
        }
        history.points().map(|point| (point.at.as_second(), point.figures.current.unwrap())).collect()
    }

    #[test]
    fn only_changes_are_kept_and_those_of_one_step_become_one() {
        assert_eq!(recorded([(0, 1), (60, 1), (100, 2), (110, 3), (140, 4)]), [(0, 1), (100, 3), (140, 4)]);
    }

    #[test]
    fn the_state_at_the_start_of_the_hour_is_kept() {
        assert_eq!(recorded([(0, 1), (100, 2), (4000, 3), (8000, 4)]), [(4000, 3), (8000, 4)]);
    }

    #[test]
    fn however_often_it_changes_an_hour_takes_a_bounded_number_of_points() {
        let points = recorded((0..100_000).map(|second| (second, i32::try_from(second % 7).unwrap())));
        assert!(points.len() <= MOST && points.len() > 100, "{}", points.len());
        assert!(points[0].0 >= 99_999 - 3600 - 60, "{:?}", points[0]);
    }
}
