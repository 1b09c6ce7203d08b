//! Law 5: with the control plane or fhpa down, member HPAs keep scaling within the last bounds.
//!
//! The observable part: at every moment each HPA in a member can be run by the member alone, and nothing of fhpa in a
//! member waits for fhpa to return.

use super::world::Name;
use super::{Change, Court, Law};

#[derive(Default)]
pub struct SurvivesItsAbsence;

impl Law for SurvivesItsAbsence {
    fn name(&self) -> &'static str {
        "5 (survives its own absence)"
    }

    fn saw(&mut self, change: &Change<'_>, court: &mut Court<'_>) {
        if change.in_control() || change.kind != "HorizontalPodAutoscaler" {
            return;
        }
        let name = Name::of(change.object());
        let hpa = court.world.members.get(change.place).and_then(|member| member.hpas.get(&name));
        let Some(hpa) = hpa.filter(|hpa| hpa.ours && !hpa.deleting).cloned() else { return };
        if hpa.bounds.min < 0 || hpa.bounds.max < 1 || hpa.bounds.min > hpa.bounds.max {
            court.breaks(change.about(), format!("{} are no bounds that an HPA can keep to", hpa.bounds));
        }
        let finalizers = super::world::items(change.object(), "/metadata/finalizers").iter();
        let ours = finalizers.filter_map(|name| name.as_str()).find(|name| name.contains("fhpa"));
        if let Some(finalizer) = ours {
            court.breaks(change.about(), format!("it cannot be deleted without fhpa: {finalizer}"));
        }
    }
}
