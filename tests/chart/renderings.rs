//! Values in many combinations, and snapshots of two of them.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::engine;
use super::values::table;

/// Values to render the chart with.
#[derive(Clone)]
pub struct Case {
    /// What is special about them.
    pub name: Cow<'static, str>,
    pub release: &'static str,
    pub namespace: &'static str,
    /// The host cluster's version, if it matters.
    pub kubernetes: Option<&'static str>,
    /// YAML.
    pub values: Cow<'static, str>,
}

impl Case {
    /// What is set: the image's repository in all cases but those that tell of it.
    pub fn values(&self) -> Value {
        let mut values: Value = serde_saphyr::from_str(&self.values).unwrap();
        if self.name != NO_REPOSITORY && values.pointer("/image/repository").is_none() {
            values["image"]["repository"] = json!("fhpa");
        }
        values
    }
}

const fn plain(name: &'static str, values: &'static str) -> Case {
    of("fhpa", "karmada-system", None, name, values)
}

const fn of(
    release: &'static str,
    namespace: &'static str,
    kubernetes: Option<&'static str>,
    name: &'static str,
    values: &'static str,
) -> Case {
    Case { name: Cow::Borrowed(name), release, namespace, kubernetes, values: Cow::Borrowed(values) }
}

/// Name of the case in which nobody says where the image is.
pub const NO_REPOSITORY: &str = "refused: an image without a repository";

/// Name of the extra volume of [`FULL`].
pub const EXTRA_VOLUME: &str = "corporate-ca";

/// Those written by hand. Those whose name begins with `refused` are against the schema.
pub const CASES: &[Case] = &[
    plain("default", "{}"),
    of("demo", "autoscaling", None, "full", FULL),
    of("fhpa", "karmada-system", Some("v1.27.16"), "an old host cluster", "{}"),
    plain(
        "the certificate of Karmada by Helm",
        "{certificate: {mode: existingSecret, existingSecret: {name: karmada-webhook-cert, caSecret: karmada-cert, \
         caKey: server-ca.crt}}}",
    ),
    plain("a Secret with everything", "{certificate: {mode: existingSecret, existingSecret: {name: own}}}"),
    plain(
        "an issuer of the platform",
        "{certificate: {mode: certManager, certManager: {issuerRef: {name: corporate, kind: ClusterIssuer, group: issuers.test}}, extraDnsNames: [fhpa.test]}}",
    ),
    plain("a certificate by cert-manager", "{certificate: {mode: certManager}}"),
    plain(
        "a certificate of its own, behind a policy",
        "{certificate: {selfManaged: {secretName: own}, extraDnsNames: [fhpa.test]}, webhook: {url: \"https://[fd00::7]:8443\"}, \
         networkPolicy: {enabled: true, hostApiserverPorts: [7443]}}",
    ),
    plain("one replica", "{replicas: 1}"),
    plain("a platform that chooses the user", "{runAsUser: null}"),
    plain("nothing registered", "{install: {enabled: false}, uninstall: {enabled: false}}"),
    plain("registered by somebody else", "{install: {enabled: false}}"),
    plain("Karmada's objects left alone", "{karmada: {manage: false}}"),
    plain("no estimators", "{estimators: {mode: \"off\"}, networkPolicy: {enabled: true}}"),
    plain("estimators without a client certificate", "{estimators: {tlsSecret: {name: trust, certKey: \"\"}}}"),
    plain("pods with IPv6 only", "{webhook: {listenAddress: \"[::]\"}, rules: {defaultTimeZone: Europe/Berlin}}"),
    plain("an account that is there", "{serviceAccount: {create: false, name: shared}}"),
    plain(
        "no alert of a group",
        "{prometheusRule: {enabled: true, disabled: [FhpaForbidden, FhpaRequestsFail, FhpaWatchesBreak, \
         FhpaKubeconfigNotTaken, FhpaKubeconfigExpires, \
         FhpaDriftNotCorrected, FhpaDriftConflict, FhpaDown]}}",
    ),
    plain("no budget", "{podDisruptionBudget: {enabled: false}}"),
    plain("series of another name", "{prometheusRule: {enabled: true, selector: 'cluster=\"host\",job=\"fhpa\"'}}"),
    plain("a digest", IMAGE),
    of("a-release-with-a-name-of-fifty-three-characters-here", "karmada-system", None, "a long name", "{}"),
    plain("a part of another chart", "{enabled: true}"),
    plain(
        "a user with few rights",
        "{karmada: {context: pods}, install: {kubeconfigSecret: {name: administrator, key: config}, user: fhpa, \
         scaleKinds: [argoproj.io/rollouts]}}",
    ),
    plain(
        "another context of the same file",
        "{karmada: {context: pods}, install: {context: administrator, user: fhpa}}",
    ),
    plain("the limits of times", LIMITS),
    plain(NO_REPOSITORY, "{image: {tag: 1.2.3}}"),
    plain("refused: a number as text", "{replicas: two}"),
    plain("refused: none at all", "{replicas: 0}"),
    plain("refused: a name nobody knows", "{replicaCount: 3}"),
    plain("refused: a name nobody knows, further in", "{webhook: {prot: 9443}}"),
    plain("refused: a mode nobody knows", "{certificate: {mode: letsEncrypt}}"),
    plain("refused: a Secret whose name is none", "{certificate: {selfManaged: {secretName: Own_Secret}}}"),
    plain("refused: a Secret without a name", "{certificate: {mode: existingSecret}}"),
    plain("refused: a port that needs root", "{webhook: {port: 443}}"),
    plain("refused: plain HTTP", "{webhook: {url: \"http://fhpa.karmada-system.svc\"}}"),
    plain("refused: a path in the address", "{webhook: {url: \"https://fhpa.karmada-system.svc/fhpa\"}}"),
    plain("refused: a budget that lets no pod go", "{podDisruptionBudget: {maxUnavailable: 0}}"),
    plain("refused: a budget of no part of the pods", "{podDisruptionBudget: {maxUnavailable: 0%}}"),
    plain("refused: a time above an hour", "{centralized: {downscaleStabilization: 2h}}"),
    plain("refused: a time above a day", "{controller: {replacementTimeout: 24h1s}}"),
    plain("refused: a deadline that is no less than the lease", "{controller: {renewDeadline: 15s}}"),
    plain("refused: a pause that is no less than the deadline", "{controller: {retryPeriod: 10s}}"),
    plain("refused: an uninstallation without time for its workloads", "{controller: {leaseDuration: 1m}}"),
    plain(
        "refused: a kubeconfig of the hooks without the user of the pods",
        "{install: {kubeconfigSecret: {name: administrator}}}",
    ),
    plain("refused: a kind without a group", "{install: {scaleKinds: [rollouts]}}"),
    plain("refused: a duration without a unit", "{serviceMonitor: {interval: \"30\"}}"),
    plain("refused: a policy in lower case", "{rules: {conflictPolicy: warn}}"),
];

