//! Request body -> bytes, within limits of size and time. Reads from the connection.

use std::fmt::Display;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Bounds on request bodies.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most bytes of a body that is decoded.
    pub body: usize,
    /// Most bytes of a larger body that are read, only to let the client read the response.
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

/// Why there are no bytes to decode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unread {
    /// The body is larger than allowed.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// Bytes allowed.
        limit: usize,
    },
    /// The body did not end in time.
    #[error("the body did not arrive within {} seconds", timeout.as_secs_f32())]
    TooSlow {
        /// Time allowed.
        timeout: Duration,
    },
    /// The connection broke or the body broke its framing.
    #[error("the body cannot be read: {reason}")]
    Broken {
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
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Unread>
where
    B: Body<Data = Bytes, Error: Display> + Unpin,
{
    let mut read = pin!(read(&mut body, limits, large));
    match read.as_mut().now_or_never() {
        Some(read) => read,
        // Only a body that is not already here needs a timer.
        None => match tokio::time::timeout(limits.timeout, read).await {
            Ok(read) => read,
            Err(_) => Err(Unread::TooSlow { timeout: limits.timeout }),
        },
    }
}

async fn read<B>(
    body: &mut B,
    limits: &Limits,
    large: &Arc<Semaphore>,
) -> Result<(Vec<u8>, Option<OwnedSemaphorePermit>), Unread>
where
    B: Body<Data = Bytes, Error: Display> + Unpin,
{
    let (mut bytes, mut total, mut permit) = (Vec::new(), 0_usize, None);
    // What is too large is read all the same, so that the client reads the answer.
    while !body.is_end_stream() && total <= limits.discard {
        let Some(frame) = body.frame().await else { break };
        let frame = frame.map_err(|error| Unread::Broken { reason: error.to_string() })?;
        let Ok(piece) = frame.into_data() else { continue };
        total = total.saturating_add(piece.len());
        if total > LARGE && permit.is_none() {
            permit = Some(Arc::clone(large).try_acquire_owned().map_err(|_| Unread::Overloaded)?);
        }
        if total > limits.body {
            bytes = Vec::new();
            continue;
        }
        let expected = body.size_hint().exact().and_then(|rest| usize::try_from(rest).ok()).unwrap_or(0);
        // An announced length reserves no more than a small body.
        let most = if permit.is_some() { limits.body } else { LARGE };
        bytes.reserve(piece.len().saturating_add(expected.min(most)));
        bytes.extend_from_slice(&piece);
    }
    if total > limits.body { Err(Unread::TooLarge { limit: limits.body }) } else { Ok((bytes, permit)) }
}
