//! `fhpa drill`: what would not run if clusters were lost, and what would let it run.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use clap::ValueEnum;

use super::connection::ConnectionArgs;
use super::output;
use super::terminal::{Color, aligned, printable};
use crate::api::Cluster;
use crate::run::forecast::drill::{FailureDomain, Loss, ObjectLoss};
use crate::run::forecast::live;
use crate::runtime::clock;
use crate::runtime::settings::RuleArgs;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Lose this cluster; several of these are lost together, beside each zone, region or provider that is named.
    #[arg(long, value_name = "CLUSTER")]
    lose: Vec<String>,
    /// Lose all clusters of this zone.
    #[arg(long, value_name = "ZONE")]
    lose_zone: Vec<String>,
    /// Lose all clusters of this region.
    #[arg(long, value_name = "REGION")]
    lose_region: Vec<String>,
    /// Lose all clusters of this provider.
    #[arg(long, value_name = "PROVIDER")]
    lose_provider: Vec<String>,
    /// Lose each cluster, zone, region and provider, one at a time. The default where nothing is named.
    #[arg(long, conflicts_with_all = ["lose", "lose_zone", "lose_region", "lose_provider"])]
    each: bool,
    /// How to print what was found.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    rules: RuleArgs,
}

/// How losses are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people: a table for each loss.
    Text,
    /// For programs: one array.
    Json,
}

const EXAMPLES: &str = "\
Nothing is written. The plans of the controller are made for all FederatedHPAs in Distributed mode, one after the other \
as it would make them, with the clusters away for longer than any toleration, and with the free capacity that the others \
report now.

Examples:
  Would the fleet survive the loss of any cluster, zone, region or provider?
    fhpa drill --kubeconfig karmada.config
  Of these two together?
    fhpa drill --kubeconfig karmada.config --lose member1 --lose member2
  For a pipeline:
    fhpa drill --kubeconfig karmada.config --lose-zone eu-1 -o json

Exit codes:
  0  all that runs there would run elsewhere
  1  something would not, or the control plane could not be read
  2  the arguments cannot be used, or the output could not be written";

/// Something would not run.
const SHORT: u8 = 1;
/// The arguments cannot be used.
const UNUSABLE: u8 = 2;

/// Why there is no answer, with the exit code.
type Problem = (String, u8);

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let output = self.output;
        let losses = match super::runtime()
            .map_err(|problem| (problem, SHORT))
            .and_then(|runtime| runtime.block_on(self.losses()))
        {
            Ok(losses) => losses,
            Err((problem, code)) => {
                super::terminal::complain("drill", &problem);
                return ExitCode::from(code);
            }
        };
        let text = match output {
            Output::Text => render(&losses),
            Output::Json => serde_json::to_string_pretty(&losses).map(|json| json + "\n").unwrap_or_default(),
        };
        let short = losses.iter().any(|loss| loss.short > 0);
        output::print("drill", &mut color.stdout(), &text, if short { SHORT } else { 0 })
    }

    async fn losses(self) -> Result<Vec<Loss>, Problem> {
        let Self { lose, lose_zone, lose_region, lose_provider, connection, rules, .. } = self;
        let client = connection.connect().await.map_err(|problem| (problem, SHORT))?;
        let (hpas, fleet) = live::fleet(&client).await.map_err(|failure| (failure.message, SHORT))?;
        let asked = Asked { lose, zones: lose_zone, regions: lose_region, providers: lose_provider };
        let domains = asked.domains(&fleet.clusters).map_err(|problem| (problem, UNUSABLE))?;
        let (mode, now) = (rules.settings().default_mode, clock::wall());
        Ok(domains.into_iter().map(|domain| fleet.drill(&hpas, mode, domain, now)).collect())
    }
}

/// What the user names.
struct Asked {
    lose: Vec<String>,
    zones: Vec<String>,
    regions: Vec<String>,
    providers: Vec<String>,
}

