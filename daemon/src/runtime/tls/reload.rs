//! Keeps the served certificate current: polls files by content, renews certificates made in memory. The last valid
//! pair stays when a new one is invalid.

use std::fmt;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tracing::{error, info, warn};

use super::client::{ClientAuth, Loaded};
use super::issue::renewal;
use super::shared::Latest;
use super::{Current, Error, MinVersion, Pair, Served, Source, directory};
use crate::runtime::metrics::Metrics;
use crate::runtime::reload::Reload;

/// Keeps one certificate current.
pub struct CertificateReloader {
    source: Source,
    client: Option<ClientAuth>,
    min_version: MinVersion,
    ca_output: Option<PathBuf>,
    current: Current,
    /// Last checked content, valid or not.
    seen: Option<(Pair, Option<Loaded>)>,
    /// Whether that content is only not valid yet, or no longer: it is tried again until it is served.
    untimely: bool,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for CertificateReloader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateReloader").field("source", &self.source).finish_non_exhaustive()
    }
}

impl CertificateReloader {
    /// Loads the first certificate; one that is not valid at `now` is accepted with a warning.
    ///
    /// # Errors
    /// There is no certificate to serve, or the CA file cannot be written.
    pub fn load(
        mut source: Source,
        client: Option<ClientAuth>,
        min_version: MinVersion,
        ca_output: Option<PathBuf>,
        metrics: Arc<Metrics>,
        now: Timestamp,
    ) -> Result<Self, Error> {
        let pair = match &mut source {
            Source::Directory(path) => directory::read(path)?,
            Source::SelfSigned(maker) => maker.issue(now)?,
            Source::Shared(latest) => shared(latest),
        };
        let loaded = client.as_ref().map(ClientAuth::load).transpose()?;
        let served = Served::new(&pair, loaded.as_ref(), min_version)?;
        if !served.is_valid_at(now) {
            let (from, to) = (served.not_before, served.not_after);
            warn!(not_before = %from, not_after = %to, "the certificate is not valid at this time; not ready until it is replaced");
        }
        metrics.certificate_is_valid(served.not_before, served.not_after);
        let current = Arc::new(ArcSwap::from_pointee(served));
        let reloader = Self {
            source,
            client,
            min_version,
            ca_output,
            current,
            seen: Some((pair, loaded)),
            untimely: false,
            metrics,
        };
        reloader.write_ca()?;
        Ok(reloader)
    }

    /// The certificate of new connections.
    pub fn current(&self) -> Current {
        Arc::clone(&self.current)
    }

    /// The CA of a self-signed certificate.
    pub fn ca_pem(&self) -> Option<String> {
        match &self.source {
            Source::SelfSigned(maker) => maker.ca_pem(),
            Source::Shared(latest) => String::from_utf8(latest.borrow().bundle()).ok(),
            Source::Directory(_) => None,
        }
    }

    /// Checks for a new certificate at each `interval`, without end.
    pub async fn run(mut self, interval: Duration, now: fn() -> Timestamp) {
        loop {
            self.wait(interval).await;
            match self.poll(now()) {
                Reload::Unchanged => {}
                Reload::Reloaded => {
                    info!(not_after = %self.current.load().not_after, "serving a new certificate");
                }
                Reload::Rejected(reason) => {
                    let not_after = self.current.load().not_after;
                    error!(%reason, kept_until = %not_after, "the new certificate cannot be served; keeping the last good one");
                }
            }
        }
    }

    /// Waits for `interval`, or until a change is known.
    async fn wait(&mut self, interval: Duration) {
        let pause = tokio::time::sleep(interval);
        match &mut self.source {
            Source::Shared(latest) => tokio::select! {
                () = pause => {}
                Ok(()) = latest.changed() => {}
            },
            Source::Directory(_) | Source::SelfSigned(_) => pause.await,
        }
    }

    /// Checks once. An invalid certificate is not reported again until it changes.
    pub fn poll(&mut self, now: Timestamp) -> Reload<Error> {
        let found = match self.read(now) {
            Ok(None) => return self.try_again(now),
            Ok(Some(found)) => found,
            Err(reason) => {
                // Reported once: the next check of the same content is silent.
                let first = self.seen.take().is_some();
                self.untimely = false;
                if first {
                    self.metrics.reloads_failed.inc();
                }
                return if first { Reload::Rejected(reason) } else { Reload::Unchanged };
            }
        };
        let outcome = self.take(found, now);
        if let Reload::Rejected(_) = &outcome {
            self.metrics.reloads_failed.inc();
        }
        outcome
    }

    /// Serves known content as soon as its time has come, or that of the current certificate is over.
    fn try_again(&mut self, now: Timestamp) -> Reload<Error> {
        let Some(found) = self.seen.take_if(|_| self.untimely) else { return Reload::Unchanged };
        match self.take(found, now) {
            Reload::Rejected(_) => Reload::Unchanged,
            outcome => outcome,
        }
    }

