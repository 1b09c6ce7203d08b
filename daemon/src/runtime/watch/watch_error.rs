//! Errors of a watch: what they mean, and what to do about them. No I/O.

use std::time::Duration;

use kube::core::Status;
use kube::runtime::watcher;

use crate::runtime::control_plane::retry_after;

/// Whether trying again soon is in vain: until a role or a credential changes the answer stays the same.
pub(super) fn is_refusal(error: &watcher::Error) -> bool {
    matches!(code(error), Some(401 | 403 | 404))
}

/// Whether the API server does not serve the kind.
pub(super) fn is_missing(error: &watcher::Error) -> bool {
    code(error) == Some(404)
}

/// The wait that the API server asks for.
pub(super) fn asked_wait(error: &watcher::Error) -> Option<Duration> {
    retry_after(status(error)?)
}

/// The status code of a response; `None` without one.
fn code(error: &watcher::Error) -> Option<u16> {
    status(error).map(|status| status.code)
}

fn status(error: &watcher::Error) -> Option<&Status> {
    use watcher::Error as E;
    match error {
        E::InitialListFailed(kube::Error::Api(status))
        | E::WatchStartFailed(kube::Error::Api(status))
        | E::WatchError(status) => Some(status),
        _ => None,
    }
}

/// Advice for a failing watch.
pub(super) fn advice(kind: &str, error: &watcher::Error) -> &'static str {
    let Some(code) = code(error) else { return "is the API server of the kubeconfig up and reachable?" };
    match code {
        401 => "the credentials of the kubeconfig are not accepted",
        403 => "the user of the kubeconfig needs the verbs list and watch on this resource",
        404 if !kind.ends_with("HPA") => "is this the kubeconfig of Karmada's API server? It does not serve this kind",
        404 => "the CustomResourceDefinition is not installed: apply the output of `fhpa crds`",
        410 => "the API server has forgotten the last version seen; all objects are listed again",
        _ => "see the log of the API server",
    }
}
