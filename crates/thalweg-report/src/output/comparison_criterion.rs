//! Criteria that schemes are compared by, and the schemes' values of each.

use super::number_format::{Scale, format_count, format_factor, format_seconds, join_listed};
use super::warmup_data_remark::share_from_warmup;
use crate::results::{Contention, Group, Metric, PathFlows, Run, SchemeResults, SubjectKind};
use crate::statistics;

/// One criterion of comparison: the values of each scheme and the wording of the verdict.
pub(super) struct SchemeComparison<'a> {
    /// Name of the criterion, as in "no clear winner in goodput".
    pub subject: &'static str,
    /// Network metric that tables show for the criterion; it may be pooled over other flows or groups.
    pub metric: Metric,
    /// Predicate of the best scheme, as in "carried most".
    pub won: &'static str,
    /// Words between the best scheme's value and the next one's, as in "more than".
    pub than: &'static str,
    pub scale: fn(f64) -> Scale,
    /// Part of the network that the values cover; empty for the whole network.
    pub of: String,
    /// Remark needed to interpret the values; empty if there is none.
    pub note: String,
    /// Schemes whose values are not comparable to those of the others, if there are any.
    pub exclusion: Option<Exclusion<'a>>,
    /// Schemes compared, best first.
    pub candidates: Vec<Candidate<'a>>,
}

/// Schemes excluded from a criterion.
pub(super) struct Exclusion<'a> {
    /// Cause of the exclusion.
    pub cause: ExclusionCause,
    /// Excluded schemes, at least one, with the share of data from the warm-up, or of unfinished transfers.
    pub schemes: Vec<(&'a str, f64)>,
}

impl<'a> Exclusion<'a> {
    /// Excludes these schemes; `None` without any.
    fn new(cause: ExclusionCause, schemes: Vec<(&'a str, f64)>) -> Option<Self> {
        (!schemes.is_empty()).then_some(Self { cause, schemes })
    }

    /// Returns the names of the schemes.
    pub fn names(&self) -> impl Iterator<Item = &'a str> {
        self.schemes.iter().map(|(scheme, _)| *scheme)
    }
}

/// Cause of an exclusion of schemes from a criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExclusionCause {
    /// Their goodput counts data from the warm-up.
    WarmupData,
    /// Their completion times are shorter than another scheme's, and omit more unfinished transfers.
    UnfinishedTransfers,
}

/// Scheme with its values of one metric.
pub(super) struct Candidate<'a> {
    pub scheme: &'a str,
    pub mean: f64,
    /// Values by seed of the first scheme, for pairing the values of two schemes.
    pub values: Vec<Option<f64>>,
}

impl Candidate<'_> {
    /// Returns true if there are several values and all are equal.
    pub fn is_constant(&self) -> bool {
        self.values.len() > 1 && self.values.windows(2).all(|pair| pair[0] == pair[1])
    }
}

/// Returns all criteria. Completion time comes first where transfers end. Differences below `margin` (a share) decide
/// nothing.
pub(super) fn compare_by_all_criteria<'a>(
    schemes: &'a [SchemeResults],
    margin: f64,
    contention: Option<&Contention>,
) -> Vec<SchemeComparison<'a>> {
    let contenders = contention.map(|of| contending_flows(schemes, of)).unwrap_or_default();
    let found = if contenders.is_empty() {
        [
            compare_completion_times(schemes, margin),
            compare_goodput(schemes, margin),
            compare_delay(schemes, margin),
            compare_fairness(schemes, margin),
        ]
    } else {
        [
            compare_completion_times(schemes, margin),
            compare_proportional_fairness(schemes, &contenders, margin),
            compare_delay(schemes, margin),
            max_min(schemes, &contenders, margin),
        ]
    };
    let mut found: Vec<SchemeComparison<'_>> =
        found.into_iter().flatten().filter(|criterion| criterion.candidates.len() > 1).collect();
    for criterion in &mut found {
        let excluded: Vec<&str> = criterion.exclusion.iter().flat_map(Exclusion::names).collect();
        criterion.candidates.retain(|candidate| !excluded.contains(&candidate.scheme));
        if matches!(criterion.metric, Metric::CompletionMean | Metric::DelayMean) {
            criterion.note.insert_str(0, &describe_other_leaders(schemes, criterion, margin));
            criterion.note.insert_str(0, &describe_pooled_means(schemes, criterion));
        }
    }
    if found.iter().all(|criterion| criterion.metric != Metric::Goodput)
        && let Some(delay) = found.iter_mut().find(|criterion| criterion.metric == Metric::DelayMean)
    {
        delay.note.insert_str(0, &goodput_remark(schemes, margin));
    }
    // The cost of the carried traffic is reported once.
    if let Some(first) = found.first_mut() {
        first.note.push_str(&wasted_packets_remark(schemes));
    }
    found
}