/// The longest times that the program takes.
const LIMITS: &str = "{controller: {leaseDuration: 1h, renewDeadline: 59m, retryPeriod: 58m, rebalancePeriod: 60m, \
     replacementTimeout: 24h, shutdownTimeout: 3600s}, centralized: {syncPeriod: 24h, downscaleStabilization: 1h, \
     cpuInitializationPeriod: 1h, initialReadinessDelay: 1h}, webhook: {shutdownDelay: 1h}, uninstall: {timeout: 24h}}";

/// Name of the case in which a value of [`FULL`] is left out.
pub fn full_but(path: &str) -> String {
    format!("full but {path}")
}

/// All of them: those written by hand, and for each value that `full` sets one without it.
pub fn cases() -> Vec<Case> {
    let mut cases = CASES.to_vec();
    let full = CASES.iter().find(|case| case.name == "full").unwrap();
    for path in table().into_keys() {
        let mut values = full.values();
        let mut node = Some(&mut values);
        let (folders, leaf) = path.rsplit_once('.').unwrap_or(("", &path));
        for folder in folders.split('.').filter(|folder| !folder.is_empty()) {
            node = node.and_then(|node| node.get_mut(folder));
        }
        if node.and_then(|node| node.as_object_mut()?.remove(leaf)).is_some() {
            cases.push(Case { name: full_but(&path).into(), values: values.to_string().into(), ..full.clone() });
        }
    }
    cases
}

const IMAGE: &str = "{image: {repository: registry.example/fhpa, \
     digest: \"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}";

