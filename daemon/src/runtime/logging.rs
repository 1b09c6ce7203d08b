//! Logs on standard error: text on a terminal, JSON otherwise.

use std::fmt;
use std::io::{IsTerminal as _, stderr};
use std::panic;

use tracing::field::Field;
use tracing::{Level, error};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::fmt::format::{Writer, debug_fn};
use tracing_subscriber::util::SubscriberInitExt as _;

/// How a log line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Arguments on logs.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Logs")]
pub struct LogArgs {
    /// Format of log lines.
    #[arg(long, value_enum, default_value = "auto", env = "FHPA_LOG_FORMAT")]
    pub log_format: Format,
    /// Minimum log level (error, warn, info, debug, trace, off), or a filter such as `info,fhpa=debug`. A filter
    /// that shows libraries below `info` may log the content of requests.
    #[arg(long, default_value = "info", env = "FHPA_LOG_LEVEL", value_name = "LEVEL|FILTER", value_parser = filter_text)]
    pub log_level: String,
}

/// The words that are no filter of a target.
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// A level or a filter. Another word would be read as the name of a log target, and silence all others.
fn filter_text(text: &str) -> Result<String, String> {
    let is_known = |part: &str| part.contains('=') || LEVELS.iter().any(|level| level.eq_ignore_ascii_case(part));
    match text.split(',').map(str::trim).find(|part| !is_known(part)) {
        None => Ok(text.to_owned()),
        Some(part) => Err(format!(
            "{part:?} is neither one of [{}] nor a filter TARGET=LEVEL such as `info,fhpa=debug`",
            LEVELS.join(", ")
        )),
    }
}

/// The log target with which kube logs each failed request without its object: the caller logs it with the object.
const TWICE: &str = "kube_client::client::builder";

/// Starts logging, for the whole process. A second call has no effect.
///
/// # Errors
/// The filter cannot be parsed; the text says why.
pub fn start(args: &LogArgs) -> Result<(), String> {
    // A plain level applies to this program; at that level libraries may log what was sent.
    let filter = match args.log_level.parse::<Level>() {
        Ok(level) => format!("{},fhpa={level},{TWICE}=off", level.min(Level::WARN)),
        Err(_) => args.log_level.clone(),
    };
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| format!("--log-level {:?} cannot be read: {error}", args.log_level))?;
    let terminal = stderr().is_terminal();
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr).with_target(false);
    let json = args.log_format == Format::Json || (args.log_format == Format::Auto && !terminal);
    let started = if json {
        builder.json().flatten_event(true).with_current_span(false).with_span_list(false).finish().try_init()
    } else {
        builder.with_ansi(terminal).fmt_fields(debug_fn(write_field).delimited(" ")).finish().try_init()
    };
    if started.is_ok() {
        // The message of a panic may repeat input of a user; its location does not.
        panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            error!(place, "panicked");
        }));
    }
    Ok(())
}

/// Writes a field, or the message, of a line of text. What a client chose cannot begin another line or colour a
/// terminal; JSON escapes it by itself.
fn write_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() != "message" {
        write!(writer, "{}=", field.name())?;
    }
    for letter in format!("{value:?}").chars() {
        if letter.is_control() { write!(writer, "{}", letter.escape_default())? } else { writer.write_char(letter)? }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    /// Where lines are kept.
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_word_that_is_no_level_is_refused_before_it_silences_the_process() {
        for good in ["info", "WARN", "off", "info,fhpa=debug", "fhpa=debug", "warn, kube=trace"] {
            assert_eq!(filter_text(good), Ok(good.to_owned()));
        }
        for wrong in ["", "warning", "verbose", "info,", "info,fhpa", "1"] {
            let said = filter_text(wrong).unwrap_err();
            assert!(said.contains("[error, warn, info, debug, trace, off]"), "{wrong:?}: {said}");
        }
    }

    #[test]
    fn what_a_client_sent_begins_no_line_and_colours_no_terminal() {
        let lines = Lines::default();
        let to = lines.clone();
        let builder = tracing_subscriber::fmt().with_ansi(false).without_time().with_target(false);
        let subscriber =
            builder.fmt_fields(debug_fn(write_field).delimited(" ")).with_writer(move || to.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            let name = "\u{1b}[31mred\r\nforged";
            tracing::info!(object = %name, seconds = 1.5, rules = Some("a, b"), omitted = None::<u64>, "reviewed {name}");
        });
        let text = String::from_utf8(lines.0.lock().clone()).unwrap();
        let name = r"\u{1b}[31mred\r\nforged";
        assert_eq!(text, format!(" INFO reviewed {name} object={name} seconds=1.5 rules=\"a, b\"\n"));
    }
}
