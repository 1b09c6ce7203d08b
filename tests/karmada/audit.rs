//! Requests that autoscaling needs, as the API servers write them into their audit logs. I/O: files.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use fhpa::playground::json::text;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::rig::program;

/// Arguments of an API server that writes these requests into a log in `home`.
pub fn flags(home: &Path) -> Vec<OsString> {
    let of = |group: &str, resources: &[&str]| json!({"group": group, "resources": resources});
    let resources = [
        of("apps", &["deployments", "deployments/scale"]),
        of("autoscaling.karmada.io", &["*"]),
        of("metrics.k8s.io", &["*"]),
        of("cluster.karmada.io", &["clusters/proxy"]),
        of("work.karmada.io", &["*"]),
        of("policy.karmada.io", &["*"]),
        of("config.karmada.io", &["*"]),
        of("autoscaling", &["*"]),
        of("events.k8s.io", &["*"]),
        of("", &["pods", "events"]),
    ];
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    let policy = json!({"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
        "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
        "rules": [{"level": "Metadata", "verbs": verbs, "resources": resources}, {"level": "None"}]});
    let file = home.join("audit.json");
    std::fs::write(&file, policy.to_string()).unwrap();
    program::flags([("audit-policy-file", file.into()), ("audit-log-path", log(home).into())])
}

fn log(home: &Path) -> PathBuf {
    home.join("audit.log")
}

/// Reads what is written from now on.
pub struct Reader {
    /// Name of the control plane, its log, and where to read on.
    logs: Vec<(String, PathBuf, u64)>,
}

impl Reader {
    pub fn new(lab: &Lab) -> Self {
        let members = lab.members.iter().map(|member| &member.plane);
        let planes = std::iter::once(&lab.karmada).chain(members);
        let logs = planes.map(|plane| {
            let log = plane.file("audit.log");
            let end = std::fs::metadata(&log).map_or(0, |data| data.len());
            (plane.name.clone(), log, end)
        });
        Self { logs: logs.collect() }
    }

    /// Requests of programs whose name begins so, or for this user, by what they asked for: those to members are named
    /// so.
    pub fn requests(&self, programs: &[&str], user: &str) -> BTreeMap<String, usize> {
        let mut by = BTreeMap::new();
        for (plane, log, from) in &self.logs {
            for request in read(log, *from) {
                let agent = text(&request, "/userAgent");
                let own = request["impersonatedUser"]["username"] == user;
                if own || programs.iter().any(|program| agent.starts_with(program)) {
                    let place = if plane == "karmada" { "" } else { "member: " };
                    *by.entry(format!("{place}{}", what(&request))).or_default() += 1;
                }
            }
        }
        by
    }
}

fn read(log: &Path, from: u64) -> Vec<Value> {
    let mut file = std::fs::File::open(log).unwrap();
    file.seek(SeekFrom::Start(from)).unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    // The last line may be half written.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn what(request: &Value) -> String {
    let parts = [text(request, "/objectRef/resource"), text(request, "/objectRef/subresource")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let group = text(request, "/objectRef/apiGroup");
    let group = if group == "metrics.k8s.io" { ".metrics" } else { "" };
    format!("{} {}{group}", text(request, "/verb"), parts.join("/"))
}
