//! The tasks of a process that run until it ends. None may end earlier: the process is then restarted as a whole.

use std::collections::HashMap;
use std::future::pending;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::{AbortHandle, Id, JoinSet};
use tokio::time::timeout;
use tracing::error;

/// The tasks. Dropping this aborts them.
#[derive(Default)]
pub(super) struct Tasks {
    running: JoinSet<()>,
    names: HashMap<Id, &'static str>,
}

/// Reports the end of one task.
pub(super) struct Done {
    done: oneshot::Receiver<()>,
    task: AbortHandle,
}

impl Done {
    /// Returns when the task has ended, for whatever reason.
    pub(super) async fn wait(self) {
        // No value is ever sent: the task drops its sender.
        let _ = self.done.await;
    }

    /// Returns when the task has ended. Aborts it after `patience`, and returns whether that was necessary.
    pub(super) async fn within(mut self, patience: Duration) -> bool {
        let late = timeout(patience, &mut self.done).await.is_err();
        if late {
            self.task.abort();
            let _ = self.done.await;
        }
        late
    }
}

impl Tasks {
    /// Starts a task.
    pub(super) fn spawn(&mut self, name: &'static str, part: impl Future<Output = ()> + Send + 'static) -> Done {
        let (running, done) = oneshot::channel();
        let task = self.running.spawn(async move {
            let _running: oneshot::Sender<()> = running;
            part.await;
        });
        self.names.insert(task.id(), name);
        Done { done, task }
    }

    /// Waits for the end of any task.
    pub(super) async fn any_end(&mut self) {
        let Some(ended) = self.running.join_next_with_id().await else { return pending().await };
        let (id, panicked) = match ended {
            Ok((id, ())) => (id, false),
            Err(error) => (error.id(), error.is_panic()),
        };
        let part = self.names.remove(&id).unwrap_or_default();
        error!(part, panicked, "task exited unexpectedly; exiting so that the process is restarted");
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

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

    #[tokio::test(start_paused = true)]
    async fn a_part_that_takes_too_long_is_ended() {
        let mut tasks = Tasks::default();
        let patience = Duration::from_secs(20);
        assert!(!tasks.spawn("ends", tokio::time::sleep(patience / 2)).within(patience).await);
        assert!(tasks.spawn("lives", pending()).within(patience).await);
    }
}