/// Every value is another than the default one.
const FULL: &str = r##"
image: {repository: registry.example/fhpa, tag: 1.2.3, pullPolicy: Always}
imagePullSecrets: [{name: registry}]
nameOverride: scaler
fullnameOverride: scaler
commonLabels: {example.test/cost-centre: "4711"}
karmada:
  kubeconfigSecret: {name: karmada-config, key: karmada.config}
  context: karmada
  manage: false
  guardDefinitions: false
certificate:
  mode: certManager
  extraDnsNames: [other.example.test]
  certManager: {duration: 720h, renewBefore: 240h, caDuration: 43800h}
webhook:
  url: https://scaler.example.test:8443
  port: 10443
  listenAddress: "[::]"
  tlsMinVersion: "1.3"
  clientCa: {secret: clients, key: bundle.crt, commonNames: [kube-apiserver, system:admin]}
  failurePolicy: Ignore
  maxConnections: 512
  maxRequestsInflight: 128
  shutdownDelay: 20s
controller:
  leaseName: scaler
  leaseNamespace: autoscaling
  leaseDuration: 30s
  renewDeadline: 14s
  retryPeriod: 4s
  maxConcurrentReconciles: 128
  rebalancePeriod: 0
  objectMetrics: 2000
  defaultNotReadyTolerationSeconds: 60
  defaultUnreachableTolerationSeconds: 90
  unhealthyClusterThreshold: 0.75
  resourceEvictionRate: 2
  replacementTimeout: 15m
  minCoveredLosses: 1
  shutdownTimeout: 1m15s
  freeze: the control plane moves
centralized:
  syncPeriod: 30s
  downscaleStabilization: 10m
  tolerance: 0.2
  cpuInitializationPeriod: 0
  initialReadinessDelay: 45s
  externalMetricsSum: [queue_length, orders]
  metricsSource: adapter
estimators:
  address: "estimator-{cluster}.karmada-system.svc:10352"
  tlsSecret: {name: estimators, caKey: ca.pem, certKey: client.pem, keyKey: client.key}
rules: {conflictPolicy: Warn, denyEarly: false, defaultMode: Centralized, defaultTimeZone: Asia/Shanghai}
logs: {format: text, level: "info,fhpa=debug"}
threads: 3
extraArgs: ["--cert-refresh-interval=5s"]
extraEnv: [{name: TZDIR, value: /zones}]
extraVolumes: [{name: corporate-ca, configMap: {name: corporate-ca}}]
extraVolumeMounts: [{name: corporate-ca, mountPath: /etc/corporate-ca, readOnly: true}]
install:
  timeout: 2m
  user: scaler
  scaleKinds: [argoproj.io/rollouts]
  retries: 3
  podAnnotations: {sidecar.example.test/inject: "false"}
  podLabels: {example.test/part: hook}
  resources: {limits: {memory: 128Mi}}
uninstall: {timeout: 10m}
service: {type: LoadBalancer, port: 8443, annotations: {example.test/internal: "true"}}
serviceAccount: {name: scaler-account, annotations: {example.test/team: scaling}}
replicas: 3
resources: {requests: {cpu: "1", memory: 256Mi}, limits: {cpu: "2", memory: 1Gi}}
preStopDelay: 7s
runAsUser: 1000
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: dedicated, operator: Equal, value: control-plane, effect: NoSchedule}]
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: tier, operator: In, values: [system]}]}]
topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: example.test/rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app.kubernetes.io/instance: demo}}}
dnsPolicy: None
dnsConfig: {nameservers: [192.0.2.53]}
hostAliases: [{ip: 192.0.2.10, hostnames: [karmada.example.test]}]
annotations: {example.test/owner: platform}
podAnnotations: {example.test/note: "yes"}
podLabels: {example.test/part: scaling}
podDisruptionBudget: {maxUnavailable: 50%}
serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 15s}
prometheusRule: {enabled: true, labels: {release: prometheus}, alertLabels: {team: scaling, severity: none}, disabled: [FhpaEventsDropped], runbookUrl: "https://runbooks.example.test/fhpa"}
dashboard: {enabled: true, labels: {grafana: "yes"}, annotations: {folder: Karmada}}
networkPolicy:
  enabled: true
  webhookFrom: [{podSelector: {matchLabels: {app: karmada-apiserver}}}]
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  apiserverPort: 6443
  estimatorPort: 10353
  extraEgress: [{ports: [{port: 8443, protocol: TCP}]}]