fn compare_completion_times(schemes: &[SchemeResults], margin: f64) -> Option<SchemeComparison<'_>> {
    let groups = groups_with_value(schemes, |group| group.get(Metric::CompletionMean));
    if groups.is_empty() {
        return None;
    }
    let candidates = rank_candidates(schemes, false, |run| {
        mean_over_groups(run, &groups, |group| group.get(Metric::CompletionMean))
    });
    Some(SchemeComparison {
        subject: "completion time",
        metric: Metric::CompletionMean,
        won: "completed transfers soonest",
        than: "less than",
        scale: Scale::for_time,
        of: name_groups(&groups),
        note: unfinished_transfers_remark(schemes, &groups, margin),
        exclusion: schemes_that_omit_more(schemes, &groups, &candidates, margin),
        candidates,
    })
}

/// Compares the goodput of greedy flows: the goodput of other flows is set by the offered load, not by their scheme.
fn compare_goodput(schemes: &[SchemeResults], margin: f64) -> Option<SchemeComparison<'_>> {
    let greedy = greedy_flow_positions(schemes, |wanting| wanting > 0);
    let all = schemes.iter().flat_map(|of| &of.runs).map(|run| run.flows.len()).max()?;
    if greedy.is_empty() {
        return None;
    }
    let sum = |run: &Run| {
        let bps =
            greedy.iter().filter_map(|&flow| run.flows.get(flow)).map(|flow| flow.or_zero(Metric::Goodput));
        Some(bps.sum())
    };
    Some(SchemeComparison {
        subject: "goodput",
        metric: Metric::Goodput,
        won: "carried most",
        than: "more than",
        scale: Scale::for_rate,
        of: of_greedy(greedy.len(), all),
        note: String::new(),
        exclusion: from_warmup(schemes, &greedy, margin),
        candidates: rank_candidates(schemes, true, sum),
    })
}

fn compare_delay(schemes: &[SchemeResults], margin: f64) -> Option<SchemeComparison<'_>> {
    let groups = groups_with_value(schemes, |group| group.get(Metric::DelayMean));
    if groups.is_empty() {
        return None;
    }
    Some(SchemeComparison {
        subject: "mean delay",
        metric: Metric::DelayMean,
        won: "had the shortest mean delay",
        than: "less than",
        scale: Scale::for_time,
        of: name_groups(&groups),
        note: lost_datagrams(schemes, &groups, margin),
        exclusion: None,
        candidates: rank_candidates(schemes, false, |run| {
            mean_over_groups(run, &groups, |group| group.get(Metric::DelayMean))
        }),
    })
}

