//! Distributes a bounded number of connections or reviews among peers. No I/O.
//!
//! While many slots are free, every peer gets one. When they become scarce, a peer that has a good part of them gets no
//! more: the last quarter is for others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// Divisor of all slots: this part is reserved for peers with few of them, and one peer may always have as many.
const PART: usize = 4;

/// The slots of a listener, or of what it does at a time.
#[derive(Debug)]
pub struct Slots {
    all: usize,
    taken: Mutex<Taken>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    by_peer: HashMap<IpAddr, usize>,
}

/// A taken slot; dropping it frees it.
#[derive(Debug)]
pub struct Slot {
    slots: Arc<Slots>,
    peer: IpAddr,
}

impl Slots {
    /// Creates `all` slots.
    #[must_use]
    pub fn new(all: usize) -> Arc<Self> {
        Arc::new(Self { all, taken: Mutex::default(), freed: Notify::new() })
    }

    /// Gives its slots to whoever asks with the address of a peer.
    pub fn giver(self: Arc<Self>) -> Arc<dyn Fn(IpAddr) -> Option<Box<dyn Send>> + Send + Sync> {
        Arc::new(move |peer| self.take(peer).map(|slot| Box::new(slot) as Box<dyn Send>))
    }

    fn part(&self) -> usize {
        (self.all / PART).max(1)
    }

    /// A slot for `peer`; `None` when it gets none.
    #[must_use]
    pub fn take(self: &Arc<Self>, peer: IpAddr) -> Option<Slot> {
        let peer = network(peer);
        let mut taken = self.taken.lock();
        let free = self.all.saturating_sub(taken.count);
        let has = taken.by_peer.get(&peer).copied().unwrap_or_default();
        if free == 0 || free <= self.part() && has >= self.part() {
            return None;
        }
        taken.count = taken.count.saturating_add(1);
        taken.by_peer.insert(peer, has.saturating_add(1));
        Some(Slot { slots: Arc::clone(self), peer })
    }

    /// Whether few are free.
    #[must_use]
    pub fn are_scarce(&self) -> bool {
        self.all.saturating_sub(self.taken.lock().count) <= self.part()
    }

    /// Returns when all are free.
    pub async fn all_free(&self) {
        loop {
            let freed = self.freed.notified();
            if self.taken.lock().count == 0 {
                return;
            }
            freed.await;
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        taken.count = taken.count.saturating_sub(1);
        if let Some(has) = taken.by_peer.get_mut(&self.peer) {
            *has = has.saturating_sub(1);
            if *has == 0 {
                taken.by_peer.remove(&self.peer);
            }
        }
        drop(taken);
        self.slots.freed.notify_waiters();
    }
}

/// Identifies a peer: an address, or an IPv6 network, within which a machine chooses its addresses freely.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn taken(slots: &Arc<Slots>, by: &str, tries: usize) -> Vec<Slot> {
        (0..tries).filter_map(|_| slots.take(peer(by))).collect()
    }

    #[test]
    fn one_peer_leaves_a_quarter_to_others() {
        let slots = Slots::new(1024);
        let greedy = taken(&slots, "10.0.0.1", 2000);
        assert_eq!((greedy.len(), slots.are_scarce()), (768, true));
        let others = taken(&slots, "10.0.0.2", 2000);
        assert_eq!(others.len(), 256);
        assert!(slots.take(peer("10.0.0.3")).is_none(), "there is none left");
        drop(greedy);
        assert_eq!((taken(&slots, "10.0.0.3", 1).len(), slots.are_scarce()), (1, false));
    }

    #[test]
    fn few_slots_are_still_slots() {
        let slots = Slots::new(1);
        let only = slots.take(peer("10.0.0.1"));
        assert!(only.is_some() && slots.take(peer("10.0.0.2")).is_none());
    }

    #[test]
    fn a_machine_with_many_addresses_of_one_network_is_one_peer() {
        let slots = Slots::new(8);
        let many: Vec<Slot> = (0..8).filter_map(|last| slots.take(peer(&format!("2001:db8::{last}")))).collect();
        assert_eq!(many.len(), 6);
        let mapped = taken(&Slots::new(4), "::ffff:10.0.0.1", 4);
        assert_eq!((mapped.len(), mapped[0].peer), (3, peer("10.0.0.1")));
    }
}
