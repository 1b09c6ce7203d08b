//! Freeze of the controllers by an operator: nothing is decided or written for FederatedHPAs and CronFederatedHPAs
//! while it lasts (docs/controller.md#freeze). Pure.

use super::excerpt::excerpt;

/// Annotation of the Lease, set by users: the controllers write nothing while it is there; its value is the reason.
pub const FREEZE: &str = "fhpa.karmada.io/freeze";
/// Annotation of the Lease: its holder writes nothing; its value is the reason.
pub const FROZEN: &str = "fhpa.karmada.io/frozen";
/// Value of [`FREEZE`] that does not freeze: some tools set an annotation to this instead of removing it.
const NOT: &str = "false";
/// Most bytes of a reason that are shown.
const REASON_LENGTH: usize = 256;

/// What halts the controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// karmada-apiserver serves CRDs without the fields of fhpa.
    Definitions,
    /// The annotation of the Lease.
    Annotation,
    /// The flag of the process.
    Flag,
}

impl Cause {
    /// All causes.
    pub const ALL: [Self; 3] = [Self::Definitions, Self::Annotation, Self::Flag];

    /// Value of the label `reason` of the metric.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Annotation => "annotation",
            Self::Flag => "flag",
        }
    }
}

/// A freeze that an operator asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// How it was asked for.
    pub cause: Cause,
    /// The operator's reason; may be empty.
    pub reason: String,
}

impl Freeze {
    /// The freeze that is in force with this value of the annotation [`FREEZE`] and of the flag.
    #[must_use]
    pub fn of(annotation: Option<&str>, flag: Option<&str>) -> Option<Self> {
        let of = |cause, reason: &str| Self { cause, reason: excerpt(reason.trim(), REASON_LENGTH).to_owned() };
        let annotation = annotation.filter(|value| !value.trim().eq_ignore_ascii_case(NOT));
        let by_annotation = annotation.map(|reason| of(Cause::Annotation, reason));
        by_annotation.or_else(|| flag.map(|reason| of(Cause::Flag, reason)))
    }

    /// Value of the annotation [`FROZEN`].
    #[must_use]
    pub fn confirmation(&self) -> String {
        let by = match self.cause {
            Cause::Flag => "--freeze",
            Cause::Annotation | Cause::Definitions => FREEZE,
        };
        if self.reason.is_empty() { by.to_owned() } else { format!("{by}: {}", self.reason) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(annotation: Option<&str>, flag: Option<&str>) -> Option<String> {
        Freeze::of(annotation, flag).map(|freeze| freeze.confirmation())
    }

    #[test]
    fn any_value_of_the_annotation_freezes_but_false() {
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some("etcd restore"), None).unwrap(), "fhpa.karmada.io/freeze: etcd restore");
        for empty in ["", "  "] {
            assert_eq!(of(Some(empty), None).unwrap(), "fhpa.karmada.io/freeze");
        }
        for not in ["false", "False", " false "] {
            assert_eq!(of(Some(not), None), None);
        }
    }

    #[test]
    fn the_flag_freezes_whatever_the_annotation_is() {
        for annotation in [None, Some("false")] {
            assert_eq!(of(annotation, Some("new cluster")).unwrap(), "--freeze: new cluster");
        }
        assert_eq!(of(Some("incident"), Some("new cluster")).unwrap(), "fhpa.karmada.io/freeze: incident");
    }

    #[test]
    fn a_reason_has_a_limit() {
        let freeze = Freeze::of(Some(&"a".repeat(10_000)), None).unwrap();
        assert!(freeze.reason.len() <= REASON_LENGTH, "{}", freeze.reason.len());
    }
}
