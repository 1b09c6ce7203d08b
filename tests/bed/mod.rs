//! A control plane to test on: embedded, or a real kube-apiserver where one is present.

use fhpa::playground::apiserver::{ApiServer, Builder};

/// A control plane.
pub struct Bed {
    /// Speaks to it.
    pub client: kube::Client,
    /// The embedded server, if it is one.
    pub server: Option<ApiServer>,
}

impl Bed {
    /// The embedded server.
    pub fn embedded() -> Self {
        Self::of(ApiServer::builder())
    }

    /// An embedded server of one's own making.
    pub fn of(builder: Builder) -> Self {
        let server = builder.seed(7).build();
        Self { client: server.client(), server: Some(server) }
    }

    /// The embedded server.
    pub fn server(&self) -> &ApiServer {
        self.server.as_ref().expect("an embedded server")
    }
}