/// Compares Jain's index over flows that are greedy under every scheme: other flows got the rate they asked for.
fn compare_fairness(schemes: &[SchemeResults], margin: f64) -> Option<SchemeComparison<'_>> {
    let runs = schemes.iter().flat_map(|of| &of.runs).filter(|run| run.complete).count();
    let greedy = greedy_flow_positions(schemes, |wanting| wanting == runs);
    let all = schemes.iter().flat_map(|of| &of.runs).map(|run| run.flows.len()).max()?;
    if greedy.len() < 2 {
        return None;
    }
    let index = |run: &Run| {
        let bps =
            greedy.iter().filter_map(|&flow| run.flows.get(flow)).map(|flow| flow.or_zero(Metric::Goodput));
        statistics::jain_index(&bps.collect::<Vec<_>>())
    };
    Some(SchemeComparison {
        subject: "fairness",
        metric: Metric::Jain,
        won: "shared most evenly by Jain's index",
        than: "above",
        scale: |_| Scale::COUNT,
        of: of_greedy(greedy.len(), all),
        note: String::new(),
        exclusion: from_warmup(schemes, &greedy, margin),
        candidates: rank_candidates(schemes, true, index),
    })
}

/// Flows of a path, by their positions in runs, with the path's description.
type Path<'a> = (&'a PathFlows, Vec<usize>);

/// Returns the greedy flows that compete over different sets of full links; none where they share one path.
fn contending_flows<'a>(schemes: &[SchemeResults], contention: &'a Contention) -> Vec<Path<'a>> {
    let greedy = greedy_flow_positions(schemes, |wanting| wanting > 0);
    let Some(run) = schemes.iter().flat_map(|of| &of.runs).max_by_key(|run| run.flows.len()) else {
        return Vec::new();
    };
    let of = |path: &'a PathFlows| {
        let path_flows = (0..run.flows.len()).filter(|&flow| run.flows[flow].group == path.group);
        let path_flows = path_flows.skip(path.first as usize).step_by(path.step.max(1) as usize);
        (path, path_flows.filter(|flow| greedy.contains(flow)).collect::<Vec<usize>>())
    };
    let found: Vec<Path<'_>> =
        contention.paths.iter().map(of).filter(|(_, flows)| !flows.is_empty()).collect();
    let differ = found.windows(2).any(|pair| pair[0].0.full_links != pair[1].0.full_links);
    if differ { found } else { Vec::new() }
}

/// Returns the goodput of a flow of a run.
fn goodput_of(run: &Run, flow: usize) -> f64 {
    run.flows.get(flow).map_or(0.0, |flow| flow.or_zero(Metric::Goodput))
}

/// Compares proportional fairness: the mean logarithm of goodput. It is largest where no flow gains by a larger share
/// than others lose.
fn compare_proportional_fairness<'a>(
    schemes: &'a [SchemeResults],
    paths: &[Path<'_>],
    margin: f64,
) -> Option<SchemeComparison<'a>> {
    let all: Vec<usize> = paths.iter().flat_map(|(_, flows)| flows.iter().copied()).collect();
    let mean = |run: &Run| {
        let goodput: Vec<f64> = all.iter().map(|&flow| goodput_of(run, flow)).collect();
        Some(statistics::geometric_mean(&goodput).unwrap_or(0.0))
    };
    Some(SchemeComparison {
        subject: "proportional fairness",
        metric: Metric::Goodput,
        won: "shared best by proportional fairness",
        than: "more than",
        scale: Scale::for_rate,
        of: format!(
            " (geometric mean of the goodput of {} flows, by the sum of their logarithms)",
            all.len()
        ),
        note: describe_path_shares(schemes, paths),
        exclusion: from_warmup(schemes, &all, margin),
        candidates: rank_candidates(schemes, true, mean),
    })
}

/// Compares Jain's index of goodput relative to the max-min shares: flows over more links may get less.
fn max_min<'a>(
    schemes: &'a [SchemeResults],
    paths: &[Path<'_>],
    margin: f64,
) -> Option<SchemeComparison<'a>> {
    let known = paths.iter().all(|(path, _)| path.max_min_bps.is_some_and(|share| share > 0.0));
    let all: Vec<usize> = paths.iter().flat_map(|(_, flows)| flows.iter().copied()).collect();
    if !known || all.len() < 2 {
        return None;
    }
    let index = |run: &Run| {
        let part = |(path, flows): &Path<'_>| {
            let share = path.max_min_bps.unwrap_or(1.0);
            flows.iter().map(|&flow| goodput_of(run, flow) / share).collect::<Vec<f64>>()
        };
        statistics::jain_index(&paths.iter().flat_map(part).collect::<Vec<f64>>())
    };
    Some(SchemeComparison {
        subject: "max-min fairness",
        metric: Metric::Jain,
        won: "came nearest to the max-min shares by Jain's index",
        than: "above",
        scale: |_| Scale::COUNT,
        of: String::new(),
        note: String::new(),
        exclusion: from_warmup(schemes, &all, margin),
        candidates: rank_candidates(schemes, true, index),
    })
}

