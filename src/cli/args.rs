//! Arguments -> the command to run.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use super::terminal::Color;
use super::{
    completions, crds, cron, dashboard, doctor, drill, install, plan, program, recover, simulate, status, trial,
    uninstall, validate,
};
use crate::run::{both, controller, webhook};
use crate::runtime::identity;

/// Horizontal pod autoscaling over the member clusters of a Karmada control plane.
///
/// The admission webhook and the controller of FederatedHPA and CronFederatedHPA, and their rules on the command line.
#[derive(Debug, Parser)]
#[command(name = "fhpa", version = identity::VERSION.as_str(), about, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Colours: auto (on a terminal, unless NO_COLOR is set), always, never.
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto, hide_possible_values = true)]
    pub color: Color,
}

const EXAMPLES: &str = "\
Examples:
  See the webhook at work, with nothing else needed:
    fhpa try
  Would the webhook accept this file, and if not, why?
    fhpa validate shop.yaml
  Which bounds would each cluster get?
    fhpa plan shop.yaml policy.yaml clusters.yaml
  How does it behave under load, hour by hour?
    fhpa simulate examples/simulate/cloud-burst.yaml --chart burst.svg
  When does this schedule run?
    fhpa cron '30 8 * * 1-5' --time-zone Europe/Berlin
  What runs on a control plane, at each change?
    fhpa status -A -w
  The same as a web page, with a form that shows what an edit would do:
    fhpa dashboard
  Install what a control plane needs, and see what would change before:
    fhpa install --kubeconfig karmada.config --dry-run \\
      --url https://fhpa.karmada-system.svc:443/ --ca-file ca.crt
  Serve the webhook, without a cluster:
    fhpa webhook --offline --self-signed --listen 127.0.0.1:9443
  Webhook and controller for a control plane:
    fhpa run --kubeconfig karmada.config --cert-dir /tls

`fhpa COMMAND --help` says more about each command.";

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a temporary webhook and send manifests to it over TLS.
    Try(trial::Args),
    /// Serve the admission webhook over TLS.
    Webhook(Box<webhook::Args>),
    /// Run the controller (leader-elected).
    Controller(Box<controller::Args>),
    /// Serve the webhook and run the controller in one process.
    Run(Box<both::Args>),
    /// Check manifests by the rules of the webhook, without a cluster.
    Validate(validate::Args),
    /// Show which bounds each member cluster would get, and why.
    Plan(Box<plan::Args>),
    /// Simulate a fleet under load and faults in virtual time.
    Simulate(simulate::Args),
    /// Show when a schedule runs next.
    Cron(cron::Args),
    /// Install definitions, permissions and webhooks into karmada-apiserver.
    Install(Box<install::Args>),
    /// Hand all workloads back to Karmada and remove the installation.
    Uninstall(Box<uninstall::Args>),
    /// Correct a control plane restored from a backup, before Karmada applies it.
    Recover(Box<recover::Args>),
    /// Show what runs: bounds, which clusters want more, and what comes next.
    Status(Box<status::Args>),
    /// Serve a web page of what runs, on this machine alone.
    Dashboard(Box<dashboard::Args>),
    /// Check an installation and say how to fix it.
    Doctor(doctor::Args),
    /// Show what would not run if clusters were lost, and what would let it run.
    Drill(Box<drill::Args>),
    /// Print the CustomResourceDefinitions of both kinds.
    Crds(crds::Args),
    /// Run a Karmada with member clusters on this machine, for trying and testing.
    #[cfg(feature = "playground")]
    Playground(Box<super::playground::Args>),
    /// Print a script that completes this command in a shell.
    Completions(completions::Args),
}

/// The command, with the name that it was called by in its usage and its examples.
fn named(command: clap::Command, name: &'static str) -> clap::Command {
    let examples = command.get_after_help().map(|text| text.to_string().replace("  fhpa ", &format!("  {name} ")));
    let command = command.mut_subcommands(|below| named(below, name));
    match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    }
}

