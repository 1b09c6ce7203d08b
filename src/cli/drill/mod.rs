//! `fhpa drill`: what would not run if clusters were lost, and what would let it run.

mod asked;
mod text;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;

use self::asked::Asked;
use super::connection::ConnectionArgs;
use super::names;
use super::output;
use super::plan::fleet::{self, Fleet};
use super::terminal::Color;
use super::validate::inputs::FilenameArgs;
use crate::decision::drill::{LoadFactor, Loss};
use crate::decision::validation::Settings;
use crate::run::ToleranceArgs;
use crate::run::forecast::live;
use crate::runtime::clock;
use crate::runtime::settings::RuleArgs;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Manifests in place of a control plane, as of `fhpa plan`: YAML or JSON files, directories, `-` for standard
    /// input.
    #[arg(value_name = "FILE|DIR|-", conflicts_with_all = ["kubeconfig", "context"])]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    more: FilenameArgs,
    /// Namespace of objects in manifests that name none.
    #[arg(short, long, value_name = "NAMESPACE", value_parser = names::namespace, default_value = "default")]
    namespace: String,
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
    /// Lose each cluster, zone, region and provider, one at a time, but none that has all clusters. The default where
    /// nothing is named.
    #[arg(long, conflicts_with_all = ["lose", "lose_zone", "lose_region", "lose_provider"])]
    each: bool,
    /// Change the load that HPAs measure before the loss, as +30%, -20% or 1.5x.
    #[arg(long, value_name = "CHANGE", default_value = "1x", allow_hyphen_values = true)]
    load: LoadFactor,
    /// How to print what was found.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    tolerance: ToleranceArgs,
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
Nothing is written. The plans of the controller are made for all FederatedHPAs in Distributed mode, one after the \
other as it would make them, with the clusters away for longer than any toleration, and with the free capacity that \
the others report now. In manifests a workload \
of which nothing is said to run anywhere runs what its first plan gives each cluster.

Examples:
  Would the fleet survive the loss of any cluster, zone, region or provider?
    fhpa drill --kubeconfig karmada.config
  Of these two together?
    fhpa drill --kubeconfig karmada.config --lose member1 --lose member2
  At the peak of the evening?
    fhpa drill --kubeconfig karmada.config --load +30%
  Before anything runs, or from what kubectl printed?
    fhpa drill shop.yaml policy.yaml clusters.yaml
  For a pipeline:
    fhpa drill --kubeconfig karmada.config --lose-zone eu-1 -o json

Exit codes:
  0  all that runs there would run elsewhere
  1  something would not, an object would be refused, or the control plane could not be read
  2  the arguments or a file cannot be used, or the output could not be written";

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
        let losses = match self.losses() {
            Ok(losses) => losses,
            Err((problem, code)) => {
                super::terminal::complain("drill", &problem);
                return ExitCode::from(code);
            }
        };
        let text = match output {
            Output::Text => text::render(&losses),
            Output::Json => serde_json::to_string_pretty(&losses).map(|json| json + "\n").unwrap_or_default(),
        };
        let short = losses.iter().any(|loss| loss.short > 0);
        output::print("drill", &mut color.stdout(), &text, if short { SHORT } else { 0 })
    }

    fn losses(self) -> Result<Vec<Loss>, Problem> {
        let Self { inputs, more, namespace, lose, lose_zone, lose_region, lose_provider, .. } = self;
        let (settings, tolerance, now) = (self.rules.settings(), self.tolerance.settings(), clock::wall());
        let paths = more.all(inputs);
        let Fleet { hpas, objects } = if paths.is_empty() {
            let runtime = super::runtime().map_err(|problem| (problem, SHORT))?;
            runtime.block_on(read(self.connection)).map_err(|problem| (problem, SHORT))?
        } else {
            fleet::of_manifests(&paths, &namespace, &settings, now).map_err(fleet::explained)?
        };
        let Settings { default_mode, .. } = settings;
        let drill = objects.drill(&hpas, default_mode, tolerance, now).at_load(self.load);
        let asked = Asked { lose, zones: lose_zone, regions: lose_region, providers: lose_provider };
        let domains = asked.domains(drill.members()).map_err(|problem| (problem, UNUSABLE))?;
        Ok(domains.into_iter().map(|domain| drill.loss(domain)).collect())
    }
}

/// What a control plane has.
async fn read(connection: ConnectionArgs) -> Result<Fleet, String> {
    let client = connection.connect().await?;
    let (hpas, objects) = live::fleet(&client).await.map_err(|failure| failure.message)?;
    Ok(Fleet { hpas, objects })
}
