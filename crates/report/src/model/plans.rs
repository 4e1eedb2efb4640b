//! Which plans the databases chose for the queries of a workload, and where contenders differ.

use std::collections::BTreeSet;

use perbuck_core::compare::WorkloadResult;
use perbuck_core::run_record::{PlanShape, Plans};

use super::{Context, distinct, times};
use crate::document::{Block, Code};
use crate::escape::clean;
use crate::number::{counted, list};

/// Lines of a shape that a page shows at most: one of a thousand partitions has thousands.
const LINES: usize = 100;

/// What the time of a query of a contender is against that of what it is compared with.
type Time<'a> = dyn Fn(&str, &str) -> Option<String> + 'a;

/// A shape and the database whose it is.
type Shape<'a> = (&'a str, &'a str);

/// What each workload's queries ran by, where plans were kept.
pub(super) fn section(all: &Context<'_>) -> Vec<Block> {
    let mut out = Vec::new();
    for w in all.measured() {
        let time = |contender: &str, query: &str| times::against(all, w, contender, query);
        out.extend(Kept::of(all, w).into_iter().flat_map(|kept| kept.blocks(all, &time)));
    }
    out
}

/// The plans of a workload's trials.
struct Kept<'a> {
    workload: &'a str,
    contenders: Vec<OfContender<'a>>,
}

struct OfContender<'a> {
    name: &'a str,
    trials: usize,
    plans: Vec<&'a Plans>,
}

impl<'a> Kept<'a> {
    fn of(all: &Context<'a>, w: &'a WorkloadResult) -> Option<Self> {
        let of = |name: &'a str| {
            let trials: Vec<_> = all.records.iter().filter(|r| r.key.workload == w.workload && r.key.contender == name).collect();
            let plans = trials.iter().filter_map(|r| r.target.plans.as_ref()).collect();
            OfContender { name, trials: trials.len(), plans }
        };
        let contenders: Vec<OfContender<'a>> = all.contenders_of(w).into_iter().map(of).collect();
        let any = contenders.iter().any(|c| !c.plans.is_empty());
        any.then_some(Self { workload: &w.workload, contenders })
    }

    fn queries(&self) -> Vec<&'a str> {
        let plans = self.contenders.iter().flat_map(|c| &c.plans);
        distinct(plans.flat_map(|plans| &plans.queries).map(|q| q.query.as_str()))
    }

    fn blocks(&self, all: &Context<'_>, time: &Time<'_>) -> Vec<Block> {
        let queries = self.queries();
        let mut said: Vec<String> = self.contenders.iter().flat_map(|c| c.sentences(&all.label(c.name), &queries)).collect();
        said.extend(self.contenders.iter().filter_map(|c| self.against(all, c, &queries, time)));
        let mut out = vec![Block::Paragraph(self.intro()), Block::List(said)];
        out.extend(queries.iter().filter_map(|query| self.shapes(all, query)));
        out
    }

    fn intro(&self) -> String {
        let asked = |ran: Option<bool>| -> Vec<String> {
            let plans = self.contenders.iter().flat_map(|c| &c.plans).filter(|plans| ran.is_none_or(|ran| plans.ran == ran));
            distinct(plans.map(|plans| plans.asked.as_str())).into_iter().map(|asked| format!("\"{}\"", clean(asked))).collect()
        };
        let estimates: String = asked(Some(false)).iter().map(|asked| format!("{asked} does not run the query. ")).collect();
        format!(
            "{}: after a trial perbuck asked for the plan of each query, by {}. {estimates}The values in a query are the same each time; in trials \
             they may be others. Two plans are the same if operators, tables and indexes are, in their order: costs, rows and times do not count. \
             The whole plans are in the files .json.plans beside the records.",
            clean(self.workload),
            list(&asked(None)),
        )
    }

    /// Whether a contender has the plans of what it is compared with.
    fn against(&self, all: &Context<'_>, c: &OfContender<'a>, queries: &[&str], time: &Time<'_>) -> Option<String> {
        let base = self.contenders.iter().find(|base| Some(base.name) == all.compared_with(c.name))?;
        let head = format!("{} against {}", all.label(c.name), all.label(base.name));
        let (of_base, own) = (base.databases(), c.databases());
        if of_base.is_empty() || own.is_empty() {
            return None;
        }
        if of_base != own {
            let names = |all: &BTreeSet<&str>| all.iter().map(|name| clean(name)).collect::<Vec<_>>().join(" and ");
            return Some(format!("{head}: another database, plans not compared ({} and {}).", names(&own), names(&of_base)));
        }
        let (mut other, mut same, mut lacking) = (Vec::new(), 0, 0);
        for query in queries {
            let (own, of_base) = (c.shapes(query), base.shapes(query));
            match own == of_base {
                _ if own.is_empty() || of_base.is_empty() => lacking += 1,
                true => same += 1,
                false => {
                    let time = time(c.name, query).map(|ratio| format!(" ({ratio} the time)")).unwrap_or_default();
                    other.push(clean(query) + &time);
                }
            }
        }
        let found = match other.len() {
            0 => format!("the same plans for {}", counted_queries(same)),
            _ => format!("other plans for {}; the same for {}", list(&other), counted_queries(same)),
        };
        let lacking = if lacking > 0 { format!("; {} not compared", counted_queries(lacking)) } else { String::new() };
        Some(format!("{head}: {found}{lacking}."))
    }

    /// The shapes of a query side by side, where there are several of one database.
    fn shapes(&self, all: &Context<'_>, query: &str) -> Option<Block> {
        let mut each: Vec<Shape<'a>> = Vec::new();
        for shape in self.contenders.iter().flat_map(|c| c.shapes(query)) {
            if !each.contains(&shape) {
                each.push(shape);
            }
        }
        let of_database = |database: &str| each.iter().filter(|(of, _)| *of == database).count();
        let several: Vec<&Shape<'a>> = each.iter().filter(|(database, _)| of_database(database) > 1).collect();
        let code = |shape: &&Shape<'a>| {
            let by = self.contenders.iter().filter_map(|c| {
                let times = c.plans.iter().filter(|plans| shape_in(plans, query) == Some(**shape)).count();
                (times > 0).then(|| format!("{}, {} of {}", all.label(c.name), times, counted(c.plans.len(), "trial")))
            });
            Code { title: by.collect::<Vec<_>>().join("; "), lines: lines(shape.1) }
        };
        let summary = format!("{}, {}: {} plans", clean(self.workload), clean(query), several.len());
        (!several.is_empty()).then(|| Block::Folded(summary, vec![Block::Codes(several.iter().map(code).collect())]))
    }
}