/// Describes the goodput of the flows over the most links, each path's fraction of its max-min share, and why totals are
/// not judged.
fn describe_path_shares(schemes: &[SchemeResults], paths: &[Path<'_>]) -> String {
    let mean = |of: &SchemeResults, flows: &[usize]| {
        let runs = of.runs.iter().filter(|run| run.complete);
        let each: Vec<f64> = runs
            .map(|run| flows.iter().map(|&flow| goodput_of(run, flow)).sum::<f64>() / flows.len() as f64)
            .collect();
        statistics::mean(&each).unwrap_or(0.0)
    };
    let max = paths.iter().map(|(path, _)| path.full_links.len()).max().unwrap_or(0);
    let (mut long, mut others): (Vec<&Path<'_>>, Vec<&Path<'_>>) =
        paths.iter().partition(|(path, _)| path.full_links.len() == max);
    // With a single other path of the same length, the rest follows.
    if others.is_empty() {
        core::mem::swap(&mut long, &mut others);
    }
    let part = |bps: f64, path: &PathFlows| {
        path.max_min_bps.filter(|share| *share > 0.0).map(|share| Scale::PERCENT.fixed(bps / share, 0))
    };
    // A group with several paths is named by their flows.
    let name = |path: &PathFlows| {
        if paths.iter().filter(|(other, _)| other.group == path.group).count() == 1 {
            return format!("`{}`", path.group);
        }
        let more = if path.flows > 1 { format!(" and {} more", path.flows - 1) } else { String::new() };
        format!("`{}.{}`{more}", path.group, path.first + 1)
    };
    let mut text = String::new();
    for (path, flows) in long.iter().take(MAX_NAMED_PATHS) {
        let each = schemes.iter().map(|of| {
            let bps = mean(of, flows);
            let part = part(bps, path).map(|part| format!(" ({part})")).unwrap_or_default();
            format!("{} {}{part}", of.scheme, Scale::for_rate(bps).value(bps))
        });
        let each: Vec<String> = each.collect();
        let of = path
            .max_min_bps
            .map(|share| format!(" with a max-min share of {}", Scale::for_rate(share).value(share)));
        let a_flow = if flows.len() > 1 { " a flow" } else { "" };
        text.push_str(&format!(
            " {}, over {} full links{}, carried{a_flow}: {}.",
            name(path),
            path.full_links.len(),
            of.unwrap_or_default(),
            each.join(", ")
        ));
    }
    let parts = others.iter().take(MAX_NAMED_PATHS).filter_map(|(path, flows)| {
        let each: Option<Vec<String>> = schemes
            .iter()
            .map(|of| Some(format!("{} {}", of.scheme, part(mean(of, flows), path)?)))
            .collect();
        Some(format!("{} {}", name(path), each?.join(", ")))
    });
    let parts: Vec<String> = parts.collect();
    if !parts.is_empty() {
        text.push_str(&format!(" Parts of the max-min shares of others: {}.", parts.join("; ")));
    }
    let totals = schemes.iter().map(|of| {
        let total: f64 = paths.iter().map(|(_, flows)| mean(of, flows) * flows.len() as f64).sum();
        format!("{} {}", of.scheme, Scale::for_rate(total).value(total))
    });
    let totals: Vec<String> = totals.collect();
    let totals: Vec<&str> = totals.iter().map(String::as_str).collect();
    text.push_str(&format!(
        " Flows cross different full links: what they carry together ({}) decides nothing, as it is most where the \
         longest path starves.",
        join_listed(&totals)
    ));
    text
}

/// Maximum number of paths named in a note.
const MAX_NAMED_PATHS: usize = 6;

/// Returns a remark on the goodput of all flows where it differs by more than `margin` between schemes and is not a
/// criterion: a delay may be short because little was carried.
fn goodput_remark(schemes: &[SchemeResults], margin: f64) -> String {
    let ranked = rank_candidates(schemes, true, |run| run.totals.get(Metric::Goodput));
    let (Some(most), Some(least)) = (ranked.first(), ranked.last()) else { return String::new() };
    let lead = statistics::paired_difference(&least.values, &most.values);
    let is_sure = lead.is_some_and(|lead| lead.excludes_zero() != Some(false));
    if !is_sure || most.mean - least.mean <= margin * least.mean {
        return String::new();
    }
    let factor = match most.mean / least.mean {
        times if times.is_finite() && times >= 2.0 => format!(" by a factor of {}", format_factor(times)),
        _ => String::new(),
    };
    let each = ranked.iter().map(|of| format!("{} {}", of.scheme, Scale::for_rate(of.mean).value(of.mean)));
    format!(" Goodput differs{factor}: {}.", each.collect::<Vec<_>>().join(", "))
}

/// Excludes the schemes for which more than `margin` of the bytes delivered by these flows had arrived during the
/// warm-up and waited for loss repair, with that share. Such goodput can exceed the network's capacity.
fn from_warmup<'a>(schemes: &'a [SchemeResults], flows: &[usize], margin: f64) -> Option<Exclusion<'a>> {
    let share = |of: &SchemeResults| {
        let complete = of.runs.iter().filter(|run| run.complete);
        share_from_warmup(complete.flat_map(|run| flows.iter().filter_map(|&flow| run.flows.get(flow))))
    };
    let shares = schemes.iter().map(|of| (of.scheme.as_str(), share(of)));
    Exclusion::new(ExclusionCause::WarmupData, shares.filter(|(_, share)| *share > margin).collect())
}

