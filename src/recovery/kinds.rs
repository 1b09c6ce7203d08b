//! Where objects of the scaled kinds have their replicas, and whether members keep them. Talks to the API server of the
//! control plane; reads only.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::ListParams;

use super::Recovery;
use crate::api::ResourceInterpreterCustomization;
use crate::controller::failure::{Asked, Failure};
use crate::controller::pages::pages;
use crate::decision::backoff::ErrorClass;
use crate::decision::kinds::keeps_by_itself;
use crate::install::kinds::{REPLICAS, defined_paths, kept_path};
use crate::install::permissions::ScaledKind;
use crate::reconcile::scale_target::{TargetRef, Targets};
use crate::runtime::watch::{RetentionScript, retention_script};

/// What is known of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kind {
    /// JSON pointer to the requested replicas in its objects; `None`: not known.
    pub path: Option<String>,
    /// Whether members keep their replicas of objects with the label.
    pub kept: bool,
}

/// What customizations and definitions say of a kind.
#[derive(Clone, Debug, Default)]
struct Said {
    path: Option<String>,
    /// Whether a retention script keeps replicas; `None`: there is no script.
    kept: Option<bool>,
}

/// The kinds, by API version and kind.
#[derive(Clone, Debug, Default)]
pub struct Kinds(BTreeMap<(String, String), Said>);

impl Kinds {
    /// What is known of a kind.
    #[must_use]
    pub fn of(&self, api_version: &str, kind: &str) -> Kind {
        let known = self.0.get(&(api_version.to_owned(), kind.to_owned())).cloned().unwrap_or_default();
        // The kinds of Kubernetes that can be scaled are in its core group and in apps.
        let native = matches!(api_version, "v1" | "apps/v1").then(|| pointer(REPLICAS));
        let kept = known.kept.unwrap_or_else(|| keeps_by_itself(api_version, kind));
        Kind { path: known.path.or(native), kept }
    }

    /// A customization of Karmada's interpreter.
    pub fn customized(&mut self, customization: &ResourceInterpreterCustomization) {
        let Some(RetentionScript { api_version, kind, keeps }) = retention_script(customization) else { return };
        let path = kept_path(&customization.spec.customizations.retention.lua_script).map(pointer);
        let known = self.0.entry((api_version, kind)).or_default();
        known.kept = Some(keeps || known.kept == Some(true));
        known.path = path.or_else(|| known.path.take());
    }

    /// The path of the replicas as the definition of the kind has it.
    fn defined(&mut self, api_version: String, kind: &str, path: &str) {
        self.0.entry((api_version, kind.to_owned())).or_default().path.get_or_insert_with(|| pointer(path));
    }
}

/// `.spec.size` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

impl Recovery {
    /// The kinds of these workloads: by the customizations of the installation, else by their definitions where this
    /// user may read them.
    pub(super) async fn kinds(
        &self,
        scaled: impl Iterator<Item = TargetRef<'_>>,
        targets: &Targets,
    ) -> Result<Kinds, Failure> {
        let mut kinds = Kinds::default();
        let (group, plural) = ("config.karmada.io", "resourceinterpretercustomizations");
        let asked = Asked { verb: "list", group, resource: plural, object: &plural };
        let path = format!("/apis/{group}/v1alpha1/{plural}");
        pages(&self.client, &path, ListParams::default(), asked, |one| kinds.customized(&one)).await?;
        let mut looked = BTreeSet::new();
        for target in scaled {
            let kind = (target.api_version.to_owned(), target.kind.to_owned());
            if kinds.of(target.api_version, target.kind).path.is_some() || !looked.insert(kind) {
                continue;
            }
            let place = match targets.place(&target).await {
                Ok(place) => place,
                Err(failure) if failure.class == ErrorClass::Transient => return Err(failure),
                Err(_) => continue,
            };
            let custom = ScaledKind { group: place.group, resource: place.plural.to_string() };
            for (api_version, path) in defined_paths(&self.client, &custom).await? {
                kinds.defined(api_version, target.kind, &path);
            }
        }
        Ok(kinds)
    }
}
