//! Field paths in Kubernetes' style (`spec.rules[1].schedule`). Pure; the text is built only when a finding needs it.

use std::fmt;

use super::names::pointer_token;

/// A path in an object, as a chain of borrowed steps on the stack.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The first member name; empty for the object itself.
    Root(&'a str),
    /// A member of the parent.
    Field(&'a Path<'a>, &'a str),
    /// An element of a list, counted from 0.
    Index(&'a Path<'a>, usize),
    /// An entry of a map.
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    /// The member `name` of this path.
    #[must_use]
    pub const fn field(&'a self, name: &'a str) -> Self {
        Self::Field(self, name)
    }

    /// The element `index` of this path.
    #[must_use]
    pub const fn index(&'a self, index: usize) -> Self {
        Self::Index(self, index)
    }

    /// The entry `key` of this path.
    #[must_use]
    pub const fn key(&'a self, key: &'a str) -> Self {
        Self::Key(self, key)
    }

    /// The same place as a JSON pointer.
    #[must_use]
    pub fn pointer(&self) -> String {
        match self {
            Self::Root("") => String::new(),
            Self::Root(name) => format!("/{}", pointer_token(name)),
            Self::Field(parent, name) | Self::Key(parent, name) => {
                format!("{}/{}", parent.pointer(), pointer_token(name))
            }
            Self::Index(parent, index) => format!("{}/{index}", parent.pointer()),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) | Self::Field(Path::Root(""), name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
            Self::Key(parent, key) => write!(f, "{parent}[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Path;

    #[test]
    fn a_path_reads_as_kubernetes_writes_it() {
        let spec = Path::Root("spec");
        let rules = spec.field("rules");
        let rule = rules.index(1);
        assert_eq!(rule.field("schedule").to_string(), "spec.rules[1].schedule");
        assert_eq!(Path::Root("").field("metadata").to_string(), "metadata");
        assert_eq!(Path::Root("metadata").field("labels").key("a/b").to_string(), "metadata.labels[a/b]");
        assert_eq!(Path::Root("metadata").field("labels").key("a/b").pointer(), "/metadata/labels/a~1b");
        assert_eq!(Path::Root("").field("spec").field("rules").index(1).pointer(), "/spec/rules/1");
    }
}