"##;

/// The objects as YAML. Of the dashboard only its presence is told.
fn shown(objects: &[Value]) -> String {
    let yaml = |object: &Value| {
        let mut object = object.clone();
        if let Some(dashboard) = object.pointer_mut("/data/fhpa.json") {
            *dashboard = json!(format!("<{} panels>", dashboard.as_str().unwrap().matches("\"targets\"").count()));
        }
        serde_saphyr::to_string(&object).unwrap()
    };
    objects.iter().map(yaml).collect::<Vec<_>>().join("---\n")
}

#[test]
fn the_default_release_is_as_before() {
    let Some(rendered) = engine::case("default", "the objects of the default release") else { return };
    insta::assert_snapshot!("default", shown(&rendered.objects));
    if let Some(notes) = &rendered.notes {
        insta::assert_snapshot!("default_notes", notes);
    }
}

#[test]
fn the_release_with_every_value_changed_is_as_before() {
    let Some(rendered) = engine::case("full", "the objects of a release with every value changed") else { return };
    insta::assert_snapshot!("full", shown(&rendered.objects));
    if let Some(notes) = &rendered.notes {
        insta::assert_snapshot!("full_notes", notes);
    }
}

#[test]
fn an_old_host_cluster_gets_no_pause_it_does_not_know() {
    let shows = "what is rendered for Kubernetes 1.27";
    let (Some(old), Some(new)) = (engine::case("an old host cluster", shows), engine::case("default", shows)) else {
        return;
    };
    let pause = "/spec/template/spec/containers/0/lifecycle";
    assert_eq!(old.one("Deployment").pointer(pause), None);
    assert_eq!(new.one("Deployment").pointer(pause), Some(&json!({"preStop": {"sleep": {"seconds": 5}}})));
}

#[test]
fn one_replica_gets_no_budget_that_would_stop_a_drain() {
    let Some(one) = engine::case("one replica", "a release of one replica") else { return };
    assert_eq!(one.of("PodDisruptionBudget").count(), 0);
}

#[test]
fn without_hooks_nothing_is_registered() {
    let Some(none) = engine::case("nothing registered", "a release without hooks") else { return };
    assert_eq!(none.of("Job").count(), 0);
    assert!(none.notes.as_ref().is_none_or(|notes| notes.contains("Nothing is registered in karmada-apiserver")));
}

#[test]
fn alerts_that_are_switched_off_are_absent_and_so_is_an_empty_group() {
    let Some(some) = engine::case("no alert of a group", "alerts switched off") else { return };
    let groups = some.one("PrometheusRule")["spec"]["groups"].as_array().unwrap();
    let names: Vec<&str> = groups.iter().map(|group| group["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["fhpa.leader", "fhpa.webhook", "fhpa.controller"]);
    assert!(groups.iter().all(|group| !group.to_string().contains("\"FhpaDown\"")));
}

#[test]
fn wrong_values_are_refused_in_words_that_name_them() {
    let Some(outcomes) = engine::outcomes("values that the schema refuses") else { return };
    let mut said = String::new();
    for (name, outcome) in outcomes {
        assert_eq!(outcome.is_err(), name.starts_with("refused"), "{name}: {:?}", outcome.as_ref().err());
        if let Err(error) = outcome {
            if name == NO_REPOSITORY {
                assert!(error.contains("image.repository is not set: name the image with its registry"), "{error}");
                continue;
            }
            // By a template and not by the schema.
            if let Some((_, words)) =
                error.split_once("execution error at (").and_then(|(_, after)| after.split_once("): "))
            {
                said.push_str(&format!("{name}\n{}\n", words.trim()));
                continue;
            }
            let lines: Vec<&str> = error.lines().map(str::trim_start).filter(|line| line.starts_with("- at")).collect();
            if lines.is_empty() {
                eprintln!("ran without a comparison of messages: this Helm has words of its own: {error}");
                return;
            }
            said.push_str(&format!("{name}\n{}\n", lines.join("\n")));
        }
    }
    insta::assert_snapshot!("refused", said);
}