/// Returns the schemes with a value in some complete run, best first. Where all runs of every scheme are identical,
/// they count once.
fn rank_candidates<'a>(
    schemes: &'a [SchemeResults],
    higher_wins: bool,
    value: impl Fn(&Run) -> Option<f64>,
) -> Vec<Candidate<'a>> {
    let once = schemes.iter().all(|of| of.summary.as_ref().is_none_or(|summary| summary.different == 1));
    let seeds = schemes.first().map_or(&[][..], |of| &of.runs).iter().map(|run| run.seed);
    let seeds: Vec<u64> = seeds.take(if once { 1 } else { usize::MAX }).collect();
    let candidate = |of: &'a SchemeResults| {
        if aborted_flows(of).is_some_and(|aborted| aborted.is_much()) {
            return None;
        }
        let find = |seed: u64| of.runs.iter().find(|run| run.complete && run.seed == seed);
        let values: Vec<Option<f64>> = seeds.iter().map(|&seed| find(seed).and_then(&value)).collect();
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        Some(Candidate { scheme: &of.scheme, mean: statistics::mean(&known)?, values })
    };
    let mut candidates: Vec<Candidate<'_>> = schemes.iter().filter_map(candidate).collect();
    let sign = if higher_wins { -1.0 } else { 1.0 };
    // The sort is stable: schemes with equal values keep their order.
    candidates.sort_by(|a, b| (sign * a.mean).total_cmp(&(sign * b.mean)));
    candidates
}

/// Flows of a scheme whose sender aborted the connection before all data was delivered.
pub(super) struct AbortedFlows {
    /// Aborted flows of all complete runs.
    pub flows: usize,
    /// All flows of these runs.
    pub total: usize,
    /// Time of the first, in seconds.
    pub first: f64,
}

impl AbortedFlows {
    /// Returns true where the share of aborted flows is too large to judge the scheme by its goodput.
    pub fn is_much(&self) -> bool {
        self.flows as f64 > MUCH_ABORTED * self.total as f64
    }
}

