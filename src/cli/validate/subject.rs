//! Documents -> the objects to check, those to skip, and near misses. No I/O.

use std::rc::Rc;

use super::super::manifest::{Content, Node};
use crate::decision::api_version;
use crate::decision::finding::{BadValue, Cause, Violation};
use crate::decision::path::Path;

/// The kinds that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    FederatedHPA,
    CronFederatedHPA,
}

impl Kind {
    const ALL: [Self; 2] = [Self::FederatedHPA, Self::CronFederatedHPA];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FederatedHPA => "FederatedHPA",
            Self::CronFederatedHPA => "CronFederatedHPA",
        }
    }
}

/// Classification of an object.
#[derive(Debug)]
pub(crate) enum Class {
    /// Checked by the rules.
    Known(Kind),
    /// Not checked.
    Other,
    /// Probably meant as one of the checked kinds, or as objects, but the API server would not accept it as such.
    NearMiss(Violation),
    /// Possibly meant as one of the checked kinds.
    Doubtful(Violation),
}

/// One object of a file.
#[derive(Debug)]
pub(crate) struct InputObject {
    /// Prefix of its field paths: `items[2]` in a list, else empty.
    pub(crate) prefix: String,
    pub(crate) node: Rc<Node>,
    pub(crate) class: Class,
}

impl InputObject {
    /// The objects of a document; those of a `List` one by one.
    pub(crate) fn all_of(document: &Rc<Node>) -> Vec<Self> {
        let is_list = document.text("kind").is_some_and(|kind| kind.ends_with("List"));
        match document.entry("items").filter(|_| is_list).map(|items| &items.value.content) {
            Some(Content::List(items)) => {
                let numbered = items.iter().enumerate();
                numbered.map(|(index, item)| Self::new(format!("items[{index}]"), item)).collect()
            }
            _ => vec![Self::new(String::new(), document)],
        }
    }

    fn new(prefix: String, node: &Rc<Node>) -> Self {
        Self { prefix, node: Rc::clone(node), class: classify(node) }
    }

    /// A member of its metadata.
    pub(crate) fn metadata(&self, member: &str) -> Option<&str> {
        self.node.entry("metadata")?.value.text(member)
    }
}

fn classify(node: &Node) -> Class {
    let shapeless = |value: BadValue| {
        let detail = "an object of Kubernetes is a mapping with apiVersion and kind; several are documents between \
                      `---`, or the items of a List";
        Class::NearMiss(Violation::new("no-object", &Path::Root(""), Cause::TypeInvalid(value), detail))
    };
    match &node.content {
        Content::Null | Content::Map(_) => {}
        Content::List(_) => return shapeless(BadValue::Json("a list".to_owned())),
        Content::Text(text) => return shapeless(text.as_str().into()),
        Content::Bool(_) | Content::Number(_) => return shapeless(BadValue::Json(node.to_value().to_string())),
    }
    if matches!(node.content, Content::Map(_)) && node.entry("apiVersion").is_none() && node.entry("kind").is_none() {
        let detail = "without apiVersion and kind this is no object of Kubernetes, and it is not checked";
        return Class::Doubtful(Violation::new("type-meta", &Path::Root("apiVersion"), Cause::Required, detail));
    }
    let (version, kind) = (node.text("apiVersion"), node.text("kind"));
    if let (Some(version), Some(kind)) = (version, kind) {
        let ours = version == format!("{}/{}", api_version::GROUP, api_version::VERSION);
        match Kind::ALL.into_iter().find(|known| known.name() == kind) {
            Some(known) if ours => Class::Known(known),
            Some(_) => wrong_version(version),
            None => wrong_kind(version, kind),
        }
    } else {
        incomplete(version, kind)
    }
}

/// The kind is known, but the `apiVersion` is wrong.
fn wrong_version(version: &str) -> Class {
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let detail = format!("did you mean \"{}/{}\"?", api_version::GROUP, api_version::VERSION);
    let violation = Violation::new("api-version", &Path::Root("apiVersion"), Cause::Invalid(version.into()), detail);
    near_miss(group, violation)
}

/// An error where the group was probably meant as fhpa's, else a warning: it may be a kind of another project.
fn near_miss(group: &str, violation: Violation) -> Class {
    if group.contains("karmada") || group.contains("autoscaling") || group.is_empty() {
        Class::NearMiss(violation)
    } else {
        Class::Doubtful(violation)
    }
}

/// The kind is unknown: a near miss where the group is fhpa's, or where the kind is similar.
fn wrong_kind(version: &str, kind: &str) -> Class {
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let near = nearest(kind);
    if group != api_version::GROUP && near.is_none() {
        return Class::Other;
    }
    let detail = match near {
        Some(known) => format!("did you mean \"{}\"?", known.name()),
        None => format!("the kinds of {} are FederatedHPA and CronFederatedHPA", api_version::GROUP),
    };
    let violation = Violation::new("kind", &Path::Root("kind"), Cause::Invalid(kind.into()), detail);
    near_miss(group, violation)
}

/// `apiVersion` or `kind` is missing.
fn incomplete(version: Option<&str>, kind: Option<&str>) -> Class {
    let required = |member, detail: String| {
        Class::NearMiss(Violation::new("type-meta", &Path::Root(member), Cause::Required, detail))
    };
    match (version, kind) {
        (None, Some(kind)) if nearest(kind).is_some() => {
            required("apiVersion", format!("write \"apiVersion: {}/{}\"", api_version::GROUP, api_version::VERSION))
        }
        (Some(version), None) if version.starts_with(api_version::GROUP) => {
            required("kind", "write \"kind: FederatedHPA\" or \"kind: CronFederatedHPA\"".to_owned())
        }
        _ => Class::Other,
    }
}

/// The kind that was probably meant.
fn nearest(kind: &str) -> Option<Kind> {
    let folded = kind.to_ascii_lowercase();
    let distance = |known: Kind| strsim::damerau_levenshtein(&folded, &known.name().to_ascii_lowercase());
    let short = match folded.as_str() {
        "fhpa" => Some(Kind::FederatedHPA),
        "cronfhpa" => Some(Kind::CronFederatedHPA),
        _ => None,
    };
    // A very long kind is not a typing error, and its distance would be expensive.
    short.or_else(|| {
        let near = |known: &Kind| folded.len() <= 32 && distance(*known) <= 3;
        Kind::ALL.into_iter().filter(near).min_by_key(|known| distance(*known))
    })
}
