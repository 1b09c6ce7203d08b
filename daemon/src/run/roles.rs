//! Arguments of a process with webhook, controller or both -> its options.

use std::process::ExitCode;
use std::time::Duration;

use super::args::{ControllerArgs, EndArgs, ProcessArgs, WebhookArgs};
use super::process::{ControlPlane, Options};
use crate::runtime::logging::LogArgs;
use crate::runtime::settings::RuleArgs;

/// Input of a process, without its control plane.
pub(super) struct Roles {
    pub(super) process: ProcessArgs,
    pub(super) webhook: Option<WebhookArgs>,
    pub(super) controller: Option<ControllerArgs>,
    pub(super) end: EndArgs,
    pub(super) rules: RuleArgs,
    pub(super) logging: LogArgs,
}

impl Roles {
    /// Runs until a signal ends it. The control plane is chosen after the log is set up.
    pub(super) fn run(self, control_plane: impl FnOnce() -> Result<ControlPlane, String>) -> ExitCode {
        let Self { process, webhook, controller, end, rules, logging } = self;
        process.run(&logging, || {
            let settings = rules.settings();
            let settings = webhook.as_ref().map_or_else(|| settings.clone(), |webhook| webhook.rules(settings.clone()));
            let (webhook, keep_serving) = webhook.map(WebhookArgs::options).unzip();
            Ok(Options {
                webhook,
                controller: controller.map(ControllerArgs::options).transpose()?,
                admin: process.admin(),
                control_plane: control_plane()?,
                settings,
                drain: end.drain(keep_serving.unwrap_or(Duration::ZERO)),
            })
        })
    }
}