impl<'a> OfContender<'a> {
    fn databases(&self) -> BTreeSet<&'a str> {
        let queries = self.plans.iter().flat_map(|plans| &plans.queries);
        queries.filter(|q| q.shape.is_some()).map(|q| q.database.as_str()).collect()
    }

    /// The shapes of a query in all trials.
    fn shapes(&self, query: &str) -> BTreeSet<Shape<'a>> {
        self.plans.iter().filter_map(|plans| shape_in(plans, query)).collect()
    }

    /// What its own trials show: plans that changed, plans that are not there.
    fn sentences(&self, label: &str, queries: &[&str]) -> Vec<String> {
        let mut out = Vec::new();
        if self.plans.len() < self.trials {
            let of = counted(self.trials, "trial");
            out.push(format!("{label}: plans were kept after {} of {of}.", self.plans.len()));
        }
        let changed: Vec<String> =
            queries.iter().filter(|query| self.shapes(query).len() > 1).map(|query| clean(query)).collect();
        if !changed.is_empty() {
            out.push(format!("{label}: the plan changed between trials for {}.", list(&changed)));
        }
        for query in queries {
            let failed: Vec<&PlanShape> =
                self.plans.iter().filter_map(|plans| named(plans, query)).filter(|q| q.error.is_some()).collect();
            if let Some(why) = failed.first().and_then(|q| q.error.as_deref()) {
                let (times, why) = (counted(failed.len(), "trial"), clean(why));
                out.push(format!("{label}: no plan for {} in {times}: {why}.", clean(query)));
            }
        }
        out
    }
}

fn named<'a>(plans: &'a Plans, query: &str) -> Option<&'a PlanShape> {
    plans.queries.iter().find(|q| q.query == query)
}

fn shape_in<'a>(plans: &'a Plans, query: &str) -> Option<Shape<'a>> {
    let found = named(plans, query)?;
    Some((found.database.as_str(), found.shape.as_deref()?))
}

fn counted_queries(count: usize) -> String {
    format!("{count} {}", if count == 1 { "query" } else { "queries" })
}

fn lines(shape: &str) -> Vec<String> {
    let all = shape.lines().count();
    let mut lines: Vec<String> = shape.lines().take(LINES).map(clean).collect();
    if all > LINES {
        lines.push(format!("… {} more lines", all - LINES));
    }
    lines
}

#[cfg(test)]
mod tests {
    use perbuck_core::compare;
    use perbuck_core::study::Study;

    use super::*;

