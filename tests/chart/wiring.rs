//! References within a release: ports, volumes, labels, names, times.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::command::{argument, arguments, pods};
use super::engine::{self, Rendered};
use super::renderings::EXTRA_VOLUME;

fn names<'a>(list: &'a Value, key: &str) -> BTreeSet<&'a str> {
    list.as_array().into_iter().flatten().map(|item| item[key].as_str().unwrap()).collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

#[test]
fn every_file_that_a_pod_is_told_of_is_mounted_as_a_directory() {
    for (case, rendered) in engine::rendered("mounts of the chart's pods") {
        for (name, spec) in pods(rendered) {
            let container = &spec["containers"][0];
            let mounts = container["volumeMounts"].as_array().unwrap();
            // Extra volumes and extra mounts are the user's to match.
            let own = |list: &Value| -> BTreeSet<String> {
                names(list, "name").into_iter().filter(|name| *name != EXTRA_VOLUME).map(str::to_owned).collect()
            };
            assert_eq!(own(&container["volumeMounts"]), own(&spec["volumes"]), "{case}, {name}");
            assert!(mounts.iter().all(|mount| mount.get("subPath").is_none() && mount["readOnly"] == true));
            for file in arguments(spec).iter().filter_map(|argument| argument.split_once("=/")) {
                let file = format!("/{}", file.1);
                let mount = mounts.iter().find(|mount| {
                    let path = text(&mount["mountPath"]);
                    file == path || file.starts_with(&format!("{path}/"))
                });
                let mount = mount.unwrap_or_else(|| panic!("{case}, {name}: {file} is in no mount"));
                let volume = spec["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == mount["name"]);
                let content = volume.unwrap().to_string();
                let own = file.strip_prefix(text(&mount["mountPath"])).unwrap().trim_start_matches('/');
                let listed = content.contains("\"items\"");
                assert!(
                    !listed || content.contains(&format!("\"path\":\"{own}")),
                    "{case}, {name}: {file} is not in {content}"
                );
            }
        }
    }
}

#[test]
fn ports_are_where_the_process_listens() {
    for (case, rendered) in engine::rendered("ports of the chart") {
        let spec = &rendered.one("Deployment")["spec"]["template"]["spec"];
        let arguments = arguments(spec);
        let port_of =
            |flag: &str| argument(&arguments, flag).unwrap().rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
        let ports = json!([
            {"name": "webhook", "containerPort": port_of("--listen")},
            {"name": "metrics", "containerPort": port_of("--health-probe-bind-address")},
        ]);
        assert_eq!(spec["containers"][0]["ports"], ports, "{case}");
        for service in rendered.of("Service") {
            for port in service["spec"]["ports"].as_array().unwrap() {
                assert_eq!(port["name"], port["targetPort"], "{case}");
                assert!(names(&ports, "name").contains(text(&port["name"])), "{case}");
            }
        }
        for policy in rendered.of("NetworkPolicy") {
            let open =
                policy["spec"]["ingress"].as_array().unwrap().iter().map(|rule| rule["ports"][0]["port"].clone());
            assert_eq!(
                open.collect::<Vec<_>>(),
                [&ports[0], &ports[1]].map(|port| port["containerPort"].clone()),
                "{case}"
            );
        }
    }
}

fn holds(selector: &Value, labels: &Value) -> bool {
    let selector = selector.as_object().unwrap();
    !selector.is_empty() && selector.iter().all(|(key, value)| labels.get(key) == Some(value))
}

#[test]
fn selectors_find_what_they_are_meant_for() {
    for (case, rendered) in engine::rendered("selectors of the chart") {
        let deployment = &rendered.one("Deployment")["spec"];
        let served = &deployment["template"]["metadata"]["labels"];
        let hooks: Vec<&Value> = rendered.of("Job").map(|job| &job["spec"]["template"]["metadata"]["labels"]).collect();
        let of_server = |selector: &Value, what: &str| {
            assert!(holds(selector, served), "{case}: {what} does not find the pods");
            assert!(!hooks.iter().any(|labels| holds(selector, labels)), "{case}: {what} finds pods of hooks");
        };
        of_server(&deployment["selector"]["matchLabels"], "the Deployment");
        rendered.of("Service").for_each(|service| of_server(&service["spec"]["selector"], "a Service"));
        for budget in rendered.of("PodDisruptionBudget") {
            of_server(&budget["spec"]["selector"]["matchLabels"], "the PodDisruptionBudget");
        }
        for policy in rendered.of("NetworkPolicy") {
            let selector = &policy["spec"]["podSelector"]["matchLabels"];
            assert!(holds(selector, served) && hooks.iter().all(|labels| holds(selector, labels)), "{case}");
        }
        for monitor in rendered.of("ServiceMonitor") {
            let found = rendered
                .of("Service")
                .filter(|service| holds(&monitor["spec"]["selector"]["matchLabels"], &service["metadata"]["labels"]));
            let ports: Vec<_> = found.map(|service| &service["spec"]["ports"][0]["name"]).collect();
            assert_eq!(ports, [&monitor["spec"]["endpoints"][0]["port"]], "{case}");
        }
    }
}

#[test]
fn a_pod_has_time_to_answer_what_it_began() {
    for (case, rendered) in engine::rendered("the time that a pod has to end") {
        let spec = &rendered.one("Deployment")["spec"]["template"]["spec"];
        let arguments = arguments(spec);
        let seconds = |flag| {
            let duration: jiff::SignedDuration = argument(&arguments, flag).unwrap().parse().unwrap();
            duration.as_secs().cast_unsigned()
        };
        let pause = spec.pointer("/containers/0/lifecycle/preStop/sleep/seconds").and_then(Value::as_u64).unwrap_or(0);
        let least = pause + seconds("--shutdown-delay") + seconds("--shutdown-timeout");
        assert!(spec["terminationGracePeriodSeconds"].as_u64().unwrap() > least, "{case}: {least}");
        let rollout = &rendered.one("Deployment")["spec"]["strategy"]["rollingUpdate"];
        assert_eq!(rollout, &json!({"maxUnavailable": 0, "maxSurge": 1}), "{case}");
    }
}

#[test]
fn an_uninstallation_is_tried_once_and_has_time_for_what_follows_the_workloads() {
    for (case, rendered) in engine::rendered("the time of the hook of the uninstallation") {
        for job in rendered.of("Job").filter(|job| job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete") {
            let spec = &job["spec"];
            let arguments = arguments(&spec["template"]["spec"]);
            let patience: jiff::SignedDuration = argument(&arguments, "--timeout").unwrap().parse().unwrap();
            assert_eq!(spec["backoffLimit"], 0, "{case}");
            assert_eq!(spec["activeDeadlineSeconds"], patience.as_secs() + 90, "{case}");
        }
    }
}

/// The Job of a hook.
fn hook<'a>(rendered: &'a Rendered, name: &str) -> Option<&'a Value> {
    rendered.of("Job").find(|job| job["metadata"]["labels"]["app.kubernetes.io/component"] == name)
}