impl Cli {
    /// Reads the arguments of the process.
    ///
    /// # Errors
    /// The exit code, when help was printed, or what is wrong with the arguments.
    pub fn read() -> Result<Self, ExitCode> {
        let mut command = named(Self::command(), program::name()).bin_name(program::name());
        let matches = command.try_get_matches_from_mut(std::env::args_os());
        let read =
            matches.and_then(|matches| Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command)));
        read.map_err(|error| {
            let printed = error.print().and_then(|()| std::io::stdout().flush());
            match printed {
                Err(failure) if failure.kind() != ErrorKind::BrokenPipe => {
                    anstream::eprintln!("{}: standard output: {failure}", program::name());
                    ExitCode::FAILURE
                }
                _ => u8::try_from(error.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from),
            }
        })
    }

    /// Runs the command to its end.
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Try(args) => args.run(self.color),
            Command::Webhook(args) => args.run(),
            Command::Controller(args) => args.run(),
            Command::Run(args) => args.run(),
            Command::Validate(args) => args.run(self.color),
            Command::Plan(args) => args.run(self.color),
            Command::Simulate(args) => args.run(self.color),
            Command::Cron(args) => args.run(),
            Command::Install(args) => args.run(self.color),
            Command::Uninstall(args) => args.run(self.color),
            Command::Recover(args) => args.run(self.color),
            Command::Status(args) => args.run(self.color),
            Command::Dashboard(args) => args.run(self.color),
            Command::Doctor(args) => args.run(self.color),
            Command::Drill(args) => args.run(self.color),
            Command::Crds(args) => args.run(),
            #[cfg(feature = "playground")]
            Command::Playground(args) => args.run(plan::Planner::usual()),
            Command::Completions(args) => args.run(Self::command()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Cli;

    /// Most columns of an example, so that a terminal of this width and its margin does not wrap it.
    const WIDTH: usize = 90;

    /// The command and all below it.
    fn commands(command: clap::Command) -> Vec<clap::Command> {
        let below = command.get_subcommands().cloned().flat_map(commands).collect::<Vec<_>>();
        std::iter::once(command).chain(below).collect()
    }

    fn after_help(command: &clap::Command) -> String {
        command.get_after_help().map(ToString::to_string).unwrap_or_default()
    }

    #[test]
    fn only_the_terminal_wraps_the_paragraphs_of_help_and_no_example_is_wrapped() {
        for command in commands(Cli::command()) {
            let text = after_help(&command);
            let lines: Vec<&str> = text.lines().collect();
            for pair in lines.windows(2) {
                let wrapped = pair.iter().all(|line| line.starts_with(|first: char| !first.is_whitespace()));
                let whole = pair[0].ends_with(['.', ':']);
                assert!(!wrapped || whole, "{}: a line is broken by hand: {}", command.get_name(), pair[0]);
            }
            // Exit codes are prose, too.
            let prose = |line: &&str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
            for line in lines.iter().filter(|line| line.starts_with(' ') && !prose(line)) {
                assert!(line.chars().count() <= WIDTH, "{}: too long to be pasted: {line}", command.get_name());
            }
        }
    }

    /// The arguments of the examples: quoted words are one, `\` joins lines, and what a shell does with the output is cut.
    fn examples(text: &str) -> Vec<Vec<String>> {
        let joined = text.replace("\\\n", " ");
        let lines = joined.lines().map(str::trim).filter(|line| line.starts_with("fhpa "));
        let whole = lines.map(|line| {
            let mut words = Vec::new();
            for (at, part) in line.split('\'').enumerate() {
                match at % 2 {
                    0 => words.extend(part.split_whitespace().map(str::to_owned)),
                    _ => words.push(part.to_owned()),
                }
            }
            let end = words.iter().position(|word| matches!(&**word, ">" | "|")).unwrap_or(words.len());
            words.truncate(end);
            words
        });
        whole.collect()
    }

    #[test]
    fn the_examples_of_help_can_be_run() {
        let mut count = 0;
        for command in commands(Cli::command()) {
            for example in examples(&after_help(&command)) {
                let read = Cli::command().try_get_matches_from(&example);
                assert!(read.is_ok(), "{example:?}: {}", read.unwrap_err());
                count += 1;
            }
        }
        assert!(count > 30, "only {count} examples were found");
    }
}
