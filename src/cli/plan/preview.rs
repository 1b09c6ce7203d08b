//! A manifest -> its plan on a control plane, for a page that shows what an edit would do.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::runtime::Handle;

use super::super::manifest::Source;
use super::super::validate::{self, inputs::Unreadable, text as findings};
use super::live::{LiveSource, read};
use super::{FINE, PlanError, PlanOutput, Planner};
use crate::dashboard::preview::{Drilled, PlannedCluster, PlannedObject, Preview, Previewed};
use crate::decision::drill::all_domains;
use crate::run::forecast::live;
use crate::runtime::clock;

/// Name of the manifest in findings.
const NAME: &str = "manifest";
/// Namespace of objects that name none, as of the command.
const NAMESPACE: &str = "default";
/// Most findings that are shown.
const MAX_FINDINGS: usize = 100;
/// Most objects of a manifest: each is checked against the others, and a page is waited for.
const MOST_OBJECTS: usize = 50;

impl Preview for Planner {
    fn preview(&self, client: &Client, manifest: &str) -> Previewed {
        match self.previewed(client, manifest, clock::wall()) {
            Ok(previewed) => previewed,
            Err(PlanError { message, .. }) => Previewed { findings: plain(&message), ..Previewed::default() },
        }
    }

    fn drill(&self, client: &Client, most: usize, patience: Duration) -> Result<Drilled, String> {
        let begun = clock::steady();
        let read = Handle::current().block_on(live::fleet(client));
        let (hpas, objects) = read.map_err(|failure| failure.message)?;
        let drill = objects.drill(&hpas, self.rules.default_mode, self.tolerance, clock::wall());
        let members = drill.members();
        let mut domains = all_domains(members).into_iter().filter(|domain| !domain.is_whole(members));
        let mut drilled = Drilled::default();
        for domain in domains.by_ref() {
            drilled.losses.push(drill.loss(domain).with_short(most));
            if clock::steady().saturating_duration_since(begun) > patience {
                break;
            }
        }
        drilled.left = domains.count();
        Ok(drilled)
    }
}

impl Planner {
    fn previewed(&self, client: &Client, manifest: &str, now: Timestamp) -> Result<Previewed, PlanError> {
        let source = Source::new(NAME.to_owned(), manifest.as_bytes().to_vec());
        let source = source.map_err(|message| Unreadable { name: NAME.to_owned(), message });
        let files = [validate::file(source, NAMESPACE)];
        let objects = files.iter().flatten().map(Vec::len).sum::<usize>();
        if objects > MOST_OBJECTS {
            let more = "give fewer, or `fhpa plan FILE` with all of them";
            return Err(PlanError::wrong(format!(
                "the page plans at most {MOST_OBJECTS} objects, not {objects}: {more}"
            )));
        }
        let found = validate::report(&files, self.rules.clone(), now);
        if found.exit_code(false) != FINE {
            let findings = plain(&findings::render(&found, MAX_FINDINGS));
            return Ok(Previewed { findings, plans: Vec::new() });
        }
        let given = self.manifests(&files)?;
        let place = LiveSource::of(self, now);
        let subjects = Handle::current().block_on(read(client, &given, &[], place))?;
        let outputs = self.outputs(subjects, now)?;
        let findings = plain(&findings::warnings(&found));
        Ok(Previewed { findings, plans: outputs.iter().map(planned).collect() })
    }
}

fn planned(output: &PlanOutput) -> PlannedObject {
    let text = plain(&output.render());
    match output {
        PlanOutput::Distributed(outline) => {
            let clusters = outline.clusters.iter().map(|row| PlannedCluster {
                name: row.name.clone(),
                bounds: row.bounds.map(|range| (range.min_replicas, range.max_replicas)),
            });
            let (namespace, name) = (outline.namespace.clone(), outline.name.clone());
            PlannedObject { namespace, name, text, clusters: clusters.collect() }
        }
        PlanOutput::Centralized(outline) => {
            let (namespace, name) = outline.name();
            PlannedObject { namespace: namespace.to_owned(), name: name.to_owned(), text, clusters: Vec::new() }
        }
    }
}

/// Text without the styles of terminals.
fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}