/// Returns the aborted flows of a scheme; `None` if there are none.
pub(super) fn aborted_flows(of: &SchemeResults) -> Option<AbortedFlows> {
    let flows = || of.runs.iter().filter(|run| run.complete).flat_map(|run| &run.flows);
    let ends = || flows().filter_map(|flow| flow.values.get(Metric::Failed));
    let first = ends().reduce(f64::min)?;
    Some(AbortedFlows { flows: ends().count(), total: flows().count(), first })
}

/// Returns the sentence on schemes that are not judged because their flows aborted; `None` if there are none.
pub(crate) fn aborted_schemes(schemes: &[SchemeResults]) -> Option<String> {
    let one = |of: &SchemeResults| {
        let AbortedFlows { flows, total: all, first } = aborted_flows(of).filter(AbortedFlows::is_much)?;
        let (share, after) = (format_count(all as u64, "flow"), format_seconds(first));
        Some((of.scheme.clone(), format!("{flows} of {share} of {}, the first after {after}", of.scheme)))
    };
    let found: Vec<(String, String)> = schemes.iter().filter_map(one).collect();
    let (names, each): (Vec<&str>, Vec<&str>) =
        found.iter().map(|(name, text)| (name.as_str(), text.as_str())).unzip();
    let verb = if names.len() == 1 { "is" } else { "are" };
    let left = if schemes.len() - names.len() < 2 { ", and there is no verdict" } else { "" };
    (!names.is_empty()).then(|| {
        format!(
            "ABORTED: the sender gave up before all data was delivered: {}. {} {verb} not judged{left}.",
            each.join("; "),
            join_listed(&names)
        )
    })
}

/// Returns the positions of the groups that have a value in some complete run.
fn groups_with_value(schemes: &[SchemeResults], value: impl Fn(&Group) -> Option<f64>) -> Vec<usize> {
    let complete = || schemes.iter().flat_map(|of| &of.runs).filter(|run| run.complete);
    let groups = complete().map(|run| run.groups.len()).max().unwrap_or(0);
    let has = |&group: &usize| complete().any(|run| run.groups.get(group).and_then(&value).is_some());
    (0..groups).filter(has).collect()
}

/// Returns the value of a run's group, or the geometric mean over several groups. Groups may differ in paths and
/// transfer sizes: the geometric mean weights them equally, and a scheme gains nothing by starving the slower one.
fn mean_over_groups(run: &Run, groups: &[usize], value: fn(&Group) -> Option<f64>) -> Option<f64> {
    let values = groups.iter().map(|&group| run.groups.get(group).and_then(value));
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    match values.as_slice() {
        [one] => Some(*one),
        several => statistics::geometric_mean(several),
    }
}

/// Describes each group whose leader beats the overall leader by more than `margin` and, with several runs,
/// significantly; empty if there are none.
fn describe_other_leaders(
    schemes: &[SchemeResults],
    criterion: &SchemeComparison<'_>,
    margin: f64,
) -> String {
    let (metric, scale) = (criterion.metric, criterion.scale);
    let groups = groups_with_value(schemes, |group| group.get(metric));
    let Some(first) = criterion.candidates.first().filter(|_| groups.len() > 1) else { return String::new() };
    let found: Vec<String> = groups
        .iter()
        .filter_map(|&group| {
            let candidates = rank_candidates(schemes, false, |run| {
                run.groups.get(group).and_then(|group| group.get(metric))
            });
            let ours = candidates.iter().find(|candidate| candidate.scheme == first.scheme)?;
            let best = candidates.first().filter(|best| best.mean < ours.mean * (1.0 - margin))?;
            let lead = statistics::paired_difference(&ours.values, &best.values)?;
            let name = &schemes.iter().flat_map(|of| &of.runs).find_map(|run| run.groups.get(group))?.name;
            let value = |of: f64| scale(of).value(of);
            (lead.excludes_zero() != Some(false)).then(|| {
                format!(
                    "in `{name}` {} is ahead of {} ({} for {})",
                    best.scheme,
                    first.scheme,
                    value(best.mean),
                    value(ours.mean)
                )
            })
        })
        .collect();
    match found.as_slice() {
        [] => String::new(),
        [one, two, three, rest @ ..] if !rest.is_empty() => {
            format!(" But {one}, {two}, {three}, and so it is in {} more groups.", rest.len())
        }
        all => format!(" But {}.", all.join(", ")),
    }
}

