//! `fhpa status`: the FederatedHPAs and CronFederatedHPAs of a running control plane, or one with its clusters.

mod changes;
mod chart;
mod list;
mod object;
mod screen;

use std::process::ExitCode;

use clap::ValueEnum;
use kube::Client;
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::connection::ConnectionArgs;
use super::names::{self, NamedObject};
use super::picture::Picture;
use super::terminal::Color;
use crate::overview::gather::{self, GatherError};
use crate::overview::model::{Detail, Overview, Unread};
use crate::overview::{Clock, detail, overview};
use crate::runtime::clock;
use crate::runtime::zones::{self, ZoneDatabase};
use changes::Changes;
use screen::{Layout, Screen};

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Name of a FederatedHPA, to see its clusters, its last decisions and what comes next. Default: all, a line each.
    #[arg(value_name = "NAME|NAMESPACE/NAME")]
    name: Option<NamedObject>,
    /// Namespace. Default: that of the context of the kubeconfig.
    #[arg(short, long, value_name = "NAMESPACE", value_parser = names::namespace)]
    namespace: Option<String>,
    /// The objects of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["namespace", "name"])]
    all_namespaces: bool,
    /// Show it again at each change, at most once a second, until Ctrl-C.
    #[arg(short, long)]
    watch: bool,
    /// Each cluster, where there are many.
    #[arg(long, requires = "name")]
    all_clusters: bool,
    /// Draw the clusters of the object into this file, too, as SVG or PNG; with --watch again at each change.
    #[arg(long, value_name = "FILE.svg|FILE.png", requires = "name")]
    chart: Option<Picture>,
    /// How to print it.
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Output::Table)]
    output: Output,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// How it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// For programs: one object.
    Json,
    /// The same as YAML.
    Yaml,
}

const EXAMPLES: &str = "\
Nothing is written. The command reads with the rights of the user, and says at the end what the user may not \
read.

Examples:
  All objects of all namespaces, again at each change:
    fhpa status -A -w
  One of them, with its clusters:
    fhpa status web -n shop
  The same as a picture:
    fhpa status web -n shop --chart web.svg
  For programs:
    fhpa status -A -o json

Exit codes:
  0  it was shown
  1  there is no such object, or it cannot be read
  2  the arguments or the kubeconfig cannot be used, or the output or the chart cannot be written";

/// Nothing could be shown.
const FAILED: u8 = 1;
/// Nothing could be asked.
const UNUSABLE: u8 = 2;

/// Exit code and message.
type Failed = (u8, String);

/// What is shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
enum View {
    All(Overview),
    One(Box<Detail>),
}

/// What is read, and from where.
struct Request {
    client: Client,
    /// `None`: all of them.
    namespace: Option<String>,
    name: Option<String>,
    zones: ZoneDatabase,
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let ended = super::runtime().map_err(|error| (UNUSABLE, error));
        match ended.and_then(|runtime| runtime.block_on(self.show(color))) {
            Ok(()) => ExitCode::SUCCESS,
            Err((code, problem)) => {
                super::terminal::complain("status", &problem);
                ExitCode::from(code)
            }
        }
    }

    /// Shows it once, or until the user ends it.
    async fn show(self, color: Color) -> Result<(), Failed> {
        if !self.watch {
            return self.follow(color).await;
        }
        let interrupted = signal(SignalKind::interrupt());
        let mut interrupted = interrupted.map_err(|error| (UNUSABLE, format!("Ctrl-C cannot be received: {error}")))?;
        tokio::select! {
            done = self.follow(color) => done,
            _ = interrupted.recv() => Ok(()),
        }
    }

    async fn follow(self, color: Color) -> Result<(), Failed> {
        let Self { name, namespace, all_namespaces, watch, all_clusters, chart, output, connection } = self;
        let (with, name) = name.map(|named| (named.namespace, named.name)).unzip();
        let with: Option<String> = with.flatten();
        if with.is_some() && namespace.is_some() {
            return Err((UNUSABLE, "the namespace is given twice: before the name, and with --namespace".to_owned()));
        }
        let client = connection.connect().await.map_err(|problem| (UNUSABLE, problem))?;
        let own = with.or(namespace).unwrap_or_else(|| client.default_namespace().to_owned());
        let namespace = (!all_namespaces).then_some(own);
        let request = Request { client, namespace, name, zones: ZoneDatabase::open() };
        let mut screen = Screen::new(color, watch, output == Output::Table);
        let layout = || Layout { now: clock::wall(), all_clusters, all_namespaces };
        let mut shown = Ok(request.view().await.map_err(|error| (FAILED, error.to_string()))?);
        let draw = |view: &Result<View, String>| {
            let drawn = chart.as_ref().map_or(Ok(()), |file| draw(file, view, layout()));
            drawn.map_err(|problem| (UNUSABLE, problem))
        };
        let written = |error| (UNUSABLE, format!("standard output: {error}"));
        let mut open = screen.show(&render(&shown, output, layout())).map_err(written)?;
        draw(&shown)?;
        let changes = watch.then(|| Changes::of(&request.client, &request.watched()));
        while let (Some(changes), true) = (&changes, open) {
            changes.next().await;
            // The object may be made again, or the connection may come back: that is waited for.
            let view = request.view().await.map_err(|error| error.to_string());
            if view != shown {
                match &view {
                    // A program that reads the stream finds no text in it.
                    Err(problem) if output != Output::Table => super::terminal::complain("status", problem),
                    view => open = screen.show(&render(view, output, layout())).map_err(written)?,
                }
                draw(&view)?;
                shown = view;
            }
        }
        Ok(())
    }
}

impl Request {
    async fn view(&self) -> Result<View, GatherError> {
        let Self { client, namespace, name, zones } = self;
        let zone = zones::process_zone(zones);
        let clock = |zone| Clock { now: clock::wall(), zones, zone };
        let (Some(name), Some(namespace)) = (name, namespace) else {
            let objects = gather::all(client, namespace.as_deref()).await?;
            return Ok(View::All(overview(&objects, clock(&zone))));
        };
        let objects = gather::one(client, namespace, name).await?;
        Ok(View::One(Box::new(detail(&objects, clock(&zone)).unwrap_or_default())))
    }

    fn watched(&self) -> Vec<String> {
        gather::watched(self.namespace.as_deref(), self.name.is_some())
    }
}

fn render(view: &Result<View, String>, output: Output, layout: Layout) -> String {
    let view = match view {
        Ok(view) => view,
        Err(problem) => return format!("{problem}\n"),
    };
    match (output, view) {
        (Output::Table, View::All(overview)) => list::render(overview, layout),
        (Output::Table, View::One(detail)) => object::render(detail, layout),
        (Output::Json, view) => serde_json::to_string_pretty(view).map(|text| text + "\n").unwrap_or_default(),
        (Output::Yaml, view) => serde_saphyr::to_string(view).map(|text| format!("---\n{text}")).unwrap_or_default(),
    }
}

/// Draws one object. One that is gone leaves the file as it is.
fn draw(file: &Picture, view: &Result<View, String>, layout: Layout) -> Result<(), String> {
    match view {
        Ok(View::One(detail)) => file.write(&chart::render(detail, layout)),
        _ => Ok(()),
    }
}

/// The lines at the end, on what could not be read.
fn unread(unread: &[Unread]) -> String {
    let line = |Unread { verb, resource, reason, .. }: &Unread| format!("cannot {verb} {resource}: {reason}\n");
    unread.iter().map(line).collect::<Vec<_>>().concat()
}
