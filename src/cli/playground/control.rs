//! Accepts commands for a running playground: a small HTTP port on the loopback interface. Sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use serde_json::{Value, json};

use crate::decision::quantity::{from_milli, milli};
use playground::fleet::{Fault, Fleet};
use playground::json::{int, text};
use playground::objects::{Kind, Objects};

/// Address of the port.
pub(super) const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// A header that a web page cannot send here without permission.
pub(super) const HEADER: &str = "x-fhpa-playground";

/// Response: a sentence for the user, with a status for success or failure.
type Answer = (StatusCode, String);

/// Listens, until the process ends.
pub(super) async fn listen(fleet: Arc<Fleet>) -> std::io::Result<SocketAddr> {
    let socket = tokio::net::TcpListener::bind(ADDRESS).await?;
    let address = socket.local_addr()?;
    let router = Router::new()
        .route("/status", get(status))
        .route("/load", post(load))
        .route("/clusters/{name}/{what}", post(cluster))
        .with_state(fleet);
    tokio::spawn(async move {
        // It ends with the process.
        let _: std::io::Result<()> = axum::serve(socket, router).await;
    });
    Ok(address)
}

fn refused(why: impl Into<String>) -> Answer {
    (StatusCode::BAD_REQUEST, why.into())
}

fn read(headers: &HeaderMap, body: &Bytes) -> Result<Value, Answer> {
    if !headers.contains_key(HEADER) {
        return Err(refused(format!("the header {HEADER} is missing")));
    }
    serde_json::from_slice(body).map_err(|error| refused(error.to_string()))
}

fn answer(done: Result<String, Fault>) -> Answer {
    match done {
        Ok(sentence) => (StatusCode::OK, sentence),
        Err(Fault::Unknown(name)) => (StatusCode::NOT_FOUND, Fault::Unknown(name).to_string()),
        Err(fault) => (StatusCode::INTERNAL_SERVER_ERROR, fault.to_string()),
    }
}

async fn status(State(fleet): State<Arc<Fleet>>) -> Answer {
    let lines = fleet.summary().await.map(|lines| {
        let line = |line: &Value| {
            let health = if line.pointer("/failed") == Some(&json!(true)) { "cut off" } else { "ready" };
            let number = |path: &str| int(line, path).unwrap_or_default();
            let (nodes, pods) = (number("/nodes"), number("/pods"));
            let s = |count| if count == 1 { "" } else { "s" };
            let name = text(line, "/name");
            format!("{name:<12} {health:<8} {nodes:>3} {:<5} {pods:>4} pod{}", format!("node{}", s(nodes)), s(pods))
        };
        lines.iter().map(line).collect::<Vec<_>>().join("\n")
    });
    answer(lines)
}

async fn load(State(fleet): State<Arc<Fleet>>, headers: HeaderMap, body: Bytes) -> Answer {
    let asked = match read(&headers, &body) {
        Ok(asked) => asked,
        Err(answer) => return answer,
    };
    let (namespace, workload) = (text(&asked, "/namespace"), text(&asked, "/workload"));
    let Some(total) = milli(text(&asked, "/cpu")).filter(|total| *total >= 0) else {
        return refused(format!("{:?} is no amount of CPU; 3500m or 2 is", text(&asked, "/cpu")));
    };
    match exists(&fleet, namespace, workload).await {
        Ok(true) => {}
        Ok(false) => {
            let why = format!("there is no Deployment or StatefulSet {workload} in namespace {namespace}");
            return (StatusCode::NOT_FOUND, why);
        }
        Err(fault) => return answer(Err(fault)),
    }
    fleet.load().set(namespace, workload, total);
    (StatusCode::OK, format!("the pods of {namespace}/{workload} now have work for {} CPU", from_milli(total)))
}

/// Whether the control plane or a member has the workload.
async fn exists(fleet: &Fleet, namespace: &str, name: &str) -> Result<bool, Fault> {
    let mut clients = vec![fleet.control().client()];
    for member in fleet.names() {
        clients.push(fleet.member(member)?.client());
    }
    for client in clients {
        let objects = Objects::new(client);
        for kind in ["Deployment", "StatefulSet"] {
            if objects.get(&Kind::regular("apps/v1", kind, true), namespace, name).await?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

async fn cluster(
    State(fleet): State<Arc<Fleet>>,
    Path((name, what)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let asked = match read(&headers, &body) {
        Ok(asked) => asked,
        Err(answer) => return answer,
    };
    match what.as_str() {
        "fail" => answer(fleet.fail(&name, true).map(|()| format!("{name} is cut off; Karmada will notice"))),
        "recover" => answer(fleet.fail(&name, false).map(|()| format!("{name} answers again; Karmada will notice"))),
        "nodes" => {
            let by = int(&asked, "/by").and_then(|by| i32::try_from(by).ok()).filter(|by| by.abs() <= 1000);
            let Some(by) = by else { return refused("at most 1000 nodes at a time") };
            answer(fleet.change_nodes(&name, by).await.map(|count| format!("{name} has {count} nodes")))
        }
        _ => (StatusCode::NOT_FOUND, format!("there is no command {what}")),
    }
}