/// Describes the mean shown in tables where it differs from the compared mean: it covers the whole network, with equal
/// weight for each packet or transfer.
fn describe_pooled_means(schemes: &[SchemeResults], criterion: &SchemeComparison<'_>) -> String {
    let name = criterion.metric.name(SubjectKind::Network);
    let mean = |scheme: &str| {
        let of = schemes.iter().find(|of| of.scheme == scheme)?.summary.as_ref()?;
        of.totals.get(name).map(|of| of.mean)
    };
    let value = |of: f64| (criterion.scale)(of).value(of);
    let is_same = |candidate: &Candidate<'_>| {
        mean(candidate.scheme).is_none_or(|mean| value(mean) == value(candidate.mean))
    };
    if criterion.candidates.iter().all(is_same) {
        return String::new();
    }
    let each = criterion
        .candidates
        .iter()
        .filter_map(|candidate| Some(format!("{} {}", candidate.scheme, value(mean(candidate.scheme)?))));
    let what = if criterion.metric == Metric::DelayMean { "packets" } else { "transfers" };
    format!(" Over all {what} together, as in the table: {}.", each.collect::<Vec<_>>().join(", "))
}

fn name_groups(groups: &[usize]) -> String {
    match groups.len() {
        1 => String::new(),
        count => format!(" (geometric mean over {count} groups)"),
    }
}

fn of_greedy(greedy: usize, all: usize) -> String {
    match (greedy, all) {
        _ if greedy == all => String::new(),
        (1, _) => " (the one flow that always had more to send)".to_owned(),
        _ => format!(" (the {greedy} flows that always had more to send)"),
    }
}

/// Returns the positions of flows that were greedy in as many complete runs, over all schemes, as `enough` accepts.
fn greedy_flow_positions(schemes: &[SchemeResults], enough: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut wanting: Vec<usize> = Vec::new();
    for run in schemes.iter().flat_map(|of| &of.runs).filter(|run| run.complete) {
        wanting.resize(wanting.len().max(run.flows.len()), 0);
        for (count, flow) in wanting.iter_mut().zip(&run.flows) {
            *count += usize::from(flow.wanted_more);
        }
    }
    (0..wanting.len()).filter(|&flow| enough(wanting[flow])).collect()
}

/// Excludes the candidates with a shorter completion time than another one, and a share of unfinished transfers that
/// exceeds the other's by more than `margin`. Their times omit slow transfers that the other's contain.
fn schemes_that_omit_more<'a>(
    schemes: &[SchemeResults],
    groups: &[usize],
    candidates: &[Candidate<'a>],
    margin: f64,
) -> Option<Exclusion<'a>> {
    let share = |candidate: &Candidate<'_>| {
        schemes.iter().find(|of| of.scheme == candidate.scheme).map_or(0.0, |of| unfinished_share(of, groups))
    };
    let shares: Vec<(&'a str, f64)> = candidates.iter().map(|of| (of.scheme, share(of))).collect();
    let omits_more = |(number, (_, share)): &(usize, &(&str, f64))| {
        shares[number + 1..].iter().any(|(_, slower)| share - slower > margin)
    };
    let omitting = shares.iter().enumerate().filter(omits_more).map(|(_, share)| *share);
    Exclusion::new(ExclusionCause::UnfinishedTransfers, omitting.collect())
}

