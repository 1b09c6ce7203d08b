//! The members, and how they are lost.

/// Names of the members.
pub const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];
/// All but the first.
pub const OTHERS: [&str; 2] = ["member2", "member3"];
/// Cores of the one node of each member.
pub const CORES: u32 = 48;

/// How a member is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its control plane dies: connections are refused, its pods go on.
    Dies,
    /// Its API server hangs.
    Hangs,
    /// Karmada cannot reach it. Its HPAs go on.
    Cut,
}
