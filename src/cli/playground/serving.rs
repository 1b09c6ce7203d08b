//! Starts a playground, prints its addresses, and removes its files on a signal. Sockets, files, signals.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use jiff::SignedDuration;
use serde_json::Value;

use super::control;
use super::directory::Directory;
use super::samples::{MINUTES, MINUTES_TEXT, REFUSED, REFUSED_TEXT, SHOP, SHOP_TEXT};
use super::{Error, Start};
use crate::admission::registration::Location;
use crate::api::crd;
use crate::dashboard::preview::Preview;
use crate::dashboard::{Dashboard, Probes};
use crate::decision::few::counted;
use crate::decision::lease::Timings;
use crate::install::manifests;
use crate::run::EstimatorAddress;
use crate::run::process::{Centralized, ControlPlane, ControllerOptions, Failover, Options, Server};
use crate::runtime::clock;
use crate::runtime::zones::{self, ZoneDatabase};
use embedded_apiserver::serve::{Listening, kubeconfig};
use playground::fleet::{Fleet, Plan};
use playground::{karmada, member};

/// Durations that show effects within seconds; the real ones are five times as long.
fn plan(start: &Start) -> Plan {
    let seconds = SignedDuration::from_secs;
    Plan {
        clusters: start.clusters,
        nodes: start.nodes,
        cpu: start.cpu,
        karmada: karmada::Timing {
            status_period: seconds(2),
            failure_threshold: seconds(5),
            success_threshold: seconds(5),
            failover: start.failover,
            ..karmada::Timing::default()
        },
        member: member::Timing {
            autoscaler_period: seconds(5),
            metrics_window: seconds(5),
            downscale_window: seconds(20),
            ..member::Timing::default()
        },
        ..Plan::new()
    }
}

/// The listeners, while this exists.
struct Running {
    control_plane: Listening,
    members: Vec<(String, Listening)>,
    webhook: SocketAddr,
    /// With its token.
    dashboard: String,
}

/// Runs a playground until a signal ends it.
pub(super) async fn serve(start: &Start, directory: &Directory, preview: Arc<dyn Preview>) -> Result<(), Error> {
    let begun = clock::monotonic();
    if let Some(address) = directory.control()
        && super::client::ask(address, "GET", "/status", &Value::Null).await.is_ok()
    {
        return Err(Error::Running(directory.path().to_owned()));
    }
    let fleet = Arc::new(Fleet::build(plan(start)).await?);
    fleet.settle().await?;
    for definition in crd::all()? {
        fleet.control().create(definition).await.map_err(playground::fleet::Fault::from)?;
    }
    let fhpa = Server::bind(options(&fleet)).await?;
    install(&fleet, &fhpa).await?;
    let (handle, address) = (fhpa.handle(), fhpa.local_addr());
    let fhpa = tokio::spawn(fhpa.run());
    let dashboard = dashboard(start, &fleet, preview).await?;
    let running = listen(start, &fleet, address, dashboard.url()).await?;
    directory.make()?;
    let control =
        control::listen(fleet.clone()).await.map_err(|source| Error::Listen { address: control::ADDRESS, source })?;
    write(directory, &running)?;
    directory.leave(control)?;
    print_overview(start, directory, &running, begun);
    let controllers = tokio::spawn({
        let fleet = fleet.clone();
        async move { fleet.run().await }
    });
    dashboard.run(ended()).await;
    controllers.abort();
    directory.clean(&[SHOP, MINUTES, REFUSED]);
    handle.shut_down();
    // Requests in flight are answered; a playground need not wait long for them.
    let _: Result<_, _> = tokio::time::timeout(std::time::Duration::from_secs(1), fhpa).await;
    anstream::println!("\nThe playground is gone, with all that was in it.");
    Ok(())
}

/// Options of the webhook and the controller, as in `fhpa run`.
fn options(fleet: &Fleet) -> Options {
    Options {
        controller: Some(controller()),
        control_plane: ControlPlane::Watched(fleet.control().client()),
        ..Options::loopback()
    }
}

fn controller() -> ControllerOptions {
    ControllerOptions {
        namespace: "karmada-system".to_owned(),
        lease: "fhpa".to_owned(),
        identity: "playground".to_owned(),
        timings: Timings::default(),
        concurrency: 16,
        rebalance_period: Some(std::time::Duration::from_mins(1)),
        object_metrics: 0,
        failover: Failover::default(),
        centralized: Centralized::default(),
        freeze: None,
        estimators: None,
        guard: None,
    }
}

/// Registers the webhook in the control plane, and the reflected status of HPAs in its interpreter.
async fn install(fleet: &Fleet, webhook: &Server) -> Result<(), Error> {
    let ca_bundle = webhook.ca_pem().unwrap_or_default().into_bytes();
    let location = Location { base_url: format!("https://{}", webhook.local_addr()), ca_bundle };
    for manifest in manifests::customizations(&[]).into_iter().chain(manifests::registration(&location, true)?) {
        fleet.control().create(&manifest.object).await.map_err(playground::fleet::Fault::from)?;
    }
    Ok(())
}

