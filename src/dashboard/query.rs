//! Parameters of pages: what is shown, in which order. No I/O.

use form_urlencoded::{Serializer, parse};

/// Longest value of a parameter, in bytes.
const LONGEST: usize = 253;

/// How objects are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ObjectFilter {
    /// All of them.
    #[default]
    Any,
    /// Those that a user should look at.
    Attention,
    /// Those whose condition `Ready` is not `True`.
    NotReady,
    /// Those at their max.
    AtMax,
}

impl ObjectFilter {
    pub(super) const ALL: [Self; 4] = [Self::Any, Self::Attention, Self::NotReady, Self::AtMax];

    /// Its value in an address, and its words.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Any => ("", "all"),
            Self::Attention => ("attention", "need attention"),
            Self::NotReady => ("not-ready", "not ready"),
            Self::AtMax => ("at-max", "at their max"),
        }
    }
}

/// In which order objects are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    /// By namespace and name.
    #[default]
    Name,
    /// Those that use most of their max first.
    Pressure,
    /// Those with most replicas first.
    Replicas,
    /// Those that changed their condition `Ready` last first.
    Changed,
}

impl Sort {
    pub(super) const ALL: [Self; 4] = [Self::Name, Self::Pressure, Self::Replicas, Self::Changed];

    /// Its value in an address, and its words.
    pub(super) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Name => ("", "name"),
            Self::Pressure => ("pressure", "used part of max"),
            Self::Replicas => ("replicas", "replicas"),
            Self::Changed => ("changed", "last change of Ready"),
        }
    }
}

/// The parameters of a page with a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// A part of names and targets.
    pub(super) text: String,
    pub(super) namespace: String,
    pub(super) state: ObjectFilter,
    pub(super) sort: Sort,
    /// Number of pages before this one.
    pub(super) page: usize,
    /// Number of pages of clusters before this one.
    pub(super) columns: usize,
}

impl Query {
    /// Reads the query of an address; what is not known counts as absent.
    pub(super) fn read(query: Option<&str>) -> Self {
        let mut all = Self::default();
        for (name, value) in parse(query.unwrap_or_default().as_bytes()) {
            if value.len() > LONGEST {
                continue;
            }
            match &*name {
                "q" => value.trim().clone_into(&mut all.text),
                "namespace" => all.namespace = value.into_owned(),
                "state" => {
                    all.state = ObjectFilter::ALL.into_iter().find(|one| one.names().0 == value).unwrap_or_default();
                }
                "sort" => all.sort = Sort::ALL.into_iter().find(|one| one.names().0 == value).unwrap_or_default(),
                "page" => all.page = page(&value),
                "clusters" => all.columns = page(&value),
                _ => {}
            }
        }
        all
    }

    /// The address of `path` with these parameters.
    pub(super) fn link(&self, path: &str) -> String {
        let mut query = Serializer::new(String::new());
        let (page, columns) = (self.page.saturating_add(1).to_string(), self.columns.saturating_add(1).to_string());
        let pairs = [
            ("q", &*self.text),
            ("namespace", &*self.namespace),
            ("state", self.state.names().0),
            ("sort", self.sort.names().0),
            ("page", if self.page > 0 { &page } else { "" }),
            ("clusters", if self.columns > 0 { &columns } else { "" }),
        ];
        for (name, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            query.append_pair(name, value);
        }
        let query = query.finish();
        if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") }
    }
}

/// The number of pages before page `text`, which people count from 1.
fn page(text: &str) -> usize {
    text.parse::<usize>().unwrap_or_default().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_what_it_was_made_of() {
        let query = Query {
            text: "a b&c=\"<".to_owned(),
            namespace: "shop".to_owned(),
            state: ObjectFilter::AtMax,
            sort: Sort::Pressure,
            page: 3,
            columns: 1,
        };
        let link = query.link("/");
        assert_eq!(link, "/?q=a+b%26c%3D%22%3C&namespace=shop&state=at-max&sort=pressure&page=4&clusters=2");
        assert_eq!(Query::read(link.strip_prefix("/?")), query);
        assert_eq!((Query::default().link("/cron"), Query::read(None)), ("/cron".to_owned(), Query::default()));
    }

    #[test]
    fn what_is_not_known_counts_as_absent() {
        let long = "x".repeat(LONGEST + 1);
        let query =
            Query::read(Some(&format!("state=odd&sort=odd&page=-1&clusters=99999999999999999999&q={long}&x=y")));
        assert_eq!(query, Query::default());
        assert_eq!((Query::read(Some("page=0")).page, Query::read(Some("page=2")).page), (0, 1));
    }
}