#[test]
fn the_roles_of_the_pods_are_there_before_the_pods() {
    for (case, rendered) in engine::rendered("the hook that makes the roles") {
        let Some(install) = hook(rendered, "install") else { continue };
        let install = arguments(&install["spec"]["template"]["spec"]);
        let user = argument(&install, "--user");
        let Some(roles) = hook(rendered, "roles") else {
            assert_eq!(user, None, "{case}");
            continue;
        };
        let annotations = &roles["metadata"]["annotations"];
        assert_eq!(annotations["helm.sh/hook"], "pre-install,pre-upgrade,pre-rollback", "{case}");
        assert_eq!(annotations["helm.sh/hook-weight"], "-5", "{case}");
        let spec = &roles["spec"]["template"]["spec"];
        let roles = arguments(spec);
        assert!(roles[0] == "install" && roles.contains(&"--only-roles"), "{case}");
        for flag in ["--user", "--scale-kind", "--kubeconfig", "--context", "--lease-namespace"] {
            assert_eq!(argument(&roles, flag), argument(&install, flag), "{case}: {flag}");
        }
        // Of the objects of the release there is none yet.
        let named = spec["volumes"].to_string();
        let own: Vec<&str> = ["Secret", "ConfigMap"]
            .iter()
            .flat_map(|kind| rendered.of(kind))
            .map(|own| text(&own["metadata"]["name"]))
            .collect();
        assert!(own.iter().all(|name| !named.contains(name)), "{case}: {named}");
    }
}