/// Returns the share of the transfers of these groups that did not end within the run.
fn unfinished_share(of: &SchemeResults, groups: &[usize]) -> f64 {
    let counted = of.runs.iter().filter(|run| run.complete);
    let all = counted.flat_map(|run| groups.iter().filter_map(|&group| run.groups.get(group)));
    let (completed, unfinished) = all.fold((0, 0), |(ended, open), group| {
        (ended + group.or_zero(Metric::Completions) as u64, open + group.or_zero(Metric::Unfinished) as u64)
    });
    unfinished as f64 / (completed + unfinished).max(1) as f64
}

/// Returns a remark on unfinished transfers where they exceed `margin` under some scheme: completion times cover
/// finished transfers only and omit the slowest. The remark lists every scheme for comparison.
fn unfinished_transfers_remark(schemes: &[SchemeResults], groups: &[usize], margin: f64) -> String {
    match each_share(schemes, |of| unfinished_share(of, groups), margin) {
        None => String::new(),
        Some(each) => format!(" Not ended within the run, and not in these times: {each}."),
    }
}

/// Lists the share of each scheme; `None` where no scheme exceeds `margin`.
fn each_share(
    schemes: &[SchemeResults],
    share: impl Fn(&SchemeResults) -> f64,
    margin: f64,
) -> Option<String> {
    let shares: Vec<(&str, f64)> = schemes.iter().map(|of| (of.scheme.as_str(), share(of))).collect();
    let each = shares.iter().map(|(scheme, share)| format!("{scheme} {}", in_words(*share)));
    shares.iter().any(|(_, share)| *share > margin).then(|| each.collect::<Vec<_>>().join(", "))
}

/// Formats a share; a nonzero share is never shown as zero.
fn in_words(share: f64) -> String {
    Scale::PERCENT.fixed(share, if share > 0.0 && share < 0.0095 { 2 } else { 1 })
}

/// Returns a remark on schemes of loss-repairing transports that lost a large share of the packets sent: other flows
/// pay for their goodput.
fn wasted_packets_remark(schemes: &[SchemeResults]) -> String {
    let share = |of: &SchemeResults| {
        let counted = of.runs.iter().filter(|run| run.complete);
        let reliable =
            counted.flat_map(|run| &run.groups).filter(|group| group.get(Metric::Jitter).is_none());
        let (sent, lost) = reliable.fold((0.0, 0.0), |(sent, lost), group| {
            (sent + group.or_zero(Metric::Sent), lost + group.or_zero(Metric::Lost))
        });
        if sent > 0.0 { lost / sent } else { 0.0 }
    };
    let much: Vec<String> = schemes
        .iter()
        .map(|of| (of, share(of)))
        .filter(|(_, share)| *share > HIGH_LOSS_SHARE)
        .map(|(of, share)| format!("{} {}", of.scheme, in_words(share)))
        .collect();
    match much.as_slice() {
        [] => String::new(),
        much => format!(" Lost on the path, of all that was sent: {}.", much.join(", ")),
    }
}

/// Describes the share of unrepaired datagrams in those groups that have no delay because they were lost; empty where
/// it is small under every scheme. A queue that drops late packets shortens measured delays.
fn lost_datagrams(schemes: &[SchemeResults], groups: &[usize], margin: f64) -> String {
    let share = |of: &SchemeResults| {
        let counted = of.runs.iter().filter(|run| run.complete);
        let all = counted.flat_map(|run| groups.iter().filter_map(|&group| run.groups.get(group)));
        let datagrams = all.filter(|group| group.get(Metric::Jitter).is_some());
        let (sent, lost) = datagrams.fold((0.0, 0.0), |(sent, lost), group| {
            (sent + group.or_zero(Metric::Sent), lost + group.or_zero(Metric::Lost))
        });
        if sent > 0.0 { lost / sent } else { 0.0 }
    };
    match each_share(schemes, share, margin) {
        None => String::new(),
        Some(each) => format!(" Delays are of those datagrams that arrived; lost were: {each}."),
    }
}

/// Share of aborted flows above which a scheme is not judged.
const MUCH_ABORTED: f64 = 0.01;
/// Packet-loss share above which a loss-repairing scheme is remarked on.
const HIGH_LOSS_SHARE: f64 = 0.1;
