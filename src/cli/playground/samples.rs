//! Sample manifests. No I/O.

/// Name of the file with valid objects.
pub(super) const SHOP: &str = "shop.yaml";
/// Name of the file with rules that run each minute.
pub(super) const MINUTES: &str = "minutes.yaml";
/// Name of the file with invalid objects.
pub(super) const REFUSED: &str = "refused.yaml";

/// A workload divided over the clusters, and its FederatedHPA.
pub(super) const SHOP_TEXT: &str = "\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: shop
  namespace: default
spec:
  resourceSelectors:
    - apiVersion: apps/v1
      kind: Deployment
      name: shop
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: default
  labels: {app: shop}
spec:
  replicas: 3
  selector:
    matchLabels: {app: shop}
  template:
    metadata:
      labels: {app: shop}
    spec:
      containers:
        - name: shop
          image: registry.example/shop:1
          resources:
            requests: {cpu: 500m, memory: 128Mi}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata:
  name: shop
  namespace: default
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: shop}
  minReplicas: 3
  maxReplicas: 12
  metrics:
    - type: Resource
      resource:
        name: cpu
        target: {type: Utilization, averageUtilization: 60}
";

/// Rules that run within a minute or two.
pub(super) const MINUTES_TEXT: &str = "\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata:
  name: shop-minutes
  namespace: default
spec:
  scaleTargetRef: {apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: shop}
  rules:
    - name: even
      schedule: \"*/2 * * * *\"
      targetMinReplicas: 3
      targetMaxReplicas: 12
    - name: odd
      schedule: \"1-59/2 * * * *\"
      targetMinReplicas: 6
      targetMaxReplicas: 18
";

/// Mistakes that Karmada accepts, and one that it detects.
pub(super) const REFUSED_TEXT: &str = "\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata:
  name: shop-morning
  namespace: default
spec:
  scaleTargetRef: {apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, name: shop}
  rules:
    - name: workdays
      schedule: 61 8 * * 1-5
      timeZone: Europe/Berln
      targetMinReplicas: 6
";
