//! The parts of a process that run until it ends. None may end before: a process that is half dead helps nobody.

use std::collections::HashMap;
use std::future::pending;

use tokio::sync::oneshot;
use tokio::task::{Id, JoinSet};
use tracing::error;

/// The parts. Dropping this ends them.
#[derive(Default)]
pub(super) struct Tasks {
    running: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

/// Tells of the end of one part.
pub(super) struct Done(oneshot::Receiver<()>);

impl Done {
    /// Returns when the part has ended, however.
    pub(super) async fn wait(self) {
        // Nothing is ever sent: the part drops its end.
        let _ = self.0.await;
    }
}

impl Tasks {
    /// Starts a part.
    pub(super) fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) -> Done {
        let (running, done) = oneshot::channel();
        let task = self.running.spawn(async move {
            let _running: oneshot::Sender<()> = running;
            part.await;
        });
        self.names.insert(task.id(), name);
        Done(done)
    }

    /// Waits for the end of any part.
    pub(super) async fn any_end(&mut self) {
        let Some(ended) = self.running.join_next_with_id().await else { return pending().await };
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let part = self.names.remove(&id).unwrap_or_default();
        error!(part, panicked, "a part of the process has ended that must not; the process ends, to be started again");
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::Tasks;

    #[tokio::test]
    async fn the_end_of_a_part_is_seen_and_so_is_its_panic() {
        let mut tasks = Tasks::default();
        let living = tasks.spawn("lives", pending());
        let panicked = tasks.spawn("panics", async { panic!("it goes wrong") });
        tasks.any_end().await;
        panicked.wait().await;
        tasks.spawn("ends", async {}).wait().await;
        tasks.any_end().await;
        drop(tasks);
        living.wait().await;
    }
}
