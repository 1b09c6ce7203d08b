//! Metrics as text, in the format that the client accepts (<https://prometheus.io/docs/instrumenting/content_negotiation/>).
//! No I/O.

/// A format of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus.
    Text,
}

impl Format {
    /// The format for the value of an `Accept` header: OpenMetrics only for those who name it.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        let named = |range: &str| {
            let mut parts = range.split(';').map(str::trim);
            let is_named = parts.next() == Some("application/openmetrics-text");
            is_named && parts.all(|part| part != "q=0")
        };
        if accept.split(',').any(named) { Self::OpenMetrics } else { Self::Text }
    }

    /// Its content type.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// OpenMetrics -> the text format 0.0.4, in which the name of a counter has its ending, and an info is a gauge.
#[must_use]
pub fn downgraded(openmetrics: &str) -> String {
    let mut text = String::with_capacity(openmetrics.len());
    let types = openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let types: std::collections::HashMap<&str, &str> = types.collect();
    for line in openmetrics.lines() {
        let comment = line.strip_prefix("# ").and_then(|rest| {
            let (what, rest) = rest.split_once(' ')?;
            let (name, rest) = rest.split_once(' ')?;
            Some((what, name, rest))
        });
        let Some((what, name, rest)) = comment else {
            if !line.starts_with('#') {
                text.extend([line, "\n"]);
            }
            continue;
        };
        let (ending, kind) = match types.get(name).copied() {
            Some("counter") => ("_total", "counter"),
            Some("info") => ("_info", "gauge"),
            Some("unknown") | None => ("", "untyped"),
            Some(kind) => ("", kind),
        };
        match what {
            "HELP" => text.extend(["# HELP ", name, ending, " ", rest, "\n"]),
            "TYPE" => text.extend(["# TYPE ", name, ending, " ", kind, "\n"]),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_names_openmetrics_gets_it() {
        for accept in [
            "application/openmetrics-text",
            "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
            "text/plain; q=0.5, application/openmetrics-text; q=0.9",
        ] {
            assert_eq!(Format::accepted(accept), Format::OpenMetrics, "{accept}");
        }
        for accept in ["", "*/*", "text/plain", "text/html", "application/openmetrics-text;q=0"] {
            assert_eq!(Format::accepted(accept), Format::Text, "{accept}");
        }
    }

    #[test]
    fn counters_and_infos_have_their_whole_name_in_the_older_format() {
        let openmetrics = "# HELP a What is counted.\n# TYPE a counter\na_total{x=\"1\"} 3\n\
            # HELP b What runs.\n# TYPE b info\nb_info{version=\"1\"} 1\n\
            # HELP c_seconds Time.\n# TYPE c_seconds histogram\n# UNIT c_seconds seconds\nc_seconds_sum 1.0\n# EOF\n";
        let text = "# HELP a_total What is counted.\n# TYPE a_total counter\na_total{x=\"1\"} 3\n\
            # HELP b_info What runs.\n# TYPE b_info gauge\nb_info{version=\"1\"} 1\n\
            # HELP c_seconds Time.\n# TYPE c_seconds histogram\nc_seconds_sum 1.0\n";
        assert_eq!(downgraded(openmetrics), text);
    }
}
