//! Values of go-tpc's command lines: the order, times, the seed and where records go.

use perbuck_core::problem::nearest;
use perbuck_core::study::NO_LIMIT_NS;

use crate::flags::Given;
use crate::load::{SECOND_NS, drawn_seed};
use crate::option::chosen;
use crate::refused::Refused;
use crate::run::Records;
use crate::style::{STYLES, Style};

/// The order that the command line names; its beginning is enough, as in go-tpc. `example` is one, for a command line without any.
pub(crate) fn order<T: Copy>(given: &Given, orders: &[(&'static str, T)], example: &str) -> Result<T, Refused> {
    let (command, names) = (given.command(), orders.iter().map(|(word, _)| *word).collect::<Vec<_>>());
    let (last, others) = names.split_last().unwrap_or((&"", &[]));
    let list = format!("use {} or {last}: {command} {example}", others.join(", "));
    let Some(typed) = given.words.first() else {
        return Err(Refused::usage("no command is given", list));
    };
    let found: Vec<(&'static str, T)> = orders.iter().filter(|(word, _)| word.starts_with(typed.as_str())).copied().collect();
    let [(word, order)] = found.as_slice() else {
        let help = nearest(typed, names).map_or(list, |n| format!("did you mean {n}?"));
        return Err(Refused::usage(format!("unknown command {typed:?} for \"{command}\""), help));
    };
    if given.words.len() > 1 {
        let option = example.split_once(' ').map_or("", |(_, option)| option);
        let help = format!("options start with dashes, as in {option}; an option that takes no value may stand before the word");
        return Err(Refused::usage("there is a word after the command that is no option", help));
    }
    given.only_of(word)?;
    Ok(*order)
}

/// The word of an order.
pub(crate) fn word_of<T: Copy + PartialEq>(order: T, orders: &[(&'static str, T)]) -> &'static str {
    orders.iter().find(|(_, one)| *one == order).map_or("", |(word, _)| *word)
}

/// The length of the measured window; `None` where it has no end. go-tpc's own default is the longest duration that Go has.
pub(crate) fn time_ns(given: &Given) -> Result<Option<u64>, Refused> {
    let time_ns = given.duration_ns("time").filter(|ns| given.has("time") && *ns < NO_LIMIT_NS);
    if time_ns.is_some_and(|ns| ns < SECOND_NS) {
        return Err(given.invalid("time", "give a second at least, or leave --time out for a run until Ctrl-C"));
    }
    Ok(time_ns)
}

/// The time before it.
pub(crate) fn warmup_ns(given: &Given) -> Result<u64, Refused> {
    let warmup_ns = given.duration_ns("warmup").filter(|ns| *ns < NO_LIMIT_NS);
    warmup_ns.ok_or_else(|| given.invalid("warmup", "give less than a century"))
}

/// Lines come when a second is over, so that they show whole seconds.
pub(crate) fn interval_s(given: &Given) -> Result<u32, Refused> {
    let ns = given.duration_ns("interval").unwrap_or(0);
    let seconds = u32::try_from(ns / SECOND_NS).ok().filter(|s| *s > 0 && ns.is_multiple_of(SECOND_NS));
    seconds.ok_or_else(|| given.invalid("interval", "give whole seconds, such as 10s or 1m"))
}

/// How numbers are laid out.
pub(crate) fn output(given: &Given) -> Result<Style, Refused> {
    chosen(given.text("output"), &STYLES).ok_or_else(|| given.invalid("output", "use plain, table or json"))
}

/// Seconds after which the server ends a query: go-tpc waits without an end.
pub(crate) const LIMIT_S: i64 = 86_400;

/// Those of `--queries`, in small letters.
pub(crate) fn queries(given: &Given) -> Result<String, Refused> {
    let typed = given.text("queries");
    if typed.is_empty() { Err(given.invalid("queries", "name some of q1 to q22, as in q1,q6")) } else { Ok(typed.to_lowercase()) }
}

/// TiFlash replicas that each table gets.
pub(crate) fn replicas(given: &Given) -> Result<Option<u32>, Refused> {
    Ok(Some(given.count("tiflash-replica", 0, 99)?).filter(|count| *count > 0))
}

/// The seed as `--seed` takes it.
pub(crate) fn seed(given: &Given) -> Result<u64, Refused> {
    let typed: i64 = given.text("seed").parse().unwrap_or(0);
    match u64::try_from(typed) {
        // 53 bits, so that every reader of JSON reads the number that was drawn.
        Ok(0) => Ok((drawn_seed() >> 11).max(1)),
        Ok(seed) => Ok(seed),
        Err(_) => Err(given.invalid("seed", "give 0 or more")),
    }
}

/// Where the records go.
pub(crate) fn records(given: &Given, word: &str) -> Records {
    let asked = given.has("results").then(|| given.text("results"));
    Records::new(word, asked, !given.switch("no-record"), Some(given.text("contender")))
}