#[test]
fn a_kubeconfig_of_the_hooks_is_used_in_a_context_of_its_own() {
    let shows = "the contexts of the kubeconfigs";
    for (case, pods, hooks) in [
        ("full", Some("karmada"), Some("karmada")),
        ("a user with few rights", Some("pods"), None),
        ("another context of the same file", Some("pods"), Some("administrator")),
    ] {
        let Some(rendered) = engine::case(case, shows) else { return };
        let context = |spec: &Value| argument(&arguments(spec), "--context").map(str::to_owned);
        let deployment = context(&rendered.one("Deployment")["spec"]["template"]["spec"]);
        assert_eq!(deployment.as_deref(), pods, "{case}");
        for job in rendered.of("Job") {
            assert_eq!(context(&job["spec"]["template"]["spec"]).as_deref(), hooks, "{case}");
        }
    }
}

#[test]
fn an_uninstallation_takes_back_its_own_registration_only() {
    for (case, rendered) in engine::rendered("whose registration the uninstallation takes back") {
        let Some(uninstall) = hook(rendered, "uninstall") else { continue };
        let url = |job: &Value, flag| argument(&arguments(&job["spec"]["template"]["spec"]), flag).map(str::to_owned);
        let registered = hook(rendered, "install").and_then(|install| url(install, "--url"));
        let own = registered.unwrap_or_else(|| "https://fhpa.karmada-system.svc:443/".into());
        assert_eq!(url(uninstall, "--only-if-url"), Some(own), "{case}");
    }
}

#[test]
fn no_pod_has_a_right_it_does_not_need() {
    for (case, rendered) in engine::rendered("rights of the chart's pods") {
        for account in rendered.of("ServiceAccount") {
            assert_eq!(account["automountServiceAccountToken"], false, "{case}");
        }
        for (name, spec) in pods(rendered) {
            assert_eq!(spec["automountServiceAccountToken"], false, "{case}, {name}");
            assert_eq!(spec["securityContext"]["runAsNonRoot"], true, "{case}, {name}");
            assert_eq!(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault", "{case}, {name}");
            let rights = json!({
                "allowPrivilegeEscalation": false,
                "readOnlyRootFilesystem": true,
                "capabilities": {"drop": ["ALL"]},
            });
            assert_eq!(spec["containers"][0]["securityContext"], rights, "{case}, {name}");
            assert!(spec["containers"][0]["resources"]["limits"]["memory"].is_string(), "{case}, {name}");
            let made =
                rendered.of("ServiceAccount").any(|account| account["metadata"]["name"] == spec["serviceAccountName"]);
            // The hook of the roles runs before the account is made.
            let is_there = if name.ends_with("-roles") { spec["serviceAccountName"] == "default" } else { made };
            assert!(is_there || spec["serviceAccountName"] == "shared", "{case}, {name}");
        }
    }
}

#[test]
fn a_token_of_the_host_cluster_is_for_the_secret_of_the_certificate_only() {
    for (case, rendered) in engine::rendered("tokens of the host cluster") {
        let own =
            argument(&arguments(&rendered.one("Deployment")["spec"]["template"]["spec"]), "--cert-secret").is_some();
        for (name, spec) in pods(rendered) {
            let needs = own && !["-uninstall", "-doctor", "-roles"].iter().any(|hook| name.ends_with(hook));
            let token = spec["volumes"].to_string().contains("serviceAccountToken");
            assert_eq!(token, needs, "{case}, {name}");
            let mounts = spec["containers"][0]["volumeMounts"].as_array().unwrap();
            let standard = "/var/run/secrets/kubernetes.io/serviceaccount";
            assert_eq!(mounts.iter().any(|mount| mount["mountPath"] == standard), needs, "{case}, {name}");
        }
        let rules: Vec<&Value> = rendered.of("Role").map(|role| &role["rules"]).collect();
        if !own {
            assert!(rules.is_empty() && rendered.of("RoleBinding").count() == 0, "{case}");
            continue;
        }
        let spec = &rendered.one("Deployment")["spec"]["template"]["spec"];
        let arguments = arguments(spec);
        let secret = argument(&arguments, "--cert-secret").unwrap().split_once('/').unwrap();
        let [rules] = rules[..] else { panic!("{case}: one role") };
        let all = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret.1], "verbs": ["get", "update"]}]);
        assert_eq!(*rules, all, "{case}");
        let binding = rendered.one("RoleBinding");
        assert_eq!(binding["subjects"][0]["name"], spec["serviceAccountName"], "{case}");
        assert_eq!(
            (&binding["metadata"]["namespace"], &binding["subjects"][0]["namespace"]),
            (&json!(secret.0), &json!(secret.0))
        );
        for hook in
            rendered.of("Job").filter(|job| job["spec"]["template"]["spec"]["containers"][0]["name"] == "install")
        {
            let hook = self::arguments(&hook["spec"]["template"]["spec"]);
            assert_eq!(argument(&hook, "--ca-secret"), argument(&arguments, "--cert-secret"), "{case}");
        }
        for policy in rendered.of("NetworkPolicy") {
            let ports: Vec<&Value> =
                policy["spec"]["egress"][2]["ports"].as_array().unwrap().iter().map(|port| &port["port"]).collect();
            let chosen = if case.contains("behind a policy") { vec![7443] } else { vec![443, 6443] };
            assert_eq!(ports, chosen, "{case}");
        }
    }
}

