//! A slow and simple evaluator: it parses simple expressions itself and checks every minute of the calendar.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan};

pub(super) struct Reference {
    minutes: Vec<bool>,
    hours: Vec<bool>,
    days: Vec<bool>,
    months: Vec<bool>,
    weekdays: Vec<bool>,
    any_day: bool,
    any_weekday: bool,
}

const NAMES: [(&str, usize); 19] = [
    ("jan", 1),
    ("feb", 2),
    ("mar", 3),
    ("apr", 4),
    ("may", 5),
    ("jun", 6),
    ("jul", 7),
    ("aug", 8),
    ("sep", 9),
    ("oct", 10),
    ("nov", 11),
    ("dec", 12),
    ("sun", 0),
    ("mon", 1),
    ("tue", 2),
    ("wed", 3),
    ("thu", 4),
    ("fri", 5),
    ("sat", 6),
];

impl Reference {
    pub(super) fn new(expr: &str) -> Self {
        let expr = match expr {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let words: Vec<&str> = expr.split_whitespace().collect();
        assert_eq!(words.len(), 5, "{expr}");
        let (minutes, _) = field(words[0], 0, 59);
        let (hours, _) = field(words[1], 0, 23);
        let (days, any_day) = field(words[2], 1, 31);
        let (months, _) = field(words[3], 1, 12);
        let (weekdays, any_weekday) = field(words[4], 0, 6);
        Self { minutes, hours, days, months, weekdays, any_day, any_weekday }
    }

    fn wildcard_hour(&self) -> bool {
        self.hours.iter().take(24).all(|hour| *hour)
    }

    pub(super) fn fixed(&self) -> bool {
        !self.wildcard_hour()
    }

    fn on_day(&self, wall: DateTime) -> bool {
        let day = self.days[wall.day() as usize];
        let weekday = self.weekdays[wall.weekday().to_sunday_zero_offset() as usize];
        let either = if self.any_day || self.any_weekday { day && weekday } else { day || weekday };
        either && self.months[wall.month() as usize]
    }

    pub(super) fn matches(&self, wall: DateTime) -> bool {
        self.on_day(wall) && self.hours[wall.hour() as usize] && self.minutes[wall.minute() as usize]
    }

    /// All runs later than `after` and not later than `until`, by looking at every wall-clock minute around them.
    pub(super) fn runs(&self, zone: &TimeZone, after: Timestamp, until: Timestamp) -> Vec<Timestamp> {
        let mut found = Vec::new();
        let start = zone.to_datetime(after).date().checked_sub(2.days()).unwrap();
        let end = zone.to_datetime(until).date().checked_add(2.days()).unwrap();
        let mut day = start;
        while day <= end {
            if self.on_day(day.at(0, 0, 0, 0)) {
                for hour in (0..24).filter(|hour| self.hours[*hour]) {
                    for minute in (0..60).filter(|minute| self.minutes[*minute]) {
                        self.instants(zone, day.at(hour as i8, minute as i8, 0, 0), &mut found);
                    }
                }
            }
            day = day.tomorrow().unwrap();
        }
        found.sort();
        found.dedup();
        found.retain(|at| *at > after && *at <= until);
        found
    }

    fn instants(&self, zone: &TimeZone, wall: DateTime, found: &mut Vec<Timestamp>) {
        match zone.to_ambiguous_timestamp(wall).offset() {
            AmbiguousOffset::Unambiguous { offset } => found.push(offset.to_timestamp(wall).unwrap()),
            AmbiguousOffset::Fold { before, after } => {
                found.push(before.to_timestamp(wall).unwrap());
                if self.wildcard_hour() {
                    found.push(after.to_timestamp(wall).unwrap());
                }
            }
            AmbiguousOffset::Gap { .. } if self.wildcard_hour() => {}
            AmbiguousOffset::Gap { before, .. } => {
                // The first whole minute in reach at which the clock has jumped past `wall`.
                let mut at = before.to_timestamp(wall).unwrap().checked_sub(48.hours()).unwrap();
                while zone.to_datetime(at) < wall {
                    at = at.checked_add(1.minute()).unwrap();
                }
                found.push(at);
            }
        }
    }
}

fn field(text: &str, min: usize, max: usize) -> (Vec<bool>, bool) {
    let mut set = vec![false; 64];
    let mut star = false;
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let mut parts = item.split('/');
        let range = parts.next().unwrap();
        let step = parts.next().map(|step| step.parse::<usize>().unwrap());
        let (low, high) = if range.starts_with(['*', '?']) {
            star |= step.unwrap_or(1) == 1;
            (min, max)
        } else {
            let mut ends = range.split('-');
            let low = value(ends.next().unwrap());
            let high = ends.next().map_or(if step.is_some() { max.max(low) } else { low }, value);
            (low, high)
        };
        for value in (low..=high).step_by(step.unwrap_or(1)) {
            set[if max == 6 { value % 7 } else { value }] = true;
        }
    }
    (set, star)
}

fn value(text: &str) -> usize {
    let lower = text.to_lowercase();
    NAMES.iter().find(|(name, _)| *name == lower).map_or_else(|| text.parse().unwrap(), |(_, value)| *value)
}
