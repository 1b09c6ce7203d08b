//! Arguments -> names of objects, by the rules of Kubernetes: a name becomes a part of a URL. No I/O.

use std::str::FromStr;

pub(super) use crate::decision::validation::names::namespace;
use crate::decision::validation::names::object;

/// An object by NAME or NAMESPACE/NAME.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NamedObject {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl FromStr for NamedObject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((space, rest)) => Ok(Self { namespace: Some(namespace(space)?), name: object(rest)? }),
            None => Ok(Self { namespace: None, name: object(text)? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_with_or_without_its_namespace_and_never_by_a_part_of_a_url() {
        let read = |text: &str| text.parse().map(|NamedObject { namespace, name }| (namespace, name));
        assert_eq!(read("web"), Ok((None, "web".to_owned())));
        assert_eq!(read("shop/web.eu"), Ok((Some("shop".to_owned()), "web.eu".to_owned())));
        for wrong in ["", "/web", "shop/", "a/b/c", "web?watch=1", "shop/../x", "Web", "a.b/web"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(namespace("a/b").is_err() && namespace("shop").is_ok());
    }
}