/// Host and port of the address that is registered.
fn registered(rendered: &Rendered) -> Option<(&str, u64)> {
    let job = rendered.of("Job").find(|job| job["spec"]["template"]["spec"]["containers"][0]["name"] == "install")?;
    let arguments = arguments(&job["spec"]["template"]["spec"]);
    let rest = argument(&arguments, "--url").unwrap().strip_prefix("https://").unwrap();
    let (host, port) = rest.strip_suffix('/').unwrap().rsplit_once(':').unwrap();
    Some((host, port.parse().unwrap()))
}

#[test]
fn the_registered_address_is_one_of_the_certificate_and_of_the_service() {
    for (case, rendered) in engine::rendered("the address that is registered") {
        let Some((host, port)) = registered(rendered) else {
            assert!(["nothing registered", "registered by somebody else"].contains(&case), "{case}");
            continue;
        };
        if let Some(leaf) = rendered.of("Certificate").find(|certificate| certificate["spec"].get("isCA").is_none()) {
            let named = leaf["spec"]["dnsNames"].as_array().unwrap();
            assert!(named.contains(&host.into()), "{case}: {host} is not in {named:?}");
        }
        let spec = &rendered.one("Deployment")["spec"]["template"]["spec"];
        if argument(&arguments(spec), "--cert-secret").is_some() {
            let named = format!("--tls-san={}", host.trim_matches(['[', ']']));
            assert!(arguments(spec).contains(&&*named), "{case}: {named}");
        }
        let service = rendered.of("Service").find(|service| service["spec"]["ports"][0]["name"] == "webhook").unwrap();
        let own = format!("{}.{}.svc", text(&service["metadata"]["name"]), text(&service["metadata"]["namespace"]));
        assert!(host == own || case.starts_with("full") || case.contains("behind a policy"), "{case}: {host}");
        assert!(host != own || service["spec"]["ports"][0]["port"] == port, "{case}: {port}");
    }
}

#[test]
fn the_certificate_that_is_ordered_is_the_one_that_is_mounted() {
    for (case, rendered) in engine::rendered("the Secret of the certificate") {
        let spec = &rendered.one("Deployment")["spec"]["template"]["spec"];
        let Some(volume) = spec["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "tls") else {
            assert_eq!(rendered.of("Certificate").count(), 0, "{case}");
            continue;
        };
        let mounted = &volume["projected"]["sources"][0]["secret"]["name"];
        for leaf in rendered.of("Certificate").filter(|certificate| certificate["spec"].get("isCA").is_none()) {
            assert_eq!(&leaf["spec"]["secretName"], mounted, "{case}");
            let issuer = &leaf["spec"]["issuerRef"];
            let made = rendered.of("Issuer").any(|made| made["metadata"]["name"] == issuer["name"]);
            assert!(made || issuer["name"] == "corporate", "{case}: {issuer}");
        }
    }
}
