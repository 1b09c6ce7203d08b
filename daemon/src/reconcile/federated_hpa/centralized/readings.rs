//! An answer about a metric -> its readings for the pods of one cluster. No I/O.

use super::metrics::MetricsApiResponse;
use crate::convert::usage::Usages;
use crate::decision::hpa::metric::{Reading, Samples, Source};
use crate::decision::hpa::pod::Pod;

/// The reading of a metric in one cluster, for the pods of the workload. An answer without a sample of any of them is
/// none, where one of them serves: their load would be taken for that of the other clusters.
pub(super) fn in_cluster(
    cluster: &str,
    pods: &[Pod],
    source: &Source,
    answer: &MetricsApiResponse,
) -> Result<Reading, String> {
    let serving = pods.iter().any(Pod::serves);
    let pods = (0_u32..).zip(pods);
    let samples: Samples = match (source, answer) {
        (Source::Resource { name }, MetricsApiResponse::Usage(usages)) => used(pods, cluster, usages, (name, None))?,
        (Source::ContainerResource { name, container }, MetricsApiResponse::Usage(usages)) => {
            used(pods, cluster, usages, (name, Some(container)))?
        }
        (Source::Pods { .. }, MetricsApiResponse::Values(values)) => {
            let sample = |pod: &Pod| {
                let at = values.binary_search_by(|(name, _)| (**name).cmp(&pod.name)).ok()?;
                Some(values.get(at)?.1)
            };
            pods.filter_map(|(index, pod)| Some((index, sample(pod)?))).collect()
        }
        (Source::Object { .. } | Source::External { .. }, MetricsApiResponse::Total(total)) => {
            return Ok(Reading::Total(*total));
        }
        _ => return Err("the answer is of another kind".to_owned()),
    };
    if samples.is_empty() && serving {
        return Err("there are no metrics of its ready pods".to_owned());
    }
    Ok(Reading::PerPod(samples))
}

/// The samples of a resource of all containers, or of the named one.
fn used<'a>(
    pods: impl Iterator<Item = (u32, &'a Pod)>,
    cluster: &str,
    usages: &Usages,
    (resource, container): (&str, Option<&str>),
) -> Result<Samples, String> {
    let sample = |(index, pod): (u32, &Pod)| {
        let usage = usages.of(&pod.name).find(|usage| ["", cluster].contains(&usage.cluster()))?;
        usage.sample(resource, container).map(|sample| Some((index, sample?))).transpose()
    };
    pods.filter_map(sample).collect()
}
