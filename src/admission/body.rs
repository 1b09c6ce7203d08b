//! Request body -> bytes, within limits of size and time. Reads from the connection.

use std::fmt::Display;
use std::mem;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::uid::UidScan;

/// Bounds on request bodies.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a body that is decoded.
    pub body: usize,
    /// Most bytes of a larger body that are read, only to find its uid and to let the client read the response.
    pub discard: usize,
    /// Time for a body to arrive.
    pub timeout: Duration,
    /// Most bodies above [`LARGE`] in memory at a time.
    pub large_bodies: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 3 << 20, discard: 16 << 20, timeout: Duration::from_secs(10), large_bodies: 16 }
    }
}

/// Bytes up to which a body is small: no review of an ordinary object is larger.
pub const LARGE: usize = 64 << 10;

/// Why there are no bytes to decode. The uid is kept, if there was one.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// More bytes than allowed.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The uid that was read.
        uid: Option<String>,
        /// Bytes allowed.
        limit: usize,
    },
    /// The body did not end in time.
    #[error("the body did not arrive within {} seconds", timeout.as_secs_f32())]
    TooSlow {
        /// The uid that was read.
        uid: Option<String>,
        /// Time allowed.
        timeout: Duration,
    },
    /// The connection broke or the body broke its framing.
    #[error("the body cannot be read: {reason}")]
    Broken {
        /// The uid that was read.
        uid: Option<String>,
        /// Error of the connection.
        reason: String,
    },
    /// Too many large bodies at a time.
    #[error("too many large reviews at a time")]
    Overloaded,
}

/// Reads the whole body. A large one takes a slot from `large`, which is returned with it.
///
/// # Errors
/// The body is too large, too slow or broken, or there are too many large bodies.
pub async fn collect<B>(
    mut body: B,
    limits: &Limits,
    large: &Arc<Semaphore>,
) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Unread>
where
    B: Body<Data = Bytes, Error: Display> + Unpin,
{
    let mut gathered = Gathered { parts: Parts::None, total: 0, permit: None };
    let read = {
        let mut read = pin!(gathered.read(&mut body, limits, large));
        match read.as_mut().now_or_never() {
            Some(read) => Ok(read),
            // Only a body that is not already here needs a timer.
            None => tokio::time::timeout(limits.timeout, read).await,
        }
    };
    let uid = match read {
        Ok(Ok(())) => return gathered.into_bytes(limits),
        Ok(Err(Stop::Overloaded)) => return Err(Unread::Overloaded),
        Ok(Err(Stop::Broken(reason))) => return Err(Unread::Broken { uid: gathered.uid(), reason }),
        Err(_) => gathered.uid(),
    };
    Err(Unread::TooSlow { uid, timeout: limits.timeout })
}

enum Stop {
    Overloaded,
    Broken(String),
}

/// The part of the body that has arrived.
enum Parts {
    None,
    /// One piece, kept as it came.
    One(Bytes),
    Many(Vec<u8>),
    /// Too large: only scanned.
    Scanned(UidScan),
}

struct Gathered {
    parts: Parts,
    total: usize,
    permit: Option<OwnedSemaphorePermit>,
}

impl Gathered {
    async fn read<B>(&mut self, body: &mut B, limits: &Limits, large: &Arc<Semaphore>) -> Result<(), Stop>
    where
        B: Body<Data = Bytes, Error: Display> + Unpin,
    {
        while !body.is_end_stream() && self.total <= limits.discard {
            let Some(frame) = body.frame().await else { break };
            let frame = frame.map_err(|error| Stop::Broken(error.to_string()))?;
            let Ok(piece) = frame.into_data() else { continue };
            self.total = self.total.saturating_add(piece.len());
            if self.total > LARGE && self.permit.is_none() {
                self.permit = Some(Arc::clone(large).try_acquire_owned().map_err(|_| Stop::Overloaded)?);
            }
            let expected = body.size_hint().exact().and_then(|rest| usize::try_from(rest).ok()).unwrap_or(0);
            // An announced length reserves no more than a small body.
            let most = if self.permit.is_some() { limits.body } else { LARGE };
            self.take(piece, expected.min(most), limits.body);
        }
        Ok(())
    }

    /// Adds a piece; `expected` is the announced number of further bytes.
    fn take(&mut self, piece: Bytes, expected: usize, limit: usize) {
        if self.total > limit && !matches!(self.parts, Parts::Scanned(_)) {
            self.parts = Parts::Scanned(self.scan());
        }
        match &mut self.parts {
            Parts::None => self.parts = Parts::One(piece),
            Parts::One(first) => {
                let mut many = Vec::with_capacity(self.total.saturating_add(expected));
                many.extend_from_slice(first);
                many.extend_from_slice(&piece);
                self.parts = Parts::Many(many);
            }
            Parts::Many(many) => many.extend_from_slice(&piece),
            Parts::Scanned(scan) => scan.feed(&piece),
        }
    }

    /// The scan of the bytes so far, which are then dropped.
    fn scan(&mut self) -> UidScan {
        let mut scan = UidScan::default();
        match mem::replace(&mut self.parts, Parts::None) {
            Parts::None => {}
            Parts::One(bytes) => scan.feed(&bytes),
            Parts::Many(bytes) => scan.feed(&bytes),
            Parts::Scanned(under_way) => return under_way,
        }
        scan
    }

    fn uid(&mut self) -> Option<String> {
        self.scan().found()
    }

    fn into_bytes(self, limits: &Limits) -> Result<(Bytes, Option<OwnedSemaphorePermit>), Unread> {
        match self.parts {
            Parts::None => Ok((Bytes::new(), self.permit)),
            Parts::One(bytes) => Ok((bytes, self.permit)),
            Parts::Many(bytes) => Ok((bytes.into(), self.permit)),
            Parts::Scanned(scan) => Err(Unread::TooLarge { uid: scan.found(), limit: limits.body }),
        }
    }
}