impl Asked {
    fn domains(&self, clusters: &[Cluster]) -> Result<Vec<FailureDomain>, String> {
        let all = all_domains(clusters);
        let mut domains = Vec::new();
        if !self.lose.is_empty() {
            let known: BTreeSet<&str> = clusters.iter().filter_map(|one| one.metadata.name.as_deref()).collect();
            if let Some(name) = self.lose.iter().find(|name| !known.contains(name.as_str())) {
                return Err(format!("there is no cluster {name}: {}", listed(known)));
            }
            let name = format!("cluster {}", self.lose.join(" and "));
            domains.push(FailureDomain { name, clusters: self.lose.iter().cloned().collect() });
        }
        for (kind, names) in [("zone", &self.zones), ("region", &self.regions), ("provider", &self.providers)] {
            for name in names {
                let wanted = format!("{kind} {name}");
                let found = all.iter().find(|domain| domain.name == wanted);
                let others = || {
                    let own = all.iter().filter_map(|domain| domain.name.strip_prefix(kind)?.strip_prefix(' '));
                    listed(own.collect())
                };
                domains.push(found.cloned().ok_or_else(|| format!("no cluster is in {wanted}: {}", others()))?);
            }
        }
        Ok(if domains.is_empty() { all } else { domains })
    }
}

fn listed(known: BTreeSet<&str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    if known.is_empty() { "there are none".to_owned() } else { format!("there are {}", known.join(", ")) }
}

/// Each cluster, and each zone, region and provider of more than one.
fn all_domains(clusters: &[Cluster]) -> Vec<FailureDomain> {
    let named = || clusters.iter().filter_map(|one| Some((one.metadata.name.clone()?, one)));
    let mut domains: Vec<FailureDomain> = named()
        .map(|(name, _)| FailureDomain { name: format!("cluster {name}"), clusters: BTreeSet::from([name]) })
        .collect();
    for (kind, groups) in GROUPS {
        let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, one) in named() {
            for group in groups(one).into_iter().filter(|group| !group.is_empty()) {
                found.entry(group).or_default().insert(name.clone());
            }
        }
        let domain = |(group, clusters)| FailureDomain { name: format!("{kind} {group}"), clusters };
        domains.extend(found.into_iter().map(domain));
    }
    domains
}

/// What clusters of one kind of failure domain have in common.
type Group = (&'static str, fn(&Cluster) -> Vec<String>);

const GROUPS: [Group; 3] = [
    ("zone", |one| if one.spec.zones.is_empty() { vec![one.spec.zone.clone()] } else { one.spec.zones.clone() }),
    ("region", |one| vec![one.spec.region.clone()]),
    ("provider", |one| vec![one.spec.provider.clone()]),
];

/// A sentence for each loss, with a table of what would run nowhere.
fn render(losses: &[Loss]) -> String {
    let mut text = Vec::new();
    for Loss { lost, replicas, short, objects, .. } in losses {
        let clusters: Vec<&str> = lost.clusters.iter().map(String::as_str).collect();
        let alone = lost.name.starts_with("cluster ");
        let named = if alone { lost.name.clone() } else { format!("{} ({})", lost.name, clusters.join(", ")) };
        let said = match (replicas, short) {
            (0, _) => "nothing of any FederatedHPA runs there".to_owned(),
            (all, 0) => format!("all {all} replicas run elsewhere"),
            (all, short) => format!("{short} of {all} replicas run nowhere"),
        };
        text.push(format!("{}\n", printable(&format!("If {named} is lost: {said}"))));
        let header = ["OBJECT", "REPLICAS", "SHORT", "WHAT WOULD LET THEM RUN"].map(str::to_owned).to_vec();
        let row = |object: &ObjectLoss| {
            let name = printable(&format!("{}/{}", object.namespace, object.name));
            let remedy = object.remedy.as_deref().map(printable).unwrap_or_default();
            vec![name, object.replicas.to_string(), object.short.to_string(), remedy]
        };
        let rows: Vec<Vec<String>> = objects.iter().filter(|object| object.short > 0).map(row).collect();
        if !rows.is_empty() {
            text.push(aligned(&[vec![header], rows].concat()));
        }
    }
    text.concat()
}
