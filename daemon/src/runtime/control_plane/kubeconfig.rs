//! Kubeconfig files and the files they refer to -> a client. Reads files.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};

use super::{Error, Server, redacted, words};
use crate::runtime::certificate::expiry;

/// Most bytes of a file that are compared.
const LIMIT: u64 = 1 << 20;

/// What to do where [`Origin::find`] finds nothing.
pub const NO_ORIGIN: &str =
    "no control plane: give the kubeconfig of karmada-apiserver with --kubeconfig or in the variable KUBECONFIG";

/// Location of the kubeconfig.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The files, merged as in kubectl.
    files: Vec<PathBuf>,
    /// The context; `None`: the current one.
    context: Option<String>,
}

/// Content of the files, or why they cannot be read.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Content(Vec<(PathBuf, Result<Vec<u8>, io::ErrorKind>)>);

impl Origin {
    /// `file`, or else the files that `variable` lists in the format of `KUBECONFIG`; `None` when neither names a file.
    /// The service account of a pod is never used: it belongs to the host cluster.
    #[must_use]
    pub fn find(file: Option<PathBuf>, variable: Option<&OsStr>, context: Option<String>) -> Option<Self> {
        let listed =
            || variable.map(|value| std::env::split_paths(value).filter(|p| !p.as_os_str().is_empty()).collect());
        let files: Vec<PathBuf> = file.map(|file| vec![file]).or_else(listed).unwrap_or_default();
        (!files.is_empty()).then_some(Self { files, context })
    }

    /// The current content of the files, and of those that they refer to.
    pub(super) fn content(&self) -> Content {
        let referred = self.files.iter().filter_map(|file| Kubeconfig::read_from(file).ok());
        let referred: Vec<PathBuf> = referred.flat_map(|kubeconfig| files_in(&kubeconfig)).collect();
        let files = self.files.iter().cloned().chain(referred);
        Content(files.map(|file| (file.clone(), read(&file).map_err(|error| error.kind()))).collect())
    }

    /// A client from the current files.
    pub(super) async fn load(&self) -> Result<Server, Error> {
        let mut merged = Kubeconfig::default();
        for kubeconfig in self.read()? {
            merged = merged.merge(kubeconfig)?;
        }
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let mut config = Config::from_custom_kubeconfig(merged, &options).await?;
        config.default_retry = false;
        let url = config.cluster_url.to_string();
        if config.root_cert.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::NoAuthority(url));
        }
        let certificate = certificate(&config.auth_info);
        let not_after = certificate.as_ref().and_then(|pem| expiry(pem));
        let client =
            Client::try_from(config).map_err(|error| match words::of_pair(&error, certificate.as_deref()) {
                Some(words) => Error::Pair(words),
                None => Error::Client(redacted(error)),
            })?;
        Ok(Server { client, url, not_after, listed: None })
    }

    /// The files. As kubectl does, it skips files of a list that are missing, as long as there is one.
    fn read(&self) -> Result<Vec<Kubeconfig>, KubeconfigError> {
        let is_missing = |error: &KubeconfigError| matches!(error, KubeconfigError::ReadConfig(error, _) if error.kind() == io::ErrorKind::NotFound);
        let mut read = Vec::new();
        let mut missing = None;
        for file in &self.files {
            match Kubeconfig::read_from(file) {
                Ok(kubeconfig) => read.push(kubeconfig),
                Err(error) if is_missing(&error) => missing = missing.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
        missing.filter(|_| read.is_empty()).map_or(Ok(read), Err)
    }
}

/// The client's certificate, as PEM.
fn certificate(user: &AuthInfo) -> Option<Vec<u8>> {
    let data = user.client_certificate_data.as_ref();
    let file = || user.client_certificate.as_ref().and_then(|file| read(Path::new(file)).ok());
    data.map_or_else(file, |data| BASE64_STANDARD.decode(data).ok())
}

/// Files with certificates and keys. The client itself rereads token files and reruns plugins.
fn files_in(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let clusters = kubeconfig.clusters.iter().filter_map(|named| named.cluster.as_ref());
    let users = kubeconfig.auth_infos.iter().filter_map(|named| named.auth_info.as_ref());
    let authorities = clusters.filter_map(|cluster| cluster.certificate_authority.as_ref());
    let pairs = users.flat_map(|user| [user.client_certificate.as_ref(), user.client_key.as_ref()]).flatten();
    authorities.chain(pairs).map(PathBuf::from).collect()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)?.take(LIMIT).read_to_end(&mut content)?;
    Ok(content)
}