/// The dashboard, of the control plane as `fhpa dashboard` shows it.
async fn dashboard(start: &Start, fleet: &Fleet, preview: Arc<dyn Preview>) -> Result<Dashboard, Error> {
    let ControllerOptions { namespace, lease, .. } = controller();
    let zones = ZoneDatabase::open();
    let options = crate::dashboard::Options {
        client: fleet.control().client(),
        namespace: None,
        listen: SocketAddr::new(start.listen.ip(), 0),
        clock: Arc::new(clock::wall),
        zone: zones::process_zone(&zones),
        zones: Arc::new(zones),
        probes: Probes { lease: (namespace, lease), estimators: EstimatorAddress::default() },
        preview,
    };
    Ok(Dashboard::bind(options).await?)
}

async fn listen(start: &Start, fleet: &Fleet, webhook: SocketAddr, dashboard: String) -> Result<Running, Error> {
    let address = start.listen;
    let control_plane = fleet.control().listen(address).await.map_err(|source| Error::Listen { address, source })?;
    let mut members = Vec::new();
    for name in fleet.names() {
        let address = SocketAddr::new(start.listen.ip(), 0);
        let listening =
            fleet.member(name)?.listen(address).await.map_err(|source| Error::Listen { address, source })?;
        members.push((name.to_owned(), listening));
    }
    Ok(Running { control_plane, members, webhook, dashboard })
}

fn write(directory: &Directory, running: &Running) -> Result<(), Error> {
    let control_plane = running.control_plane.url();
    let members: Vec<(&str, String)> = running.members.iter().map(|(name, at)| (name.as_str(), at.url())).collect();
    let mut contexts = vec![("karmada", control_plane.as_str())];
    contexts.extend(members.iter().map(|(name, url)| (*name, url.as_str())));
    directory.write_kubeconfig(&kubeconfig(&contexts))?;
    directory.write(SHOP, SHOP_TEXT)?;
    directory.write(MINUTES, MINUTES_TEXT)?;
    directory.write(REFUSED, REFUSED_TEXT)?;
    Ok(())
}

fn print_overview(start: &Start, directory: &Directory, running: &Running, begun: Instant) {
    let Start { clusters, nodes, cpu, .. } = start;
    let (first, last) = (running.members.first(), running.members.last());
    let names = match (first, last) {
        (Some((first, _)), Some((last, _))) if clusters > &1 => format!("{first} to {last}, each with"),
        _ => "member1 with".to_owned(),
    };
    let took = clock::monotonic().saturating_duration_since(begun).as_millis();
    let (kubeconfig, folder) = (directory.kubeconfig(), directory.path());
    let (kubeconfig, folder) = (kubeconfig.display(), folder.display());
    let url = running.control_plane.url();
    let own = if directory.is_usual() { String::new() } else { format!("\n  export FHPA_PLAYGROUND={folder}") };
    let (member_clusters, some_nodes, cpus) =
        (counted(*clusters, "member cluster"), counted(*nodes, "node"), counted(*cpu, "CPU"));
    let Running { webhook, dashboard, .. } = running;
    anstream::println!(
        "\
A Karmada with {member_clusters} runs here ({took} ms). It is for trying and testing only: all is in memory,
and there is no authentication. Ctrl-C ends it and removes its files.

  control plane  {url}
  members        {names} {some_nodes} of {cpus}
  webhook        https://{webhook}, asked before FederatedHPAs and CronFederatedHPAs are stored
  dashboard      {dashboard}
  kubeconfig     {kubeconfig} (contexts karmada, member1, ...)

Try, in another shell:
  export KUBECONFIG={kubeconfig}{own}
  kubectl apply -f {folder}/{SHOP}      # a workload over all clusters, its replicas by load
  kubectl get deploy,fhpa,rb,clusters
  kubectl get hpa --context member1     # its share of the bounds
  fhpa status -A -w --kubeconfig {kubeconfig}
  fhpa playground load shop 3500m       # users come: replicas rise; with 100m they fall
  kubectl apply -f {folder}/{MINUTES}   # moves the bounds of its FederatedHPA each minute
  kubectl get cronfhpa shop-minutes -o yaml; kubectl get events
  kubectl apply -f {folder}/{REFUSED}   # refused, with the reasons

  fhpa playground fail member1          # a cluster is lost; also: recover, nodes, status
  fhpa doctor                           # what is wrong with an installation: nothing, here"
    );
}

/// Waits for Ctrl-C, or for the signal that ends a process.
async fn ended() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminate.recv() => {}
    }
}
