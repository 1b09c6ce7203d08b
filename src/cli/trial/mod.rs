//! Manifests -> the responses of a temporary webhook in this process, in the role of the API server.

mod ask;
mod print;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::manifest::Source;
use super::names;
use super::terminal::Color;
use super::validate::{Class, Finding, Given, Report, file, inputs, related_objects, text};
use crate::admission::review::Reviewer;
use crate::decision::validation::Settings;
use crate::run::process::{Options, Server};
use crate::runtime::clock;
use crate::runtime::settings::RuleArgs;
use crate::runtime::zones::ZoneDatabase;
use ask::{Answers, Client};

/// Arguments of `fhpa try`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Manifests: YAML or JSON files, directories, `-` for standard input [default: two examples, a right one and a
    /// wrong one].
    #[arg(value_name = "FILE|DIR|-")]
    paths: Vec<PathBuf>,
    /// Namespace of objects that name none.
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default", value_parser = names::namespace)]
    namespace: String,
    #[command(flatten)]
    rules: RuleArgs,
}

const EXAMPLES: &str = "\
The webhook listens on a free port of this machine with a temporary certificate. Each object is sent to it over \
TLS as the API server would send it: to set its defaults, then to validate it. The answers are printed, and the \
webhook ends.

Examples:
  Review a valid and an invalid object:
    fhpa try
  Review your own objects:
    fhpa try shop.yaml

Exit codes:
  0  every object got an answer, refusals included
  2  a file could not be read, or the webhook did not answer as it should";

/// Built-in examples: names as in the repository, and texts.
const BUILT_IN: [(&str, &str); 2] = [
    ("examples/web-shop.yaml", include_str!("../../../examples/web-shop.yaml")),
    ("examples/wrong/schedules.yaml", include_str!("../../../examples/wrong/schedules.yaml")),
];

/// Why the trial failed.
#[derive(Debug, thiserror::Error)]
enum TrialError {
    #[error("the webhook does not start: {0}")]
    Start(#[from] crate::run::process::Error),
    #[error("the webhook cannot be called: {0}")]
    Ask(#[from] ask::AskError),
    #[error("no threads: {0}")]
    Runtime(std::io::Error),
    #[error("{0}")]
    Output(std::io::Error),
}

/// Number of objects by result.
#[derive(Debug, Default)]
struct Tally {
    allowed: usize,
    denied: usize,
    skipped: usize,
    reviews: usize,
    took: Duration,
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let sources = if self.paths.is_empty() { built_in() } else { inputs::read(&self.paths) };
        let mut report = Report::default();
        let mut given = Vec::new();
        for source in sources {
            match file(source, &self.namespace) {
                Ok(objects) => given.extend(objects),
                Err(finding) => report.unreadable(*finding),
            }
        }
        let mut out = color.stdout();
        if report.exit_code(false) != 0 {
            let _ = out.write_all(text::render(&report, usize::MAX).as_bytes());
            return ExitCode::from(2);
        }
        match trial(&given, self.rules.settings(), &mut out) {
            Ok(()) => ExitCode::SUCCESS,
            // A reader that exits early has seen enough.
            Err(TrialError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(error) => {
                super::terminal::complain("try", &error);
                ExitCode::from(2)
            }
        }
    }
}

fn built_in() -> Vec<Result<Source, inputs::Unreadable>> {
    let source = |(name, text): (&str, &str)| {
        Source::new(name, text.as_bytes().to_vec())
            .map_err(|message| inputs::Unreadable { name: name.to_owned(), message })
    };
    BUILT_IN.into_iter().map(source).collect()
}

fn trial(given: &[Given], settings: Settings, out: &mut impl Write) -> Result<(), TrialError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(TrialError::Runtime)?;
    let known = related_objects(given.iter(), settings.default_mode);
    let zones = Arc::new(ZoneDatabase::open());
    let reviewer =
        Reviewer { related_objects: Arc::new(known), zones, settings, preview: None, frozen: None, idle: None };
    runtime.block_on(async {
        let server = Server::bind_with(Options::loopback(), move |_| {
            Arc::new(move |endpoint, request, now| reviewer.review(endpoint, request, now))
        });
        let server = server.await?;
        let (address, ca, handle) = (server.local_addr(), server.ca_pem().unwrap_or_default(), server.handle());
        let serving = tokio::spawn(server.run());
        let mut client = Client::connect(address, ca.as_bytes()).await?;
        print::greeting(out, address).map_err(TrialError::Output)?;
        let mut tally = Tally::default();
        for object in given {
            ask_about(object, &mut client, &mut tally, out).await?;
        }
        print::tally(out, &tally).map_err(TrialError::Output)?;
        drop(client);
        handle.shut_down();
        // The responses are printed; errors at the end of a connection do not matter.
        let _ = serving.await;
        Ok(())
    })
}

/// Sends one object, and prints the responses.
async fn ask_about(
    given: &Given,
    client: &mut Client,
    tally: &mut Tally,
    out: &mut impl Write,
) -> Result<(), TrialError> {
    print::object(out, given).map_err(TrialError::Output)?;
    let kind = match &given.subject.class {
        Class::Known(kind) => *kind,
        Class::Other => {
            tally.skipped += 1;
            return print::skipped(out).map_err(TrialError::Output);
        }
        Class::NearMiss(violation) | Class::Doubtful(violation) => {
            tally.skipped += 1;
            return print::near_miss(out, violation).map_err(TrialError::Output);
        }
    };
    let start = clock::monotonic();
    let Answers { mutated, validated } = client.ask(kind, &given.name, given.object()).await?;
    tally.took += start.elapsed();
    tally.reviews += 1 + usize::from(validated.is_some());
    let last = validated.as_ref().unwrap_or(&mutated);
    if last.allowed {
        tally.allowed += 1;
    } else {
        tally.denied += 1;
    }
    for answer in [Some(&mutated), validated.as_ref()].into_iter().flatten() {
        print::answer(out, answer).map_err(TrialError::Output)?;
    }
    Ok(())
}

impl Report {
    fn unreadable(&mut self, finding: Finding) {
        self.unreadable += 1;
        self.findings.push(finding);
    }
}
