//! Karmada's own kinds as resources of the client. No I/O, no decisions.

/// Implements [`kube::Resource`] for a type with `metadata`.
macro_rules! karmada_resource {
    ($type:ident, $group:literal, $version:literal, $kind:literal, $plural:literal, namespaced) => {
        karmada_resource!($type, $group, $version, $kind, $plural, kube::core::NamespaceResourceScope);
    };
    ($type:ident, $group:literal, $version:literal, $kind:literal, $plural:literal, cluster) => {
        karmada_resource!($type, $group, $version, $kind, $plural, kube::core::ClusterResourceScope);
    };
    ($type:ident, $group:literal, $version:literal, $kind:literal, $plural:literal, $scope:ty) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = $scope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }
            fn group((): &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }
            fn version((): &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }
            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(super) use karmada_resource;
