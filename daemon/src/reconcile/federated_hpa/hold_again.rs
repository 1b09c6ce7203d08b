//! Holds an object again that lost its finalizer while its HPAs scale in members: a full write drops it where no webhook
//! answers (docs/design.md#on-the-wire). Talks to the API server.

use super::cache::View;
use super::worker::FederatedHpaWorker;
use super::write::takeover::workload;
use crate::controller::failure::WriteError;
use crate::runtime::leader::Leader;

impl FederatedHpaWorker {
    /// Who has HPAs in members holds their workload, whatever it scales by now: then it goes on, or hands that back, as any
    /// other. A new finalizer cannot be added to an object that is being deleted: that counts as gone. Returns whether it
    /// wrote.
    pub(super) async fn hold_again(&self, leader: &Leader, view: &View) -> Result<bool, WriteError> {
        let entry = &view.federated_hpa;
        if entry.held() || entry.deleting() {
            return Ok(false);
        }
        let Some(member_hpa) = view.member_hpas.iter().find(|member_hpa| !member_hpa.deleting()) else {
            return Ok(false);
        };
        let own = workload(entry);
        let named = Some(&*member_hpa.workload).filter(|workload| !workload.trim().is_empty());
        self.takeover.hold(leader, entry, named.unwrap_or(&own)).await?;
        Ok(true)
    }
}
