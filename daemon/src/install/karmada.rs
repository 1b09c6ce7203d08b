//! Whether an API server is Karmada's, by the groups that it serves. Talks to the API server; reads only.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::APIGroupList;
use kube::Client;

use crate::controller::failure::{Asked, Failure, reason};
use crate::controller::request::send;

/// Works and ResourceBindings: what no other API server has.
const WORK: &str = "work.karmada.io";
/// The end of all groups of Karmada.
const KARMADA: &str = ".karmada.io";
/// The group of karmada-operator, which host clusters serve.
const OPERATOR: &str = "operator.karmada.io";

/// What another API server lacks.
pub const LACKS: &str = "it does not serve Works and ResourceBindings";
/// What to do then.
pub const TO_DO: &str = "give the kubeconfig of karmada-apiserver, not that of the host cluster";

/// The groups that an API server serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups(Vec<String>);

impl Groups {
    /// Asks for them, which every authenticated user may.
    ///
    /// # Errors
    /// The API server is unreachable, or rejects the request.
    pub async fn read(client: &Client) -> Result<Self, Failure> {
        let request = http::Request::get("/apis").body(Vec::new()).map_err(kube::core::request::Error::BuildRequest);
        let asked = Asked { verb: "get", group: "", resource: "", object: &"/apis" };
        let listed: APIGroupList = send(client, request, asked).await?;
        Ok(Self(listed.groups.into_iter().map(|group| group.name).collect()))
    }

    /// Whether this is a Karmada.
    #[must_use]
    pub fn is_karmada(&self) -> bool {
        self.0.iter().any(|group| group == WORK)
    }

    /// Whether an installation may be here: in a Karmada whose definitions are partly gone, or by mistake elsewhere.
    #[must_use]
    pub fn may_have_fhpa(&self) -> bool {
        self.0.iter().any(|group| group.ends_with(KARMADA) && group != OPERATOR)
    }
}

/// Why nothing may be done on an API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is another one.
    #[error("the API server is not that of Karmada: {LACKS}; {TO_DO}")]
    Foreign,
    /// It does not answer, or something else does.
    #[error("{0}; is karmada-apiserver up, and does the kubeconfig lead there?")]
    Silent(String),
}

/// Why nothing may be done on an API server whose groups are not `enough`. `None` also where the user may not read them:
/// the steps say what fails.
pub async fn refusal(client: &Client, enough: impl FnOnce(&Groups) -> bool) -> Option<Refusal> {
    match Groups::read(client).await {
        Ok(groups) => (!enough(&groups)).then_some(Refusal::Foreign),
        Err(failure) if matches!(failure.reason, reason::UNREACHABLE | reason::REJECTED) => {
            Some(Refusal::Silent(failure.message))
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn a_host_cluster_is_no_karmada_and_a_karmada_that_is_half_gone_may_have_fhpa() {
        let told = |names: &[&str]| {
            let groups = Groups(names.iter().map(|name| (*name).to_owned()).collect());
            (groups.is_karmada(), groups.may_have_fhpa())
        };
        assert_eq!(told(&["apps", "work.karmada.io"]), (true, true));
        assert_eq!(told(&["apps", "policy.karmada.io"]), (false, true));
        assert_eq!(told(&["apps", "autoscaling.karmada.io"]), (false, true), "installed there by mistake");
        assert_eq!(told(&["apps", "operator.karmada.io"]), (false, false));
        assert_eq!(told(&["apps", "karmada.io"]), (false, false));
    }
}
