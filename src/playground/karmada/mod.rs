//! Karmada's part of the playground: its kinds, by definitions in our own words.

use serde_json::Value;

/// The definitions of Karmada's kinds that fhpa touches, as YAML.
const DEFINITIONS: &[&str] = &[
    include_str!("crds/clusters.yaml"),
    include_str!("crds/propagationpolicies.yaml"),
    include_str!("crds/clusterpropagationpolicies.yaml"),
    include_str!("crds/resourcebindings.yaml"),
    include_str!("crds/works.yaml"),
    include_str!("crds/resourceinterpretercustomizations.yaml"),
];

/// CustomResourceDefinitions of Karmada's kinds, ready to be created.
///
/// # Errors
/// When one of the files is not YAML.
pub fn definitions() -> Result<Vec<Value>, serde_saphyr::Error> {
    DEFINITIONS.iter().map(|text| serde_saphyr::from_str(text)).collect()
}