    const STUDY: &str = "schema = 1\nname = \"s\"\n[[contender]]\nname = \"a\"\ntarget = \"sqlite:a.db\"\n[[contender]]\nname = \"b\"\n\
        target = \"sqlite:b.db\"\n[[contender]]\nname = \"c\"\ntarget = \"sqlite:c.db\"\n[[workload]]\nname = \"w\"\nkind = \"sysbench\"\n\
        [sweep]\nconnections = [1]\nduration = \"1m\"\ntrials = 3\n";

    /// Plans of a trial by query: a shape in a database, or an error after `!`.
    fn plans(database: &str, queries: &[(&str, &str)]) -> Plans {
        let one = |(query, shape): &(&str, &str)| {
            let error = shape.strip_prefix('!').map(str::to_owned);
            let shape = error.is_none().then(|| format!("{shape}\n  Seq Scan on <t>\n"));
            PlanShape { query: (*query).to_owned(), database: database.to_owned(), shape, error }
        };
        Plans { asked: "EXPLAIN".to_owned(), ran: true, queries: queries.iter().map(one).collect(), ..Plans::default() }
    }

    /// What the section says of the trials of each contender.
    fn blocks(trials: [&[Plans]; 3]) -> (Vec<String>, Vec<Block>) {
        let study = Study::read("s.toml", STUDY, &[]).unwrap();
        let comparison = compare::compare(&study, &[], &[], &[]).unwrap();
        let all = Context::new(&study, &comparison, &[]);
        let of = |(name, plans): (&'static str, &'static [Plans])| OfContender { name, trials: 3, plans: plans.iter().collect() };
        let leaked = trials.map(|plans| &*Box::leak(plans.to_vec().into_boxed_slice()));
        let kept = Kept { workload: "w", contenders: ["a", "b", "c"].into_iter().zip(leaked).map(of).collect() };
        let mut blocks = kept.blocks(&all, &|contender, query| (contender == "b" && query == "Q2").then(|| "3.02×".to_owned()));
        let folded = blocks.split_off(2);
        let Some(Block::List(said)) = blocks.pop() else { panic!("{blocks:?}") };
        (said, folded)
    }

    #[test]
    fn other_plans_of_one_database_are_named_and_shown() {
        let base = plans("P", &[("Q1", "Sort"), ("Q2", "Hash Join"), ("Q3", "!too late")]);
        let other = plans("P", &[("Q1", "Sort"), ("Q2", "Merge Join"), ("Q3", "Sort")]);
        let elsewhere = plans("M", &[("Q1", "filesort"), ("Q2", "nested_loop"), ("Q3", "filesort")]);
        let (said, folded) = blocks([&[base.clone(), base.clone(), base], &[other.clone(), other.clone(), other], &[elsewhere]]);
        assert_eq!(
            said,
            [
                "a: no plan for Q3 in 3 trials: too late.",
                "c: plans were kept after 1 of 3 trials.",
                "b against a: other plans for Q2 (3.02× the time); the same for 1 query; 1 query not compared.",
                "c against a: another database, plans not compared (M and P).",
            ]
        );
        let [Block::Folded(summary, inner)] = &folded[..] else { panic!("{folded:?}") };
        let Block::Codes(codes) = &inner[0] else { panic!("{inner:?}") };
        let titles: Vec<&str> = codes.iter().map(|code| code.title.as_str()).collect();
        assert_eq!((summary.as_str(), titles), ("w, Q2: 2 plans", vec!["a, 3 of 3 trials", "b, 3 of 3 trials"]));
        assert_eq!(codes[1].lines, ["Merge Join", "  Seq Scan on <t>"]);
    }

    #[test]
    fn a_plan_that_changes_between_trials_is_named() {
        let (first, second) = (plans("P", &[("Q1", "Sort")]), plans("P", &[("Q1", "Hash")]));
        let steady = [first.clone(), first.clone(), first.clone()];
        let (said, folded) = blocks([&steady, &[first.clone(), second, first.clone()], &steady]);
        assert_eq!(
            said,
            [
                "b: the plan changed between trials for Q1.",
                "b against a: other plans for Q1; the same for 0 queries.",
                "c against a: the same plans for 1 query.",
            ]
        );
        let Block::Folded(_, inner) = &folded[0] else { panic!("{folded:?}") };
        let Block::Codes(codes) = &inner[0] else { panic!("{inner:?}") };
        assert_eq!(codes[0].title, "a, 3 of 3 trials; b, 2 of 3 trials; c, 3 of 3 trials");
    }

    #[test]
    fn long_shapes_are_cut() {
        let long = lines(&"Seq Scan\n".repeat(LINES + 7));
        assert_eq!((long.len(), long[LINES].as_str()), (LINES + 1, "… 7 more lines"));
    }
}