    fn take(&mut self, found: (Pair, Option<Loaded>), now: Timestamp) -> Reload<Error> {
        let outcome = self.serve(&found, now);
        self.untimely = matches!(outcome, Err(Error::NotValidNow { .. }));
        self.seen = Some(found);
        match outcome {
            Ok(()) => {
                self.metrics.reloads_ok.inc();
                Reload::Reloaded
            }
            Err(reason) => Reload::Rejected(reason),
        }
    }

    /// The content of the source, when it differs from the last one.
    fn read(&mut self, now: Timestamp) -> Result<Option<(Pair, Option<Loaded>)>, Error> {
        let due = self.renewal();
        let pair = match &mut self.source {
            Source::Directory(path) => directory::read(path)?,
            Source::SelfSigned(maker) => match &self.seen {
                Some((pair, _)) if now < due => pair.clone(),
                _ => maker.issue(now)?,
            },
            Source::Shared(latest) => shared(latest),
        };
        let client = self.client.as_ref().map(ClientAuth::load).transpose()?;
        let found = (pair, client);
        Ok((self.seen.as_ref() != Some(&found)).then_some(found))
    }

    fn serve(&self, (pair, client): &(Pair, Option<Loaded>), now: Timestamp) -> Result<(), Error> {
        let served = Served::new(pair, client.as_ref(), self.min_version)?;
        if !served.is_valid_at(now) && self.current.load().is_valid_at(now) {
            return Err(Error::NotValidNow { not_before: served.not_before, not_after: served.not_after });
        }
        self.metrics.certificate_is_valid(served.not_before, served.not_after);
        self.current.store(Arc::new(served));
        self.write_ca()
    }

    fn renewal(&self) -> Timestamp {
        let served = self.current.load();
        renewal(served.not_before, served.not_after)
    }

    fn write_ca(&self) -> Result<(), Error> {
        let (Some(path), Some(pem)) = (&self.ca_output, self.ca_pem()) else { return Ok(()) };
        fs::write(path, pem).map_err(|source| Error::Unreadable { path: path.clone(), source })
    }
}

/// The leaf that all replicas share. Without one there is no certificate to serve.
fn shared(latest: &mut Latest) -> Pair {
    latest.borrow_and_update().pair().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::{SignedDuration, Timestamp};

    use super::{CertificateReloader, Error};
    use crate::runtime::metrics::Metrics;
    use crate::runtime::reload::Reload;
    use crate::runtime::tls::{MinVersion, SelfSigned, Source};

    fn after(days: i64) -> Timestamp {
        "2026-11-20T12:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_hours(24 * days)
    }

    #[test]
    fn a_pair_that_comes_early_is_reported_once_and_served_when_its_time_has_come() {
        let mut maker = SelfSigned::new(vec!["localhost".to_owned()]);
        let directory = tempfile::tempdir().unwrap();
        let mut put = |from: Timestamp| {
            let pair = maker.issue(from).unwrap();
            std::fs::write(directory.path().join("tls.crt"), &pair.certificates).unwrap();
            std::fs::write(directory.path().join("tls.key"), &pair.key).unwrap();
        };
        put(after(0));
        let (source, metrics) = (Source::Directory(directory.path().to_owned()), Arc::new(Metrics::new()));
        let mut reloader = CertificateReloader::load(source, None, MinVersion::Tls12, None, metrics, after(0)).unwrap();
        put(after(20));
        assert!(matches!(reloader.poll(after(1)), Reload::Rejected(Error::NotValidNow { .. })));
        assert!(matches!(reloader.poll(after(2)), Reload::Unchanged));
        assert!(!reloader.current().load().is_valid_at(after(40)));
        assert!(matches!(reloader.poll(after(20)), Reload::Reloaded));
        assert!(matches!(reloader.poll(after(21)), Reload::Unchanged));
        assert!(reloader.current().load().is_valid_at(after(40)));
    }

    #[test]
    fn a_self_signed_leaf_is_renewed_by_the_same_ca_until_that_would_end() {
        let source = Source::SelfSigned(Box::new(SelfSigned::new(vec!["localhost".to_owned()])));
        let metrics = Arc::new(Metrics::new());
        let mut reloader = CertificateReloader::load(source, None, MinVersion::Tls12, None, metrics, after(0)).unwrap();
        let ca = reloader.ca_pem();
        assert!(reloader.current().load().is_valid_at(after(0)) && reloader.current().load().is_valid_at(after(29)));
        assert!(matches!(reloader.poll(after(19)), Reload::Unchanged));
        assert!(matches!(reloader.poll(after(21)), Reload::Reloaded));
        assert!(matches!(reloader.poll(after(22)), Reload::Unchanged));
        assert!(reloader.current().load().is_valid_at(after(50)) && !reloader.current().load().is_valid_at(after(52)));
        assert_eq!(reloader.ca_pem(), ca);
        assert!(matches!(reloader.poll(after(3640)), Reload::Reloaded));
        assert_ne!(reloader.ca_pem(), ca);
        assert!(reloader.current().load().is_valid_at(after(3640)));
    }
}
